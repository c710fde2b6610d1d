// SPDX-License-Identifier: GPL-2.0
/* The engine of plain system calls: one pread() or pwrite() at a time. */
#define _GNU_SOURCE
#include "soak.h"

#include <stdlib.h>
#include <unistd.h>

static bool request(struct engine *engine, struct region *region, int fd,
		    void *buffer)
{
	struct job job = next_job(region, &engine->prng, buffer);
	uint64_t offset = job_offset(region, &job);
	ssize_t moved;

	begin(engine, 0);
	if (job.is_write)
		moved = pwrite(fd, buffer, BLOCK, offset);
	else
		moved = pread(fd, buffer, BLOCK, offset);
	end(engine, 0, moved == BLOCK);
	if (!job_done(region, &job, buffer, moved == BLOCK))
		engine->wrong++;
	return moved == BLOCK;
}

/* Until the disk is gone or the run is over. */
static void use_disk(struct engine *engine, struct region *region, int fd,
		     void *buffer)
{
	while (!engine->soak->stop_engines) {
		uint64_t burst = between(&engine->prng, 1, 30);

		while (burst-- && !engine->soak->stop_engines)
			if (!request(engine, region, fd, buffer))
				return;
		pause_at_random(engine);
	}
}

void run_plain(struct engine *engine)
{
	struct region region = make_region(engine);
	void *buffer = make_buffer();
	int fd;

	while ((fd = open_disk(engine)) >= 0) {
		use_disk(engine, &region, fd, buffer);
		close(fd);
	}
	free(buffer);
}
