// SPDX-License-Identifier: GPL-2.0
/*
 * Each block carries whose it is, where it lies and how often it was written,
 * in every word. A write that failed leaves its block unknown until the next
 * one; all others must read back as they were written last.
 */
#include "soak.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS (BLOCK / sizeof(uint64_t))

struct region make_region(const struct engine *engine)
{
	struct prng prng = prng_of(engine->soak->seed, engine->name);
	struct region region = {
		.first = engine->first,
		.blocks = engine->blocks,
		.mark = draw(&prng),
		.written = calloc(engine->blocks, sizeof(*region.written)),
		.busy = calloc(engine->blocks, sizeof(*region.busy)),
	};

	if (!region.written || !region.busy)
		fail("out of memory");
	return region;
}

void *make_buffer(void)
{
	void *buffer = aligned_alloc(BLOCK, BLOCK);

	if (!buffer)
		fail("out of memory");
	return buffer;
}

static uint64_t word_of(const struct region *region, const struct job *job,
			unsigned int word)
{
	struct prng prng = {
		region->mark ^ ((uint64_t)job->block << 44) ^
		((uint64_t)job->generation << 12) ^ word
	};

	return draw(&prng);
}

struct job next_job(struct region *region, struct prng *prng, void *buffer)
{
	struct job job = { .block = below(prng, region->blocks) };
	bool wants_write = below(prng, 2);
	uint64_t *words = buffer;
	unsigned int i;

	while (region->busy[job.block])
		job.block = (job.block + 1) % region->blocks;
	region->busy[job.block] = true;
	job.is_write = wants_write || !region->written[job.block];
	job.generation = region->written[job.block];
	if (!job.is_write)
		return job;
	job.generation = draw(prng) | 1;
	for (i = 0; i < WORDS; i++)
		words[i] = word_of(region, &job, i);
	return job;
}

uint64_t job_offset(const struct region *region, const struct job *job)
{
	return (uint64_t)(region->first + job->block) * BLOCK;
}

static bool reads_right(const struct region *region, const struct job *job,
			const uint64_t *words)
{
	unsigned int i;

	for (i = 0; i < WORDS; i++) {
		uint64_t wanted = word_of(region, job, i);

		if (words[i] == wanted)
			continue;
		fprintf(stderr, "soak: wrong data at byte %" PRIu64
			": %016" PRIx64 " is not %016" PRIx64 "\n",
			job_offset(region, job) + i * sizeof(*words), words[i],
			wanted);
		return false;
	}
	return true;
}

bool job_done(struct region *region, const struct job *job,
	      const void *buffer, bool good)
{
	region->busy[job->block] = false;
	if (job->is_write)
		region->written[job->block] = good ? job->generation : 0;
	return job->is_write || !good || reads_right(region, job, buffer);
}
