// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of poll sources, in the real idle loop.
 *
 * The sources are made up. Their device is an hrtimer: it raises the source's
 * event by running the handler, as an interrupt would, if the event is on, and
 * leaves it in memory if the event is off. So an event gets lost in these tests
 * exactly when it would for a driver. They want a CPU that polls before it
 * halts (cpuidle_haltpoll.force=1) and are skipped without.
 */

#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/cpuidle.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/poll_source.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/smp.h>

/* Well below the default limit of the haltpoll governor, 200 us */
#define EVENT_NS	(50 * NSEC_PER_USEC)
#define EVENTS		200
#define TIMEOUT		(10 * HZ)

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
	unsigned int starts;
	unsigned int stops;
	unsigned int polls;
	unsigned int interrupts;
	unsigned int faults;	/* calls against the contract */
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
	fake_expect(fake, fake->cpu < 0 || fake->cpu == smp_processor_id());
}

static bool fake_start(struct poll_source *src)
{
	struct fake *fake = to_fake(src);

	fake_context(fake);
	fake_expect(fake, !fake->suppressed);

	if (!READ_ONCE(fake->outstanding))
		return false;

	fake->starts++;
	WRITE_ONCE(fake->suppressed, true);
	return true;
}

static bool fake_check(struct poll_source *src)
{
	struct fake *fake = to_fake(src);

	fake_context(fake);
	fake_expect(fake, fake->suppressed);

	return fake->greedy || READ_ONCE(fake->pending);
}

static void fake_poll(struct poll_source *src)
{
	struct fake *fake = to_fake(src);

	fake_context(fake);
	fake_expect(fake, in_hardirq());

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

static void fake_init(struct fake *fake, int cpu)
{
	memset(fake, 0, sizeof(*fake));
	fake->src.ops = &fake_ops;
	fake->src.name = "kunit";
	fake->src.cpu = cpu;
	fake->cpu = cpu;
	fake->outstanding = true;
	init_completion(&fake->done);
	hrtimer_init(&fake->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	fake->timer.function = fake_event;
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

static int fake_unregister(struct fake *fake)
{
	int ret = poll_source_unregister(&fake->src);

	WRITE_ONCE(fake->live, false);
	return ret;
}

/* One event on this CPU, and sleep until it has been handled */
static bool fake_round(struct fake *fake)
{
	reinit_completion(&fake->done);
	hrtimer_start(&fake->timer, EVENT_NS, HRTIMER_MODE_REL_PINNED_HARD);
	return wait_for_completion_timeout(&fake->done, TIMEOUT);
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
	struct fake *fake = kunit_kzalloc(test, sizeof(*fake), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, fake);
	fake_init(fake, 0);

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
	struct fake *fake = kunit_kzalloc(test, sizeof(*fake), GFP_KERNEL);
	int cpu = raw_smp_processor_id();

	KUNIT_ASSERT_NOT_NULL(test, fake);
	fake_init(fake, cpu);

	KUNIT_ASSERT_EQ(test, fake_register(fake), 0);
	KUNIT_EXPECT_EQ(test, fake_rounds(fake), EVENTS);
	KUNIT_EXPECT_EQ(test, fake_unregister(fake), 0);

	KUNIT_EXPECT_EQ(test, fake->faults, 0);
	KUNIT_EXPECT_EQ(test, fake->starts, fake->stops);
	KUNIT_EXPECT_FALSE(test, fake->suppressed);
	KUNIT_EXPECT_GT(test, fake->polls, EVENTS / 4);
	KUNIT_EXPECT_EQ(test, fake->polls + fake->interrupts, EVENTS);
	KUNIT_EXPECT_EQ(test, fake->src.windows, fake->starts);
	KUNIT_EXPECT_EQ(test, fake->src.hits + fake->src.raced, fake->polls);
}

/* A source that has nothing outstanding is asked that, and nothing more */
static void poll_source_test_nothing_outstanding(struct kunit *test)
{
	struct fake *fake = kunit_kzalloc(test, sizeof(*fake), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, fake);
	fake_init(fake, raw_smp_processor_id());
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
	struct fake *fake = kunit_kzalloc(test, sizeof(*fake), GFP_KERNEL);
	struct fake *waker = kunit_kzalloc(test, sizeof(*waker), GFP_KERNEL);
	int cpu = raw_smp_processor_id();
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, fake);
	KUNIT_ASSERT_NOT_NULL(test, waker);
	fake_init(fake, cpu);
	fake_init(waker, cpu);
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
	KUNIT_EXPECT_GT(test, fake->src.raced, EVENTS / 4);
}

/* A source that always has work does not keep the others from theirs */
static void poll_source_test_fairness(struct kunit *test)
{
	struct fake *greedy = kunit_kzalloc(test, sizeof(*greedy), GFP_KERNEL);
	struct fake *fake = kunit_kzalloc(test, sizeof(*fake), GFP_KERNEL);
	int cpu = raw_smp_processor_id();

	KUNIT_ASSERT_NOT_NULL(test, greedy);
	KUNIT_ASSERT_NOT_NULL(test, fake);
	fake_init(greedy, cpu);
	fake_init(fake, cpu);
	greedy->greedy = true;

	KUNIT_ASSERT_EQ(test, fake_register(greedy), 0);
	KUNIT_ASSERT_EQ(test, fake_register(fake), 0);
	KUNIT_EXPECT_EQ(test, fake_rounds(fake), EVENTS);
	KUNIT_EXPECT_EQ(test, fake_unregister(greedy), 0);
	KUNIT_EXPECT_EQ(test, fake_unregister(fake), 0);

	KUNIT_EXPECT_EQ(test, greedy->faults + fake->faults, 0);
	KUNIT_EXPECT_EQ(test, greedy->starts, greedy->stops);
	KUNIT_EXPECT_EQ(test, fake->starts, fake->stops);
	KUNIT_EXPECT_GT(test, greedy->src.hits, EVENTS);
	KUNIT_EXPECT_GT(test, fake->src.hits, EVENTS / 4);
}

/* A source that nobody owns is not polled until its interrupt is seen */
static void poll_source_test_claim(struct kunit *test)
{
	struct fake *fake = kunit_kzalloc(test, sizeof(*fake), GFP_KERNEL);
	unsigned long end = jiffies + TIMEOUT;
	int cpu = raw_smp_processor_id();

	KUNIT_ASSERT_NOT_NULL(test, fake);
	fake_init(fake, POLL_SOURCE_NO_CPU);
	fake->claims = true;

	KUNIT_ASSERT_EQ(test, fake_register(fake), 0);
	KUNIT_EXPECT_EQ(test, fake->src.cpu, POLL_SOURCE_NO_CPU);
	while (READ_ONCE(fake->src.cpu) != cpu && time_before(jiffies, end))
		KUNIT_ASSERT_TRUE(test, fake_round(fake));
	KUNIT_EXPECT_EQ(test, fake->src.cpu, cpu);
	KUNIT_EXPECT_EQ(test, fake_rounds(fake), EVENTS);
	KUNIT_EXPECT_EQ(test, fake_unregister(fake), 0);

	KUNIT_EXPECT_EQ(test, fake->faults, 0);
	KUNIT_EXPECT_GT(test, fake->src.hits, 0);
	KUNIT_EXPECT_EQ(test, fake->src.irqs, fake->interrupts);
}

/* Once a second one window is left to the interrupt */
static void poll_source_test_probe(struct kunit *test)
{
	struct fake *fake = kunit_kzalloc(test, sizeof(*fake), GFP_KERNEL);
	unsigned long end = jiffies + 3 * HZ;

	KUNIT_ASSERT_NOT_NULL(test, fake);
	fake_init(fake, raw_smp_processor_id());
	fake->claims = true;

	KUNIT_ASSERT_EQ(test, fake_register(fake), 0);
	while (time_before(jiffies, end))
		KUNIT_ASSERT_TRUE(test, fake_round(fake));
	KUNIT_EXPECT_EQ(test, fake_unregister(fake), 0);

	KUNIT_EXPECT_GT(test, fake->src.irqs, 0);
	KUNIT_EXPECT_LT(test, fake->src.irqs, fake->src.hits);
}

/* Keeps a CPU in the idle loop, in and out of windows */
static int poll_source_test_busy(void *data)
{
	struct fake *fake = data;

	while (!kthread_should_stop())
		if (!fake_round(fake))
			return -ETIMEDOUT;

	hrtimer_cancel(&fake->timer);
	return 0;
}

/*
 * Another CPU adds, moves and removes a source all the time, while its owner is
 * in and out of windows
 */
static void poll_source_test_any_time(struct kunit *test)
{
	struct fake *fake = kunit_kzalloc(test, sizeof(*fake), GFP_KERNEL);
	struct fake *busy = kunit_kzalloc(test, sizeof(*busy), GFP_KERNEL);
	unsigned int other, this, i;
	struct task_struct *task;

	KUNIT_ASSERT_NOT_NULL(test, fake);
	KUNIT_ASSERT_NOT_NULL(test, busy);

	this = raw_smp_processor_id();
	other = cpumask_any_but(cpu_online_mask, this);
	if (other >= nr_cpu_ids)
		kunit_skip(test, "needs two CPUs online");

	fake_init(fake, POLL_SOURCE_NO_CPU);
	fake_init(busy, other);
	KUNIT_ASSERT_EQ(test, fake_register(busy), 0);
	task = kthread_create(poll_source_test_busy, busy, "poll_source_busy");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task);
	kthread_bind(task, other);
	wake_up_process(task);

	for (i = 0; i < 2 * EVENTS; i++) {
		fake->src.cpu = i & 1 ? other : POLL_SOURCE_NO_CPU;
		KUNIT_ASSERT_EQ(test, fake_register(fake), 0);
		udelay(i % 64);
		KUNIT_ASSERT_EQ(test, poll_source_move(&fake->src, other), 0);
		usleep_range(i % 128, i % 128 + 20);
		KUNIT_ASSERT_EQ(test, poll_source_move(&fake->src, this), 0);
		usleep_range(i % 32, i % 32 + 20);
		KUNIT_ASSERT_EQ(test, poll_source_move(&fake->src, other), 0);
		udelay(i % 64);
		KUNIT_ASSERT_EQ(test, fake_unregister(fake), 0);
		KUNIT_ASSERT_FALSE(test, fake->suppressed);
		KUNIT_ASSERT_EQ(test, fake->starts, fake->stops);
	}

	KUNIT_EXPECT_EQ(test, kthread_stop(task), 0);
	KUNIT_EXPECT_EQ(test, fake_unregister(busy), 0);

	KUNIT_EXPECT_GT(test, fake->starts, 0);
	KUNIT_EXPECT_EQ(test, fake->faults + busy->faults, 0);
	KUNIT_EXPECT_EQ(test, busy->starts, busy->stops);
}

static int poll_source_test_init(struct kunit *test)
{
	struct cpuidle_driver *drv = cpuidle_get_driver();

	if (!drv || !(drv->states[0].flags & CPUIDLE_FLAG_POLLING))
		kunit_skip(test, "no CPU polls; boot with cpuidle_haltpoll.force=1");

	return set_cpus_allowed_ptr(current, cpumask_of(raw_smp_processor_id()));
}

static struct kunit_case poll_source_test_cases[] = {
	KUNIT_CASE(poll_source_test_errors),
	KUNIT_CASE(poll_source_test_hits),
	KUNIT_CASE(poll_source_test_nothing_outstanding),
	KUNIT_CASE(poll_source_test_late_arrival),
	KUNIT_CASE(poll_source_test_fairness),
	KUNIT_CASE(poll_source_test_claim),
	KUNIT_CASE_SLOW(poll_source_test_probe),
	KUNIT_CASE_SLOW(poll_source_test_any_time),
	{}
};

static struct kunit_suite poll_source_test_suite = {
	.name = "poll_source",
	.init = poll_source_test_init,
	.test_cases = poll_source_test_cases,
};

kunit_test_suite(poll_source_test_suite);

MODULE_DESCRIPTION("KUnit tests of poll sources");
MODULE_LICENSE("GPL");
