/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the programs in the guest share: the parameters of the run, the
 * results port, small files of sysfs and debugfs.
 *
 * init.c turns every word ps.KEY=VALUE of the kernel command line into the
 * environment variable PS_KEY, and passes the results port as RESULTS_FD.
 * Records are JSON objects, one a line; see send_record().
 */
#ifndef GUEST_H
#define GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RESULTS_FD 3

#define PRINTF(text, first) __attribute__((format(printf, text, first)))

/* Parameters of the run; the default is used when ps.KEY is absent. */
const char *param(const char *key, const char *fallback);
unsigned int param_number(const char *key, unsigned int fallback);

/* One line to the host; the caller gives a whole JSON object. */
void send_record(const char *format, ...) PRINTF(1, 2);
/* One line of TAP, as a record {"type":"tap","line":...}. */
void send_tap(const char *format, ...) PRINTF(1, 2);
/* A test's result as TAP, with errno where it is bad; returns good. */
bool tap_test(bool good, const char *name);
/* Says what went wrong, as a record and on the console, and exits with 1. */
void fail(const char *format, ...) PRINTF(1, 2) __attribute__((noreturn));

char *format_text(const char *format, ...) PRINTF(1, 2);

/* The whole file, to be freed; NULL (and errno) when it cannot be read. */
char *read_file(const char *path);
/* 0 or -1 with errno set. */
int write_file(const char *path, const char *text);

/*
 * A module of /modules, by its file's name; with its parameters from the
 * kernel command line, as modprobe does. 0 or -1 with errno set.
 */
int load_module(const char *file);
int remove_module(const char *name);

uint64_t now_ns(void);
void sleep_ns(uint64_t ns);

/* The virtio-blk disk under test. */
struct disk {
	char name[32];		/* vda */
	char virtio[32];	/* virtio2 */
	char node[64];		/* /dev/vda */
};

struct disk find_disk(void);
/* Its poll_source switch; -1 with errno set when the kernel refuses. */
int set_poll_source(const struct disk *disk, bool on);

/* Requests it has completed since boot. */
uint64_t count_ios(const struct disk *disk);

/* What its queues' poll sources counted, from debugfs; 0 without the file. */
struct source_counts {
	uint64_t windows, hits, raced, irqs;
};

struct source_counts count_sources(const struct disk *disk);

/* "0" or "0,2": what /sys/devices/system/cpu/online says, without ranges. */
char *online_cpus(unsigned int *count);

/* Starts a program with its standard output in out_path (NULL: console). */
int start_program(char *const argv[], const char *out_path);
/* Exit status as a shell gives it: 128 + signal for a killed program. */
int wait_program(int pid);

#endif
