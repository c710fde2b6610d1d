// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of poll sources, in the real idle loop.
 *
 * The sources are made up. Their device is an hrtimer: it raises the source's
 * event by running the handler, as an interrupt would, if the event is on, and
 * leaves it in memory if the event is off. An event that is still there when the
 * next window begins is one that got lost.
 *
 * They want a CPU that polls before it halts, as with cpuidle_haltpoll.force=1,
 * and are skipped without. On a busy machine sleeps grow beyond the time that
 * the haltpoll governor polls: a higher haltpoll.guest_halt_poll_ns helps.
 */

#include <kunit/resource.h>
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/cpuidle.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/kernel_stat.h>
#include <linux/kthread.h>
#include <linux/poll_source.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/smp.h>
#include <linux/sort.h>
#include <linux/tick.h>

#define EVENTS		200
#define TIMEOUT		(10 * HZ)

/*
 * When an event comes, after it was asked for: early enough for the default
 * limit of the haltpoll governor, 200 us, and late enough for the CPU to be idle
 * by then, which takes a kernel with many checks far longer than another.
 */
static u64 event_ns;

struct fake {
	struct poll_source src;
	struct hrtimer timer;
	struct completion done;

	bool live;		/* may the core call operations? */
	bool outstanding;	/* what start answers */
	bool late;		/* an event comes just before each stop */
	bool greedy;		/* check always says true */
	bool claims;		/* the handler tells where it runs */
	bool suppressed;	/* the event is off */
	bool pending;		/* an event is there that no interrupt told of */

	int cpu;		/* where operations are expected, or -1 */
	unsigned int asked;	/* windows that it was asked to take part in */
	unsigned int starts;
	unsigned int stops;
	unsigned int polls;
	unsigned int interrupts;
	unsigned int faults;	/* calls against the contract */

	u64 burn_ns;		/* how long the handler takes */
	u64 burnt_ns;
	struct after_wake *after;
};

/* What ran on a CPU while it had a task to run, in one window */
struct after_wake {
	unsigned int checks;
	unsigned int polls;
	unsigned int max_checks;
	unsigned int max_polls;
};

static struct fake *to_fake(struct poll_source *src)
{
	return container_of(src, struct fake, src);
}

static void fake_expect(struct fake *fake, bool condition)
{
	if (!condition)
		fake->faults++;
}

static void fake_context(struct fake *fake)
{
	fake_expect(fake, READ_ONCE(fake->live));
	fake_expect(fake, irqs_disabled());
	fake_expect(fake, rcu_is_watching());
	fake_expect(fake, READ_ONCE(fake->src.cpu) == smp_processor_id());
	fake_expect(fake, fake->cpu < 0 || fake->cpu == smp_processor_id());
}

static bool fake_start(struct poll_source *src)
{
	struct fake *fake = to_fake(src);

	fake_context(fake);
	fake_expect(fake, !fake->suppressed);
	fake_expect(fake, !fake->pending);

	fake->asked++;
	if (!READ_ONCE(fake->outstanding))
		return false;

	fake->starts++;
	WRITE_ONCE(fake->suppressed, true);
	if (fake->after) {
		fake->after->checks = 0;
		fake->after->polls = 0;
	}
	return true;
}

static void fake_count_after_wake(unsigned int *count, unsigned int *most)
{
	if (need_resched())
		*most = max(*most, ++*count);
}

static bool fake_check(struct poll_source *src)
{
	struct fake *fake = to_fake(src);

	fake_context(fake);
	fake_expect(fake, fake->suppressed);
	if (fake->after)
		fake_count_after_wake(&fake->after->checks,
				      &fake->after->max_checks);

	return fake->greedy || READ_ONCE(fake->pending);
}

static void fake_burn(struct fake *fake)
{
	u64 start = local_clock();

	while (local_clock() - start < fake->burn_ns)
		cpu_relax();
	fake->burnt_ns += local_clock() - start;
}

static void fake_poll(struct poll_source *src)
{
	struct fake *fake = to_fake(src);

	fake_context(fake);
	fake_expect(fake, in_hardirq());
	if (fake->after)
		fake_count_after_wake(&fake->after->polls,
				      &fake->after->max_polls);
	if (fake->burn_ns)
		fake_burn(fake);

	fake->polls++;
	if (fake->pending) {
		WRITE_ONCE(fake->pending, false);
		complete(&fake->done);
	}
}

static bool fake_stop(struct poll_source *src)
{
	struct fake *fake = to_fake(src);

	fake_context(fake);
	fake_expect(fake, fake->suppressed);

	fake->stops++;
	if (fake->late && hrtimer_active(&fake->timer)) {
		hrtimer_try_to_cancel(&fake->timer);
		WRITE_ONCE(fake->pending, true);
	}
	WRITE_ONCE(fake->suppressed, false);
	return READ_ONCE(fake->pending);
}

static const struct poll_source_ops fake_ops = {
	.start	= fake_start,
	.check	= fake_check,
	.poll	= fake_poll,
	.stop	= fake_stop,
};

/* The device has an event. Runs as a hard interrupt. */
static enum hrtimer_restart fake_event(struct hrtimer *timer)
{
	struct fake *fake = container_of(timer, struct fake, timer);

	if (READ_ONCE(fake->suppressed)) {
		WRITE_ONCE(fake->pending, true);
	} else {
		fake->interrupts++;
		if (fake->claims)
			poll_source_claim(&fake->src);
		complete(&fake->done);
	}

	return HRTIMER_NORESTART;
}

static int fake_unregister(struct fake *fake)
{
	int ret = poll_source_unregister(&fake->src);

	WRITE_ONCE(fake->live, false);
	return ret;
}

/* However the test ends */
static void fake_exit(void *data)
{
	struct fake *fake = data;

	fake_unregister(fake);
	hrtimer_cancel(&fake->timer);
}

static struct fake *fake_alloc(struct kunit *test, int cpu)
{
	struct fake *fake = kunit_kzalloc(test, sizeof(*fake), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, fake);

	fake->src.ops = &fake_ops;
	fake->src.name = "kunit";
	fake->src.cpu = cpu;
	fake->cpu = cpu;
	fake->outstanding = true;
	init_completion(&fake->done);
	hrtimer_setup(&fake->timer, fake_event, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED_HARD);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, fake_exit, fake));

	return fake;
}

static int fake_register(struct fake *fake)
{
	int ret;

	WRITE_ONCE(fake->live, true);
	ret = poll_source_register(&fake->src);
	if (ret)
		WRITE_ONCE(fake->live, false);
	return ret;
}

/* One event on this CPU, and sleep until it has been handled */
static bool fake_round(struct fake *fake)
{
	reinit_completion(&fake->done);
	hrtimer_start(&fake->timer, event_ns, HRTIMER_MODE_REL_PINNED_HARD);
	return wait_for_completion_timeout(&fake->done, TIMEOUT);
}

/* A skip would take that back */
static bool fake_failed(struct kunit *test)
{
	return READ_ONCE(test->status) == KUNIT_FAILURE;
}

/* Windows in which the test can show something, or it is skipped */
static void fake_need_windows(struct kunit *test, const struct fake *fake)
{
	if (fake->src.windows < EVENTS / 4 && !fake_failed(test))
		kunit_skip(test, "only %lu windows for %d events: the CPU hardly polls",
			   fake->src.windows, EVENTS);
}

/* How many of EVENTS events were handled */
static unsigned int fake_rounds(struct fake *fake)
{
	unsigned int i;

	for (i = 0; i < EVENTS; i++)
		if (!fake_round(fake))
			break;

	hrtimer_cancel(&fake->timer);
	return i;
}

static void poll_source_test_errors(struct kunit *test)
{
	struct poll_source_ops ops = fake_ops;
	struct fake *fake = fake_alloc(test, 0);

	fake->src.ops = NULL;
	KUNIT_EXPECT_EQ(test, poll_source_register(&fake->src), -EINVAL);
	fake->src.ops = &ops;

	ops.start = NULL;
	KUNIT_EXPECT_EQ(test, poll_source_register(&fake->src), -EINVAL);
	ops = fake_ops;
	ops.check = NULL;
	KUNIT_EXPECT_EQ(test, poll_source_register(&fake->src), -EINVAL);
	ops = fake_ops;
	ops.poll = NULL;
	KUNIT_EXPECT_EQ(test, poll_source_register(&fake->src), -EINVAL);
	ops = fake_ops;
	ops.stop = NULL;
	KUNIT_EXPECT_EQ(test, poll_source_register(&fake->src), -EINVAL);
	fake->src.ops = &fake_ops;

	fake->src.name = NULL;
	KUNIT_EXPECT_EQ(test, poll_source_register(&fake->src), -EINVAL);
	fake->src.name = "kunit";

	fake->src.cpu = nr_cpu_ids;
	KUNIT_EXPECT_EQ(test, poll_source_register(&fake->src), -EINVAL);
	fake->src.cpu = -2;
	KUNIT_EXPECT_EQ(test, poll_source_register(&fake->src), -EINVAL);

	KUNIT_EXPECT_EQ(test, poll_source_unregister(&fake->src), -ENOENT);
	KUNIT_EXPECT_EQ(test, poll_source_move(&fake->src, 0), -ENOENT);

	fake->src.cpu = POLL_SOURCE_NO_CPU;
	fake->live = true;
	KUNIT_ASSERT_EQ(test, poll_source_register(&fake->src), 0);
	KUNIT_EXPECT_EQ(test, poll_source_register(&fake->src), -EBUSY);
	KUNIT_EXPECT_EQ(test, poll_source_move(&fake->src, nr_cpu_ids), -EINVAL);
	KUNIT_EXPECT_EQ(test, poll_source_move(&fake->src, -2), -EINVAL);
	KUNIT_EXPECT_EQ(test, poll_source_unregister(&fake->src), 0);
	KUNIT_EXPECT_EQ(test, poll_source_unregister(&fake->src), -ENOENT);
}

/* Events are found in windows, by operations called as the contract says */
static void poll_source_test_hits(struct kunit *test)
{
	struct fake *fake = fake_alloc(test, raw_smp_processor_id());

	KUNIT_ASSERT_EQ(test, fake_register(fake), 0);
	KUNIT_EXPECT_EQ(test, fake_rounds(fake), EVENTS);
	KUNIT_EXPECT_EQ(test, fake_unregister(fake), 0);

	KUNIT_EXPECT_EQ(test, fake->faults, 0);
	KUNIT_EXPECT_EQ(test, fake->starts, fake->stops);
	KUNIT_EXPECT_FALSE(test, fake->suppressed);
	KUNIT_EXPECT_EQ(test, fake->polls + fake->interrupts, EVENTS);
	KUNIT_EXPECT_EQ(test, fake->src.windows, fake->starts);
	KUNIT_EXPECT_EQ(test, fake->src.hits + fake->src.raced, fake->polls);
	fake_need_windows(test, fake);
	KUNIT_EXPECT_GT(test, fake->src.hits, 0);
}

/* A source that has nothing outstanding is asked that, and nothing more */
static void poll_source_test_nothing_outstanding(struct kunit *test)
{
	struct fake *fake = fake_alloc(test, raw_smp_processor_id());

	fake->outstanding = false;

	KUNIT_ASSERT_EQ(test, fake_register(fake), 0);
	KUNIT_EXPECT_EQ(test, fake_rounds(fake), EVENTS);
	KUNIT_EXPECT_EQ(test, fake_unregister(fake), 0);

	KUNIT_EXPECT_EQ(test, fake->faults, 0);
	KUNIT_EXPECT_EQ(test, fake->interrupts, EVENTS);
	KUNIT_EXPECT_EQ(test, fake->stops + fake->polls, 0);
	KUNIT_EXPECT_EQ(test, fake->src.windows, 0);
}

/* What comes just before the event is on again is handled */
static void poll_source_test_late_arrival(struct kunit *test)
{
	struct fake *fake = fake_alloc(test, raw_smp_processor_id());
	struct fake *waker = fake_alloc(test, raw_smp_processor_id());
	unsigned int i;

	fake->late = true;

	KUNIT_ASSERT_EQ(test, fake_register(fake), 0);
	for (i = 0; i < EVENTS; i++) {
		/* The waker ends the window well before the late event is due */
		reinit_completion(&fake->done);
		hrtimer_start(&fake->timer, NSEC_PER_SEC / 10,
			      HRTIMER_MODE_REL_PINNED_HARD);
		KUNIT_ASSERT_TRUE(test, fake_round(waker));
		if (!wait_for_completion_timeout(&fake->done, TIMEOUT))
			break;
		hrtimer_cancel(&fake->timer);
	}
	KUNIT_EXPECT_EQ(test, i, EVENTS);
	KUNIT_EXPECT_EQ(test, fake_unregister(fake), 0);

	KUNIT_EXPECT_EQ(test, fake->faults, 0);
	KUNIT_EXPECT_EQ(test, fake->starts, fake->stops);
	KUNIT_EXPECT_EQ(test, fake->polls, fake->src.hits + fake->src.raced);
	fake_need_windows(test, fake);
	KUNIT_EXPECT_GT(test, fake->src.raced, 0);
}

/* A source that always has work does not keep the others from theirs */
static void poll_source_test_fairness(struct kunit *test)
{
	struct fake *greedy = fake_alloc(test, raw_smp_processor_id());
	struct fake *fake = fake_alloc(test, raw_smp_processor_id());

	greedy->greedy = true;

	KUNIT_ASSERT_EQ(test, fake_register(greedy), 0);
	KUNIT_ASSERT_EQ(test, fake_register(fake), 0);
	KUNIT_EXPECT_EQ(test, fake_rounds(fake), EVENTS);
	KUNIT_EXPECT_EQ(test, fake_unregister(greedy), 0);
	KUNIT_EXPECT_EQ(test, fake_unregister(fake), 0);

	KUNIT_EXPECT_EQ(test, greedy->faults + fake->faults, 0);
	KUNIT_EXPECT_EQ(test, greedy->starts, greedy->stops);
	KUNIT_EXPECT_EQ(test, fake->starts, fake->stops);
	fake_need_windows(test, fake);
	KUNIT_EXPECT_GT(test, greedy->src.hits, fake->src.hits);
	/* Not only when the window ends, or the greedy one sits it out */
	KUNIT_EXPECT_GT(test, fake->src.hits, fake->src.raced);
}

/* A source that nobody owns is not polled until its interrupt is seen */
static void poll_source_test_claim(struct kunit *test)
{
	struct fake *fake = fake_alloc(test, POLL_SOURCE_NO_CPU);
	unsigned long end = jiffies + TIMEOUT;
	int cpu = raw_smp_processor_id();

	fake->claims = true;

	KUNIT_ASSERT_EQ(test, fake_register(fake), 0);
	KUNIT_EXPECT_EQ(test, fake->src.cpu, POLL_SOURCE_NO_CPU);
	while (READ_ONCE(fake->src.cpu) != cpu && time_before(jiffies, end))
		KUNIT_ASSERT_TRUE(test, fake_round(fake));
	KUNIT_EXPECT_EQ(test, fake->src.cpu, cpu);
	KUNIT_EXPECT_EQ(test, fake_rounds(fake), EVENTS);
	KUNIT_EXPECT_EQ(test, fake_unregister(fake), 0);

	KUNIT_EXPECT_EQ(test, fake->faults, 0);
	KUNIT_EXPECT_EQ(test, fake->src.irqs, fake->interrupts);
	fake_need_windows(test, fake);
	KUNIT_EXPECT_GT(test, fake->src.hits, 0);
}

/* Once a second one window is left to the interrupt */
static void poll_source_test_probe(struct kunit *test)
{
	struct fake *fake = fake_alloc(test, raw_smp_processor_id());
	unsigned long end = jiffies + 3 * HZ;

	fake->claims = true;

	KUNIT_ASSERT_EQ(test, fake_register(fake), 0);
	while (time_before(jiffies, end))
		KUNIT_ASSERT_TRUE(test, fake_round(fake));
	KUNIT_EXPECT_EQ(test, fake_unregister(fake), 0);

	KUNIT_EXPECT_EQ(test, fake->faults, 0);
	KUNIT_EXPECT_GT(test, fake->src.irqs, 0);
	fake_need_windows(test, fake);
	KUNIT_EXPECT_GT(test, fake->src.hits, 0);
}

/*
 * A source whose interrupt is not seen is left out of a window now and then,
 * another one whose interrupt is seen takes part in all of them
 */
static void poll_source_test_sits_out(struct kunit *test)
{
	struct fake *seen = fake_alloc(test, raw_smp_processor_id());
	struct fake *fake = fake_alloc(test, raw_smp_processor_id());
	unsigned long end = jiffies + 3 * HZ;
	unsigned int all, some;

	seen->outstanding = false;
	seen->claims = true;
	fake->outstanding = false;

	KUNIT_ASSERT_EQ(test, fake_register(seen), 0);
	KUNIT_ASSERT_EQ(test, fake_register(fake), 0);

	/* No window comes in between where this CPU does not sleep */
	preempt_disable();
	seen->asked = 0;
	fake->asked = 0;
	preempt_enable();
	while (time_before(jiffies, end))
		KUNIT_ASSERT_TRUE(test, fake_round(seen));
	preempt_disable();
	all = seen->asked;
	some = fake->asked;
	preempt_enable();

	KUNIT_EXPECT_EQ(test, fake_unregister(seen), 0);
	KUNIT_EXPECT_EQ(test, fake_unregister(fake), 0);

	KUNIT_EXPECT_EQ(test, seen->faults + fake->faults, 0);
	if (all < EVENTS / 4 && !fake_failed(test))
		kunit_skip(test, "only %u windows: the CPU hardly polls", all);
	KUNIT_EXPECT_LT(test, some, all);
}

static u64 stat_idle(void)
{
	return get_cpu_idle_time_us(raw_smp_processor_id(), NULL) * NSEC_PER_USEC;
}

static u64 stat_irq(void)
{
	return kcpustat_cpu(raw_smp_processor_id()).cpustat[CPUTIME_IRQ];
}

/*
 * A handler's time is an interrupt's: neither /proc/stat nor the residency of
 * the polling state take it for idle time. The handler takes far longer than the
 * CPU is idle for, even if that is a virtual one and its host busy, so that it
 * would show.
 */
static void poll_source_test_accounting(struct kunit *test)
{
	struct cpuidle_device *dev = per_cpu(cpuidle_devices,
					     raw_smp_processor_id());
	struct fake *fake = fake_alloc(test, raw_smp_processor_id());
	unsigned int i, in_stat = 0, in_residency = 0;
	u64 irq = stat_irq();

	fake->burn_ns = max_t(u64, 10 * event_ns, 10 * NSEC_PER_MSEC);

	KUNIT_ASSERT_EQ(test, fake_register(fake), 0);
	for (i = 0; i < EVENTS / 4; i++) {
		unsigned int polls = fake->polls;
		u64 idle = stat_idle();

		KUNIT_ASSERT_TRUE(test, fake_round(fake));
		if (fake->polls == polls)
			continue;
		in_stat += stat_idle() - idle >= fake->burn_ns;
		in_residency += dev->last_residency_ns >= fake->burn_ns;
	}
	irq = stat_irq() - irq;
	KUNIT_EXPECT_EQ(test, fake_unregister(fake), 0);

	kunit_info(test, "%u handlers took %llu us in all; %llu us of interrupts; taken for idle: %u in /proc/stat, %u in the residency",
		   fake->polls, fake->burnt_ns / NSEC_PER_USEC,
		   irq / NSEC_PER_USEC, in_stat, in_residency);
	if (fake->polls < EVENTS / 16 && !fake_failed(test))
		kunit_skip(test, "only %u handlers ran", fake->polls);
	/* A CPU that is slow to wake may be idle for as long as that at times */
	KUNIT_EXPECT_LT(test, in_stat, fake->polls / 2);
	KUNIT_EXPECT_LT(test, in_residency, fake->polls / 2);
	if (IS_ENABLED(CONFIG_IRQ_TIME_ACCOUNTING))
		KUNIT_EXPECT_GE(test, irq, fake->burnt_ns);
}

/* A thread that is woken again and again, from another CPU */
struct sleeper {
	struct task_struct *task;
	struct completion wake;
	struct completion woken;
	u64 woken_at;
};

static int sleeper_thread(void *data)
{
	struct sleeper *sleeper = data;

	while (!kthread_should_stop()) {
		if (!wait_for_completion_timeout(&sleeper->wake, HZ))
			continue;
		sleeper->woken_at = ktime_get_ns();
		complete(&sleeper->woken);
	}

	return 0;
}

static int compare_u64(const void *a, const void *b)
{
	u64 left = *(const u64 *)a;
	u64 right = *(const u64 *)b;

	return left < right ? -1 : left > right;
}

/* How long a wake-up takes: the median, in ns; 0 if one got lost */
static u64 sleeper_delay(struct kunit *test, struct sleeper *sleeper)
{
	u64 *delays = kunit_kcalloc(test, EVENTS, sizeof(*delays), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, delays);
	for (i = 0; i < EVENTS; i++) {
		u64 start;

		usleep_range(100, 200);
		start = ktime_get_ns();
		complete(&sleeper->wake);
		if (!wait_for_completion_timeout(&sleeper->woken, TIMEOUT))
			return 0;
		delays[i] = sleeper->woken_at - start;
	}
	sort(delays, EVENTS, sizeof(*delays), compare_u64, NULL);

	return delays[EVENTS / 2];
}

static void sleeper_init(struct kunit *test, struct sleeper *sleeper, int cpu)
{
	init_completion(&sleeper->wake);
	init_completion(&sleeper->woken);
	sleeper->task = kthread_create_on_cpu(sleeper_thread, sleeper, cpu,
					      "sleeper/%u");
	KUNIT_ASSERT_FALSE(test, IS_ERR(sleeper->task));
	wake_up_process(sleeper->task);
}

#define MANY	64

/*
 * A wake-up waits for one round of checks and one handler at most, however many
 * sources there are and however many of them have work
 */
static void poll_source_test_many(struct kunit *test)
{
	int this = raw_smp_processor_id();
	int other = cpumask_any_but(cpu_online_mask, this);
	struct after_wake after = {};
	struct sleeper sleeper;
	struct fake *fakes[MANY];
	u64 none, quiet, greedy;
	unsigned int i;

	if (other >= nr_cpu_ids)
		kunit_skip(test, "needs two CPUs online");

	sleeper_init(test, &sleeper, other);
	none = sleeper_delay(test, &sleeper);
	for (i = 0; i < MANY; i++) {
		fakes[i] = fake_alloc(test, other);
		fakes[i]->after = &after;
		KUNIT_ASSERT_EQ(test, fake_register(fakes[i]), 0);
	}
	quiet = sleeper_delay(test, &sleeper);
	for (i = 0; i < MANY; i++)
		WRITE_ONCE(fakes[i]->greedy, true);
	greedy = sleeper_delay(test, &sleeper);
	KUNIT_EXPECT_EQ(test, kthread_stop(sleeper.task), 0);

	for (i = 0; i < MANY; i++) {
		KUNIT_EXPECT_EQ(test, fake_unregister(fakes[i]), 0);
		KUNIT_EXPECT_EQ(test, fakes[i]->faults, 0);
		KUNIT_EXPECT_EQ(test, fakes[i]->starts, fakes[i]->stops);
	}

	kunit_info(test, "wake-ups take %llu ns without a source, %llu ns with %d, %llu ns with %d that always have work (medians)",
		   none, quiet, MANY, greedy, MANY);
	KUNIT_EXPECT_GT(test, none, 0);
	KUNIT_EXPECT_GT(test, quiet, 0);
	KUNIT_EXPECT_GT(test, greedy, 0);
	KUNIT_EXPECT_LE(test, after.max_checks, MANY);
	KUNIT_EXPECT_LE(test, after.max_polls, 1);
	if (fakes[0]->src.windows < EVENTS / 4 && !fake_failed(test))
		kunit_skip(test, "only %lu windows: the CPU hardly polls",
			   fakes[0]->src.windows);
	KUNIT_EXPECT_GT(test, after.max_checks, 0);
}

/* Keeps a CPU in the idle loop, in and out of windows */
static int busy_thread(void *data)
{
	struct fake *fake = data;
	int ret = 0;

	while (!kthread_should_stop())
		if (!fake_round(fake))
			ret = -ETIMEDOUT;

	return ret;
}

/* An event was lost if this is not 0 */
static int any_time_rounds(struct kunit *test, struct fake *fake, int this,
			   int other)
{
	int ret = 0;
	int i;

	for (i = 0; i < 2 * EVENTS && !ret; i++) {
		fake->src.cpu = i & 1 ? other : POLL_SOURCE_NO_CPU;
		ret = fake_register(fake);
		udelay(i % 64);
		ret = ret ?: poll_source_move(&fake->src, other);
		usleep_range(i % 128, i % 128 + 20);
		ret = ret ?: poll_source_move(&fake->src, this);
		usleep_range(i % 32, i % 32 + 20);
		ret = ret ?: poll_source_move(&fake->src, other);
		udelay(i % 64);
		ret = ret ?: fake_unregister(fake);

		KUNIT_EXPECT_FALSE(test, fake->suppressed);
		KUNIT_EXPECT_EQ(test, fake->starts, fake->stops);
	}

	return ret;
}

/*
 * Another CPU adds, moves and removes a source all the time, while its owner is
 * in and out of windows
 */
static void poll_source_test_any_time(struct kunit *test)
{
	int this = raw_smp_processor_id();
	int other = cpumask_any_but(cpu_online_mask, this);
	struct task_struct *task;
	struct fake *fake, *busy;

	if (other >= nr_cpu_ids)
		kunit_skip(test, "needs two CPUs online");

	fake = fake_alloc(test, POLL_SOURCE_NO_CPU);
	busy = fake_alloc(test, other);
	KUNIT_ASSERT_EQ(test, fake_register(busy), 0);
	task = kthread_create_on_cpu(busy_thread, busy, other, "busy/%u");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	wake_up_process(task);

	KUNIT_EXPECT_EQ(test, any_time_rounds(test, fake, this, other), 0);
	KUNIT_EXPECT_EQ(test, kthread_stop(task), 0);
	KUNIT_EXPECT_EQ(test, fake_unregister(busy), 0);

	KUNIT_EXPECT_EQ(test, fake->faults + busy->faults, 0);
	KUNIT_EXPECT_EQ(test, busy->starts, busy->stops);
	fake_need_windows(test, busy);
	KUNIT_EXPECT_GT(test, fake->starts, 0);
}

/*
 * A CPU that is offline polls nothing, its sources may change meanwhile, and it
 * polls them when it is back
 */
static void poll_source_test_offline(struct kunit *test)
{
	/* The first one can not go offline on some architectures */
	int other = cpumask_last(cpu_online_mask);
	struct task_struct *task;
	struct fake *fake;
	unsigned int i;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs online");

	fake = fake_alloc(test, other);
	KUNIT_ASSERT_EQ(test, fake_register(fake), 0);
	for (i = 0; i < 4; i++) {
		if (remove_cpu(other)) {
			if (!fake_failed(test))
				kunit_skip(test, "CPU %d can not go offline",
					   other);
			break;
		}
		KUNIT_EXPECT_EQ(test, fake->starts, fake->stops);
		KUNIT_EXPECT_FALSE(test, fake->suppressed);
		if (i & 1) {
			KUNIT_EXPECT_EQ(test, fake_unregister(fake), 0);
			fake->src.cpu = other;
			KUNIT_EXPECT_EQ(test, fake_register(fake), 0);
		} else {
			KUNIT_EXPECT_EQ(test, poll_source_move(&fake->src,
							       POLL_SOURCE_NO_CPU), 0);
			KUNIT_EXPECT_EQ(test, fake->src.cpu,
					POLL_SOURCE_NO_CPU);
			KUNIT_EXPECT_EQ(test, poll_source_move(&fake->src,
							       other), 0);
			KUNIT_EXPECT_EQ(test, fake->src.cpu, other);
		}
		KUNIT_ASSERT_EQ(test, add_cpu(other), 0);

		task = kthread_create_on_cpu(busy_thread, fake, other, "busy/%u");
		KUNIT_ASSERT_FALSE(test, IS_ERR(task));
		wake_up_process(task);
		msleep(100);
		KUNIT_EXPECT_EQ(test, kthread_stop(task), 0);
	}
	KUNIT_EXPECT_EQ(test, fake_unregister(fake), 0);

	KUNIT_EXPECT_EQ(test, fake->faults, 0);
	KUNIT_EXPECT_EQ(test, fake->starts, fake->stops);
	if (!fake->starts && !fake_failed(test))
		kunit_skip(test, "no windows: the CPU does not poll");
}

static int poll_source_test_init(struct kunit *test)
{
	struct cpuidle_driver *drv = cpuidle_get_driver();
	struct fake *fake = fake_alloc(test, POLL_SOURCE_NO_CPU);

	if (!drv || !(drv->states[0].flags & CPUIDLE_FLAG_POLLING))
		kunit_skip(test, "no CPU polls; boot with cpuidle_haltpoll.force=1");
	if (fake_register(fake) == -EOPNOTSUPP)
		kunit_skip(test, "interrupt handlers are threaded");
	fake_unregister(fake);

	return set_cpus_allowed_ptr(current, cpumask_of(raw_smp_processor_id()));
}

static int poll_source_test_suite_init(struct kunit_suite *suite)
{
	u64 start = local_clock();
	unsigned int i;

	for (i = 0; i < EVENTS; i++) {
		ktime_t soon = NSEC_PER_USEC;

		set_current_state(TASK_UNINTERRUPTIBLE);
		schedule_hrtimeout(&soon, HRTIMER_MODE_REL);
	}
	event_ns = 50 * NSEC_PER_USEC + (local_clock() - start) / EVENTS;

	return 0;
}

static struct kunit_case poll_source_test_cases[] = {
	KUNIT_CASE(poll_source_test_errors),
	KUNIT_CASE(poll_source_test_hits),
	KUNIT_CASE(poll_source_test_nothing_outstanding),
	KUNIT_CASE_SLOW(poll_source_test_late_arrival),
	KUNIT_CASE(poll_source_test_fairness),
	KUNIT_CASE(poll_source_test_claim),
	KUNIT_CASE_SLOW(poll_source_test_probe),
	KUNIT_CASE_SLOW(poll_source_test_sits_out),
	KUNIT_CASE(poll_source_test_accounting),
	KUNIT_CASE_SLOW(poll_source_test_many),
	KUNIT_CASE_SLOW(poll_source_test_any_time),
	KUNIT_CASE_SLOW(poll_source_test_offline),
	{}
};

static struct kunit_suite poll_source_test_suite = {
	.name = "poll_source",
	.suite_init = poll_source_test_suite_init,
	.init = poll_source_test_init,
	.test_cases = poll_source_test_cases,
};

kunit_test_suite(poll_source_test_suite);

MODULE_DESCRIPTION("KUnit tests of poll sources");
MODULE_LICENSE("GPL");
