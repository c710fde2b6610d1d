// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of event suppression between a driver, a poll source and a device
 *
 * The test plays all three parts: the driver of a virtqueue, by the functions
 * that drivers use; the idle loop, by the operations of the queue's poll source;
 * and the device, which looks at the ring's event suppression as the virtio
 * specification has it, and raises an interrupt where that asks for one. Each
 * test runs on each flavour of the ring that the kernel has.
 */

#include <kunit/test.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/irqflags.h>
#include <linux/mutex.h>
#include <linux/poll_source.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/scatterlist.h>
#include <linux/smp.h>
#include <linux/virtio.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ring.h>

#include "virtio_poll_source.h"

#define RING_SIZE	8

struct flavour {
	const char *name;
	u64 features;
};

#define FEATURE(bit)	BIT_ULL(VIRTIO_ ## bit)

static const struct flavour flavours[] = {
	{ "split", FEATURE(F_VERSION_1) },
	{ "split, event_idx", FEATURE(F_VERSION_1) | FEATURE(RING_F_EVENT_IDX) },
	{ "packed", FEATURE(F_VERSION_1) | FEATURE(F_RING_PACKED) },
	{ "packed, event_idx", FEATURE(F_VERSION_1) | FEATURE(F_RING_PACKED) |
			       FEATURE(RING_F_EVENT_IDX) },
	{ "split, in_order", FEATURE(F_VERSION_1) | FEATURE(F_IN_ORDER) },
	{ "split, in_order, event_idx", FEATURE(F_VERSION_1) |
					FEATURE(F_IN_ORDER) |
					FEATURE(RING_F_EVENT_IDX) },
	{ "packed, in_order", FEATURE(F_VERSION_1) | FEATURE(F_IN_ORDER) |
			      FEATURE(F_RING_PACKED) },
	{ "packed, in_order, event_idx", FEATURE(F_VERSION_1) |
					 FEATURE(F_IN_ORDER) |
					 FEATURE(F_RING_PACKED) |
					 FEATURE(RING_F_EVENT_IDX) },
};

KUNIT_ARRAY_PARAM_DESC(flavour, flavours, name);

/* A device with one queue, and its driver */
struct machine {
	struct virtio_device vdev;
	struct virtqueue *vq;
	struct poll_source *src;
	const struct poll_source_ops *ops;

	/* driver */
	char buffer[64];
	unsigned int calls;	/* of the callback */
	unsigned int depth;	/* of the callback in itself */
	unsigned int max_depth;
	unsigned int done;	/* buffers that came back */
	bool enables;		/* the callback disables and enables callbacks */
	bool lazy;		/* the callback leaves the buffers in the ring */
	bool single;		/* the callback takes one buffer only */
	bool more;		/* another interrupt comes while it runs */
	bool slow;		/* the callback takes long */

	/* device */
	u16 next;		/* of the avail ring, or of the packed ring */
	u16 used;		/* entries of the split ring used so far */
	bool wrap;		/* of the packed ring */
	unsigned int interrupts;
	bool bad_id;		/* returns a buffer that does not exist */
	bool refuses_reset;	/* of the queue */
	bool registered_at_reset;	/* the poll source was, or seemed so */
};

static void machine_use(struct machine *m);

static bool machine_notify(struct virtqueue *vq)
{
	return true;
}

static void machine_interrupt(struct machine *m)
{
	m->interrupts++;
	vring_interrupt(0, m->vq);
}

static bool machine_take_one(struct machine *m)
{
	unsigned int len;

	if (!virtqueue_get_buf(m->vq, &len))
		return false;

	m->done++;
	return true;
}

static void machine_take(struct machine *m)
{
	while (machine_take_one(m))
		;
}

/* The driver's callback, as virtio_blk has it */
static void machine_callback(struct virtqueue *vq)
{
	struct machine *m = vq->vdev->priv;

	m->max_depth = max(m->max_depth, ++m->depth);
	WRITE_ONCE(m->calls, m->calls + 1);
	if (m->slow)
		mdelay(100);

	if (m->lazy) {
		/* as one that waits for a reader, or for a worker */
	} else if (m->single) {
		machine_take_one(m);
	} else if (m->enables) {
		do {
			virtqueue_disable_cb(vq);
			machine_take(m);
		} while (!virtqueue_enable_cb(vq));
	} else {
		machine_take(m);
	}

	if (m->more) {
		m->more = false;
		machine_use(m);
		vring_interrupt(0, vq);
	}

	WRITE_ONCE(m->depth, m->depth - 1);
}

/* The driver makes a buffer available */
static void machine_add(struct kunit *test, struct machine *m)
{
	struct scatterlist sg;

	sg_init_one(&sg, m->buffer, sizeof(m->buffer));
	KUNIT_ASSERT_EQ(test, 0, virtqueue_add_inbuf(m->vq, &sg, 1, m,
						     GFP_KERNEL));
	virtqueue_kick(m->vq);
}

/*
 * The device uses so many buffers by one entry, which names the last of them:
 * more than one only with in_order. Is it asked for an interrupt?
 */
static bool machine_use_split(struct machine *m, u16 buffers)
{
	const struct vring *vring = virtqueue_get_vring(m->vq);
	struct virtio_device *vdev = &m->vdev;
	u16 slot = m->used % RING_SIZE;
	u16 old = m->used;
	u16 head;

	m->next += buffers;
	head = virtio16_to_cpu(vdev,
			       vring->avail->ring[(u16)(m->next - 1) % RING_SIZE]);
	if (m->bad_id)
		head = RING_SIZE;
	vring->used->ring[slot].id = cpu_to_virtio32(vdev, head);
	vring->used->ring[slot].len = cpu_to_virtio32(vdev, 0);
	/* The entry before the index */
	smp_wmb();
	m->used += buffers;
	WRITE_ONCE(vring->used->idx, cpu_to_virtio16(vdev, m->used));

	/* Pairs with the barrier between turning events on and looking again */
	smp_mb();

	if (virtio_has_feature(vdev, VIRTIO_RING_F_EVENT_IDX))
		return vring_need_event(virtio16_to_cpu(vdev,
							vring_used_event(vring)),
					m->used, old);

	return !(vring->avail->flags &
		 cpu_to_virtio16(vdev, VRING_AVAIL_F_NO_INTERRUPT));
}

static bool machine_use_packed(struct machine *m, u16 buffers)
{
	struct vring_packed_desc *desc =
		phys_to_virt(virtqueue_get_desc_addr(m->vq));
	struct vring_packed_desc_event *driver =
		phys_to_virt(virtqueue_get_avail_addr(m->vq));
	bool passed = false;
	u16 flags, event;

	/* The driver has put each buffer's id there */
	desc[m->next].id = desc[(m->next + buffers - 1) % RING_SIZE].id;
	if (m->bad_id)
		desc[m->next].id = cpu_to_le16(RING_SIZE);
	desc[m->next].len = cpu_to_le32(0);
	flags = m->wrap ? BIT(VRING_PACKED_DESC_F_AVAIL) |
			  BIT(VRING_PACKED_DESC_F_USED) : 0;
	/* The entry before its flags */
	smp_wmb();
	WRITE_ONCE(desc[m->next].flags, cpu_to_le16(flags));

	/* Pairs with the barrier between turning events on and looking again */
	smp_mb();

	flags = le16_to_cpu(driver->flags);
	event = le16_to_cpu(driver->off_wrap);
	while (buffers--) {
		passed |= event == (m->next |
				    m->wrap << VRING_PACKED_EVENT_F_WRAP_CTR);
		if (++m->next == RING_SIZE) {
			m->next = 0;
			m->wrap = !m->wrap;
		}
	}
	if (flags != VRING_PACKED_EVENT_FLAG_DESC)
		return flags == VRING_PACKED_EVENT_FLAG_ENABLE;

	return passed;
}

static void __machine_use(struct machine *m, u16 buffers)
{
	bool notify;

	if (virtio_has_feature(&m->vdev, VIRTIO_F_RING_PACKED))
		notify = machine_use_packed(m, buffers);
	else
		notify = machine_use_split(m, buffers);

	if (notify)
		machine_interrupt(m);
}

/* The device uses a buffer, and raises an interrupt if it is asked to */
static void machine_use(struct machine *m)
{
	__machine_use(m, 1);
}

/* The device uses buffers by one entry, if the ring is such that it can */
static void machine_use_batch(struct machine *m, u16 buffers)
{
	if (virtio_has_feature(&m->vdev, VIRTIO_F_IN_ORDER)) {
		__machine_use(m, buffers);
		return;
	}

	while (buffers--)
		machine_use(m);
}

static void machine_add_and_use(struct kunit *test, struct machine *m)
{
	machine_add(test, m);
	machine_use(m);
}

/* The idle loop's part, in the idle loop's context */
static bool machine_start(struct machine *m)
{
	unsigned long flags;
	bool ret;

	local_irq_save(flags);
	ret = m->ops->start(m->src);
	local_irq_restore(flags);

	return ret;
}

static bool machine_check(struct machine *m)
{
	unsigned long flags;
	bool ret;

	local_irq_save(flags);
	ret = m->ops->check(m->src);
	local_irq_restore(flags);

	return ret;
}

static void machine_poll(struct machine *m)
{
	unsigned long flags;

	local_irq_save(flags);
	m->ops->poll(m->src);
	local_irq_restore(flags);
}

static bool machine_stop(struct machine *m)
{
	unsigned long flags;
	bool ret;

	local_irq_save(flags);
	ret = m->ops->stop(m->src);
	local_irq_restore(flags);

	return ret;
}

/* One round of the idle loop: was there work? */
static bool machine_round(struct machine *m)
{
	if (!machine_check(m))
		return false;

	machine_poll(m);
	return true;
}

static int machine_create_queue(struct kunit *test, struct machine *m)
{
	int ret;

	m->next = 0;
	m->used = 0;
	m->wrap = true;
	m->vq = vring_create_virtqueue(0, RING_SIZE, SMP_CACHE_BYTES, &m->vdev,
				       true, false, false, machine_notify,
				       machine_callback, "queue");
	if (!m->vq)
		return -ENOMEM;
	__virtqueue_unbreak(m->vq);

	mutex_lock(&m->vdev.poll_source_lock);
	KUNIT_EXPECT_TRUE(test, virtqueue_share_events(m->vq));
	synchronize_rcu();
	ret = virtqueue_poll_register(m->vq);
	mutex_unlock(&m->vdev.poll_source_lock);

	m->src = virtqueue_poll_source(m->vq);
	m->ops = m->src->ops;

	return ret;
}

static void machine_delete_queue(struct machine *m)
{
	while (virtqueue_detach_unused_buf(m->vq))
		;
	vring_del_virtqueue(m->vq);
}

/* Is the device told to send events? Asked by having it use a buffer. */
static bool machine_interrupts_on(struct kunit *test, struct machine *m)
{
	unsigned int before = m->interrupts;

	machine_add_and_use(test, m);
	return m->interrupts != before;
}

/* A driver that handles one interrupt, to have a queue with a history */
static void vring_poll_test_baseline(struct kunit *test)
{
	struct machine *m = test->priv;

	machine_add_and_use(test, m);
	KUNIT_EXPECT_EQ(test, m->interrupts, 1);
	KUNIT_EXPECT_EQ(test, m->calls, 1);
	KUNIT_EXPECT_EQ(test, m->done, 1);
	KUNIT_EXPECT_FALSE(test, machine_check(m));
}

/* No interrupt in a window, however many buffers; one right after it */
static void vring_poll_test_window(struct kunit *test)
{
	struct machine *m = test->priv;
	unsigned int i;

	machine_add_and_use(test, m);
	machine_add(test, m);
	KUNIT_ASSERT_TRUE(test, machine_start(m));
	KUNIT_EXPECT_FALSE(test, machine_check(m));

	for (i = 0; i < 5 * RING_SIZE; i++) {
		machine_add_and_use(test, m);
		KUNIT_EXPECT_TRUE(test, machine_round(m));
		KUNIT_EXPECT_FALSE(test, machine_check(m));
	}
	KUNIT_EXPECT_EQ(test, m->interrupts, 1);
	KUNIT_EXPECT_EQ(test, m->done, 1 + 5 * RING_SIZE);

	KUNIT_EXPECT_FALSE(test, machine_stop(m));
	machine_use(m);
	KUNIT_EXPECT_EQ(test, m->interrupts, 2);
	KUNIT_EXPECT_EQ(test, m->done, 2 + 5 * RING_SIZE);
	KUNIT_EXPECT_TRUE(test, machine_interrupts_on(test, m));
}

/* The same with a driver that never disables callbacks */
static void vring_poll_test_window_plain(struct kunit *test)
{
	struct machine *m = test->priv;

	m->enables = false;
	vring_poll_test_window(test);
}

/* A device that compares late, after the driver has gone on, stays quiet */
static void vring_poll_test_late_device(struct kunit *test)
{
	struct machine *m = test->priv;
	const struct vring *vring;
	u16 event, old;

	if (virtio_has_feature(&m->vdev, VIRTIO_F_RING_PACKED) ||
	    !virtio_has_feature(&m->vdev, VIRTIO_RING_F_EVENT_IDX))
		kunit_skip(test, "only the event index is relative");

	vring = virtqueue_get_vring(m->vq);
	machine_add(test, m);
	KUNIT_ASSERT_TRUE(test, machine_start(m));
	old = m->used;
	machine_use(m);
	KUNIT_EXPECT_TRUE(test, machine_round(m));
	KUNIT_EXPECT_FALSE(test, machine_stop(m));
	machine_add(test, m);
	KUNIT_ASSERT_TRUE(test, machine_start(m));

	event = virtio16_to_cpu(&m->vdev, vring_used_event(vring));
	KUNIT_EXPECT_FALSE(test, vring_need_event(event, m->used, old));
	KUNIT_EXPECT_FALSE(test, machine_stop(m));
}

/*
 * Buffers that come back together are quiet in a window, and none is overlooked
 * where the driver takes one at a time
 */
static void vring_poll_test_batch(struct kunit *test)
{
	struct machine *m = test->priv;
	unsigned int i;

	for (i = 0; i < RING_SIZE; i++)
		machine_add(test, m);
	KUNIT_ASSERT_TRUE(test, machine_start(m));
	machine_use_batch(m, 3);
	KUNIT_EXPECT_TRUE(test, machine_round(m));
	KUNIT_EXPECT_EQ(test, m->done, 3);
	KUNIT_EXPECT_FALSE(test, machine_check(m));

	m->single = true;
	machine_use_batch(m, 3);
	for (i = 1; i < 3; i++) {
		KUNIT_EXPECT_TRUE(test, machine_round(m));
		KUNIT_EXPECT_EQ(test, m->done, 3 + i);
	}
	KUNIT_EXPECT_EQ(test, m->interrupts, 0);

	/* One is left, and the window is over */
	KUNIT_EXPECT_TRUE(test, machine_stop(m));
	machine_poll(m);
	KUNIT_EXPECT_EQ(test, m->done, 6);

	KUNIT_ASSERT_TRUE(test, machine_start(m));
	KUNIT_EXPECT_FALSE(test, machine_check(m));
	KUNIT_EXPECT_FALSE(test, machine_stop(m));
	m->single = false;
	machine_use_batch(m, 2);
	KUNIT_EXPECT_GE(test, m->interrupts, 1);
	KUNIT_EXPECT_EQ(test, m->done, 8);
	KUNIT_EXPECT_TRUE(test, machine_interrupts_on(test, m));
}

/* What arrives before the event is on again is seen by the second look */
static void vring_poll_test_late_arrival(struct kunit *test)
{
	struct machine *m = test->priv;

	machine_add(test, m);
	KUNIT_ASSERT_TRUE(test, machine_start(m));
	machine_use(m);
	KUNIT_EXPECT_EQ(test, m->interrupts, 0);
	KUNIT_EXPECT_TRUE(test, machine_stop(m));
	machine_poll(m);
	KUNIT_EXPECT_EQ(test, m->done, 1);
	KUNIT_EXPECT_TRUE(test, machine_interrupts_on(test, m));
}

/* What the driver disabled in a window stays off after it */
static void vring_poll_test_disable_survives(struct kunit *test)
{
	struct machine *m = test->priv;

	machine_add(test, m);
	machine_add(test, m);
	KUNIT_ASSERT_TRUE(test, machine_start(m));
	virtqueue_disable_cb(m->vq);
	machine_use(m);
	KUNIT_EXPECT_FALSE(test, machine_check(m));
	KUNIT_EXPECT_FALSE(test, machine_stop(m));
	machine_use(m);
	KUNIT_EXPECT_EQ(test, m->interrupts, 0);

	machine_take(m);
	KUNIT_EXPECT_TRUE(test, virtqueue_enable_cb(m->vq));
	KUNIT_EXPECT_TRUE(test, machine_interrupts_on(test, m));
}

/* The same for a driver that has taken all there is when the window ends */
static void vring_poll_test_disable_stays(struct kunit *test)
{
	struct machine *m = test->priv;

	machine_add(test, m);
	machine_add(test, m);
	KUNIT_ASSERT_TRUE(test, machine_start(m));
	virtqueue_disable_cb(m->vq);
	machine_use(m);
	machine_take(m);
	KUNIT_EXPECT_FALSE(test, machine_stop(m));
	machine_use(m);
	KUNIT_EXPECT_EQ(test, m->interrupts, 0);

	machine_take(m);
	KUNIT_EXPECT_TRUE(test, virtqueue_enable_cb(m->vq));
	KUNIT_EXPECT_TRUE(test, machine_interrupts_on(test, m));
}

/* What the driver enables in a window is not on before its end, but is then */
static void vring_poll_test_enable_survives(struct kunit *test)
{
	struct machine *m = test->priv;

	machine_add(test, m);
	machine_add(test, m);
	KUNIT_ASSERT_TRUE(test, machine_start(m));
	virtqueue_disable_cb(m->vq);
	KUNIT_EXPECT_TRUE(test, virtqueue_enable_cb(m->vq));
	machine_use(m);
	KUNIT_EXPECT_EQ(test, m->interrupts, 0);
	KUNIT_EXPECT_TRUE(test, machine_round(m));

	virtqueue_disable_cb(m->vq);
	machine_use(m);
	KUNIT_EXPECT_FALSE(test, virtqueue_enable_cb(m->vq));
	KUNIT_EXPECT_EQ(test, m->interrupts, 0);
	KUNIT_EXPECT_TRUE(test, machine_stop(m));
	machine_poll(m);
	KUNIT_EXPECT_EQ(test, m->done, 2);
	KUNIT_EXPECT_TRUE(test, machine_interrupts_on(test, m));
}

/* The delayed enabling neither arms the device in a window nor loses events */
static void vring_poll_test_enable_delayed(struct kunit *test)
{
	struct machine *m = test->priv;

	machine_add(test, m);
	KUNIT_ASSERT_TRUE(test, machine_start(m));
	virtqueue_disable_cb(m->vq);
	KUNIT_EXPECT_TRUE(test, virtqueue_enable_cb_delayed(m->vq));
	machine_use(m);
	KUNIT_EXPECT_EQ(test, m->interrupts, 0);
	KUNIT_EXPECT_TRUE(test, machine_round(m));
	KUNIT_EXPECT_FALSE(test, machine_stop(m));
	KUNIT_EXPECT_TRUE(test, machine_interrupts_on(test, m));
}

/* The hint that the device has fired already does not defeat a window */
static void vring_poll_test_after_interrupt(struct kunit *test)
{
	struct machine *m = test->priv;

	m->enables = false;
	machine_add_and_use(test, m);
	KUNIT_EXPECT_EQ(test, m->interrupts, 1);

	machine_add(test, m);
	KUNIT_ASSERT_TRUE(test, machine_start(m));
	machine_use(m);
	KUNIT_EXPECT_EQ(test, m->interrupts, 1);
	KUNIT_EXPECT_TRUE(test, machine_stop(m));
	machine_poll(m);

	/* Nor is it left set: disabling works after the window */
	virtqueue_disable_cb(m->vq);
	KUNIT_EXPECT_FALSE(test, machine_interrupts_on(test, m));
	machine_take(m);
	KUNIT_EXPECT_TRUE(test, virtqueue_enable_cb(m->vq));
	KUNIT_EXPECT_TRUE(test, machine_interrupts_on(test, m));
}

/* No window for a queue with nothing to wait for or nobody to tell */
static void vring_poll_test_no_window(struct kunit *test)
{
	struct machine *m = test->priv;

	KUNIT_EXPECT_FALSE(test, machine_start(m));
	KUNIT_EXPECT_TRUE(test, machine_interrupts_on(test, m));

	machine_add(test, m);
	virtqueue_disable_cb(m->vq);
	KUNIT_EXPECT_FALSE(test, machine_start(m));
	KUNIT_EXPECT_TRUE(test, virtqueue_enable_cb(m->vq));

	__virtqueue_break(m->vq);
	KUNIT_EXPECT_FALSE(test, machine_start(m));
	__virtqueue_unbreak(m->vq);

	KUNIT_EXPECT_TRUE(test, machine_start(m));
	machine_use(m);
	__virtqueue_break(m->vq);
	KUNIT_EXPECT_FALSE(test, machine_check(m));
	KUNIT_EXPECT_FALSE(test, machine_stop(m));
	__virtqueue_unbreak(m->vq);
	KUNIT_EXPECT_TRUE(test, machine_check(m));
}

/* An interrupt that comes too late is not a stray one */
static void vring_poll_test_late_interrupt(struct kunit *test)
{
	struct machine *m = test->priv;

	machine_add(test, m);
	KUNIT_ASSERT_TRUE(test, machine_start(m));
	machine_use(m);
	KUNIT_EXPECT_TRUE(test, machine_round(m));
	KUNIT_EXPECT_EQ(test, vring_interrupt(0, m->vq), IRQ_HANDLED);
	KUNIT_EXPECT_EQ(test, m->calls, 1);
	KUNIT_EXPECT_FALSE(test, machine_stop(m));
}

/* The callback does not run beside itself, and looks again when it should */
static void vring_poll_test_one_at_a_time(struct kunit *test)
{
	struct machine *m = test->priv;

	m->enables = false;
	machine_add(test, m);
	machine_add(test, m);
	KUNIT_ASSERT_TRUE(test, machine_start(m));
	machine_use(m);
	m->more = true;
	KUNIT_EXPECT_TRUE(test, machine_round(m));
	KUNIT_EXPECT_EQ(test, m->max_depth, 1);
	KUNIT_EXPECT_EQ(test, m->calls, 2);
	KUNIT_EXPECT_EQ(test, m->done, 2);
	KUNIT_EXPECT_FALSE(test, machine_stop(m));

	/* The same when the first caller is an interrupt */
	machine_add(test, m);
	machine_add(test, m);
	m->more = true;
	machine_use(m);
	KUNIT_EXPECT_EQ(test, m->max_depth, 1);
	KUNIT_EXPECT_EQ(test, m->done, 4);
}

/*
 * A driver that leaves buffers in the ring is called for them so many times, and
 * the queue is polled again when it has taken one
 */
static void vring_poll_test_in_vain(struct kunit *test)
{
	struct machine *m = test->priv;
	unsigned int rounds = 0;

	m->lazy = true;
	machine_add(test, m);
	machine_add(test, m);
	KUNIT_ASSERT_TRUE(test, machine_start(m));
	machine_use(m);
	while (machine_round(m) && rounds++ < 10000)
		;
	KUNIT_EXPECT_GT(test, rounds, 1);
	KUNIT_EXPECT_LT(test, rounds, 1000);
	/* The second look is not left out */
	KUNIT_EXPECT_TRUE(test, machine_stop(m));
	machine_poll(m);
	KUNIT_EXPECT_FALSE(test, machine_start(m));

	machine_take(m);
	KUNIT_EXPECT_EQ(test, m->done, 1);
	m->lazy = false;
	KUNIT_ASSERT_TRUE(test, machine_start(m));
	machine_use(m);
	KUNIT_EXPECT_TRUE(test, machine_round(m));
	KUNIT_EXPECT_EQ(test, m->done, 2);
	KUNIT_EXPECT_FALSE(test, machine_stop(m));
	KUNIT_EXPECT_TRUE(test, machine_interrupts_on(test, m));
}

/* What is broken is looked at no longer, and does not keep anybody busy */
static void vring_poll_expect_broken(struct kunit *test, struct machine *m)
{
	KUNIT_EXPECT_TRUE(test, machine_round(m));
	KUNIT_EXPECT_TRUE(test, virtqueue_is_broken(m->vq));
	KUNIT_EXPECT_EQ(test, m->calls, 1);
	KUNIT_EXPECT_FALSE(test, machine_check(m));
	KUNIT_EXPECT_FALSE(test, machine_stop(m));
	KUNIT_EXPECT_FALSE(test, machine_start(m));
	KUNIT_EXPECT_EQ(test, m->calls, 1);
}

/* The device returns a buffer that does not exist */
static void vring_poll_test_bad_id(struct kunit *test)
{
	struct machine *m = test->priv;

	machine_add(test, m);
	KUNIT_ASSERT_TRUE(test, machine_start(m));
	m->bad_id = true;
	machine_use(m);
	vring_poll_expect_broken(test, m);
	/* In order, the id says where a batch ends, which shows one too late */
	KUNIT_EXPECT_EQ(test, m->done,
			virtio_has_feature(&m->vdev, VIRTIO_F_IN_ORDER));
}

/* The device returns more buffers than it was given */
static void vring_poll_test_jump(struct kunit *test)
{
	struct machine *m = test->priv;

	machine_add(test, m);
	KUNIT_ASSERT_TRUE(test, machine_start(m));
	if (virtio_has_feature(&m->vdev, VIRTIO_F_RING_PACKED))
		machine_use(m);
	else
		m->used += 3 * RING_SIZE;
	machine_use(m);
	vring_poll_expect_broken(test, m);
	KUNIT_EXPECT_LE(test, m->done, 1);
}

/* A queue without a callback has nothing that polling could replace */
static void vring_poll_test_no_callback(struct kunit *test)
{
	struct machine *m = test->priv;

	mutex_lock(&m->vdev.poll_source_lock);
	virtqueue_poll_unregister(m->vq);
	m->vq->callback = NULL;
	KUNIT_EXPECT_FALSE(test, virtqueue_share_events(m->vq));
	KUNIT_EXPECT_FALSE(test, virtqueue_is_polled(m->vq));
	mutex_unlock(&m->vdev.poll_source_lock);
}

/* Unregistered in no window, the queue is as if nothing had been */
static void vring_poll_test_unregister(struct kunit *test)
{
	struct machine *m = test->priv;

	machine_add(test, m);
	KUNIT_ASSERT_TRUE(test, machine_start(m));
	machine_use(m);
	KUNIT_EXPECT_TRUE(test, machine_round(m));
	KUNIT_EXPECT_FALSE(test, machine_stop(m));

	mutex_lock(&m->vdev.poll_source_lock);
	virtqueue_poll_unregister(m->vq);
	KUNIT_EXPECT_FALSE(test, virtqueue_is_polled(m->vq));
	mutex_unlock(&m->vdev.poll_source_lock);

	KUNIT_EXPECT_TRUE(test, machine_interrupts_on(test, m));
	KUNIT_EXPECT_EQ(test, vring_interrupt(0, m->vq), IRQ_NONE);
}

/* A queue that is deleted leaves no source behind, reset or no reset */
static void vring_poll_test_deleted(struct kunit *test)
{
	struct machine *m = test->priv;

	machine_delete_queue(m);
	/* Looks through all sources */
	KUNIT_ASSERT_EQ(test, machine_create_queue(test, m), 0);
	KUNIT_EXPECT_TRUE(test, machine_interrupts_on(test, m));
}

static bool machine_registered(struct machine *m)
{
	return poll_source_move(m->src, POLL_SOURCE_NO_CPU) != -ENOENT;
}

static int machine_reset_queue(struct virtqueue *vq)
{
	struct machine *m = vq->vdev->priv;

	mutex_lock(&vq->vdev->poll_source_lock);
	m->registered_at_reset = machine_registered(m) ||
				 virtqueue_is_polled(vq);
	mutex_unlock(&vq->vdev->poll_source_lock);
	m->next = 0;
	m->used = 0;
	m->wrap = true;

	return m->refuses_reset ? -EIO : 0;
}

static int machine_enable_queue(struct virtqueue *vq)
{
	struct machine *m = vq->vdev->priv;

	m->registered_at_reset |= machine_registered(m);
	return 0;
}

static void machine_recycle(struct virtqueue *vq, void *buffer)
{
}

static void machine_synchronize(struct virtio_device *vdev)
{
}

static const struct virtio_config_ops machine_config = {
	.disable_vq_and_reset	= machine_reset_queue,
	.enable_vq_after_reset	= machine_enable_queue,
	.synchronize_cbs	= machine_synchronize,
};

/* A queue that is reset is not polled meanwhile, and is again after that */
static void vring_poll_test_queue_reset(struct kunit *test)
{
	struct machine *m = test->priv;

	m->vdev.config = &machine_config;
	KUNIT_EXPECT_TRUE(test, machine_registered(m));
	m->refuses_reset = true;
	KUNIT_EXPECT_EQ(test, virtqueue_reset(m->vq, machine_recycle, NULL),
			-EIO);
	KUNIT_EXPECT_FALSE(test, m->registered_at_reset);
	KUNIT_EXPECT_TRUE(test, machine_registered(m));

	m->refuses_reset = false;
	KUNIT_EXPECT_EQ(test, virtqueue_reset(m->vq, machine_recycle, NULL), 0);
	KUNIT_EXPECT_FALSE(test, m->registered_at_reset);
	KUNIT_EXPECT_TRUE(test, machine_registered(m));
	KUNIT_EXPECT_TRUE(test, machine_interrupts_on(test, m));
}

/* A device that forgets its status is made ready again, which changes nothing */
static void vring_poll_test_ready_twice(struct kunit *test)
{
	struct machine *m = test->priv;
	int cpu = raw_smp_processor_id();

	m->vdev.poll_source_wanted = true;
	m->vdev.poll_source_ready = true;
	KUNIT_EXPECT_EQ(test, poll_source_move(m->src, cpu), 0);
	virtio_poll_source_ready(&m->vdev);
	KUNIT_EXPECT_EQ(test, m->src->cpu, cpu);
	KUNIT_EXPECT_TRUE(test, machine_registered(m));

	virtio_poll_source_reset(&m->vdev);
	KUNIT_EXPECT_FALSE(test, machine_registered(m));
	virtio_poll_source_ready(&m->vdev);
	KUNIT_EXPECT_TRUE(test, machine_registered(m));
}

/* The idle loop's part, on another CPU. Runs as a hard interrupt. */
static void machine_poll_there(void *data)
{
	struct machine *m = data;

	m->ops->poll(m->src);
}

/* Another CPU, kept online, if there is one; this thread stays on its own */
static int machine_hold_cpu(struct kunit *test)
{
	int other;

	migrate_disable();
	cpus_read_lock();
	other = cpumask_any_but(cpu_online_mask, raw_smp_processor_id());
	if (other >= nr_cpu_ids) {
		cpus_read_unlock();
		migrate_enable();
		kunit_skip(test, "needs two CPUs online");
	}

	return other;
}

static void machine_release_cpu(void)
{
	cpus_read_unlock();
	migrate_enable();
}

/* Who waits for callbacks waits for the one that the idle loop runs, too */
static void vring_poll_test_synchronize(struct kunit *test)
{
	struct machine *m = test->priv;
	int other = machine_hold_cpu(test);

	m->vdev.config = &machine_config;
	m->vdev.poll_source_ready = true;
	m->slow = true;
	machine_add(test, m);
	KUNIT_EXPECT_TRUE(test, machine_start(m));
	machine_use(m);

	smp_call_function_single(other, machine_poll_there, m, false);
	while (!READ_ONCE(m->calls))
		cpu_relax();
	virtio_synchronize_cbs(&m->vdev);
	KUNIT_EXPECT_EQ(test, READ_ONCE(m->depth), 0);
	while (READ_ONCE(m->depth))
		cpu_relax();

	machine_release_cpu();
	KUNIT_EXPECT_FALSE(test, machine_stop(m));
}

static int vring_poll_test_init(struct kunit *test)
{
	const struct flavour *flavour = test->param_value;
	struct machine *m;
	int ret;

	m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	if (!m)
		return -ENOMEM;

	m->enables = true;
	m->vdev.features = flavour->features;
	vring_transport_features(&m->vdev);
	if (m->vdev.features != flavour->features)
		kunit_skip(test, "the kernel has no such ring");

	m->vdev.priv = m;
	m->vdev.dev.init_name = "kunit";
	INIT_LIST_HEAD(&m->vdev.vqs);
	spin_lock_init(&m->vdev.vqs_list_lock);
	mutex_init(&m->vdev.poll_source_lock);

	ret = machine_create_queue(test, m);
	if (ret == -ENOMEM)
		return ret;

	test->priv = m;
	if (ret == -EOPNOTSUPP)
		kunit_skip(test, "interrupt handlers are threaded");

	return ret;
}

static void vring_poll_test_exit(struct kunit *test)
{
	struct machine *m = test->priv;

	if (!m)
		return;

	mutex_lock(&m->vdev.poll_source_lock);
	virtqueue_poll_unregister(m->vq);
	mutex_unlock(&m->vdev.poll_source_lock);

	machine_delete_queue(m);
}

#define FLAVOURED_CASE(name)	KUNIT_CASE_PARAM(name, flavour_gen_params)

static struct kunit_case vring_poll_test_cases[] = {
	FLAVOURED_CASE(vring_poll_test_baseline),
	FLAVOURED_CASE(vring_poll_test_window),
	FLAVOURED_CASE(vring_poll_test_window_plain),
	FLAVOURED_CASE(vring_poll_test_late_device),
	FLAVOURED_CASE(vring_poll_test_batch),
	FLAVOURED_CASE(vring_poll_test_late_arrival),
	FLAVOURED_CASE(vring_poll_test_disable_survives),
	FLAVOURED_CASE(vring_poll_test_disable_stays),
	FLAVOURED_CASE(vring_poll_test_enable_survives),
	FLAVOURED_CASE(vring_poll_test_enable_delayed),
	FLAVOURED_CASE(vring_poll_test_after_interrupt),
	FLAVOURED_CASE(vring_poll_test_no_window),
	FLAVOURED_CASE(vring_poll_test_late_interrupt),
	FLAVOURED_CASE(vring_poll_test_one_at_a_time),
	FLAVOURED_CASE(vring_poll_test_in_vain),
	FLAVOURED_CASE(vring_poll_test_bad_id),
	FLAVOURED_CASE(vring_poll_test_jump),
	FLAVOURED_CASE(vring_poll_test_no_callback),
	FLAVOURED_CASE(vring_poll_test_unregister),
	FLAVOURED_CASE(vring_poll_test_deleted),
	FLAVOURED_CASE(vring_poll_test_queue_reset),
	FLAVOURED_CASE(vring_poll_test_ready_twice),
	FLAVOURED_CASE(vring_poll_test_synchronize),
	{}
};

static struct kunit_suite vring_poll_test_suite = {
	.name = "virtio_ring_poll",
	.init = vring_poll_test_init,
	.exit = vring_poll_test_exit,
	.test_cases = vring_poll_test_cases,
};

kunit_test_suite(vring_poll_test_suite);

MODULE_DESCRIPTION("KUnit tests of event suppression in polled virtqueues");
MODULE_LICENSE("GPL");
