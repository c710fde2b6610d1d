// SPDX-License-Identifier: GPL-2.0
/*
 * Switches poll_source on and off at random short intervals while fio writes
 * and verifies: no request may hang, none may go wrong. A request counts as
 * hung when requests are in flight and none has completed for ten seconds, or
 * when fio has not ended half a minute after its time.
 *
 * ps.seconds=N (60) ps.seed=N (1): of the intervals
 */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define HANG_NS (10ull * 1000000000)
#define LOOK_NS (200ull * 1000000)
#define LATE_NS (30ull * 1000000000)

struct watch {
	struct stall stall;
	uint64_t looked_ns;
	bool hung;
};

static bool hung(struct watch *watch, const struct disk *disk)
{
	uint64_t now = now_ns();

	if (now - watch->looked_ns < LOOK_NS)
		return watch->hung;
	watch->looked_ns = now;
	watch->hung = stalled_ns(&watch->stall, disk, now) > HANG_NS;
	return watch->hung;
}

static bool reads_as(const struct disk *disk, const char *expected)
{
	char *path = format_text("/sys/bus/virtio/devices/%s/poll_source",
				 disk->virtio);
	char *text = read_file(path);
	bool same = text && !strcmp(text, expected);

	free(text);
	free(path);
	return same;
}

/* What is no boolean is refused and changes nothing. */
static bool refuses(const struct disk *disk, const char *text, bool on)
{
	char *path = format_text("/sys/bus/virtio/devices/%s/poll_source",
				 disk->virtio);
	bool good = !set_poll_source(disk, on) &&
		    write_file(path, text) && errno == EINVAL &&
		    reads_as(disk, on ? "1\n" : "0\n");

	free(path);
	return good;
}

static bool test(bool good, const char *name)
{
	send_tap("%s - %s", good ? "ok" : "not ok", name);
	return good;
}

static bool test_values(const struct disk *disk)
{
	bool good = true;

	good &= test(!set_poll_source(disk, true) && reads_as(disk, "1\n"),
		     "sysfs: 1 reads back as 1");
	good &= test(!set_poll_source(disk, false) && reads_as(disk, "0\n"),
		     "sysfs: 0 reads back as 0");
	good &= test(refuses(disk, "2", false) && refuses(disk, "2", true) &&
		     refuses(disk, "x", false) && refuses(disk, "x", true) &&
		     refuses(disk, "\n", true) && refuses(disk, "-1", true),
		     "sysfs: what is no boolean is refused with EINVAL");
	return good;
}

static int start_fio(void)
{
	char *const argv[] = { "fio", "--eta=never", "/fio/toggle.fio", NULL };

	return start_program(argv, NULL);
}

/* Mostly a few milliseconds, at times so short that windows overlap. */
static uint64_t interval_ns(void)
{
	uint64_t limit = rand() % 4 ? 20000000 : 200000;

	return rand() % limit;
}

/* The counts begin anew whenever poll_source is switched on. */
static void switch_source(const struct disk *disk, bool on,
			  struct source_counts *sum)
{
	if (!on) {
		struct source_counts counts = count_sources(disk);

		sum->windows += counts.windows;
		sum->hits += counts.hits;
		sum->raced += counts.raced;
		sum->irqs += counts.irqs;
	}
	if (set_poll_source(disk, on))
		fail("%s's poll_source cannot be set: %s", disk->virtio,
		     strerror(errno));
}

int main(void)
{
	struct disk disk = find_disk();
	struct watch watch = { .stall.since_ns = now_ns() };
	struct source_counts sum = { 0 };
	unsigned long toggles = 0;
	bool good, is_hung = false;
	unsigned int seconds = param_number("seconds", 60);
	unsigned int seed = param_number("seed", 1);
	uint64_t end_ns = now_ns() + seconds * 1000000000ull + LATE_NS;
	char *runtime = format_text("%u", seconds);
	int pid, status = 0;

	good = test_values(&disk);
	if (set_poll_source(&disk, false))
		fail("poll_source cannot be set: %s", strerror(errno));
	setenv("DEVICE", disk.node, 1);
	setenv("RUNTIME", runtime, 1);
	free(runtime);
	srand(seed);
	send_tap("# the intervals are those of seed %u", seed);
	pid = start_fio();
	while (!is_hung && !waitpid(pid, &status, WNOHANG)) {
		switch_source(&disk, !(toggles++ & 1), &sum);
		sleep_ns(interval_ns());
		is_hung = hung(&watch, &disk) || now_ns() > end_ns;
	}
	send_tap("# %lu times switched, %llu requests, %llu polling windows, "
		 "%llu hits, %llu raced, %llu interrupts while on", toggles,
		 (unsigned long long)count_ios(&disk),
		 (unsigned long long)sum.windows, (unsigned long long)sum.hits,
		 (unsigned long long)sum.raced, (unsigned long long)sum.irqs);
	good &= test(!is_hung, "toggling: no request hung");
	good &= test(!is_hung && !status, "toggling: no error, no mismatch");
	good &= test(toggles > 100, "toggling: more than 100 times switched");
	good &= test(sum.hits > 0,
		     "toggling: the poll source served some requests");
	if (is_hung)
		kill(pid, SIGKILL);
	return !good;
}
