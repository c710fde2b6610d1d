// SPDX-License-Identifier: GPL-2.0
/*
 * A reboot in the middle of polled I/O. The first boot writes, notes what has
 * been acknowledged on the disk itself, and reboots without a word to the
 * writers. The second finds that note, and all that it names.
 *
 * The disk: block 0 says which boot it is; a region for each writer, of which
 * the first block is the writer's note, and block n holds its n-th write.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/reboot.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/reboot.h>
#include <unistd.h>

#define BLOCK 4096
#define WRITERS 4
#define REGION 8192		/* blocks */
#define MAGIC UINT64_C(0x706f6c6c20736f75)

static bool failed;

static bool test(bool good, const char *name)
{
	failed |= !tap_test(good, name);
	return good;
}

struct writer {
	int fd;
	unsigned int number;
	_Atomic uint64_t acknowledged;
};

static off_t region(unsigned int number)
{
	return BLOCK * (1 + (off_t)number * REGION);
}

static uint64_t *new_block(void)
{
	uint64_t *block = aligned_alloc(BLOCK, BLOCK);

	if (!block)
		fail("out of memory");
	return memset(block, 0, BLOCK);
}

/* What tells a block from all others. */
static void fill(uint64_t *block, unsigned int writer, uint64_t n)
{
	size_t i;

	for (i = 0; i < BLOCK / sizeof(*block); i++)
		block[i] = MAGIC ^ n << 16 ^ (uint64_t)writer << 56 ^ i;
}

static bool try_put(int fd, const void *block, off_t at)
{
	return pwrite(fd, block, BLOCK, at) == BLOCK;
}

static void put(int fd, const void *block, off_t at)
{
	if (!try_put(fd, block, at))
		fail("cannot write to the disk: %s", strerror(errno));
}

static void get(int fd, void *block, off_t at)
{
	if (pread(fd, block, BLOCK, at) != BLOCK)
		fail("cannot read from the disk: %s", strerror(errno));
}

/* Until the reboot puts an end to it, with an error or without one. */
static void *write_on(void *data)
{
	struct writer *writer = data;
	uint64_t *block = new_block(), *note = new_block(), n;

	for (n = 1; n < REGION; n++) {
		fill(block, writer->number, n);
		note[0] = n;
		if (!try_put(writer->fd, block,
			     region(writer->number) + n * BLOCK) ||
		    !try_put(writer->fd, note, region(writer->number)))
			break;
		writer->acknowledged = n;
		/* Leaves the CPU time to idle, and so to poll. */
		sleep_ns(500000);
	}
	return NULL;
}

/* With so many writers the CPUs seldom wait for the disk, which is fast. */
static bool wait_for_hit(const struct disk *disk)
{
	uint64_t end_ns = now_ns() + 20000000000;

	while (!count_sources(disk).hits && now_ns() < end_ns)
		sleep_ns(1000000);
	return count_sources(disk).hits;
}

static void wait_for_writes(const struct writer *writers, uint64_t count)
{
	uint64_t end_ns = now_ns() + 60000000000;
	unsigned int i;

	for (i = 0; i < WRITERS; i++)
		while (writers[i].acknowledged < count) {
			if (now_ns() > end_ns)
				fail("the writers hang, or had errors");
			sleep_ns(1000000);
		}
}

static void first_boot(int fd, const struct disk *disk, uint64_t *block)
{
	static struct writer writers[WRITERS];
	pthread_t thread;
	unsigned int i;

	if (set_poll_source(disk, true))
		fail("poll_source cannot be set: %s", strerror(errno));
	for (i = 0; i < WRITERS; i++) {
		block[0] = 0;
		put(fd, block, region(i));
	}
	block[0] = MAGIC;
	put(fd, block, 0);
	for (i = 0; i < WRITERS; i++) {
		writers[i] = (struct writer){ .fd = fd, .number = i };
		if (pthread_create(&thread, NULL, write_on, &writers[i]))
			fail("pthread_create failed");
	}
	wait_for_writes(writers, 200);
	errno = 0;
	test(wait_for_hit(disk), "the disk is polled");
	/* Some more, so that they are in the middle of it. */
	wait_for_writes(writers, writers[0].acknowledged + 20);
	reboot(LINUX_REBOOT_CMD_RESTART);
	fail("it does not reboot: %s", strerror(errno));
}

static void second_boot(int fd, const struct disk *disk, uint64_t *block)
{
	uint64_t *wanted = new_block(), *note = new_block(), n, whole = 0;
	uint64_t noted = 0;
	unsigned int i;

	for (i = 0; i < WRITERS; i++) {
		get(fd, note, region(i));
		noted += note[0];
		for (n = 1; n <= note[0] && n < REGION; n++) {
			get(fd, block, region(i) + n * BLOCK);
			fill(wanted, i, n);
			whole += !memcmp(block, wanted, BLOCK);
		}
	}
	send_tap("# %" PRIu64 " writes acknowledged before, %" PRIu64 " found",
		 noted, whole);
	errno = 0;
	test(noted >= WRITERS * 200 && whole == noted,
	     "what was acknowledged before the reboot is there");
	test(!set_poll_source(disk, true), "poll_source can be set again");
	for (n = 0; n < 20000 && !count_sources(disk).hits; n++)
		get(fd, block, region(0));
	test(count_sources(disk).hits > 0, "the disk is polled again");
}

int main(void)
{
	struct disk disk = find_disk();
	int fd = open(disk.node, O_RDWR | O_DIRECT | O_CLOEXEC);
	uint64_t *block = new_block();

	if (fd < 0)
		fail("cannot open %s: %s", disk.node, strerror(errno));
	get(fd, block, 0);
	if (block[0] != MAGIC)
		first_boot(fd, &disk, block);
	block[1]++;
	put(fd, block, 0);
	errno = 0;
	test(block[1] == 1, "it is the second boot");
	second_boot(fd, &disk, block);
	return failed;
}
