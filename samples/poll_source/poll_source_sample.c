// SPDX-License-Identifier: GPL-2.0-only
/*
 * poll_source_sample.c - a driver that takes part in the idle loop's polling
 *
 * The device is QEMU's ivshmem-doorbell, which is memory, a doorbell and an
 * interrupt, with poll_source_device.c at its other end. To read the attribute
 * "answer" is to make a request and to sleep until the device has answered.
 *
 * Documentation/driver-api/poll-source.rst walks through this file.
 */

#include <linux/completion.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/iopoll.h>
#include <linux/jiffies.h>
#include <linux/kstrtox.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/poll_source.h>
#include <linux/spinlock.h>
#include <linux/sysfs.h>
#include <linux/wait.h>

#include "poll_source_sample.h"

#define SAMPLE_BAR_REGISTERS	0
#define SAMPLE_BAR_MEMORY	2
#define SAMPLE_DOORBELL		0x0c
#define SAMPLE_TIMEOUT		(10 * HZ)

struct sample_request {
	struct completion done;
	int error;
	u64 question;
	u64 answer;
};

struct sample {
	struct poll_source source;
	struct mutex poll_lock;		/* guards polled */
	bool polled;			/* source is registered */
	char name[32];			/* of the source and the interrupt */
	struct sample_ring *ring;	/* in memory shared with the device */
	void __iomem *registers;
	u32 doorbell;			/* what to write to it */

	spinlock_t lock;		/* guards all below, and the ring */
	bool broken;			/* the device can not be trusted */
	u32 submitted;			/* also read without the lock, */
	u32 completed;			/* as this */
	struct sample_request *requests[SAMPLE_ENTRIES];
	wait_queue_head_t room;		/* for those who find the ring full */
};

/* The queue */

static bool sample_has_room(const struct sample *s)
{
	return s->broken || s->submitted - s->completed < SAMPLE_ENTRIES;
}

static int sample_submit(struct sample *s, struct sample_request *req)
{
	struct sample_ring *ring = s->ring;
	unsigned int entry;
	int ret;

	spin_lock_irq(&s->lock);
	ret = wait_event_interruptible_lock_irq(s->room, sample_has_room(s),
						s->lock);
	if (!ret && s->broken)
		ret = -EIO;
	if (ret)
		goto out_unlock;

	entry = s->submitted % SAMPLE_ENTRIES;
	s->requests[entry] = req;
	req->question = s->submitted;
	ring->entries[entry].question = cpu_to_le64(req->question);
	WRITE_ONCE(s->submitted, s->submitted + 1);
	/* The entry, then the count: pairs with the device's acquire */
	virt_store_release(&ring->submitted, cpu_to_le32(s->submitted));
	writel(s->doorbell, s->registers + SAMPLE_DOORBELL);

out_unlock:
	spin_unlock_irq(&s->lock);

	return ret;
}

/* The oldest request is over */
static void sample_end(struct sample *s, int error)
{
	unsigned int entry = s->completed % SAMPLE_ENTRIES;
	struct sample_request *req = s->requests[entry];

	s->requests[entry] = NULL;
	WRITE_ONCE(s->completed, s->completed + 1);
	if (req) {
		req->answer = le64_to_cpu(s->ring->entries[entry].answer);
		req->error = error;
		complete(&req->done);
	}
}

/*
 * What the interrupt handler and the idle loop have in common: takes the answers
 * out of the ring. Interrupts are off. The lock keeps an interrupt on one CPU
 * and the idle loop on another apart.
 */
static void sample_take_answers(struct sample *s)
{
	u32 answered;

	spin_lock(&s->lock);
	/* The count, then the entries: pairs with the device's release */
	answered = le32_to_cpu(virt_load_acquire(&s->ring->completed));
	if (answered - s->completed > s->submitted - s->completed) {
		if (!s->broken)
			pr_err("%s: an answer that nobody asked for\n", s->name);
		s->broken = true;
		answered = s->submitted;
	}
	while (s->completed != answered)
		sample_end(s, s->broken ? -EIO : 0);
	wake_up(&s->room);
	spin_unlock(&s->lock);
}

static irqreturn_t sample_interrupt(int irq, void *data)
{
	struct sample *s = data;

	poll_source_claim(&s->source);
	sample_take_answers(s);

	/* Not IRQ_NONE: the idle loop may have taken what it came for */
	return IRQ_HANDLED;
}

/* The poll source */

static struct sample *source_to_sample(struct poll_source *src)
{
	return container_of(src, struct sample, source);
}

static bool sample_poll_start(struct poll_source *src)
{
	struct sample *s = source_to_sample(src);

	if (READ_ONCE(s->submitted) == READ_ONCE(s->completed))
		return false;

	WRITE_ONCE(s->ring->no_interrupt, cpu_to_le32(1));

	return true;
}

/* Not true where nothing is outstanding, whatever the device has written */
static bool sample_poll_check(struct poll_source *src)
{
	struct sample *s = source_to_sample(src);
	u32 completed = READ_ONCE(s->completed);

	return READ_ONCE(s->submitted) != completed &&
	       le32_to_cpu(READ_ONCE(s->ring->completed)) != completed;
}

static void sample_poll(struct poll_source *src)
{
	sample_take_answers(source_to_sample(src));
}

static bool sample_poll_stop(struct poll_source *src)
{
	struct sample *s = source_to_sample(src);

	WRITE_ONCE(s->ring->no_interrupt, cpu_to_le32(0));
	/*
	 * Turn on, then look. Pairs with the device's barrier between its count
	 * of answers and its look at no_interrupt: if the count is not seen
	 * here, the device sees that it has to interrupt.
	 */
	virt_mb();

	return sample_poll_check(src);
}

static const struct poll_source_ops sample_poll_ops = {
	.start = sample_poll_start,
	.check = sample_poll_check,
	.poll = sample_poll,
	.stop = sample_poll_stop,
};

static int sample_set_polled(struct sample *s, bool on)
{
	int ret = 0;

	mutex_lock(&s->poll_lock);
	if (on && !s->polled)
		ret = poll_source_register(&s->source);
	else if (!on && s->polled)
		ret = poll_source_unregister(&s->source);
	if (!ret)
		WRITE_ONCE(s->polled, on);
	mutex_unlock(&s->poll_lock);

	return ret;
}

/* The attributes */

static ssize_t poll_source_show(struct device *dev,
				struct device_attribute *attr, char *buf)
{
	struct sample *s = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%d\n", READ_ONCE(s->polled));
}

static ssize_t poll_source_store(struct device *dev,
				 struct device_attribute *attr,
				 const char *buf, size_t count)
{
	bool on;
	int ret;

	ret = kstrtobool(buf, &on);
	if (!ret)
		ret = sample_set_polled(dev_get_drvdata(dev), on);

	return ret ?: count;
}
static DEVICE_ATTR_RW(poll_source);

/* Nobody waits for @req any more; its answer may have come just now */
static void sample_forget(struct sample *s, struct sample_request *req)
{
	unsigned int entry;

	spin_lock_irq(&s->lock);
	for (entry = 0; entry < SAMPLE_ENTRIES; entry++)
		if (s->requests[entry] == req)
			s->requests[entry] = NULL;
	spin_unlock_irq(&s->lock);
}

static ssize_t answer_show(struct device *dev, struct device_attribute *attr,
			   char *buf)
{
	struct sample *s = dev_get_drvdata(dev);
	struct sample_request req;
	long left;
	int ret;

	init_completion(&req.done);
	ret = sample_submit(s, &req);
	if (ret)
		return ret;

	left = wait_for_completion_killable_timeout(&req.done, SAMPLE_TIMEOUT);
	if (left <= 0) {
		sample_forget(s, &req);
		return left ?: -ETIMEDOUT;
	}

	return req.error ?: sysfs_emit(buf, "%llu %llu\n", req.question,
				       req.answer);
}
static DEVICE_ATTR_ADMIN_RO(answer);

static struct attribute *sample_attrs[] = {
	&dev_attr_poll_source.attr,
	&dev_attr_answer.attr,
	NULL
};
ATTRIBUTE_GROUPS(sample);

/* The device */

static u32 sample_answered(const struct sample_ring *ring)
{
	return le32_to_cpu(READ_ONCE(ring->completed));
}

static int sample_find_ring(struct pci_dev *pdev, struct sample *s)
{
	resource_size_t size = pci_resource_len(pdev, SAMPLE_BAR_MEMORY);
	struct device *dev = &pdev->dev;
	struct sample_ring *ring;
	int ret;

	if (size < sizeof(*ring))
		return dev_err_probe(dev, -EINVAL,
				     "%pa bytes of shared memory, not %zu\n",
				     &size, sizeof(*ring));

	ring = devm_memremap(dev, pci_resource_start(pdev, SAMPLE_BAR_MEMORY),
			     sizeof(*ring), MEMREMAP_WB);
	if (IS_ERR(ring))
		return dev_err_probe(dev, PTR_ERR(ring), "no shared memory\n");

	if (le32_to_cpu(ring->magic) != SAMPLE_MAGIC)
		return dev_err_probe(dev, -ENODEV,
				     "nobody shares this memory for the sample\n");
	if (le32_to_cpu(ring->version) != SAMPLE_VERSION)
		return dev_err_probe(dev, -EPROTO,
				     "the device has version %u of the ring, not %u\n",
				     le32_to_cpu(ring->version), SAMPLE_VERSION);

	/* An earlier kernel may have stopped amid requests, and while it polled */
	WRITE_ONCE(ring->no_interrupt, cpu_to_le32(0));
	s->submitted = le32_to_cpu(ring->submitted);
	ret = read_poll_timeout(sample_answered, s->completed,
				s->completed == s->submitted, 1000, 1000000,
				false, ring);
	if (ret)
		return dev_err_probe(dev, ret,
				     "the device does not answer old requests\n");

	s->doorbell = le32_to_cpu(ring->doorbell);
	s->ring = ring;

	return 0;
}

static int sample_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct device *dev = &pdev->dev;
	struct sample *s;
	int ret;

	s = devm_kzalloc(dev, sizeof(*s), GFP_KERNEL);
	if (!s)
		return -ENOMEM;
	pci_set_drvdata(pdev, s);
	mutex_init(&s->poll_lock);
	spin_lock_init(&s->lock);
	init_waitqueue_head(&s->room);
	snprintf(s->name, sizeof(s->name), "poll_sample-%s", pci_name(pdev));

	ret = pcim_enable_device(pdev);
	if (ret)
		return dev_err_probe(dev, ret, "can not be enabled\n");
	s->registers = pcim_iomap_region(pdev, SAMPLE_BAR_REGISTERS, s->name);
	if (IS_ERR(s->registers))
		return dev_err_probe(dev, PTR_ERR(s->registers),
				     "no registers\n");
	ret = pcim_request_region(pdev, SAMPLE_BAR_MEMORY, s->name);
	if (ret)
		return dev_err_probe(dev, ret, "no shared memory\n");
	ret = sample_find_ring(pdev, s);
	if (ret)
		return ret;

	ret = pci_alloc_irq_vectors(pdev, 1, 1, PCI_IRQ_MSIX);
	if (ret < 0)
		return dev_err_probe(dev, ret, "no MSI-X vector\n");
	pci_set_master(pdev);
	ret = devm_request_irq(dev, pci_irq_vector(pdev, 0), sample_interrupt, 0,
			       s->name, s);
	if (ret)
		return dev_err_probe(dev, ret, "no interrupt\n");

	/* Where it can not be polled, all works by interrupts */
	s->source.ops = &sample_poll_ops;
	s->source.name = s->name;
	s->source.cpu = POLL_SOURCE_NO_CPU;
	ret = sample_set_polled(s, true);
	if (ret)
		dev_info(dev, "not polled by the idle loop: error %d\n", ret);

	return 0;
}

/*
 * The attributes have gone, and who read them. The interrupt is freed after
 * this, and then the memory that its handler uses.
 */
static void sample_remove(struct pci_dev *pdev)
{
	sample_set_polled(pci_get_drvdata(pdev), false);
}

static const struct pci_device_id sample_ids[] = {
	{ PCI_DEVICE(PCI_VENDOR_ID_REDHAT_QUMRANET, 0x1110) },
	{ }
};
MODULE_DEVICE_TABLE(pci, sample_ids);

static struct pci_driver sample_driver = {
	.name = KBUILD_MODNAME,
	.id_table = sample_ids,
	.probe = sample_probe,
	.remove = sample_remove,
	.dev_groups = sample_groups,
};
module_pci_driver(sample_driver);

MODULE_DESCRIPTION("Sample driver whose queue the idle loop polls");
MODULE_LICENSE("GPL");
