// SPDX-License-Identifier: GPL-2.0
/*
 * The engines. On the main disk their blocks lie between those of the fio job
 * (soak.fio: 0 to 16 MiB and 32 to 40 MiB).
 */
#define _GNU_SOURCE
#include "soak.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define MIB (1024 * 1024 / BLOCK)

struct engine engines[] = {
	{ .name = "pread main", .serial = DISK_MAIN, .run = run_plain,
	  .first = 16 * MIB, .blocks = 8 * MIB },
	{ .name = "io_uring main", .serial = DISK_MAIN, .run = run_uring,
	  .first = 24 * MIB, .blocks = 8 * MIB },
	{ .name = "pread unbind", .serial = DISK_UNBIND, .run = run_plain,
	  .first = 0, .blocks = 8 * MIB, .may_fail = true },
	{ .name = "io_uring unbind", .serial = DISK_UNBIND, .run = run_uring,
	  .first = 8 * MIB, .blocks = 8 * MIB, .may_fail = true },
	{ .name = "pread plug", .serial = DISK_PLUG, .run = run_plain,
	  .first = 0, .blocks = 8 * MIB, .may_fail = true,
	  .offered = can_replug },
	{ .name = "io_uring plug", .serial = DISK_PLUG, .run = run_uring,
	  .first = 8 * MIB, .blocks = 8 * MIB, .may_fail = true,
	  .offered = can_replug },
	/* The generator is taken away and brought back by a suspend. */
	{ .name = "hwrng", .run = run_rng, .may_fail = true },
	{ .name = "packets", .run = run_net, .may_fail = true },
};

const unsigned int engine_count = sizeof(engines) / sizeof(engines[0]);

void begin(struct engine *engine, unsigned int slot)
{
	engine->since[slot] = run_ns();
}

void end(struct engine *engine, unsigned int slot, bool good)
{
	engine->since[slot] = 0;
	if (good)
		engine->done++;
	else
		engine->failed++;
}

void pause_at_random(struct engine *engine)
{
	sleep_ns(below(&engine->prng, 100 * MS));
}

/*
 * The name of a disk that went may by now be another one's. Not so once it is
 * open: its number stays its own until it is closed.
 */
static bool is_disk(int fd, const char *serial)
{
	struct stat stat;
	char *path, *text;
	bool same;

	if (fstat(fd, &stat))
		return false;
	path = format_text("/sys/dev/block/%u:%u/serial", major(stat.st_rdev),
			   minor(stat.st_rdev));
	text = read_file(path);
	same = text && !strcmp(text, serial);
	free(text);
	free(path);
	return same;
}

/* A disk that is about to go, or not quite there, is tried again. */
int open_disk(struct engine *engine)
{
	while (!engine->soak->stop_engines) {
		struct disk disk;
		int fd = -1;

		if (find_disk_by_serial(engine->serial, &disk))
			fd = open(disk.node, O_RDWR | O_DIRECT | O_CLOEXEC);
		if (fd >= 0 && is_disk(fd, engine->serial))
			return fd;
		if (fd >= 0)
			close(fd);
		sleep_ns(20 * MS);
	}
	return -1;
}
