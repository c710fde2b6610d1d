// SPDX-License-Identifier: GPL-2.0
/*
 * What the poll sources counted. A source's counts begin anew when it is
 * switched on, and with its device; so each look adds what is new since the
 * last one. What comes between the last look and such a beginning is lost:
 * the sums are no more than what there was.
 */
#include "soak.h"

#include <inttypes.h>
#include <string.h>

#define MAX_SOURCES 256

struct source {
	char name[64];
	struct source_counts last, sum;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct source sources[MAX_SOURCES];
static unsigned int source_count;
static struct source_counts sums;

static struct source *find_source(const char *name)
{
	unsigned int i;

	for (i = 0; i < source_count; i++)
		if (!strcmp(sources[i].name, name))
			return &sources[i];
	if (i == MAX_SOURCES)
		fail("more than %u poll sources", i);
	strcpy(sources[i].name, name);
	source_count++;
	return &sources[i];
}

static void add(struct source_counts *sum, const struct source_counts *more)
{
	sum->windows += more->windows;
	sum->hits += more->hits;
	sum->raced += more->raced;
	sum->irqs += more->irqs;
}

static uint64_t news(uint64_t now, uint64_t last, bool began_anew)
{
	return began_anew ? now : now - last;
}

static void add_news(const char *name, const struct source_counts *now,
		     void *data)
{
	struct source *source = find_source(name);
	const struct source_counts *last = &source->last;
	bool anew = now->windows < last->windows || now->hits < last->hits ||
		    now->raced < last->raced || now->irqs < last->irqs;

	struct source_counts more = {
		.windows = news(now->windows, last->windows, anew),
		.hits = news(now->hits, last->hits, anew),
		.raced = news(now->raced, last->raced, anew),
		.irqs = news(now->irqs, last->irqs, anew),
	};

	(void)data;
	add(&source->sum, &more);
	add(&sums, &more);
	source->last = *now;
}

void sum_sources(void)
{
	pthread_mutex_lock(&lock);
	see_sources(add_news, NULL);
	pthread_mutex_unlock(&lock);
}

void send_sources(void)
{
	unsigned int i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < source_count; i++) {
		const struct source_counts *sum = &sources[i].sum;

		send_record("{\"type\":\"source\",\"name\":\"%s\","
			    "\"windows\":%" PRIu64 ",\"hits\":%" PRIu64
			    ",\"raced\":%" PRIu64 ",\"irqs\":%" PRIu64 "}",
			    sources[i].name, sum->windows, sum->hits,
			    sum->raced, sum->irqs);
	}
	pthread_mutex_unlock(&lock);
}

struct source_counts source_sums(void)
{
	struct source_counts copy;

	pthread_mutex_lock(&lock);
	copy = sums;
	pthread_mutex_unlock(&lock);
	return copy;
}
