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

struct tally {
	char name[64];
	struct source_counts last, sum;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct tally tallies[MAX_SOURCES];
static unsigned int tally_count;
static struct source_counts sums;

static struct tally *find_tally(const char *name)
{
	unsigned int i;

	for (i = 0; i < tally_count; i++)
		if (!strcmp(tallies[i].name, name))
			return &tallies[i];
	if (i == MAX_SOURCES)
		fail("more than %u poll sources", i);
	strcpy(tallies[i].name, name);
	tally_count++;
	return &tallies[i];
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

static void add_news(const struct source *source, void *data)
{
	struct tally *tally = find_tally(source->name);
	const struct source_counts *now = &source->counts;
	const struct source_counts *last = &tally->last;
	bool anew = now->windows < last->windows || now->hits < last->hits ||
		    now->raced < last->raced || now->irqs < last->irqs;

	struct source_counts more = {
		.windows = news(now->windows, last->windows, anew),
		.hits = news(now->hits, last->hits, anew),
		.raced = news(now->raced, last->raced, anew),
		.irqs = news(now->irqs, last->irqs, anew),
	};

	(void)data;
	add(&tally->sum, &more);
	add(&sums, &more);
	tally->last = *now;
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
	for (i = 0; i < tally_count; i++) {
		const struct source_counts *sum = &tallies[i].sum;

		send_record("{\"type\":\"source\",\"name\":\"%s\","
			    "\"windows\":%" PRIu64 ",\"hits\":%" PRIu64
			    ",\"raced\":%" PRIu64 ",\"irqs\":%" PRIu64 "}",
			    tallies[i].name, sum->windows, sum->hits,
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
