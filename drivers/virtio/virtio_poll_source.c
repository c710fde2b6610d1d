// SPDX-License-Identifier: GPL-2.0-only
/*
 * virtio_poll_source.c - let the idle loop poll the virtqueues of a device
 *
 * The virtqueues of a device are poll sources from DRIVER_OK to reset, while
 * the device's poll_source attribute is 1. What the poll source and the driver
 * of a queue do to each other is the ring's affair, see virtio_ring.c.
 */

#include <linux/device.h>
#include <linux/kstrtox.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/sysfs.h>
#include <linux/virtio.h>
#include <linux/virtio_config.h>

#include "virtio_poll_source.h"

static bool enable;
module_param(enable, bool, 0444);
MODULE_PARM_DESC(enable, "Poll the virtqueues of all devices from the idle loop");

static void virtio_poll_source_detach(struct virtio_device *vdev)
{
	struct virtqueue *vq;

	lockdep_assert_held(&vdev->poll_source_lock);

	list_for_each_entry(vq, &vdev->vqs, list)
		virtqueue_poll_unregister(vq);
}

static int virtio_poll_source_attach(struct virtio_device *vdev)
{
	struct virtqueue *vq;
	bool any = false;
	int ret;

	lockdep_assert_held(&vdev->poll_source_lock);

	list_for_each_entry(vq, &vdev->vqs, list)
		any |= virtqueue_share_events(vq);
	if (!any)
		return -EOPNOTSUPP;

	/*
	 * From here on nobody changes the event suppression without the lock
	 * or runs a callback without the count that sharing takes. Pairs with
	 * rcu_read_lock() in vring_events_lock(), and with interrupt handlers
	 * being RCU readers.
	 */
	synchronize_rcu();

	list_for_each_entry(vq, &vdev->vqs, list) {
		if (!virtqueue_shares_events(vq))
			continue;

		ret = virtqueue_poll_register(vq);
		if (ret) {
			virtio_poll_source_detach(vdev);
			return ret;
		}
	}

	return 0;
}

/*
 * Is there a virtqueue of which @what is true? Virtqueues come before
 * poll_source_ready is set, and go with poll_source_lock held.
 */
static bool virtio_poll_source_any(struct virtio_device *vdev,
				   bool (*what)(const struct virtqueue *vq))
{
	struct virtqueue *vq;

	lockdep_assert_held(&vdev->poll_source_lock);

	if (!vdev->poll_source_ready)
		return false;

	list_for_each_entry(vq, &vdev->vqs, list)
		if (what(vq))
			return true;

	return false;
}

static ssize_t poll_source_show(struct device *dev,
				struct device_attribute *attr, char *buf)
{
	struct virtio_device *vdev = dev_to_virtio(dev);
	bool active;

	mutex_lock(&vdev->poll_source_lock);
	active = virtio_poll_source_any(vdev, virtqueue_is_polled);
	mutex_unlock(&vdev->poll_source_lock);

	return sysfs_emit(buf, "%d\n", active);
}

static ssize_t poll_source_store(struct device *dev,
				 struct device_attribute *attr,
				 const char *buf, size_t count)
{
	struct virtio_device *vdev = dev_to_virtio(dev);
	bool want;
	int ret;

	ret = kstrtobool(buf, &want);
	if (ret)
		return ret;

	mutex_lock(&vdev->poll_source_lock);
	if (want && !vdev->poll_source_ready)
		ret = -ENODEV;
	else if (want && !virtio_poll_source_any(vdev, virtqueue_shares_events))
		ret = virtio_poll_source_attach(vdev);
	else if (!want && vdev->poll_source_ready)
		virtio_poll_source_detach(vdev);

	if (!ret)
		vdev->poll_source_wanted = want;
	mutex_unlock(&vdev->poll_source_lock);

	return ret ?: count;
}
DEVICE_ATTR_RW(poll_source);
EXPORT_SYMBOL_GPL(dev_attr_poll_source);

/**
 * virtio_poll_source_init - prepare a new device
 * @vdev: the device, before it is reset for the first time
 */
void virtio_poll_source_init(struct virtio_device *vdev)
{
	mutex_init(&vdev->poll_source_lock);
	vdev->poll_source_wanted = enable;
	vdev->poll_source_ready = false;
}
EXPORT_SYMBOL_GPL(virtio_poll_source_init);

/**
 * virtio_poll_source_ready - the driver has its virtqueues in use
 * @vdev: the device, which has just been set DRIVER_OK
 *
 * For virtio_device_ready(). Polling is an optimisation: a device whose queues
 * can not be polled works without.
 *
 * Context: May sleep.
 */
void virtio_poll_source_ready(struct virtio_device *vdev)
{
	bool again;
	int ret;

	mutex_lock(&vdev->poll_source_lock);
	/* A device that forgets its status is said to be ready again */
	again = vdev->poll_source_ready;
	vdev->poll_source_ready = true;
	if (vdev->poll_source_wanted && !again) {
		ret = virtio_poll_source_attach(vdev);
		if (ret)
			dev_dbg(&vdev->dev, "poll_source: error %d\n", ret);
	}
	mutex_unlock(&vdev->poll_source_lock);
}
EXPORT_SYMBOL_GPL(virtio_poll_source_ready);

/**
 * virtio_poll_source_reset - the device is about to be reset
 * @vdev: the device
 *
 * No callback is called from the idle loop from here on, until the device is
 * ready again.
 *
 * Context: May sleep.
 */
void virtio_poll_source_reset(struct virtio_device *vdev)
{
	mutex_lock(&vdev->poll_source_lock);
	if (vdev->poll_source_ready)
		virtio_poll_source_detach(vdev);
	vdev->poll_source_ready = false;
	mutex_unlock(&vdev->poll_source_lock);
}
EXPORT_SYMBOL_GPL(virtio_poll_source_reset);

/**
 * virtio_poll_source_synchronize - wait for callbacks that the idle loop runs
 * @vdev: the device
 *
 * For virtio_synchronize_cbs(). The idle loop runs callbacks in hard interrupt
 * context, which is an RCU read-side critical section.
 *
 * Context: May sleep.
 */
void virtio_poll_source_synchronize(struct virtio_device *vdev)
{
	if (READ_ONCE(vdev->poll_source_ready))
		synchronize_rcu();
}
EXPORT_SYMBOL_GPL(virtio_poll_source_synchronize);

MODULE_DESCRIPTION("Virtqueues as poll sources of the idle loop");
MODULE_LICENSE("GPL");
