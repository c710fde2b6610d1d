/*
 * Event suppression between a driver, its poll source and a device: no event is
 * lost, no callback runs beside itself.
 *
 * The parties, by the functions that they mirror:
 *   device     uses a buffer, has a full barrier, looks at what it is told
 *   interrupt  vring_interrupt(), on a CPU of its own, when the device raises it
 *   poller     the idle loop: vring_poll_start(), _check(), _run(), _stop()
 *   busy       a driver that works on the ring from yet another CPU, as NAPI
 *              busy polling does: virtqueue_disable_cb(), virtqueue_get_buf(),
 *              virtqueue_enable_cb()
 * The callback is vring_shared_callback() with a driver's loop in it.
 *
 * Flavours: FLAGS (split without EVENT_IDX, packed), else EVENT_IDX (split; of
 * the packed ring with EVENT_IDX the offset, whose flags are as FLAGS).
 *
 * Memory: stores to what the device is told, and the release of the lock that
 * guards them, wait in a store buffer of their CPU, and reach memory in order,
 * at any later time; a full barrier waits for them. All else is sequentially
 * consistent.
 *
 * A mutant, a macro that is defined, puts one fault in. tests/model/run.sh has
 * the list, and spin refutes each.
 */

#ifndef BUFFERS
#define BUFFERS 3		/* that the device uses in all */
#endif
#ifndef WINDOWS
#define WINDOWS 2
#endif

#define OFF	99		/* EVENT_IDX: an index far behind */

#define POLLER	1
#define IRQ	2
#define BUSY	3

/* memory */
byte used;			/* the used index */
byte taken;			/* last_used_idx */
bool wish = true;		/* the driver wants events */
bool polled;			/* vq->polled */
#ifdef FLAGS
byte told = 1;
#else
byte told;			/* the event index */
#endif

/* locks and counts */
byte owner;			/* of event_lock, 0 if free */
byte ring_owner;		/* of the driver's own lock */
byte cb_pending;
byte in_callback;
bool raised;			/* the interrupt is pending */

/* store buffers */
bool has_told[4], has_unlock[4];
byte new_told[4];

inline flush(me)
{
	atomic {
		if
		:: has_told[me] -> told = new_told[me]; has_told[me] = false
		:: else
		fi;
		if
		:: has_unlock[me] -> owner = 0; has_unlock[me] = false
		:: else
		fi
	}
}

inline mb(me) { flush(me) }

inline event_lock(me)
{
	flush(me);
#ifndef NO_LOCK
	atomic { owner == 0 -> owner = me }
#endif
}

inline event_unlock(me)
{
#ifndef NO_LOCK
	has_unlock[me] = true
#else
	skip
#endif
}

inline tell(me, value)
{
	atomic {
		if
		:: has_told[me] -> told = new_told[me]
		:: else
		fi;
		new_told[me] = value;
		has_told[me] = true
	}
}

#ifdef FLAGS
#define TELL_ON(me)	tell(me, 1)
#define TELL_OFF(me)	tell(me, 0)
#define TELL_NEXT(me)	skip
#define asked(index)	(told == 1)
#else
#define TELL_ON(me)	tell(me, taken)
#define TELL_OFF(me)	tell(me, OFF)
#define TELL_NEXT(me)	tell(me, taken); mb(me)
#define asked(index)	(told == index)
#endif

/* --- the driver, with its own lock held ------------------------------------ */

inline disable_cb(me)
{
	event_lock(me);
	if
	:: wish ->
		wish = false;
		if
		:: polled -> skip
		:: else -> TELL_OFF(me)
		fi
	:: else
	fi;
	event_unlock(me)
}

inline get_buf(me)
{
	taken++;
	if
	:: wish ->
		event_lock(me);
		if
		:: polled -> skip
		:: else -> TELL_NEXT(me)
		fi;
		event_unlock(me)
	:: else
	fi
}

/* again: there are buffers that no event will tell of */
inline enable_cb(me, again)
{
	event_lock(me);
	wish = true;
	if
	:: polled -> skip
	:: else -> TELL_ON(me)
	fi;
	event_unlock(me);
#ifndef NO_DRIVER_BARRIER
	mb(me);
#endif
	again = (taken != used)
}

inline callback(me, again)
{
	in_callback++;
	assert(in_callback == 1);
	atomic { ring_owner == 0 -> ring_owner = me };
	again = true;
	do
	:: again ->
		disable_cb(me);
		do
		:: taken != used -> get_buf(me)
		:: else -> break
		od;
		enable_cb(me, again)
	:: else -> break
	od;
	ring_owner = 0;
	in_callback--
}

/* An atomic with a value is a full barrier */
inline shared_callback(me, pending, again)
{
	mb(me);
#ifdef CALLBACK_TWICE
	callback(me, again);
#else
	atomic { cb_pending++; pending = cb_pending };
	if
	:: pending > 1 -> skip
	:: else ->
		do
		:: pending > 0 ->
			callback(me, again);
			mb(me);
#ifdef NO_WORD
			cb_pending = 0; pending = 0
#else
			atomic {
				cb_pending = cb_pending - pending;
				pending = cb_pending
			}
#endif
		:: else -> break
		od
	fi
#endif
}

/* --- the parties ----------------------------------------------------------- */

active proctype device()
{
	byte i, old;

	for (i : 1 .. BUFFERS) {
		old = used;
		used++;
		/* full barrier: memory is what it looks at */
		if
		:: asked(old) -> raised = true
		:: else
		fi
	}
}

active proctype interrupt()
{
	byte pending;
	bool again;

end:	do
	:: atomic { raised -> raised = false };
		if
		:: taken != used -> shared_callback(IRQ, pending, again)
		:: else
		fi
	od
}

active proctype poller()
{
	byte pending, window;
	bool again, raced, done;

	for (window : 1 .. WINDOWS) {
		/* vring_poll_start() */
		if
		:: wish && taken < BUFFERS ->
			event_lock(POLLER);
			polled = true;
			TELL_OFF(POLLER);
			event_unlock(POLLER);

			done = false;
			do
			:: !done && wish && taken != used && cb_pending == 0 ->
				shared_callback(POLLER, pending, again)
			:: done = true; break
			od;

			/* vring_poll_stop() */
			event_lock(POLLER);
#ifndef STAYS_POLLED
			polled = false;
#endif
			if
#ifdef FORGETS_WISH
			:: false -> skip
#else
			:: wish -> TELL_ON(POLLER)
#endif
			:: else
			fi;
			event_unlock(POLLER);
#ifndef NO_BARRIER
			mb(POLLER);
#endif
#ifndef NO_SECOND_LOOK
			raced = (wish && taken != used);
			if
			:: raced -> shared_callback(POLLER, pending, again)
			:: else
			fi
#endif
		:: else
		fi
	}
}

active proctype busy()
{
	bool again = true;

	atomic { ring_owner == 0 -> ring_owner = BUSY };
	disable_cb(BUSY);
	ring_owner = 0;
	do
	:: again ->
		atomic { ring_owner == 0 -> ring_owner = BUSY };
		do
		:: taken != used -> get_buf(BUSY)
		:: break
		od;
		enable_cb(BUSY, again);
		ring_owner = 0
	:: else -> break
	od
}

/* Store buffers drain at any time */
active proctype memory()
{
end:	do
	:: atomic { has_told[POLLER] -> told = new_told[POLLER]; has_told[POLLER] = false }
	:: atomic { has_told[IRQ] -> told = new_told[IRQ]; has_told[IRQ] = false }
	:: atomic { has_told[BUSY] -> told = new_told[BUSY]; has_told[BUSY] = false }
	:: atomic { !has_told[POLLER] && has_unlock[POLLER] -> owner = 0; has_unlock[POLLER] = false }
	:: atomic { !has_told[IRQ] && has_unlock[IRQ] -> owner = 0; has_unlock[IRQ] = false }
	:: atomic { !has_told[BUSY] && has_unlock[BUSY] -> owner = 0; has_unlock[BUSY] = false }
	od
}

/* When all have come to rest, every buffer has been taken */
active proctype judge()
{
	timeout -> assert(taken == BUFFERS && wish && !polled)
}
