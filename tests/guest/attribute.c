// SPDX-License-Identifier: GPL-2.0
/*
 * The poll_source attribute tells the truth and takes what it should, under
 * the kernel command line that the test gives. ps.expect says what that is:
 *   on       virtio_poll_source.enable=1: on from the start
 *   off      off from the start, can be turned on
 *   refused  threadirqs: never on, and turning it on is an error
 */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DRIVER "/sys/bus/virtio/drivers/virtio_blk/"

#define EIGHT(word) word word word word word word word word
#define LONG_WORD EIGHT(EIGHT(EIGHT("abcdefg")))

static bool failed;
static char *attribute;

static void test(bool good, const char *name)
{
	failed |= !tap_test(good, name);
}

static bool reads(const char *value)
{
	char *text = read_file(attribute);
	bool same = text && !strcmp(text, value);

	free(text);
	return same;
}

static bool accepted(const char *value, const char *then)
{
	return !write_file(attribute, value) && reads(then);
}

/* An error, and nothing has changed */
static bool refused(const char *value, int error, const char *still)
{
	return write_file(attribute, value) && errno == error && reads(still);
}

static bool io_works(const struct disk *disk)
{
	char *const argv[] = {
		"fio", "--eta=never", "--section=sync", "/fio/randread.fio", NULL
	};

	setenv("DEVICE", disk->node, 1);
	setenv("CPUS", "0", 1);
	setenv("JOBS", "1", 1);
	setenv("RAMP", "0", 1);
	setenv("RUNTIME", "1", 1);
	return !wait_program(start_program(argv, NULL));
}

/* The driver goes while its disk is polled, and comes again. */
static void test_without_driver(const struct disk *disk, bool never)
{
	struct io_job job = { .node = disk->node, .cpu = -1, .blocks = 1024 };
	struct io io = start_io(&job);
	int error;

	test(io_goes_on(&io, 100) && !write_file(DRIVER "unbind", disk->virtio),
	     "the driver can go while I/O runs");
	error = wait_io(&io);
	test(error && error != ETIME, "that I/O ends with an error");
	test(reads("0\n"), "without a driver: reads 0");
	test(refused("1", ENODEV, "0\n"), "without a driver: 1 is refused");
	test(refused("maybe", EINVAL, "0\n"),
	     "without a driver: a word is refused");
	test(accepted("0", "0\n"), "without a driver: 0 is accepted");
	test(!write_file(DRIVER "bind", disk->virtio),
	     "the driver can come again");
	test(reads("0\n"), "what was written without it holds");
	if (!never)
		test(accepted("1", "1\n"), "1 is accepted");
	test(io_works(disk), "I/O works");
}

int main(void)
{
	const char *expect = param("expect", "off");
	bool on = !strcmp(expect, "on"), never = !strcmp(expect, "refused");
	struct disk disk = find_disk();
	const char *const start = on ? "1\n" : "0\n";

	attribute = format_text("/sys/bus/virtio/devices/%s/poll_source",
				disk.virtio);

	test(reads(start), on ? "reads 1 from the start" :
				"reads 0 from the start");
	test(refused("2", EINVAL, start), "2 is refused");
	test(refused("maybe", EINVAL, start), "a word is refused");
	test(refused("-1", EINVAL, start), "-1 is refused");
	test(refused("\n", EINVAL, start), "an empty line is refused");
	test(refused("256", EINVAL, start), "256 is refused");
	test(refused(LONG_WORD, EINVAL, start), "a long word is refused");
	if (never) {
		test(refused("1", EOPNOTSUPP, "0\n"), "1 is refused");
		test(accepted("0", "0\n"), "0 is accepted");
	} else {
		test(accepted("1", "1\n"), "1 is accepted");
		test(accepted("1", "1\n"), "once more");
		test(accepted("0", "0\n"), "0 is accepted");
		test(accepted("0", "0\n"), "once more");
		test(accepted("y", "1\n"), "y is accepted");
	}
	test(io_works(&disk), "I/O works");
	test_without_driver(&disk, never);
	return failed;
}
