// SPDX-License-Identifier: GPL-2.0
/*
 * virtio and haltpoll as modules: polling works, and the modules can be
 * removed and loaded again, with poll_source set and while I/O runs.
 *
 * virtio_pci takes the disk away from under its I/O, which ends with errors,
 * and the results port, so that nothing is reported meanwhile.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DRIVER "/sys/devices/system/cpu/cpuidle/current_driver"

static bool failed;

static void test(bool good, const char *name)
{
	failed |= !tap_test(good, name);
}

static bool haltpoll_drives(void)
{
	char *driver = read_file(DRIVER);
	bool found = driver && !strcmp(driver, "haltpoll\n");

	free(driver);
	return found;
}

static int start_fio(const char *seconds)
{
	char *const argv[] = {
		"fio", "--eta=never", "--section=sync", "/fio/randread.fio", NULL
	};

	setenv("RUNTIME", seconds, 1);
	return start_program(argv, NULL);
}

static bool polled(const struct disk *disk)
{
	uint64_t before = count_sources(disk).hits;

	return !wait_program(start_fio("1")) &&
	       count_sources(disk).hits > before;
}

/* The disk's name comes back, its virtio device is the same. */
static bool disk_is_back(const struct disk *disk)
{
	unsigned int tries;

	for (tries = 0; tries < 100; tries++) {
		char *path = format_text("/sys/block/%s/stat", disk->name);
		char *stat = read_file(path);

		free(path);
		free(stat);
		if (stat)
			return true;
		sleep_ns(50 * 1000000);
	}
	return false;
}

/*
 * virtio_pci takes all devices away from under their I/O, which ends with
 * errors, and the results port, so that nothing can be said meanwhile. The
 * disk gets its name again since nobody has the old one open any more.
 */
static const char *reload_transport(struct disk *disk)
{
	struct io_job job = { .node = disk->node, .cpu = -1, .blocks = 1024 };
	struct io io = start_io(&job);
	bool flowed = io_goes_on(&io, 100), removed, loaded;
	int error;

	close(RESULTS_FD);
	removed = !remove_module("virtio_pci");
	error = wait_io(&io);
	loaded = !load_module("virtio_pci.ko") && disk_is_back(disk);
	open_results();
	if (!flowed || !removed || !loaded)
		return !flowed ? "there was no I/O" :
		       !removed ? "not removed" : "not loaded";
	*disk = find_disk();
	return !error ? "its I/O had no error" :
	       error == ETIME ? "its I/O hangs" : NULL;
}

static void test_transport(struct disk *disk)
{
	const char *wrong = NULL;
	int round;

	for (round = 0; !wrong && round < 3; round++) {
		wrong = reload_transport(disk);
		if (!wrong && (set_poll_source(disk, true) || !polled(disk)))
			wrong = "not polled after that";
	}
	if (wrong)
		send_tap("# round %d: %s", round, wrong);
	test(!wrong, "virtio_pci goes and comes while I/O runs");
}

int main(void)
{
	struct disk disk = find_disk();
	int pid, round;
	bool good;

	setenv("DEVICE", disk.node, 1);
	setenv("CPUS", "0", 1);
	setenv("JOBS", "1", 1);
	setenv("RAMP", "0", 1);

	test(haltpoll_drives(), "cpuidle-haltpoll drives as a module");
	test(!set_poll_source(&disk, true), "poll_source can be set");
	test(polled(&disk), "the disk is polled");

	pid = start_fio("3");
	for (good = true, round = 0; good && round < 5; round++) {
		sleep_ns(200 * 1000000);
		good = !remove_module("cpuidle_haltpoll") && !haltpoll_drives();
		sleep_ns(200 * 1000000);
		good = good && !load_module("cpuidle-haltpoll.ko") &&
		       haltpoll_drives();
	}
	test(good, "cpuidle-haltpoll goes and comes while I/O runs");
	test(!wait_program(pid), "that I/O had no error");
	test(polled(&disk), "the disk is polled after that");

	for (good = true, round = 0; good && round < 3; round++)
		good = !remove_module("virtio_blk") &&
		       !load_module("virtio_blk.ko") && disk_is_back(&disk);
	test(good, "virtio_blk goes and comes with poll_source set");
	if (good)
		test(!set_poll_source(&disk, true) && polled(&disk),
		     "the disk is polled after that");
	test_transport(&disk);
	return failed;
}
