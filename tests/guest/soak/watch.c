// SPDX-License-Identifier: GPL-2.0
/*
 * The watch: a request of an engine is hung when it is older than ten seconds,
 * the main disk when it has requests in flight and has completed none for as
 * long (those of fio are seen in this way), an event after 100 s. Time in
 * which the guest was suspended does not count.
 */
#define _GNU_SOURCE
#include "soak.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HANG_NS (10 * SECOND)
#define EVENT_HANG_NS (100 * SECOND) /* more than replug_disk() waits */

/* The clock is read after the beginning, so that no age is negative. */
static uint64_t age_of(_Atomic uint64_t *since)
{
	uint64_t began = *since;

	return began ? run_ns() - began : 0;
}

static char *hung_text(const char *what, uint64_t age)
{
	return format_text("%s: nothing for %llu s", what,
			   (unsigned long long)(age / SECOND));
}

static uint64_t oldest_request(struct engine *engine)
{
	uint64_t oldest = 0;
	unsigned int slot;

	for (slot = 0; slot < DEPTH; slot++) {
		uint64_t age = age_of(&engine->since[slot]);

		if (age > oldest)
			oldest = age;
	}
	return oldest;
}

char *find_hang(struct watch *watch)
{
	uint64_t age = stalled_ns(&watch->stall, &watch->disk, run_ns());
	unsigned int i;

	if (age > watch->oldest_ns)
		watch->oldest_ns = age;
	if (age > HANG_NS)
		return hung_text("the main disk", age);
	for (i = 0; i < engine_count; i++) {
		age = oldest_request(&engines[i]);
		if (age > watch->oldest_ns)
			watch->oldest_ns = age;
		if (age > HANG_NS)
			return hung_text(engines[i].name, age);
	}
	for (i = 0; i < event_count; i++) {
		age = age_of(&events[i].since);
		if (age > EVENT_HANG_NS)
			return hung_text(events[i].name, age);
	}
	return NULL;
}

/* --- what helps to find out why ------------------------------------------- */

/* Not by way of the console's terminal, which may hang as well. */
static void dump_line(const char *text)
{
	char *line = format_text("soak: %s\n", text);

	write_file("/dev/kmsg", line);
	free(line);
}

static void dump_file(const char *path)
{
	char *text = read_file(path), *rest = text, *line;

	if (text && *text)
		dump_line(path);
	while (text && *text && (line = strsep(&rest, "\n")))
		dump_line(line);
	free(text);
}

/* Calls see with the path of each entry of a directory, to a depth. */
static void walk(const char *path, unsigned int depth,
		 void (*see)(const char *path))
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char *inner;

		if (*entry->d_name == '.')
			continue;
		inner = format_text("%s/%s", path, entry->d_name);
		if (depth)
			walk(inner, depth - 1, see);
		else
			see(inner);
		free(inner);
	}
	if (dir)
		closedir(dir);
}

static void dump_busy(const char *path)
{
	if (!strcmp(strrchr(path, '/'), "/busy") ||
	    !strcmp(strrchr(path, '/'), "/dispatch"))
		dump_file(path);
}

/* Of the programs: kernel threads have no command line. */
static void dump_stack(const char *task)
{
	char *path = format_text("%s/cmdline", task);
	char *line = read_file(path);

	free(path);
	if (line && *line) {
		path = format_text("%s/comm", task);
		dump_file(path);
		free(path);
		path = format_text("%s/stack", task);
		dump_file(path);
		free(path);
		/* How often it slept: whether it waits, or looks again and again. */
		path = format_text("%s/status", task);
		dump_file(path);
		free(path);
	}
	free(line);
}

static void dump_tasks(const char *process)
{
	char *path = format_text("%s/task", process);

	walk(path, 0, dump_stack);
	free(path);
}

void dump_state(const char *hang)
{
	dump_line(hang);
	dump_file("/sys/kernel/debug/poll_source");
	dump_file("/proc/interrupts");
	dump_file("/sys/devices/system/cpu/online");
	walk("/sys/kernel/debug/block", 2, dump_busy);
	walk("/proc", 0, dump_tasks);
	sleep_ns(2 * SECOND);
	walk("/proc", 0, dump_tasks);
	write_file("/proc/sysrq-trigger", "w");
	write_file("/proc/sysrq-trigger", "l");
	sleep_ns(2 * SECOND);
}
