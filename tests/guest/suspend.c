// SPDX-License-Identifier: GPL-2.0
/*
 * Suspend to idle while a polled disk does I/O, woken by the clock: all comes
 * back, poll_source with it. Virtio's drivers reset their devices for that, and
 * set them up again. No device is polled meanwhile, be it reset or not: to be
 * run with virtio_poll_source.enable=1, since there are devices that always have
 * something outstanding, as the port for the results does.
 *
 * ps.rounds=N (5)
 */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRACING "/sys/kernel/tracing/"
#define ALARM "/sys/class/rtc/rtc0/wakealarm"
#define JOBS 3
#define MAX_TRIES 10

static bool failed;

static bool test(bool good, const char *name)
{
	failed |= !tap_test(good, name);
	return good;
}

/*
 * With the count of wakeups written back, an alarm that goes off before the
 * guest sleeps makes the kernel refuse to sleep, instead of for good.
 */
static bool suspended(void)
{
	char *count = read_file("/sys/power/wakeup_count");
	bool slept = count && !write_file(ALARM, "0") &&
		     !write_file(ALARM, "+3") &&
		     !write_file("/sys/power/wakeup_count", count) &&
		     !write_file("/sys/power/state", "freeze");
	int error = errno;

	free(count);
	errno = error;
	return slept;
}

/* Why it has not slept. EINVAL: before the count was written. */
static bool woken_early(void)
{
	return errno == EBUSY || errno == EINVAL;
}

/* Where the next window begins from here on, or the end */
static const char *next_window(const char *trace)
{
	const char *start = strstr(trace, "poll_source_start: source=");

	return start ? start : trace + strlen(trace);
}

/*
 * There are windows before the kernel begins to suspend, as there should be
 * always, and none from when tasks are frozen until they thaw.
 */
static bool not_polled_asleep(char *trace)
{
	char *begin = strstr(trace, "suspend_resume: freeze_processes");
	char *end = strstr(trace, "suspend_resume: thaw_processes");
	const char *window;

	if (!begin || !end || next_window(trace) > begin) {
		send_tap("# the trace has %s", begin && end ?
			 "no window before it sleeps" : "no suspend");
		return false;
	}
	window = next_window(begin);
	if (window < end)
		send_tap("# while asleep: %.*s", (int)strcspn(window, "\n"),
			 window);
	return window > end;
}

static bool all_go_on(const struct io *io)
{
	bool good = true;
	int i;

	for (i = 0; i < JOBS; i++)
		good &= io_goes_on(&io[i], 50);
	return good;
}

/* The image's disk is fast, and the CPUs seldom wait for it. */
static bool all_go_on_polled(const struct disk *disk, const struct io *io)
{
	uint64_t hits = count_sources(disk).hits;
	unsigned int tries;

	for (tries = 0; tries < 30; tries++) {
		if (!all_go_on(io))
			return false;
		if (count_sources(disk).hits > hits)
			return true;
	}
	return false;
}

/* With the trace of its last attempt. */
static bool traced_suspend(const struct disk *disk, const struct io *io,
			   bool *unpolled)
{
	unsigned int tries = 0;
	bool slept, again;
	char *trace;

	do {
		write_file(TRACING "trace", "");
		write_file(TRACING "tracing_on", "1");
		if (!all_go_on_polled(disk, io)) {
			send_tap("# the disk is not polled before it sleeps");
			return false;
		}
		slept = suspended();
		again = woken_early();
		write_file(TRACING "tracing_on", "0");
	} while (!slept && again && ++tries < MAX_TRIES);
	trace = read_file(TRACING "trace");
	*unpolled &= trace && not_polled_asleep(trace);
	free(trace);
	return slept;
}

/*
 * To the kernel, hibernation from user space is a sleep as well, from when its
 * file is opened until it is closed. One that ends meanwhile does not end it.
 */
static bool unpolled_in_both(const struct disk *disk, const struct io *io)
{
	int fd = open("/dev/snapshot", O_RDONLY | O_CLOEXEC);
	unsigned int tries = 0;
	uint64_t windows;
	bool good;

	if (fd < 0) {
		send_tap("# /dev/snapshot: %s", strerror(errno));
		return false;
	}
	while (!(good = suspended()) && woken_early() && ++tries < MAX_TRIES)
		;
	windows = count_sources(disk).windows;
	good = good && all_go_on(io) && count_sources(disk).windows == windows;
	close(fd);
	return good && all_go_on_polled(disk, io);
}

/* One on each CPU, and one that goes where it likes. */
static void start_jobs(const struct disk *disk, struct io *io)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int i;

	for (i = 0; i < JOBS; i++) {
		struct io_job job = {
			.node = disk->node, .cpu = i < cpus ? i : -1,
			.first = 1024 * i, .blocks = 1024, .verify = true,
		};

		io[i] = start_io(&job);
	}
}

int main(void)
{
	struct disk disk = find_disk();
	unsigned int rounds = param_number("rounds", 5), round;
	bool slept = true, went_on, back = true, polled = true, right = true;
	bool unpolled = true;
	struct io io[JOBS];
	int i;

	test(!set_poll_source(&disk, true), "poll_source can be set");
	test(!write_file(TRACING "events/power/suspend_resume/enable", "1") &&
	     !write_file(TRACING "events/poll_source/poll_source_start/enable",
			 "1"), "the tracepoints are on");
	start_jobs(&disk, io);
	went_on = all_go_on(io);
	for (round = 0; slept && went_on && round < rounds; round++) {
		uint64_t hits;

		slept = traced_suspend(&disk, io, &unpolled);
		back &= poll_source_is(&disk, true);
		hits = count_sources(&disk).hits;
		went_on = all_go_on(io);
		polled &= all_go_on_polled(&disk, io);
		send_tap("# slept %u times, %" PRIu64 " hits since", round + 1,
			 count_sources(&disk).hits - hits);
	}
	test(slept, "it sleeps and wakes");
	errno = 0;
	test(went_on, "the I/O goes on each time");
	test(unpolled, "no source is polled meanwhile");
	test(back, "poll_source is 1 each time");
	test(polled, "the disk is polled each time");
	test(unpolled_in_both(&disk, io),
	     "no source is polled until the last of two sleeps is over");
	for (i = 0; i < JOBS; i++) {
		int error = stop_io(&io[i]);

		if (error)
			send_tap("# job %d: %s", i, strerror(error));
		right &= !error;
	}
	test(right, "no request was lost, all data is right");
	return failed;
}
