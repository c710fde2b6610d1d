/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * poll_source - let drivers take part in the cpuidle polling state
 *
 * Before it halts, an idle CPU may spin for a while in the polling idle state.
 * An interrupt is waste in that time: the CPU can look at the device's queue
 * itself. A poll source is an event queue whose interrupt is off while its CPU
 * polls and on again before that CPU halts. See
 * Documentation/driver-api/poll-source.rst.
 */
#ifndef _LINUX_POLL_SOURCE_H
#define _LINUX_POLL_SOURCE_H

#include <linux/compiler_attributes.h>
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/types.h>

struct poll_source;

/* poll_source.cpu of a source whose interrupt has not been seen yet */
#define POLL_SOURCE_NO_CPU	(-1)

/**
 * struct poll_source_ops - what a driver does for its poll source
 *
 * All operations are called on the CPU that owns the source, with interrupts
 * off and RCU watching, so that none runs beside another or beside the source's
 * interrupt handler on that CPU. The interrupt may still arrive on another CPU,
 * because it was on its way or because its affinity has just changed: a handler
 * that must not run twice at once has to see to that. None may sleep, and none
 * may register, move or unregister a source.
 *
 * All four are mandatory.
 */
struct poll_source_ops {
	/**
	 * @start: Turn the source's event off for a polling window.
	 *
	 * Called when the CPU begins to poll. Must be cheap: stores to memory,
	 * not to device registers, which cost a VM exit each.
	 *
	 * Returns true if the event is off and the source wants to be polled;
	 * a call of @stop follows. Returns false if nothing is outstanding or
	 * nobody wants to know; the event stays as it was, and no other
	 * operation follows in this window.
	 */
	bool (*start)(struct poll_source *src);

	/**
	 * @check: Is there work?
	 *
	 * Called between @start and @stop, as often as the CPU can. Only reads
	 * memory and takes no lock. A source that says true again and again
	 * without work to do keeps the others from their turn no longer than
	 * one call of @poll each.
	 */
	bool (*check)(struct poll_source *src);

	/**
	 * @poll: Do the work that the interrupt handler would do.
	 *
	 * Called in hard interrupt context, between irq_enter() and
	 * irq_exit(): its time is accounted as interrupt time, and softirqs
	 * that it raises run when it returns. Must not wait, and should take no
	 * longer than the interrupt handler may.
	 */
	void (*poll)(struct poll_source *src);

	/**
	 * @stop: Turn the event on again, then look once more.
	 *
	 * Called when the CPU stops polling, be it to run a task, because time
	 * is up or because the source is taken away; once for each @start that
	 * returned true.
	 *
	 * Returns true if there is work whose event may have been lost because
	 * it came before the event was on: @poll is called for it. Needs a full
	 * barrier between turning on and looking.
	 */
	bool (*stop)(struct poll_source *src);
};

/**
 * struct poll_source - an event queue that can be polled by an idle CPU
 * @ops: the driver's operations
 * @name: what to call it in tracepoints and in debugfs; has to stay until the
 *	source is unregistered
 * @cpu: the CPU that owns the source, or POLL_SOURCE_NO_CPU. Set by the driver
 *	before registration, by the core after: not to be written to while the
 *	source is registered.
 * @windows: polling windows that the source took part in
 * @hits: times that @check said true
 * @raced: times that @stop said true
 * @irqs: interrupts that poll_source_claim() has been told of
 *
 * The counters are for information; they are read without a lock.
 */
struct poll_source {
	const struct poll_source_ops *ops;
	const char *name;
	int cpu;
	unsigned long windows;
	unsigned long hits;
	unsigned long raced;
	unsigned long irqs;

	/* private: */
	struct list_head node;		/* on a list of struct poll_source_cpu */
	struct list_head all;		/* on the list of all sources */
	bool active;			/* between start and stop */
	int claimed_cpu;		/* where its interrupt was seen last */
	unsigned long probe_irqs;	/* irqs at the last probe */
	unsigned long next_probe;	/* in jiffies */
};

#ifdef CONFIG_POLL_SOURCE
int __must_check poll_source_register(struct poll_source *src);
int poll_source_unregister(struct poll_source *src);
int poll_source_move(struct poll_source *src, int cpu);
void poll_source_claim(struct poll_source *src);
#else
static inline int __must_check poll_source_register(struct poll_source *src)
{
	return -EOPNOTSUPP;
}

static inline int poll_source_unregister(struct poll_source *src)
{
	return -ENOENT;
}

static inline int poll_source_move(struct poll_source *src, int cpu)
{
	return -ENOENT;
}

static inline void poll_source_claim(struct poll_source *src)
{
}
#endif

#endif /* _LINUX_POLL_SOURCE_H */
