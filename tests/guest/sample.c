// SPDX-License-Identifier: GPL-2.0
/*
 * The sample driver of samples/poll_source: its queue is polled by the idle
 * loop, which takes most of its interrupts away; each answer is right, and none
 * is lost, whatever happens meanwhile to polling, to its interrupt and to the
 * driver. Two CPUs, or one.
 *
 * ps.requests=N   how many a measurement takes (500)
 * ps.seconds=N    how long all that happens (10)
 * ps.seed=N       of it
 * ps.refused=1    there are devices that the driver has to refuse, see refused[]
 * ps.module=1     the driver is a module
 */
#define _GNU_SOURCE
#include "guest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <unistd.h>

#define MODULE "poll_source_sample"
#define DRIVER "/sys/bus/pci/drivers/" MODULE "/"
#define ROUNDS 3
#define READERS 4
#define READ_ALL 3			/* an action of klogctl() */
#define FACTOR 0x9e3779b97f4a7c15ull	/* samples/poll_source */

/* Its interrupt and its source, to the functions of guest.h, which go by that. */
static const struct disk device = { .virtio = "poll_sample" };

static const char *const refused[] = {
	"bytes of shared memory, not",
	"nobody shares this memory for the sample",
	"the device has version 2 of the ring, not 1",
	"no MSI-X vector",
};

static bool failed;

static bool test(bool good, const char *name)
{
	failed |= !tap_test(good, name);
	return good;
}

/* A thread that makes one request after the other. */
struct reader {
	pthread_t thread;
	int cpu;		/* to be pinned to; -1: any */
	uint64_t limit;		/* of requests; 0: until it is to stop */
	bool may_go;		/* the driver may go, and come again */
	_Atomic bool stop;
	_Atomic uint64_t done;
	int error;
};

/* The device that the driver has: its address on the bus; NULL: none. */
static char *find_address(void)
{
	DIR *driver = opendir(DRIVER);
	struct dirent *entry;
	char *address = NULL;

	while (driver && !address && (entry = readdir(driver)))
		if (strchr(entry->d_name, ':'))
			address = format_text("%s", entry->d_name);
	if (driver)
		closedir(driver);
	return address;
}

static char *attribute(const char *name)
{
	char *address = find_address();
	char *path = format_text(DRIVER "%s/%s", address ? address : "none",
				 name);

	free(address);
	return path;
}

static int open_answer(void)
{
	char *path = attribute("answer");
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	free(path);
	return fd;
}

/* One request; 0 or an errno. */
static int ask(int fd)
{
	uint64_t question, answer;
	char text[64];
	ssize_t got = pread(fd, text, sizeof(text) - 1, 0);

	if (got < 0)
		return errno;
	text[got] = '\0';
	if (sscanf(text, "%" SCNu64 " %" SCNu64, &question, &answer) != 2 ||
	    answer != FACTOR * question)
		return EILSEQ;
	return 0;
}

static bool driver_is_gone(int error)
{
	return error == ENODEV || error == ENOENT || error == EBADF;
}

static void *read_on(void *data)
{
	struct reader *reader = data;
	int fd = open_answer();

	while (!reader->error && !reader->stop &&
	       (!reader->limit || reader->done < reader->limit)) {
		int error = fd < 0 ? errno : ask(fd);

		if (!error) {
			reader->done++;
		} else if (reader->may_go && driver_is_gone(error)) {
			close(fd);
			sleep_ns(1000000);
			fd = open_answer();
		} else {
			reader->error = error;
		}
	}
	close(fd);
	return NULL;
}

static void start_reader(struct reader *reader)
{
	pthread_attr_t attr;
	cpu_set_t set;

	pthread_attr_init(&attr);
	if (reader->cpu >= 0) {
		CPU_ZERO(&set);
		CPU_SET(reader->cpu, &set);
		pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
	}
	errno = pthread_create(&reader->thread, &attr, read_on, reader);
	if (errno)
		fail("pthread_create: %s", strerror(errno));
	pthread_attr_destroy(&attr);
}

/* Sees it end by itself; false: with an error. */
static bool wait_reader(struct reader *reader)
{
	pthread_join(reader->thread, NULL);
	errno = reader->error;
	return !reader->error;
}

static bool stop_reader(struct reader *reader)
{
	reader->stop = true;
	return wait_reader(reader);
}

static bool set_polled(bool on)
{
	char *path = attribute("poll_source");
	int ret = write_file(path, on ? "1" : "0");

	free(path);
	return !ret;
}

static bool is_polled(bool on)
{
	char *path = attribute("poll_source");
	char *text = read_file(path);
	bool same = text && !strcmp(text, on ? "1\n" : "0\n");

	free(text);
	free(path);
	return same;
}

static bool set_affinity(int cpu)
{
	struct queue_irq irqs[MAX_QUEUES];
	char *path, *text;
	int ret;

	if (find_irqs(&device, irqs) != 1) {
		errno = ENOENT;
		return false;
	}
	path = format_text("/proc/irq/%u/smp_affinity_list", irqs[0].number);
	text = format_text("%d", cpu);
	ret = write_file(path, text);
	free(text);
	free(path);
	return !ret;
}

/* Two CPUs, which are the same where there is but one. */
static void find_online(int *online)
{
	unsigned int count;
	char *list = online_cpus(&count);

	if (count > 2 || sscanf(list, "%d,%d", &online[0], &online[1]) < 1)
		fail("one or two CPUs are to be online, not %s", list);
	if (count == 1)
		online[1] = online[0];
	free(list);
}

/* The interrupt goes to @cpu and, if it is polled, the source is there. */
static bool settle(int cpu, bool polled)
{
	struct reader reader = { .cpu = cpu };
	bool good;

	if (!set_affinity(cpu) || !set_polled(polled))
		return false;
	start_reader(&reader);
	good = !polled || owners_follow(&device);
	return stop_reader(&reader) && good;
}

/* What some requests, made one at a time on the interrupt's CPU, took. */
struct cost {
	bool good;
	uint64_t requests, irqs, hits, ns;
};

static void measure(int cpu, bool polled, struct cost *sum)
{
	struct reader reader = { .cpu = cpu,
				 .limit = param_number("requests", 500) };
	uint64_t irqs, hits, start;

	sum->good &= settle(cpu, polled);
	irqs = count_irqs(&device);
	hits = count_sources(&device).hits;
	start = now_ns();
	start_reader(&reader);
	if (!wait_reader(&reader)) {
		send_tap("# a request: %s", strerror(errno));
		sum->good = false;
	}
	sum->ns += now_ns() - start;
	sum->requests += reader.done;
	sum->irqs += count_irqs(&device) - irqs;
	sum->hits += count_sources(&device).hits - hits;
}

static void show_cost(const char *what, const struct cost *cost)
{
	double requests = cost->requests ? cost->requests : 1;

	send_tap("# %s: %" PRIu64 " requests, %.0f a second, %.3f interrupts"
		 " and %.3f hits for each", what, cost->requests,
		 cost->requests * 1e9 / cost->ns, cost->irqs / requests,
		 cost->hits / requests);
}

/* The modes in turns, so that what else the host does meets both. */
static void test_gain(int cpu, const char *name)
{
	struct cost off = { .good = true }, on = { .good = true };
	int round;

	for (round = 0; round < ROUNDS; round++) {
		measure(cpu, false, &off);
		measure(cpu, true, &on);
	}
	show_cost("off", &off);
	show_cost("on", &on);
	errno = 0;
	test(off.good && on.good && !off.hits &&
	     off.irqs >= off.requests * 9 / 10 && on.irqs <= off.irqs / 2 &&
	     on.hits >= on.requests / 2, name);
}

/* The kernel's log has what the driver should say of each bad device. */
static void test_refused(void)
{
	static char log[1 << 18];
	int length = klogctl(READ_ALL, log, sizeof(log) - 1);
	size_t i;

	log[length < 0 ? 0 : length] = '\0';
	for (i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		char *name = format_text("it refuses a device: ...%s...",
					 refused[i]);

		test(strstr(log, refused[i]), name);
		free(name);
	}
}

static void start_readers(struct reader *readers, const int *online,
			  bool may_go)
{
	int i;

	memset(readers, 0, READERS * sizeof(*readers));
	for (i = 0; i < READERS; i++) {
		readers[i].cpu = i < 2 ? online[i] : -1;
		readers[i].may_go = may_go;
		start_reader(&readers[i]);
	}
}

/* All of them get answers, still. */
static bool all_go_on(struct reader *readers)
{
	uint64_t end_ns = now_ns() + 30000000000ull, done[READERS];
	int i;

	for (i = 0; i < READERS; i++)
		done[i] = readers[i].done;
	for (i = 0; i < READERS; i++) {
		while (readers[i].done < done[i] + 10) {
			if (now_ns() > end_ns) {
				errno = ETIME;
				return false;
			}
			sleep_ns(1000000);
		}
	}
	return true;
}

static bool stop_readers(struct reader *readers)
{
	bool good = true;
	int i;

	for (i = 0; i < READERS; i++) {
		if (stop_reader(&readers[i]))
			continue;
		send_tap("# reader %d: %s", i, strerror(errno));
		good = false;
	}
	return good;
}

/* A process that is killed amid its request, or before. */
static void kill_one(unsigned int after_us)
{
	int pid = fork();

	if (!pid) {
		int fd = open_answer();

		while (!ask(fd))
			;
		_exit(1);
	}
	sleep_ns(after_us * 1000ull);
	kill(pid, SIGKILL);
	wait_program(pid);
}

static void test_stress(const int *online)
{
	unsigned int seed = param_number("seed", 1), rounds = 0;
	uint64_t end_ns = now_ns() +
			  param_number("seconds", 10) * 1000000000ull;
	struct reader readers[READERS];
	bool good = true, right;

	start_readers(readers, online, false);
	while (good && now_ns() < end_ns) {
		switch (rand_r(&seed) % 3) {
		case 0:
			good = set_affinity(online[rand_r(&seed) % 2]);
			break;
		case 1:
			good = set_polled(rand_r(&seed) % 2);
			break;
		case 2:
			kill_one(rand_r(&seed) % 5000);
			break;
		}
		sleep_ns(rand_r(&seed) % 20 * 1000000ull);
		rounds++;
	}
	good = good && all_go_on(readers);
	right = stop_readers(readers);
	send_tap("# %u changes", rounds);
	test(good, "polling and the interrupt's CPU can be changed, readers killed, at any time");
	test(right, "each answer came and was right");
}

static bool bind(const char *how, const char *address)
{
	char *path = format_text(DRIVER "%s", how);
	int ret = write_file(path, address);

	free(path);
	return !ret;
}

static void test_bind(const char *address, const int *online)
{
	struct reader readers[READERS];
	bool good = true, right;
	int round;

	for (round = 0; good && round < 5; round++)
		good = bind("unbind", address) && bind("bind", address) &&
		       is_polled(true);
	test(good, "the driver can be unbound and bound while it is idle");
	start_readers(readers, online, true);
	for (round = 0, good = true; good && round < 10; round++)
		good = all_go_on(readers) && bind("unbind", address) &&
		       bind("bind", address) && is_polled(true);
	good = good && all_go_on(readers);
	right = stop_readers(readers);
	test(good, "the driver can be unbound and bound under load");
	test(right, "each answer came and was right");
}

static void test_module(const int *online)
{
	struct reader readers[READERS];
	bool good = true, right;
	int round;

	start_readers(readers, online, true);
	for (round = 0; good && round < 5; round++)
		good = all_go_on(readers) && !remove_module(MODULE) &&
		       !load_module(MODULE ".ko");
	good = good && all_go_on(readers);
	right = stop_readers(readers);
	test(good, "the module can be removed and loaded under load");
	test(right, "each answer came and was right");
}

int main(void)
{
	char *address = find_address();
	int online[2];

	find_online(online);
	if (!test(address, "the driver has its device"))
		return 1;
	send_tap("# %s", address);
	if (param_number("refused", 0))
		test_refused();
	test(is_polled(true) && set_polled(false) && is_polled(false) &&
	     set_polled(true) && set_polled(true) && is_polled(true),
	     "it is a poll source from the start, and may be none");
	test_gain(online[0], "the idle loop takes most interrupts away");
	if (online[1] != online[0])
		test_gain(online[1],
			  "so it does when the interrupt goes elsewhere");
	test_stress(online);
	test_bind(address, online);
	if (param_number("module", 0))
		test_module(online);
	test_gain(online[0], "the idle loop takes most interrupts away after that");
	free(address);
	return failed;
}
