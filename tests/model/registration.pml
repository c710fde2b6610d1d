/*
 * The lists of poll sources of two CPUs: sources that come, go and move while
 * their CPU polls them, and a CPU that goes offline and comes back.
 *
 * The parties, by the functions of drivers/cpuidle/poll_source.c that they
 * mirror:
 *   cpu       the idle loop of a CPU: poll_source_window(), _loop(), _round(),
 *             _start(), _run(), _stop(); as interrupts poll_source_add_local(),
 *             poll_source_del_local() and those of the devices, with
 *             poll_source_claim()
 *   task      somebody that calls poll_source_register(), _unregister() and
 *             _move(); what it has unregistered is freed
 *   mover     poll_source_move_work()
 *   hotplug   takes the second CPU offline and back, with cpu_hotplug_lock
 *   device    one for each source: what it has done is an interrupt, to any
 *             CPU, if the source's event is on
 *
 * What must hold, as assertions: no operation runs on a source that is not
 * registered, nor beside another one of the same source; start and stop come in
 * turns; only a CPU changes its lists, or anybody while it is offline; a source
 * is on one list at most; after unregister and at rest the event is on and what
 * came while it was off has been handled.
 *
 * Interrupts are let in where the kernel lets them in: between two rounds of
 * the loop, and while a handler's softirqs run. Whether one that waits is taken
 * at such a point is left open, so that a call which only sets TIF_NEED_RESCHED is
 * covered: it is taken after the window. An operation takes two steps, so that
 * others may come between.
 *
 * Blind to: the order of a list (any source may be first), weak memory (calls
 * and locks are full barriers; events.pml has the ring's), what start looks at
 * (it says no at any time), the static key, time limits, the probe once a
 * second, errors for bad arguments, a handler that interrupts another one.
 *
 * A mutant, a macro that is defined, puts one fault in. tests/model/run.sh has
 * the list, and spin refutes each.
 */

#ifndef SOURCES
#define SOURCES 1
#endif
#ifndef STEPS
#define STEPS 2			/* of the task */
#endif
#ifndef WINDOWS
#define WINDOWS 1		/* of each CPU */
#endif
#ifndef EVENTS
#define EVENTS 1		/* of all devices */
#endif

#define CPUS		2
#define NO_CPU		CPUS
#define NO_SOURCE	SOURCES

/* who does it: a CPU, or */
#define TASK		2
#define MOVER		3

mtype = { NONE, REST, ACTIVE };		/* lists */
mtype = { IDLE, ADD, DEL };		/* calls */

/* the sources */
bool registered[SOURCES];	/* on the list of all sources */
bool alive[SOURCES];		/* its memory is the source's */
byte where[SOURCES];		/* src->cpu */
byte claimed[SOURCES];
mtype list[SOURCES];
bool busy[SOURCES];		/* a handler is running */

/* their devices */
bool on[SOURCES];		/* the event is */
bool work[SOURCES];		/* there is something to handle */
bool irq[SOURCES];		/* the interrupt is pending */
byte irq_cpu[SOURCES];

/* the CPUs */
bool online[CPUS];
bool polling[CPUS];
mtype call[CPUS];
byte call_source[CPUS];
bool dying;			/* CPU 1 is to go offline */

/* locks */
byte hotplug_readers;
bool hotplug_writer;
bool mutex;
bool mover_due;

/* --- operations of a source --------------------------------------------- */

inline operation(o)
{
	assert(alive[o] && !busy[o])
}

/* The driver's handler, less the softirqs that run after it */
inline handler_begins(h)
{
	operation(h);
	busy[h] = true
}

inline handler_ends(h)
{
	atomic { work[h] = false; busy[h] = false }
}

/* In atomic, as stop() is; to say that nothing is outstanding is open to it */
inline start(b)
{
	operation(b);
	if
	:: true ->
		assert(on[b] && list[b] == REST);
		on[b] = false;
		list[b] = ACTIVE
	:: true
	fi
}

inline stop(e, raced)
{
	operation(e);
	assert(!on[e] && list[e] == ACTIVE);
	list[e] = REST;
	on[e] = true;
	raced = work[e]
}

/* --- changes of the lists ----------------------------------------------- */

inline owns(lists)
{
	assert(me == lists || !online[lists])
}

inline add_local(cpu, a)
{
	owns(cpu);
	assert(list[a] == NONE && alive[a]);
	where[a] = cpu;
	list[a] = REST;
	if
	:: polling[cpu] ->
#ifdef ADDS_TO_ACTIVE
		list[a] = ACTIVE
#elif defined(NO_START_AT_ADD)
		skip
#else
		start(a)
#endif
	:: else
	fi
}

inline del_local(cpu, d)
{
	owns(cpu);
#ifndef DEL_WITHOUT_STOP
	if
	:: list[d] == ACTIVE ->
		stop(d, hit);
		if
		:: hit ->
			hit = false;
			handler_begins(d);
			handler_ends(d)
		:: else
		fi
	:: else
	fi;
#endif
	owns(cpu);
	assert(alive[d] && where[d] == cpu);
	list[d] = NONE;
	where[d] = NO_CPU
}

/* smp_call_function_single(), and what its caller does where it fails */
inline call_on(target, what)
{
	atomic {
		if
#ifndef CHANGES_FROM_AFAR
		:: online[target] ->
			call[target] == IDLE;
			call_source[target] = s;
			call[target] = what
#endif
		:: else -> direct = true
		fi
	}
	if
	:: direct ->
		atomic {
			direct = false;
#ifndef FORGETS_OFFLINE
			if
			:: what == ADD -> add_local(target, s)
			:: else -> del_local(target, s)
			fi
#endif
		}
	:: else ->
#ifndef DOES_NOT_WAIT
		call[target] == IDLE
#endif
	fi
}

inline del_from_old()
{
	from = where[s];
	if
	:: from != NO_CPU -> call_on(from, DEL); from = NO_CPU
	:: else
	fi
}

inline add_to_new(new)
{
	if
	:: new != NO_CPU -> call_on(new, ADD)
	:: else
	fi
}

inline set_cpu(to_cpu)
{
	if
	:: where[s] == to_cpu
	:: else ->
#ifdef ADDS_FIRST
		add_to_new(to_cpu);
		del_from_old()
#else
		del_from_old();
		add_to_new(to_cpu)
#endif
	fi
}

#ifdef NO_HOTPLUG_LOCK
#define cpus_read_trylock	true
#else
#define cpus_read_trylock	!hotplug_writer
#endif

#ifdef MOVER_WITHOUT_MUTEX
#define mutex_trylock		(me == MOVER || !mutex)
#else
#define mutex_trylock		!mutex
#endif

/* In atomic */
inline lock()
{
	cpus_read_trylock && mutex_trylock;
#ifndef NO_HOTPLUG_LOCK
	hotplug_readers++;
#endif
#ifdef MOVER_WITHOUT_MUTEX
	mutex = mutex || me != MOVER
#else
	mutex = true
#endif
}

inline unlock()
{
#ifndef NO_HOTPLUG_LOCK
	hotplug_readers--;
#endif
#ifdef MOVER_WITHOUT_MUTEX
	mutex = mutex && me == MOVER
#else
	mutex = false
#endif
}

/* --- the CPUs ----------------------------------------------------------- */

/* The device's interrupt, for the driver; with poll_source_claim() */
#define irq_here(i)	(irq[i] && irq_cpu[i] == me)

inline interrupt(i)
{
	irq[i] = false;
	work[i] = false;
	if
	:: registered[i] && where[i] != me -> claimed[i] = me; mover_due = true
	:: else
	fi
}

inline take_one()
{
	if
	:: atomic {
		call[me] == ADD ->
		add_local(me, call_source[me]);
		call[me] = IDLE
	   }
	:: atomic {
		call[me] == DEL ->
		del_local(me, call_source[me]);
		call[me] = IDLE
	   }
	:: atomic { irq_here(0) -> interrupt(0) }
#if SOURCES > 1
	:: atomic { irq_here(1) -> interrupt(1) }
#endif
	fi
}

/* What waits is taken, or not yet */
inline interrupts()
{
	do
	:: take_one()
	:: break
	od
}

#define is(i, what)	(list[i] == what && where[i] == me)

/* Chooses one of the active sources, and which one comes after it */
inline choose(all)
{
	next = NO_SOURCE;
	if
	:: is(0, ACTIVE) && (all || work[0]) -> src = 0
#if SOURCES > 1
	:: is(1, ACTIVE) && (all || work[1]) -> src = 1
#endif
	:: else -> src = NO_SOURCE
	fi
#if SOURCES > 1 && (defined(ROUND_GOES_ON) || defined(SAVED_NEXT))
	if
	:: src != NO_SOURCE && is(1 - src, ACTIVE) -> next = 1 - src
	:: else
	fi
#endif
}

/* A look at each source, in any order; a handler ends the round */
inline round()
{
	atomic {
		choose(false);
		if
		:: src != NO_SOURCE -> handler_begins(src)
		:: else
		fi
	}
	if
	:: src != NO_SOURCE ->
#ifdef INTERRUPTS_IN_HANDLER
		interrupts();
#endif
		handler_ends(src);
		interrupts();
		atomic {
#ifdef TOUCHES_AFTER_RUN
			assert(alive[src]);
#endif
#ifdef ROUND_GOES_ON
			if
			:: next != NO_SOURCE -> operation(next)
			:: else
			fi;
#endif
			src = NO_SOURCE;
			next = NO_SOURCE
		}
	:: else
	fi
}

inline stop_all()
{
	do
	:: atomic {
		if
		:: next != NO_SOURCE -> src = next; next = NO_SOURCE
		:: else -> choose(true)
		fi;
		if
		:: src == NO_SOURCE -> break
		:: else
		fi;
		stop(src, raced);
		if
#ifdef STOP_FORGETS_RACE
		:: raced -> raced = false
#else
		:: raced -> handler_begins(src)
#endif
		:: else
		fi
	   };
		if
		:: raced ->
			raced = false;
			handler_ends(src);
			src = NO_SOURCE;
			interrupts()
		:: else -> src = NO_SOURCE
		fi
	od
}

inline window()
{
	/* Interrupts are off */
	atomic {
		polling[me] = true;
#ifdef INTERRUPTS_AT_START
		if
		:: is(0, REST) -> interrupts(); start(0)
		:: else
		fi;
#else
		if
		:: is(0, REST) -> start(0)
		:: else
		fi;
#endif
#if SOURCES > 1
		if
		:: is(1, REST) -> start(1)
		:: else
		fi;
#endif
		choose(true);
		any = (src != NO_SOURCE);
		src = NO_SOURCE;
		next = NO_SOURCE
	}
	if
	:: any ->
		any = false;
		do
		:: round(); interrupts()
		:: break	/* time out, or somebody to run */
		od;
#ifndef ENDS_WITHOUT_STOP
		stop_all()
#endif
	:: else
	fi;
#ifndef STAYS_POLLING
	polling[me] = false
#endif
}

proctype cpu(byte me)
{
	byte windows, src = NO_SOURCE, next = NO_SOURCE;
	bool any, raced, hit;

end:	do
	:: take_one()
	:: windows < WINDOWS -> windows++; window()
	:: atomic {
		me == 1 && dying ->
		dying = false;
		online[1] = false;
		irq_cpu[0] = 0;
#if SOURCES > 1
		irq_cpu[1] = 0
#endif
	   };
end_off:	online[1]
	od
}

/* --- those who ask for changes ------------------------------------------ */

inline register()
{
	atomic {
		lock();
		alive[s] = true;
		claimed[s] = to;
		registered[s] = true
	}
	set_cpu(to);
	unlock()
}

inline unregister()
{
	atomic {
		lock();
#ifndef STAYS_LISTED
		registered[s] = false
#endif
	}
	set_cpu(NO_CPU);
	unlock();
	atomic {
		assert(on[s] && !busy[s] && list[s] == NONE);
		assert(!work[s] || irq[s]);
		alive[s] = false	/* freed */
	}
}

inline move()
{
	atomic { lock(); claimed[s] = to };
	set_cpu(to);
	unlock()
}

proctype task()
{
	byte me = TASK, step, s, from = NO_CPU, to;
	bool hit, direct;

	do
	:: step < STEPS ->
		atomic {
			step++;
			select (s : 0 .. SOURCES - 1);
			select (to : 0 .. CPUS)
		}
		if
		:: !alive[s] -> register()
		:: alive[s] -> unregister()
		:: alive[s] -> move()
#ifdef REGISTERS_TWICE
		:: alive[s] -> where[s] = NO_CPU; register()
#endif
		fi;
		atomic { s = 0; to = 0 }
	:: else -> break
	od
}

proctype mover()
{
	byte me = MOVER, s, from = NO_CPU, to;
	bool hit, direct;

end:	do
	:: atomic { mover_due -> lock(); mover_due = false };
		do
		:: s < SOURCES ->
			if
			:: registered[s] && claimed[s] != NO_CPU ->
				to = claimed[s];
#ifdef READS_CLAIM_TWICE
				set_cpu(claimed[s]);
#else
				set_cpu(to);
#endif
				to = 0
			:: else
			fi;
			s++
		:: else -> break
		od;
		atomic { s = 0; unlock() }
	od
}

proctype hotplug()
{
	atomic {
		hotplug_readers == 0 ->
		hotplug_writer = true;
		dying = true
	}
	atomic { !online[1] -> hotplug_writer = false };
	atomic { hotplug_readers == 0 -> online[1] = true }
}

proctype device()
{
	byte i, s, c;

	do
	:: atomic {
		i < EVENTS ->
		i++;
		select (s : 0 .. SOURCES - 1);
		select (c : 0 .. CPUS - 1);
		work[s] = true;
		if
		:: on[s] -> irq[s] = true; irq_cpu[s] = (online[c] -> c : 0)
		:: else
		fi;
		s = 0;
		c = 0
	   }
	:: i == EVENTS -> break
	od
}

#define at_rest(s)	(on[s] && !work[s] && !busy[s] && \
			 list[s] != ACTIVE && registered[s] == alive[s] && \
			 (list[s] == REST) == (where[s] != NO_CPU))

proctype judge()
{
	timeout -> assert(at_rest(0) && at_rest(SOURCES - 1))
}

/* One source is there from the beginning */
init
{
	atomic {
		byte i;

		for (i : 0 .. SOURCES - 1) {
			on[i] = true;
			where[i] = NO_CPU;
			claimed[i] = NO_CPU;
			list[i] = NONE
		}
		for (i : 0 .. CPUS - 1) {
			online[i] = true;
			call[i] = IDLE
		}
		registered[0] = true;
		alive[0] = true;
		where[0] = 0;
		claimed[0] = 0;
		list[0] = REST;
		run cpu(0);
		run cpu(1);
		run task();
		run mover();
#ifndef NO_HOTPLUG
		run hotplug();
#endif
		run device();
		run judge()
	}
}
