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
	fake_expect(fake, !fake->pending);

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
	hrtimer_init(&fake->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	fake->timer.function = fake_event;
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
	hrtimer_start(&fake->timer, EVENT_NS, HRTIMER_MODE_REL_PINNED_HARD);
	return wait_for_completion_timeout(&fake->done, TIMEOUT);
}

/* Windows in which the test can show something, or it is skipped */
static void fake_need_windows(struct kunit *test, const struct fake *fake)
{
	if (fake->src.windows < EVENTS / 4)
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
	KUNIT_EXPECT_GT(test, fake->src.hits, 0);
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

static struct kunit_case poll_source_test_cases[] = {
	KUNIT_CASE(poll_source_test_errors),
	KUNIT_CASE(poll_source_test_hits),
	KUNIT_CASE(poll_source_test_nothing_outstanding),
	KUNIT_CASE_SLOW(poll_source_test_late_arrival),
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
