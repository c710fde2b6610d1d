/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Virtqueues as poll sources: what virtio.c, virtio_ring.c and
 * virtio_poll_source.c need of each other.
 */
#ifndef _DRIVERS_VIRTIO_POLL_SOURCE_H
#define _DRIVERS_VIRTIO_POLL_SOURCE_H

#include <linux/device.h>
#include <linux/virtio.h>

struct poll_source;

#ifdef CONFIG_VIRTIO_POLL_SOURCE
/* virtio_ring.c */
bool virtqueue_share_events(struct virtqueue *vq);
int virtqueue_poll_register(struct virtqueue *vq);
void virtqueue_poll_unregister(struct virtqueue *vq);
bool virtqueue_shares_events(const struct virtqueue *vq);
bool virtqueue_is_polled(const struct virtqueue *vq);
struct poll_source *virtqueue_poll_source(struct virtqueue *vq);	/* KUnit */

/* virtio_poll_source.c */
extern struct device_attribute dev_attr_poll_source;
void virtio_poll_source_init(struct virtio_device *vdev);
void virtio_poll_source_reset(struct virtio_device *vdev);
#else
static inline void virtio_poll_source_init(struct virtio_device *vdev)
{
}

static inline void virtio_poll_source_reset(struct virtio_device *vdev)
{
}
#endif

#endif /* _DRIVERS_VIRTIO_POLL_SOURCE_H */
