// SPDX-License-Identifier: GPL-2.0-only
/*
 * poll_source.c - let drivers take part in the cpuidle polling state
 *
 * Each CPU has two lists of the sources that it owns: those at rest and those
 * that it polls. They change on that CPU with interrupts off only, so that the
 * polling loop, which runs with interrupts off except between its rounds, needs
 * no lock. Other CPUs ask for a change by smp_call_function_single(). It comes
 * as an interrupt between two rounds of the loop, where a source that is added
 * is started and one that is removed is stopped on the spot, or from the idle
 * loop when there is no window; in both cases start and stop pair up, and once
 * the call is over nothing of a removed source runs or will run.
 *
 * While a CPU is offline its lists are changed from where the request comes
 * from: cpu_hotplug_lock keeps the CPU away.
 *
 * tests/model/registration.pml of the poll_source project is a model of this for
 * spin, with the faults that it refutes: change both.
 */

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/cpu.h>
#include <linux/cpuidle.h>
#include <linux/debugfs.h>
#include <linux/hardirq.h>
#include <linux/interrupt.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/percpu.h>
#include <linux/poll_source.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/idle.h>
#include <linux/seq_file.h>
#include <linux/smp.h>
#include <linux/suspend.h>
#include <linux/workqueue.h>

#define CREATE_TRACE_POINTS
#include <trace/events/poll_source.h>

#include "poll_source.h"

/* Sources follow their interrupts no more often than this */
#define POLL_SOURCE_MOVE_MS	10

/**
 * struct poll_source_cpu - the sources that a CPU owns
 * @rest: sources that are not being polled
 * @active: sources between start and stop
 * @polling: the CPU is in a polling window
 * @work_ns: time that handlers have taken in this window, in ns
 *
 * Owned by the CPU with interrupts off, or by the holder of cpu_hotplug_lock
 * while the CPU is offline.
 */
struct poll_source_cpu {
	struct list_head rest;
	struct list_head active;
	bool polling;
	u64 work_ns;
};

static DEFINE_PER_CPU(struct poll_source_cpu, poll_source_cpus);

DEFINE_STATIC_KEY_FALSE(poll_source_key);

/* Guards the list of all sources, and poll_source.cpu against other writers */
static DEFINE_MUTEX(poll_source_mutex);
static LIST_HEAD(poll_sources);

/*
 * Sleeps of the system that are under way, from before it goes to sleep until
 * after it woke up. They may overlap: hibernation from user space has no end
 * until its file is closed. Nothing is polled unless it is 0.
 */
static atomic_t poll_source_sleeps = ATOMIC_INIT(0);

/*
 * Once a second a source whose interrupt has not been seen since sits a window
 * out, so that the interrupt can show to which CPU it goes by now.
 */
static bool poll_source_probe(struct poll_source *src)
{
	unsigned long irqs;
	bool seen;

	if (time_before(jiffies, src->next_probe))
		return false;

	irqs = READ_ONCE(src->irqs);
	seen = irqs != src->probe_irqs;
	src->probe_irqs = irqs;
	src->next_probe = jiffies + HZ;

	return !seen;
}

static void poll_source_start(struct poll_source_cpu *pc,
			      struct poll_source *src)
{
	if (poll_source_probe(src) || !src->ops->start(src))
		return;

	src->active = true;
	WRITE_ONCE(src->windows, src->windows + 1);
	list_move_tail(&src->node, &pc->active);
	trace_poll_source_start(src);
}

/*
 * The driver's work, in the context of the interrupt that it replaces. Softirqs
 * run at the end, with interrupts on: @src may be gone on return, and the lists
 * may have changed. All that is on the idle task's stack, which has as much room
 * left as an interrupt stack.
 */
static void poll_source_run(struct poll_source_cpu *pc,
			    struct poll_source *src)
{
	u64 before = pc->work_ns;
	u64 start = local_clock();

	irq_enter();
	lockdep_hardirq_threaded();
	src->ops->poll(src);
	irq_exit();

	/* A removal that came in between may have run a handler in this one */
	pc->work_ns = before + local_clock() - start;
}

static void poll_source_stop(struct poll_source_cpu *pc,
			     struct poll_source *src)
{
	bool raced;

	src->active = false;
	list_move_tail(&src->node, &pc->rest);

	raced = src->ops->stop(src);
	trace_poll_source_stop(src, raced);
	if (raced) {
		WRITE_ONCE(src->raced, src->raced + 1);
		poll_source_run(pc, src);
	}
}

/* One look at each source. At most one handler runs, and ends the round. */
static void poll_source_round(struct poll_source_cpu *pc)
{
	struct poll_source *src;

	list_for_each_entry(src, &pc->active, node) {
		if (!src->ops->check(src))
			continue;

		/* To the tail, so that the others are looked at first next time */
		list_move_tail(&src->node, &pc->active);
		WRITE_ONCE(src->hits, src->hits + 1);
		trace_poll_source_hit(src);
		poll_source_run(pc, src);
		return;
	}
}

/* Returns true if @limit ns have passed since @time_start */
static bool poll_source_loop(struct poll_source_cpu *pc, u64 time_start,
			     u64 limit)
{
	bool timed_out = false;

	while (!need_resched() && !timed_out) {
		poll_source_round(pc);

		local_irq_enable();
		cpu_relax();
		/*
		 * Reading the clock here gives interrupts that are pending the
		 * time to be taken before they are off again.
		 */
		timed_out = local_clock() - time_start > limit;
		local_irq_disable();
	}

	return timed_out;
}

static bool poll_source_window(struct cpuidle_driver *drv,
			       struct cpuidle_device *dev, u64 time_start)
{
	struct poll_source_cpu *pc = this_cpu_ptr(&poll_source_cpus);
	struct poll_source *src, *next;

	/*
	 * Pairs with poll_source_pm_notify(): with synchronize_rcu() on the way
	 * to sleep, and on the way back with the barrier, so that handlers find
	 * their devices resumed.
	 */
	if (atomic_read_acquire(&poll_source_sleeps))
		return false;

	pc->polling = true;
	pc->work_ns = 0;
	list_for_each_entry_safe(src, next, &pc->rest, node)
		poll_source_start(pc, src);

	if (list_empty(&pc->active)) {
		pc->polling = false;
		return false;
	}

	/* From here on a waker only sets TIF_NEED_RESCHED, and sends no IPI */
	if (!current_set_polling_and_test() &&
	    poll_source_loop(pc, time_start, cpuidle_poll_time(drv, dev)))
		dev->poll_time_limit = true;

	/*
	 * A handler's softirqs let interrupts in, and with them the calls that
	 * add and remove sources: begin at the head each time.
	 */
	while (!list_empty(&pc->active))
		poll_source_stop(pc, list_first_entry(&pc->active,
						      struct poll_source,
						      node));
	pc->polling = false;
	dev->poll_work_ns = pc->work_ns;

	current_clr_polling();

	return true;
}

bool __cpuidle __poll_source_idle(struct cpuidle_driver *drv,
				  struct cpuidle_device *dev, u64 time_start)
{
	const struct list_head *rest = &raw_cpu_ptr(&poll_source_cpus)->rest;
	bool polled;

	/* list_empty(), which is not for noinstr code */
	if (READ_ONCE(rest->next) == rest)
		return false;

	/*
	 * RCU watches for as long as there are sources to poll: their
	 * operations may be traced and may use RCU, and removing a source needs
	 * no thought about it. The window is short, and the CPU is in an
	 * extended quiescent state again after it.
	 */
	ct_cpuidle_exit();
	polled = poll_source_window(drv, dev, time_start);
	ct_cpuidle_enter();

	return polled;
}

struct poll_source_change {
	struct poll_source *src;
	int cpu;
};

/* On the CPU in question with interrupts off, or for it while it is offline */
static void poll_source_add_local(void *info)
{
	struct poll_source_change *change = info;
	struct poll_source *src = change->src;
	struct poll_source_cpu *pc = per_cpu_ptr(&poll_source_cpus, change->cpu);

	WRITE_ONCE(src->cpu, change->cpu);
	list_add_tail(&src->node, &pc->rest);
	if (pc->polling)
		poll_source_start(pc, src);
}

/* On the CPU in question with interrupts off, or for it while it is offline */
static void poll_source_del_local(void *info)
{
	struct poll_source_change *change = info;
	struct poll_source *src = change->src;
	struct poll_source_cpu *pc = per_cpu_ptr(&poll_source_cpus, change->cpu);

	/* Only in a window, so this is an interrupt, and softirqs run later */
	if (src->active)
		poll_source_stop(pc, src);

	list_del(&src->node);
	WRITE_ONCE(src->cpu, POLL_SOURCE_NO_CPU);
}

static void poll_source_call(struct poll_source *src, int cpu,
			     smp_call_func_t func)
{
	struct poll_source_change change = { .src = src, .cpu = cpu };

	lockdep_assert_cpus_held();
	lockdep_assert_held(&poll_source_mutex);

	/* Fails on a CPU that is offline, and only there */
	if (smp_call_function_single(cpu, func, &change, true))
		func(&change);
}

static void poll_source_set_cpu(struct poll_source *src, int cpu)
{
	if (src->cpu == cpu)
		return;

	if (src->cpu != POLL_SOURCE_NO_CPU)
		poll_source_call(src, src->cpu, poll_source_del_local);

	if (cpu != POLL_SOURCE_NO_CPU)
		poll_source_call(src, cpu, poll_source_add_local);
}

/* Let each source follow its interrupt */
static void poll_source_move_work(struct work_struct *work)
{
	struct poll_source *src;
	int cpu;

	cpus_read_lock();
	mutex_lock(&poll_source_mutex);
	list_for_each_entry(src, &poll_sources, all) {
		/* Once: it may change at any time, and both ends go by it */
		cpu = READ_ONCE(src->claimed_cpu);
		if (cpu != POLL_SOURCE_NO_CPU)
			poll_source_set_cpu(src, cpu);
	}
	mutex_unlock(&poll_source_mutex);
	cpus_read_unlock();
}

static DECLARE_DELAYED_WORK(poll_source_mover, poll_source_move_work);

static bool poll_source_registered(const struct poll_source *src)
{
	const struct poll_source *pos;

	list_for_each_entry(pos, &poll_sources, all)
		if (pos == src)
			return true;

	return false;
}

static bool poll_source_cpu_valid(int cpu)
{
	return cpu == POLL_SOURCE_NO_CPU ||
	       (cpu >= 0 && cpu < nr_cpu_ids && cpu_possible(cpu));
}

/**
 * poll_source_register - have a source polled when its CPU polls before halting
 * @src: the source; @ops, @name and @cpu are set, all else is initialised here
 *
 * With @cpu POLL_SOURCE_NO_CPU nothing is polled until poll_source_claim() or
 * poll_source_move() has said which CPU owns the source. The operations may be
 * called before this function returns.
 *
 * Context: May sleep. Not from an operation of a source.
 *
 * Return: 0, or
 * * -EINVAL if an operation or the name is missing or @cpu is no possible CPU;
 * * -EBUSY if @src is registered already;
 * * -EOPNOTSUPP if interrupt handlers are threaded (threadirqs): they expect
 *   to run in a thread, which the idle loop can not stand in for.
 */
int poll_source_register(struct poll_source *src)
{
	int cpu = src->cpu;
	int ret = 0;

	might_sleep();

	if (!src->ops || !src->ops->start || !src->ops->check ||
	    !src->ops->poll || !src->ops->stop || !src->name ||
	    !poll_source_cpu_valid(cpu))
		return -EINVAL;

	if (force_irqthreads())
		return -EOPNOTSUPP;

	cpus_read_lock();
	mutex_lock(&poll_source_mutex);
	if (poll_source_registered(src)) {
		ret = -EBUSY;
		goto out_unlock;
	}

	src->cpu = POLL_SOURCE_NO_CPU;
	WRITE_ONCE(src->claimed_cpu, cpu);
	src->active = false;
	src->windows = 0;
	src->hits = 0;
	src->raced = 0;
	WRITE_ONCE(src->irqs, 0);
	src->probe_irqs = 0;
	src->next_probe = jiffies + HZ;
	list_add_tail(&src->all, &poll_sources);
	static_branch_inc_cpuslocked(&poll_source_key);
	poll_source_set_cpu(src, cpu);

out_unlock:
	mutex_unlock(&poll_source_mutex);
	cpus_read_unlock();

	return ret;
}
EXPORT_SYMBOL_GPL(poll_source_register);

/**
 * poll_source_unregister - have a source polled no longer
 * @src: the source
 *
 * When this function returns, the source's event is on, no operation runs or
 * will run, and what came while the event was off has been handled. An interrupt
 * handler may still be in poll_source_claim(): @src has to stay until it is not.
 *
 * Context: May sleep. Not from an operation of a source.
 *
 * Return: 0, or -ENOENT if @src is not registered.
 */
int poll_source_unregister(struct poll_source *src)
{
	int ret = 0;

	might_sleep();

	cpus_read_lock();
	mutex_lock(&poll_source_mutex);
	if (!poll_source_registered(src)) {
		ret = -ENOENT;
		goto out_unlock;
	}

	list_del(&src->all);
	poll_source_set_cpu(src, POLL_SOURCE_NO_CPU);
	static_branch_dec_cpuslocked(&poll_source_key);

out_unlock:
	mutex_unlock(&poll_source_mutex);
	cpus_read_unlock();

	return ret;
}
EXPORT_SYMBOL_GPL(poll_source_unregister);

/**
 * poll_source_move - let another CPU own a source
 * @src: the source
 * @cpu: the new owner, or POLL_SOURCE_NO_CPU for none. A CPU that is offline
 *	polls the source once it is back.
 *
 * A driver whose interrupt handler calls poll_source_claim() has no need of
 * this.
 *
 * Context: May sleep. Not from an operation of a source.
 *
 * Return: 0, or
 * * -EINVAL if @cpu is no possible CPU;
 * * -ENOENT if @src is not registered.
 */
int poll_source_move(struct poll_source *src, int cpu)
{
	int ret = 0;

	might_sleep();

	if (!poll_source_cpu_valid(cpu))
		return -EINVAL;

	cpus_read_lock();
	mutex_lock(&poll_source_mutex);
	if (poll_source_registered(src)) {
		WRITE_ONCE(src->claimed_cpu, cpu);
		poll_source_set_cpu(src, cpu);
	} else {
		ret = -ENOENT;
	}
	mutex_unlock(&poll_source_mutex);
	cpus_read_unlock();

	return ret;
}
EXPORT_SYMBOL_GPL(poll_source_move);

/**
 * poll_source_claim - say that a source's interrupt has arrived on this CPU
 * @src: the source; nothing is done for one that is not registered any more
 *
 * For the interrupt handler to call. If another CPU owns the source, or none,
 * this one will before long. So a source follows its interrupt wherever
 * affinity masks, CPU hotplug and the interrupt controller send it.
 *
 * Context: Hard interrupt context, one call for @src at a time.
 */
void poll_source_claim(struct poll_source *src)
{
	int cpu = smp_processor_id();

	WRITE_ONCE(src->irqs, READ_ONCE(src->irqs) + 1);

	if (likely(READ_ONCE(src->cpu) == cpu))
		return;

	WRITE_ONCE(src->claimed_cpu, cpu);
	schedule_delayed_work(&poll_source_mover,
			      msecs_to_jiffies(POLL_SOURCE_MOVE_MS));
}
EXPORT_SYMBOL_GPL(poll_source_claim);

/*
 * A driver that leaves its device running over a system sleep counts on its
 * interrupt handler not to run once device interrupts are suspended, and the
 * idle loop knows nothing of that. So nothing is polled from the very beginning
 * until all is over.
 */
static int poll_source_pm_notify(struct notifier_block *nb,
				 unsigned long event, void *unused)
{
	switch (event) {
	case PM_SUSPEND_PREPARE:
	case PM_HIBERNATION_PREPARE:
	case PM_RESTORE_PREPARE:
		atomic_inc(&poll_source_sleeps);
		/*
		 * For windows that are open to end: RCU watches them, and the
		 * idle loop runs with preemption off.
		 */
		synchronize_rcu();
		break;
	case PM_POST_SUSPEND:
	case PM_POST_HIBERNATION:
	case PM_POST_RESTORE:
		/* Pairs with atomic_read_acquire() in poll_source_window() */
		smp_mb__before_atomic();
		atomic_dec(&poll_source_sleeps);
		break;
	}

	return NOTIFY_OK;
}

static struct notifier_block poll_source_pm_nb = {
	.notifier_call = poll_source_pm_notify,
};

static int poll_source_show(struct seq_file *m, void *unused)
{
	struct poll_source *src;

	seq_puts(m, "name cpu windows hits raced irqs\n");

	mutex_lock(&poll_source_mutex);
	list_for_each_entry(src, &poll_sources, all)
		seq_printf(m, "%s %d %lu %lu %lu %lu\n", src->name, src->cpu,
			   READ_ONCE(src->windows), READ_ONCE(src->hits),
			   READ_ONCE(src->raced), READ_ONCE(src->irqs));
	mutex_unlock(&poll_source_mutex);

	return 0;
}
DEFINE_SHOW_ATTRIBUTE(poll_source);

static int __init poll_source_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct poll_source_cpu *pc = per_cpu_ptr(&poll_source_cpus, cpu);

		INIT_LIST_HEAD(&pc->rest);
		INIT_LIST_HEAD(&pc->active);
	}

	debugfs_create_file("poll_source", 0444, NULL, NULL, &poll_source_fops);

	return register_pm_notifier(&poll_source_pm_nb);
}
core_initcall(poll_source_init);
