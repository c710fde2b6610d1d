// SPDX-License-Identifier: GPL-2.0
/*
 * The kinds of event, and those that take a line or two of sysfs. What the
 * kernel may refuse is counted apart; any other refusal is a failure.
 */
#define _GNU_SOURCE
#include "soak.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VIRTIO_DEVICES "/sys/bus/virtio/devices"
#define HALT_POLL_NS "/sys/module/haltpoll/parameters/guest_halt_poll_ns"
#define HALT_POLL_SHRINK \
	"/sys/module/haltpoll/parameters/guest_halt_poll_allow_shrink"
#define CPUS "/sys/devices/system/cpu"
#define WAKE_ALARM "/sys/class/rtc/rtc0/wakealarm"
#define MAX_CHOICES 64

/* One of the names that were seen, each with the same chance. */
struct choice {
	char name[MAX_CHOICES][64];
	unsigned int count;
};

static void may_choose(struct choice *choice, const char *name)
{
	if (choice->count < MAX_CHOICES)
		snprintf(choice->name[choice->count++],
			 sizeof(choice->name[0]), "%.63s", name);
}

static const char *choose(const struct choice *choice, struct prng *prng)
{
	uint64_t number = draw(prng); /* also when there is nothing to choose */

	return choice->count ? choice->name[number % choice->count] : NULL;
}

static int compare_names(const void *one, const void *other)
{
	return strcmp(one, other);
}

static int refuse(int error)
{
	errno = error;
	return -1;
}

/* --- poll_source ---------------------------------------------------------- */

static int switch_poll_source(struct event *event)
{
	struct choice devices = { 0 };
	DIR *dir = opendir(VIRTIO_DEVICES);
	bool on = below(&event->prng, 4);	/* mostly */
	struct dirent *entry;
	const char *name;
	char *path;
	int ret;

	while (dir && (entry = readdir(dir)))
		if (*entry->d_name != '.')
			may_choose(&devices, entry->d_name);
	if (dir)
		closedir(dir);
	qsort(devices.name, devices.count, sizeof(devices.name[0]),
	      compare_names);
	name = choose(&devices, &event->prng);
	if (!name)
		return refuse(ENODEV);
	if (!on)
		sum_sources();
	path = format_text(VIRTIO_DEVICES "/%s/poll_source", name);
	ret = write_file(path, on ? "1" : "0");
	free(path);
	return ret;
}

/* No driver just now, no queues that can be polled, or gone altogether. */
static bool switch_refused(int error)
{
	return error == ENODEV || error == EOPNOTSUPP || error == ENOENT;
}

/* --- CPUs ----------------------------------------------------------------- */

/* Takes one offline or online; never more online than at the start. */
static int switch_cpu(struct event *event)
{
	struct prng *prng = &event->prng;
	struct choice offline = { 0 }, online = { 0 };
	bool down = below(prng, 2);
	unsigned int cpu;
	const char *name;
	int ret;

	for (cpu = 0; cpu < 2 * event->soak->cpus; cpu++) {
		char *path = format_text(CPUS "/cpu%u/online", cpu);
		char *text = read_file(path);

		if (text)
			may_choose(*text == '1' ? &online : &offline, path);
		free(text);
		free(path);
	}
	if (online.count == 1)
		down = false;
	else if (online.count == event->soak->cpus)
		down = true;
	name = choose(down ? &online : &offline, prng);
	if (!name)
		return refuse(ENODEV);
	pthread_mutex_lock(&event->soak->net_lock);
	pthread_mutex_lock(&event->soak->probe_lock);
	ret = write_file(name, down ? "0" : "1");
	pthread_mutex_unlock(&event->soak->probe_lock);
	pthread_mutex_unlock(&event->soak->net_lock);
	return ret;
}

static bool several_cpus(const struct soak *soak)
{
	return soak->cpus > 1;
}

/* While the guest is being suspended. */
static bool busy_refused(int error)
{
	return error == EBUSY;
}

/* --- interrupts ----------------------------------------------------------- */

static int move_irq(struct event *event)
{
	struct prng *prng = &event->prng;
	struct choice irqs = { 0 };
	char *text = read_file("/proc/interrupts"), *rest = text, *line;
	uint64_t all = (1ull << (2 * event->soak->cpus)) - 1;
	/* As often a single CPU as several. */
	uint64_t mask = below(prng, 2) ? 1ull << below(prng, 2 * event->soak->cpus)
				       : between(prng, 1, all);
	const char *number;
	char *path, *value;
	int ret;

	while (text && (line = strsep(&rest, "\n"))) {
		unsigned int irq;
		char name[16];

		if (!strstr(line, "virtio") || sscanf(line, "%u:", &irq) != 1)
			continue;
		snprintf(name, sizeof(name), "%u", irq);
		may_choose(&irqs, name);
	}
	free(text);
	number = choose(&irqs, prng);
	if (!number)
		return refuse(ENOENT);
	path = format_text("/proc/irq/%s/smp_affinity", number);
	value = format_text("%llx", (unsigned long long)mask);
	ret = write_file(path, value);
	free(value);
	free(path);
	return ret;
}

/* EPERM, EIO: managed by the kernel. EINVAL: no CPU of the mask is online. */
static bool irq_refused(int error)
{
	return error == EPERM || error == EIO || error == EINVAL || error == ENOENT ||
	       error == EBUSY;
}

/* --- haltpoll ------------------------------------------------------------- */

/* Mostly without shrinking: after one long sleep there are few windows. */
static int set_halt_poll(struct event *event)
{
	static const char *const ns[] = {
		"0", "200000", "5000000", "20000000", "50000000"
	};

	if (write_file(HALT_POLL_SHRINK, below(&event->prng, 4) ? "N" : "Y"))
		return -1;
	return write_file(HALT_POLL_NS, ns[below(&event->prng, 5)]);
}

/* --- suspend to idle ------------------------------------------------------ */

static bool can_suspend(const struct soak *soak)
{
	char *states = read_file("/sys/power/state");
	bool can = states && strstr(states, "freeze") &&
		   !access(WAKE_ALARM, W_OK) && param_number("suspend", 1);

	(void)soak;
	free(states);
	return can;
}

/*
 * With the count of wakeups written back, an alarm that goes off before the
 * guest sleeps makes the kernel refuse to sleep, instead of for good.
 */
static int suspend(struct event *event)
{
	int ret = -1, error;
	char *count;

	pthread_mutex_lock(&event->soak->sleep_lock);
	count = read_file("/sys/power/wakeup_count");
	clock_stop();
	if (count && !write_file(WAKE_ALARM, "0") &&
	    !write_file(WAKE_ALARM,
			below(&event->prng, 2) ? "+3" : "+4") &&
	    !write_file("/sys/power/wakeup_count", count))
		ret = write_file("/sys/power/state", "freeze");
	error = errno;
	clock_start();
	pthread_mutex_unlock(&event->soak->sleep_lock);
	free(count);
	errno = error;
	return ret;
}

/* EBUSY: woken before it slept. EINVAL: so before the count was written. */
static bool suspend_refused(int error)
{
	return error == EBUSY || error == EINVAL;
}

/* --- the table ------------------------------------------------------------ */

/* The disk goes and comes under the hands of another event. */
static bool rebind_refused(int error)
{
	return error == ENODEV || error == EBUSY;
}

static bool resize_refused(int error)
{
	return error == EBUSY || error == ENETDOWN;
}

struct event events[] = {
	{ .name = "poll_source", .min_ms = 0, .max_ms = 150,
	  .act = switch_poll_source, .may_refuse = switch_refused },
	{ .name = "CPU hotplug", .min_ms = 20, .max_ms = 1000,
	  .act = switch_cpu, .offered = several_cpus,
	  .may_refuse = busy_refused },
	{ .name = "smp_affinity", .min_ms = 5, .max_ms = 100,
	  .act = move_irq, .may_refuse = irq_refused },
	{ .name = "guest_halt_poll_ns", .min_ms = 100, .max_ms = 2000,
	  .act = set_halt_poll },
	{ .name = "unbind virtio_blk", .min_ms = 500, .max_ms = 4000,
	  .act = rebind_disk_driver, .may_refuse = rebind_refused },
	{ .name = "unbind virtio-pci", .min_ms = 500, .max_ms = 5000,
	  .act = rebind_transport, .may_refuse = rebind_refused },
	{ .name = "unplug", .min_ms = 500, .max_ms = 4000,
	  .act = replug_disk, .offered = can_replug },
	{ .name = "ring resize", .min_ms = 200, .max_ms = 1500,
	  .act = resize_rings, .may_refuse = resize_refused },
	{ .name = "suspend", .min_ms = 5000, .max_ms = 20000,
	  .act = suspend, .offered = can_suspend,
	  .may_refuse = suspend_refused },
};

const unsigned int event_count = sizeof(events) / sizeof(events[0]);
