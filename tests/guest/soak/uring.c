// SPDX-License-Identifier: GPL-2.0
/* The engine of io_uring: up to DEPTH requests at a time, in any order. */
#define _GNU_SOURCE
#include "soak.h"

#include <errno.h>
#include <liburing.h>
#include <string.h>
#include <unistd.h>

struct user {
	struct engine *engine;
	struct region region;
	struct io_uring ring;
	struct job job[DEPTH];
	bool used[DEPTH];
	void *buffer[DEPTH];
	unsigned int in_flight;
};

static void submit(struct user *user, int fd, unsigned int slot)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&user->ring);
	struct job *job = &user->job[slot];
	void *buffer = user->buffer[slot];
	int ret;

	*job = next_job(&user->region, &user->engine->prng, buffer);
	if (job->is_write)
		io_uring_prep_write(sqe, fd, buffer, BLOCK,
				    job_offset(&user->region, job));
	else
		io_uring_prep_read(sqe, fd, buffer, BLOCK,
				   job_offset(&user->region, job));
	sqe->user_data = slot;
	user->used[slot] = true;
	user->in_flight++;
	begin(user->engine, slot);
	do
		ret = io_uring_submit(&user->ring);
	while (ret == -EINTR || ret == -EAGAIN || ret == -EBUSY);
	if (ret != 1)
		fail("%s: io_uring_submit: %d", user->engine->name, ret);
}

static unsigned int free_slot(const struct user *user)
{
	unsigned int slot = 0;

	while (user->used[slot])
		slot++;
	return slot;
}

/* Waits for one request; false when it failed. */
static bool reap(struct user *user)
{
	struct engine *engine = user->engine;
	struct io_uring_cqe *cqe;
	unsigned int slot;
	bool good;
	int ret;

	do
		ret = io_uring_wait_cqe(&user->ring, &cqe);
	while (ret == -EINTR || ret == -EAGAIN);
	if (ret)
		fail("%s: io_uring_wait_cqe: %s", engine->name, strerror(-ret));
	slot = cqe->user_data;
	good = cqe->res == BLOCK;
	io_uring_cqe_seen(&user->ring, cqe);
	end(engine, slot, good);
	if (!job_done(&user->region, &user->job[slot], user->buffer[slot],
		      good))
		engine->wrong++;
	user->used[slot] = false;
	user->in_flight--;
	return good;
}

static bool burst(struct user *user, int fd)
{
	struct prng *prng = &user->engine->prng;
	unsigned int depth = between(prng, 1, DEPTH);
	uint64_t left = between(prng, 1, 50);
	bool good = true;

	while (user->in_flight || (left && good)) {
		while (good && left && user->in_flight < depth) {
			submit(user, fd, free_slot(user));
			left--;
		}
		good &= reap(user);
	}
	return good;
}

void run_uring(struct engine *engine)
{
	struct user user = {
		.engine = engine,
		.region = make_region(engine),
	};
	unsigned int slot;
	int fd, ret = io_uring_queue_init(DEPTH, &user.ring, 0);

	if (ret)
		fail("io_uring_queue_init: %s", strerror(-ret));
	for (slot = 0; slot < DEPTH; slot++)
		user.buffer[slot] = make_buffer();
	while ((fd = open_disk(engine)) >= 0) {
		while (!engine->soak->stop_engines && burst(&user, fd))
			pause_at_random(engine);
		close(fd);
	}
	io_uring_queue_exit(&user.ring);
}
