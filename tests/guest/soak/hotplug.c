// SPDX-License-Identifier: GPL-2.0
/*
 * Drivers that are unbound and bound again, and a disk that QEMU takes away
 * and puts back, all while there is I/O.
 */
#define _GNU_SOURCE
#include "soak.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE_NS (40 * SECOND)
/* A disk that is plugged in is there after five seconds, and its probe. */
#define PLUG_NS (12 * SECOND)
#define TRIES 4

/* The two kinds of unbinding take the same disk. */
static pthread_mutex_t unbind_lock = PTHREAD_MUTEX_INITIALIZER;

static bool wait_for_disk(const char *serial, bool there, uint64_t patience)
{
	uint64_t began = run_ns();
	struct disk disk;

	while (find_disk_by_serial(serial, &disk) != there) {
		if (run_ns() - began > patience) {
			errno = ETIMEDOUT;
			return false;
		}
		sleep_ns(20 * MS);
	}
	return true;
}

/* Unbinds and binds what the driver knows as name. */
static int rebind(struct event *event, const char *driver, const char *name)
{
	char *unbind = format_text("%s/unbind", driver);
	char *bind = format_text("%s/bind", driver);
	int ret = write_file(unbind, name);

	if (!ret) {
		sleep_ns(below(&event->prng, 200 * MS));
		pthread_mutex_lock(&event->soak->probe_lock);
		ret = write_file(bind, name);
		/* Put off until the guest has woken from a suspend. */
		if (ret && errno == EAGAIN)
			ret = 0;
		if (!ret && !wait_for_disk(DISK_UNBIND, true, PATIENCE_NS))
			ret = -1;
		pthread_mutex_unlock(&event->soak->probe_lock);
	}
	free(bind);
	free(unbind);
	return ret;
}

int rebind_disk_driver(struct event *event)
{
	struct disk disk;
	int ret = -1;

	pthread_mutex_lock(&unbind_lock);
	errno = ENODEV;
	if (wait_for_disk(DISK_UNBIND, true, PATIENCE_NS) &&
	    find_disk_by_serial(DISK_UNBIND, &disk))
		ret = rebind(event, "/sys/bus/virtio/drivers/virtio_blk",
			     disk.virtio);
	pthread_mutex_unlock(&unbind_lock);
	return ret;
}

/* The PCI device that a virtio device sits on: 0000:00:04.0 */
static char *pci_address(const struct disk *disk)
{
	char *path = format_text("/sys/bus/virtio/devices/%s/..", disk->virtio);
	char *real = realpath(path, NULL);
	char *address = real ? format_text("%s", strrchr(real, '/') + 1) : NULL;

	free(real);
	free(path);
	return address;
}

int rebind_transport(struct event *event)
{
	struct disk disk;
	char *address;
	int ret = -1;

	pthread_mutex_lock(&unbind_lock);
	errno = ENODEV;
	if (wait_for_disk(DISK_UNBIND, true, PATIENCE_NS) &&
	    find_disk_by_serial(DISK_UNBIND, &disk) &&
	    (address = pci_address(&disk))) {
		ret = rebind(event, "/sys/bus/pci/drivers/virtio-pci", address);
		free(address);
	}
	pthread_mutex_unlock(&unbind_lock);
	return ret;
}

/* "packed=on,vectors=2" as members of a JSON object: ,"packed":true,... */
static char *json_options(const char *options)
{
	char *copy = format_text("%s", options), *rest = copy, *option;
	char *json = format_text("%s", "");

	while ((option = strsep(&rest, ",")) && *option) {
		char *value = strchr(option, '=');
		char *longer;

		if (!value)
			fail("'%s' is no property of a device", option);
		*value++ = '\0';
		if (!strcmp(value, "on"))
			value = "true";
		else if (!strcmp(value, "off"))
			value = "false";
		longer = format_text("%s,\"%s\":%s", json, option, value);
		free(json);
		json = longer;
	}
	free(copy);
	return json;
}

static void ask_del(void)
{
	send_record("{\"type\":\"qmp\",\"request\":{\"execute\":\"device_del\","
		    "\"arguments\":{\"id\":\"plug\"}}}");
}

static void ask_add(const char *options)
{
	char *json = json_options(options);

	send_record("{\"type\":\"qmp\",\"request\":{\"execute\":\"device_add\","
		    "\"arguments\":{\"driver\":\"virtio-blk-pci\","
		    "\"id\":\"plug\",\"bus\":\"hot-port\",\"addr\":\"1\","
		    "\"drive\":\"plug-disk\","
		    "\"serial\":\"" DISK_PLUG "\"%s}}}", json);
	free(json);
}

static int replug(struct event *event)
{
	unsigned int tries;
	int ret = -1;

	if (!wait_for_disk(DISK_PLUG, true, PATIENCE_NS))
		return -1;
	ask_del();
	if (!wait_for_disk(DISK_PLUG, false, PATIENCE_NS))
		return -1;
	/*
	 * The slot is powered off, and QEMU lets go of the device, after that.
	 * It refuses a new one before.
	 */
	sleep_ns(between(&event->prng, 3 * SECOND, 4 * SECOND));
	pthread_mutex_lock(&event->soak->probe_lock);
	for (tries = 0; ret && tries < TRIES; tries++) {
		ask_add(event->soak->device_opts);
		if (wait_for_disk(DISK_PLUG, true, PLUG_NS))
			ret = 0;
	}
	pthread_mutex_unlock(&event->soak->probe_lock);
	return ret;
}

bool can_replug(const struct soak *soak)
{
	return soak->replug;
}

int replug_disk(struct event *event)
{
	int ret;

	pthread_mutex_lock(&event->soak->sleep_lock);
	ret = replug(event);
	pthread_mutex_unlock(&event->soak->sleep_lock);
	return ret;
}
