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

/* A virtio-serial port by its name, with the flags of open(); -1: none. */
int open_serial(const char *name, int flags);
/*
 * Makes RESULTS_FD the results port. Nothing to do where it is already, and
 * not been unplugged since.
 */
void open_results(void);
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
/* Another one, vdb for example. */
struct disk find_disk_named(const char *name);
/* By the serial number that QEMU gave it; false: there is none just now. */
bool find_disk_by_serial(const char *serial, struct disk *disk);
/* Its poll_source switch; -1 with errno set when the kernel refuses. */
int set_poll_source(const struct disk *disk, bool on);
bool poll_source_is(const struct disk *disk, bool on);

/* Requests it has completed since boot. */
uint64_t count_ios(const struct disk *disk);

/* What its queues' poll sources counted, from debugfs; 0 without the file. */
struct source_counts {
	uint64_t windows, hits, raced, irqs;
};

struct source_counts count_sources(const struct disk *disk);
/*
 * Looks for a disk that hangs: requests are in flight and none completes. The
 * caller gives the time, by a clock of its choice, at each look.
 */
struct stall {
	uint64_t ios, since_ns;
};

/* For how long nothing has completed though something is in flight. */
uint64_t stalled_ns(struct stall *stall, const struct disk *disk, uint64_t now);

#define MAX_QUEUES 32

/* A queue's poll source: a line of debugfs. */
struct source {
	char name[32];		/* virtio2-req.0 */
	int cpu;		/* -1: no interrupt has been seen yet */
	struct source_counts counts;
};

/* Shows each poll source there is. */
void see_sources(void (*see)(const struct source *source, void *data),
		 void *data);
/* Those of a disk; room for MAX_QUEUES. */
unsigned int find_sources(const struct disk *disk, struct source *sources);

/* An interrupt of the disk's queues, not the one of its configuration. */
struct queue_irq {
	char name[32];		/* virtio2-req.0; virtio2 where it has but one */
	unsigned int number;
	uint64_t count;
};

unsigned int find_irqs(const struct disk *disk, struct queue_irq *irqs);
/* How often they came, together. */
uint64_t count_irqs(const struct disk *disk);

/*
 * The CPU that owns each poll source is the one that its interrupt goes to,
 * for those whose interrupt has been seen. Sources follow in a second or two;
 * waits for that. I/O has to go on meanwhile on all queues.
 */
bool owners_follow(const struct disk *disk);

/* "0" or "0,2": what /sys/devices/system/cpu/online says, without ranges. */
char *online_cpus(unsigned int *count);

/*
 * Synchronous, direct I/O in a process of its own, for tests that disturb it.
 * It ends at the first error.
 */
struct io_job {
	const char *node;
	int cpu;		/* to be pinned to; -1: any */
	unsigned int first;	/* block of 4 KiB that it begins at */
	unsigned int blocks;	/* how many */
	bool verify;		/* write and read back; else read only */
};

struct io {
	int pid;
	struct io_shared *shared;
};

struct io start_io(const struct io_job *job);
/* Requests that were done. */
uint64_t io_done(const struct io *io);
/* Waits until so many more are done; false: error, or nothing for 30 s. */
bool io_goes_on(const struct io *io, uint64_t more);
/*
 * Has it end, or sees it end by itself: 0, or an errno: that of the request
 * that failed, EILSEQ where what was read is not what was written, ETIME where
 * a request hangs.
 */
int stop_io(struct io *io);
int wait_io(struct io *io);

/* Starts a program with its standard output in out_path (NULL: console). */
int start_program(char *const argv[], const char *out_path);
/* Exit status as a shell gives it: 128 + signal for a killed program. */
int wait_program(int pid);

#endif
