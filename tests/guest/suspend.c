// SPDX-License-Identifier: GPL-2.0
/*
 * Suspend to idle while a polled disk does I/O, woken by the clock: all comes
 * back, poll_source with it. Virtio's drivers reset their devices for that, and
 * set them up again.
 *
 * ps.rounds=N (5)
 */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define ALARM "/sys/class/rtc/rtc0/wakealarm"
#define JOBS 3

static bool failed;

static bool test(bool good, const char *name)
{
	failed |= !tap_test(good, name);
	return good;
}

static bool suspended(void)
{
	write_file(ALARM, "0");
	return !write_file(ALARM, "+2") &&
	       !write_file("/sys/power/state", "freeze");
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

/* One on each CPU, and one that goes where it likes. */
static void start_jobs(const struct disk *disk, struct io *io)
{
	int i;

	for (i = 0; i < JOBS; i++) {
		struct io_job job = {
			.node = disk->node, .cpu = i < 2 ? i : -1,
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
	struct io io[JOBS];
	int i;

	test(!set_poll_source(&disk, true), "poll_source can be set");
	start_jobs(&disk, io);
	went_on = all_go_on(io);
	for (round = 0; slept && went_on && round < rounds; round++) {
		uint64_t hits;

		slept = suspended();
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
	test(back, "poll_source is 1 each time");
	test(polled, "the disk is polled each time");
	for (i = 0; i < JOBS; i++) {
		int error = stop_io(&io[i]);

		if (error)
			send_tap("# job %d: %s", i, strerror(error));
		right &= !error;
	}
	test(right, "no request was lost, all data is right");
	return failed;
}
