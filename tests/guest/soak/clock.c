// SPDX-License-Identifier: GPL-2.0
/*
 * A request that was in flight while the guest was suspended has not hung for
 * that time. CLOCK_MONOTONIC does not tell: in suspend to idle it goes on for
 * as long as the idle driver has no state made for it, and haltpoll has none.
 */
#include "soak.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t stopped_at;	/* 0: it runs */
static uint64_t stopped_for;

uint64_t run_ns(void)
{
	uint64_t now;

	pthread_mutex_lock(&lock);
	now = (stopped_at ? stopped_at : now_ns()) - stopped_for;
	pthread_mutex_unlock(&lock);
	return now;
}

void clock_stop(void)
{
	pthread_mutex_lock(&lock);
	stopped_at = now_ns();
	pthread_mutex_unlock(&lock);
}

void clock_start(void)
{
	pthread_mutex_lock(&lock);
	stopped_for += now_ns() - stopped_at;
	stopped_at = 0;
	pthread_mutex_unlock(&lock);
}
