/*
 * Event suppression between a driver, its poll source and a device: no event is
 * lost, none is sent while the queue is polled, no callback runs beside itself.
 *
 * The parties, by the functions of drivers/virtio/virtio_ring.c that they
 * mirror:
 *   device     uses one buffer or two, has a full barrier, looks at what it is
 *              told
 *   interrupt  vring_interrupt(), on a CPU of its own, when the device raises
 *              it
 *   poller     the idle loop: vring_poll_start(), _check(), _run(), _stop()
 *   busy       a driver that works on the ring from yet another CPU:
 *              virtqueue_disable_cb(), virtqueue_get_buf(),
 *              virtqueue_enable_cb(), virtqueue_enable_cb_delayed()
 *   napi       (macro NAPI, instead) a driver whose callback disables events
 *              and leaves the rest to a softirq, here on another CPU:
 *              virtqueue_enable_cb_prepare(), napi_complete_done(),
 *              virtqueue_poll(), as virtqueue_napi_complete() of virtio_net has
 *              them
 *   breaker    virtio_break_device(), at any moment: nothing more is expected
 * The callback is vring_shared_callback() with a driver's loop in it.
 *
 * The rings: SPLIT_FLAGS (split, without EVENT_IDX), SPLIT_EVENT (split, with
 * EVENT_IDX), PACKED (with EVENT_IDX; without it is as SPLIT_FLAGS).
 *
 * Memory: stores to what the device is told wait in a store buffer of their CPU
 * and reach memory at any later time; two words in any order, unless there is a
 * write barrier between. A full barrier waits for them. So does the lock that
 * guards them, which is had only once the last owner's stores are in memory;
 * what is done with it held is one step. All else is sequentially consistent.
 *
 * Blind to: reordered loads; stores to the driver's wish and to last_used_idx
 * that others see late; wrapping indices, so that "off" is an index that never
 * comes; more than one queue; event_shared being set and cleared, with its
 * grace period; a NAPI poll that begins while the last one still looks at the
 * ring; callbacks for ever (there is no search for livelocks).
 *
 * A mutant, a macro that is defined, puts one fault in. tests/model/run.sh has
 * the list, and spin refutes each. It also has variations that are none.
 */

#ifndef BUFFERS
#define BUFFERS 2		/* that the device uses in all */
#endif
#ifndef WINDOWS
#define WINDOWS 1
#endif

#define OFF	99		/* an index far behind */

#define POLLER	0
#define IRQ	1
#define BUSY	2
#define PARTIES	3

#ifdef SPLIT_EVENT
#define HAS_INDEX
#endif
#ifdef SPLIT_FLAGS
#define HAS_FLAGS
#endif
#ifdef PACKED
#define HAS_INDEX
#define HAS_FLAGS
#endif

/* memory */
byte used;			/* the used index */
byte taken;			/* last_used_idx */
bool wish = true;		/* the driver wants events */
bool polled;			/* vq->polled */
bool broken;			/* vq->broken */
bool event_triggered;
byte cb_pending;
#ifdef HAS_INDEX
byte told_index;		/* used_event, or off_wrap */
#endif
#ifdef HAS_FLAGS
bool told_flags = true;		/* events are not disabled */
#endif

bool ring_busy;			/* the driver's own lock */
bool raised;			/* the interrupt is pending */
byte in_callback;

#ifdef NAPI
bool sched, missed, runnable;
#endif

/* --- store buffers ------------------------------------------------------ */

#ifdef HAS_INDEX
bool has_index[PARTIES];
byte new_index[PARTIES];
#define put_index(i) \
	told_index = new_index[i]; has_index[i] = false; new_index[i] = 0
#endif
#ifdef HAS_FLAGS
bool has_flags[PARTIES], new_flags[PARTIES];
#define put_flags(i) \
	told_flags = new_flags[i]; has_flags[i] = false; new_flags[i] = false
#endif
#ifdef PACKED
bool has_wmb[PARTIES];		/* flags wait for the index */
#define may_put_flags(i)	(has_flags[i] && !(has_wmb[i] && has_index[i]))
#elif defined(HAS_FLAGS)
#define may_put_flags(i)	has_flags[i]
#endif

#if defined(PACKED)
#define waits(i)	(has_index[i] || has_flags[i])
#elif defined(HAS_INDEX)
#define waits(i)	has_index[i]
#else
#define waits(i)	has_flags[i]
#endif

/* In atomic, as all that follows up to the driver */
inline flush(me)
{
#ifdef HAS_INDEX
	if
	:: has_index[me] -> put_index(me)
	:: else
	fi;
#endif
#ifdef HAS_FLAGS
	if
	:: has_flags[me] -> put_flags(me)
	:: else
	fi;
#endif
#ifdef PACKED
	has_wmb[me] = false
#endif
}

inline mb(cpu) { atomic { flush(cpu) } }

/* A word that is stored twice is stored in this order */
inline tell_index(who, index)
{
#ifdef HAS_INDEX
	if
	:: has_index[who] -> put_index(who)
	:: else
	fi;
	new_index[who] = index;
	has_index[who] = true
#else
	skip
#endif
}

inline tell_flags(whom, value)
{
#ifdef HAS_FLAGS
	if
	:: has_flags[whom] -> flush(whom)
	:: else
	fi;
	new_flags[whom] = value;
	has_flags[whom] = true
#else
	skip
#endif
}

/* Offset, write barrier, flags */
inline tell_on(p, at)
{
#if defined(PACKED) && defined(FLAGS_ONLY)
	tell_flags(p, true)
#elif defined(PACKED) && defined(FLAGS_FIRST)
	tell_flags(p, true);
	tell_index(p, at)
#else
	tell_index(p, at);
#if defined(PACKED) && !defined(NO_WMB)
	has_wmb[p] = has_index[p];
#endif
	tell_flags(p, true)
#endif
}

inline tell_off(q)
{
#ifdef HAS_FLAGS
	tell_flags(q, false)
#else
	tell_index(q, OFF)
#endif
}

/* event_lock: the last owner's stores are in memory */
#define settled	(!waits(POLLER) && !waits(IRQ) && !waits(BUSY))

#ifdef NO_LOCK
#define section
inline event_lock(l) { skip }
#else
#define section atomic
inline event_lock(l) { (waits(l) || settled); flush(l) }
#endif

/* --- the driver, with its own lock held, or in NAPI ----------------------- */

inline disable_cb(me1)
{
	section {
		event_lock(me1);
		if
		:: wish ->
			wish = false;
			if
			:: event_triggered || polled
			:: else -> atomic { tell_off(me1) }
			fi
		:: else
		fi
	}
}

inline get_buf(me2)
{
	taken++;
#ifdef HAS_INDEX
	if
	:: wish ->
		section {
			event_lock(me2);
			if
#ifdef PUBLISHES_POLLED
			:: false
#else
			:: polled
#endif
			:: else -> atomic { tell_index(me2, taken); flush(me2) }
			fi
		}
	:: else
	fi
#endif
}

/* polled, for who enables */
#ifdef ENABLES_POLLED
#define enable_polled	false
#else
#define enable_polled	polled
#endif

inline enable_cb_prepare(me3)
{
	event_triggered = false;
	section {
		event_lock(me3);
#ifdef SPLIT_EVENT
		wish = true;
		if
		:: enable_polled
		:: else -> atomic { tell_index(me3, taken) }
		fi
#else
		if
		:: enable_polled -> wish = true
		:: else ->
			atomic {
				if
				:: wish -> tell_index(me3, taken)
				:: else -> wish = true; tell_on(me3, taken)
				fi
			}
		fi
#endif
	}
}

/* again: there are buffers that no event will tell of */
inline enable_cb(me4, again)
{
	enable_cb_prepare(me4);
#ifndef NO_DRIVER_BARRIER
	mb(me4);
#endif
	again = (!broken && taken != used)
}

#define bufs	((BUFFERS - taken) * 3 / 4)

/* For an event when most of what is outstanding has been used */
inline enable_cb_delayed(me5, again)
{
	if
	:: broken -> again = false
	:: else ->
		event_triggered = false;
		section {
			event_lock(me5);
			if
			:: polled -> wish = true
			:: else ->
				atomic {
					if
					:: wish -> tell_index(me5, taken + bufs)
					:: else ->
						wish = true;
						tell_on(me5, taken + bufs)
					fi
				}
			fi;
#ifndef NO_DELAYED_BARRIER
			flush(me5)
#endif
		}
		again = (used - taken > bufs)
	fi
}

inline take_all(me6)
{
	do
	:: taken != used && !broken -> get_buf(me6)
	:: taken == used || broken -> break
	od
}

#ifdef NAPI
inline napi_schedule(me7)
{
	atomic {
		flush(me7);
		if
		:: sched -> missed = true
		:: else -> sched = true; go = true
		fi
	}
	if
	:: go ->
		go = false;
		disable_cb(me7);
		mb(me7);
		runnable = true
	:: else
	fi
}

inline callback(me8)
{
	in_callback++;
	assert(in_callback == 1);
	napi_schedule(me8);
	in_callback--
}
#else
inline callback(me8)
{
	atomic {
		in_callback++;
		assert(in_callback == 1)
	}
	atomic { !ring_busy -> ring_busy = true };
	again = true;
	do
	:: again ->
		disable_cb(me8);
		take_all(me8);
		enable_cb(me8, again)
	:: else -> break
	od;
	atomic { ring_busy = false; in_callback-- }
}
#endif

/* An atomic with a value is a full barrier */
inline shared_callback(me9)
{
#ifdef CALLBACK_TWICE
	callback(me9);
#else
	atomic { flush(me9); cb_pending++; pending = cb_pending };
	if
	:: pending > 1
	:: else ->
		do
		:: pending > 0 ->
			callback(me9);
			atomic {
				flush(me9);
#ifdef NO_WORD
				cb_pending = 0;
				pending = 0
#else
				cb_pending = cb_pending - pending;
				pending = cb_pending
#endif
			}
		:: else -> break
		od
	fi;
#endif
	pending = 0
}

/* --- the parties -------------------------------------------------------- */

/* In [old, used), what the device has used since it looked last? */
#define passed(index)	(old <= index && index < used)

/*
 * While the queue is polled, and where event_triggered does not say that there
 * is no need also while the driver does not want events, the device is told to
 * keep quiet
 */
inline quiet()
{
#if defined(SPLIT_FLAGS)
	assert(!((polled || !wish) && settled && told_flags))
#elif defined(HAS_FLAGS)
	assert(!(polled && settled && told_flags))
#else
	assert(!(polled && settled && told_index != OFF))
#endif
}

active proctype device()
{
	byte old;

	do
	:: used < BUFFERS ->
		atomic {
			if
			:: used++
			:: used + 2 <= BUFFERS -> used = used + 2
			fi
		}
		/* full barrier: memory is what it looks at */
		atomic {
			quiet();
			if
#ifdef HAS_FLAGS
			:: !told_flags -> old = used
#endif
			:: else
			fi
		}
#ifdef HAS_INDEX
		/* packed: between the flags and the offset things may change */
		atomic {
			if
			:: passed(told_index) -> raised = true
			:: else
			fi;
			old = used
		}
#else
		atomic {
			if
			:: old != used -> raised = true
			:: else
			fi;
			old = used
		}
#endif
	:: used == BUFFERS -> break
	od
}

active proctype breaker()
{
	if
	:: broken = true
	:: true
	fi
}

active proctype interrupt()
{
	byte pending;
	bool again, go;

end:	do
	:: atomic { raised -> raised = false };
		if
		:: taken != used && !broken ->
#ifdef HAS_INDEX
			event_triggered = true;
#endif
			shared_callback(IRQ)
		:: else
		fi
	od
}

#define poll_pending	(wish && taken != used && !broken)

inline poll_start()
{
	section {
		event_lock(POLLER);
		polled = true;
#ifdef TRIGGERED_DEFEATS_START
		if
		:: event_triggered
		:: else -> atomic { tell_off(POLLER) }
		fi
#else
		atomic { tell_off(POLLER) }
#endif
	}
}

inline poll_stop()
{
	section {
		event_lock(POLLER);
#ifndef STAYS_POLLED
		polled = false;
#endif
#ifdef FORGETS_WISH
		skip
#else
#ifdef FORCES_ON
		if
		:: true ->
#else
		if
		:: wish ->
#endif
			atomic { tell_on(POLLER, taken) };
#ifndef TRIGGERED_STAYS
			event_triggered = false
#endif
#ifndef FORCES_ON
		:: else
#endif
		fi
#endif
	}
#ifndef NO_BARRIER
	mb(POLLER)
#endif
}

active proctype poller()
{
	byte pending, window;
	bool again, go;

	do
	:: window < WINDOWS && !broken && wish && taken < BUFFERS ->
		window++;
		poll_start();
		do
		:: poll_pending && cb_pending == 0 -> shared_callback(POLLER)
		:: break
		od;
		poll_stop();
#ifndef NO_SECOND_LOOK
		if
#ifdef STOP_LEAVES_NO_WORD
		:: poll_pending && cb_pending == 0 -> shared_callback(POLLER)
#else
		:: poll_pending -> shared_callback(POLLER)
#endif
		:: else
		fi
#endif
	:: break
	od
}

#ifdef NAPI
active proctype napi()
{
	byte last;
	bool again, go;

end:	do
	:: atomic { runnable -> runnable = false };
		take_all(BUSY);
		enable_cb_prepare(BUSY);
		last = taken;
		/* napi_complete_done() */
		atomic {
			flush(BUSY);
			if
			:: missed -> missed = false; runnable = true
			:: else -> sched = false; again = true
			fi
		}
		if
#ifdef NAPI_NO_SECOND_LOOK
		:: again
#else
		:: again && last != used && !broken -> napi_schedule(BUSY)
		:: again && (last == used || broken)
#endif
		:: !again -> disable_cb(BUSY)
		fi;
		atomic { again = false; last = 0 }
	od
}
#else
active proctype busy()
{
	bool again = true;

	atomic { !ring_busy -> ring_busy = true };
	disable_cb(BUSY);
	ring_busy = false;
	do
	:: again ->
		atomic { !ring_busy -> ring_busy = true };
		do
		:: taken != used && !broken -> get_buf(BUSY)
		:: break
		od;
		if
		:: true -> enable_cb(BUSY, again)
		:: true -> enable_cb_delayed(BUSY, again)
		fi;
		ring_busy = false
	:: else -> break
	od
}
#endif

/* Store buffers drain at any time */
active proctype memory()
{
	byte i;

end:	do
#ifdef HAS_INDEX
	:: atomic { has_index[POLLER] -> put_index(POLLER) }
	:: atomic { has_index[IRQ] -> put_index(IRQ) }
	:: atomic { has_index[BUSY] -> put_index(BUSY) }
#endif
#ifdef HAS_FLAGS
	:: atomic { may_put_flags(POLLER) -> put_flags(POLLER) }
	:: atomic { may_put_flags(IRQ) -> put_flags(IRQ) }
	:: atomic { may_put_flags(BUSY) -> put_flags(BUSY) }
#endif
	od
}

#ifdef HAS_FLAGS
#define flags_on	told_flags
#else
#define flags_on	true
#endif
#ifdef HAS_INDEX
#define next_index	(told_index == taken)
#else
#define next_index	true
#endif

/*
 * When all have come to rest, every buffer has been taken, and the device will
 * send an event for the next one
 */
active proctype judge()
{
	timeout ->
		assert(!polled);
		assert(broken || (taken == BUFFERS && wish &&
				  flags_on && next_index))
}
