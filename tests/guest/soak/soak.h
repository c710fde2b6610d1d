/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The stress program: engines do I/O without an end and verify it, events
 * happen to the devices and CPUs under them, a watch looks for what hangs.
 *
 * Each engine and each kind of event is a thread with random numbers of its
 * own, made of the seed and its name: whatever the others do, its sequence is
 * the same in every run of that seed.
 */
#ifndef SOAK_H
#define SOAK_H

#include "../guest.h"

#include <pthread.h>
#include <stdatomic.h>

#define MS 1000000ull
#define SECOND (1000 * MS)

#define DEPTH 8			/* requests that an engine has in flight */
#define BLOCK 4096		/* bytes of a request */

/* The disks, by their serial number. The first one stays for good. */
#define DISK_MAIN "main"
#define DISK_UNBIND "unbind"
#define DISK_PLUG "plug"

/* random.c */
struct prng {
	uint64_t state;
};

struct prng prng_of(uint32_t seed, const char *name);
uint64_t draw(struct prng *prng);
/* From 0 to limit - 1. */
uint64_t below(struct prng *prng, uint64_t limit);
/* From min to max. */
uint64_t between(struct prng *prng, uint64_t min, uint64_t max);

/* clock.c: time that stands still while the guest is suspended. */
uint64_t run_ns(void);
void clock_stop(void);
void clock_start(void);

struct soak {
	uint32_t seed;
	unsigned int seconds, cpus;
	bool replug;			/* there is a disk to unplug */
	const char *device_opts;
	atomic_bool stop_events, stop_engines;
	/*
	 * What the kernel itself cannot bear at the same time, poll_source or
	 * not (seen on 6.12.117):
	 *
	 * @net_lock: virtio_net restarts a ring while a CPU goes offline. It
	 * gives up NAPI for sending, for good, and from then on frees tagged
	 * pointers when it resets the ring: virtnet_napi_tx_enable(),
	 * virtnet_sq_free_unused_buf().
	 *
	 * @sleep_lock: a disk is taken away while the guest sleeps. It is
	 * removed before it was restored, and virtblk_remove() frees what
	 * virtblk_freeze() has freed.
	 *
	 * @probe_lock: a CPU goes offline while a disk's queues are made.
	 * blk_mq_init_allocated_queue() asks to be told of that before it has
	 * made the lists that blk_mq_hctx_notify_dead() then looks through.
	 */
	pthread_mutex_t net_lock, sleep_lock, probe_lock;
};

struct engine {
	const char *name;
	const char *serial;		/* its disk, or NULL */
	void (*run)(struct engine *engine);
	unsigned int first, blocks;	/* its part of the disk */
	bool may_fail;			/* what it works on comes and goes */
	bool (*offered)(const struct soak *soak);

	struct soak *soak;
	struct prng prng;
	pthread_t thread;
	/* When each request in flight was begun, by run_ns(); 0: none. */
	_Atomic uint64_t since[DEPTH];
	_Atomic uint64_t done, failed, wrong;
	bool is_offered;
	atomic_bool ended;
};

struct event {
	const char *name;
	unsigned int min_ms, max_ms;	/* between two of them */
	/* 0: it happened. -1 and errno: the kernel refused. */
	int (*act)(struct event *event);
	bool (*offered)(const struct soak *soak);
	bool (*may_refuse)(int error);

	struct soak *soak;
	struct prng prng;
	pthread_t thread;
	_Atomic uint64_t since, did, refused, unexpected;
	atomic_int error;		/* of the last unexpected one */
	bool is_offered;
	atomic_bool ended;
};

bool can_replug(const struct soak *soak);

/* engines.c: the table, and what all engines need */
extern struct engine engines[];
extern const unsigned int engine_count;

void begin(struct engine *engine, unsigned int slot);
/* The request in this slot is over; true when it went well. */
void end(struct engine *engine, unsigned int slot, bool good);
/* Between two bursts, so that the CPUs have time to idle, and to poll. */
void pause_at_random(struct engine *engine);
/* Waits for the engine's disk; -1 when the run is over before it is there. */
int open_disk(struct engine *engine);

/* data.c: what is written can be recognised */
struct region {
	unsigned int first, blocks;
	uint64_t mark;		/* the engine's own */
	uint32_t *written;	/* each block's generation; 0: not known */
	bool *busy;
};

struct job {
	unsigned int block;	/* of the region */
	uint32_t generation;
	bool is_write;
};

struct region make_region(const struct engine *engine);
void *make_buffer(void);
/* Picks a block that is not busy and makes it so; fills what is written. */
struct job next_job(struct region *region, struct prng *prng, void *buffer);
uint64_t job_offset(const struct region *region, const struct job *job);
/* Looks at what came back; false when it is not what was written last. */
bool job_done(struct region *region, const struct job *job,
	      const void *buffer, bool good);

/* Engines: plain.c, uring.c, rng.c, net.c */
void run_plain(struct engine *engine);
void run_uring(struct engine *engine);
void run_rng(struct engine *engine);
void run_net(struct engine *engine);

/* events.c: the table, and the events that take a line or two */
extern struct event events[];
extern const unsigned int event_count;

/* hotplug.c: drivers and devices that go and come back */
int rebind_disk_driver(struct event *event);
int rebind_transport(struct event *event);
int replug_disk(struct event *event);

/* net.c */
int resize_rings(struct event *event);

/* sources.c: what poll sources counted, through all their beginnings */
void sum_sources(void);
/* Each one's, as records. */
void send_sources(void);
struct source_counts source_sums(void);

/* watch.c */
struct watch {
	struct disk disk;
	struct stall stall;
	uint64_t oldest_ns;
};

/* What hangs, as a text to be freed; NULL: nothing. */
char *find_hang(struct watch *watch);
/* Tells the kernel's log what helps to find out why. */
void dump_state(const char *hang);

#endif
