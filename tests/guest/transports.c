// SPDX-License-Identifier: GPL-2.0
/*
 * A disk is polled whatever its transport and however its queues share
 * interrupts, and by the CPU that the interrupt goes to, also when that is
 * changed. Two CPUs.
 *
 * ps.irq=NAME     how the queues' interrupts are called behind virtioN:
 *                 "-req.0" (one for each queue), "-virtqueues" (one for all),
 *                 "" (the transport's only one)
 * ps.managed=1    their affinity is the kernel's alone
 * ps.trace=1      with the tracepoints and the function tracer on
 */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUESTS 200
#define TRACING "/sys/kernel/tracing/"

static bool failed;

static bool test(bool good, const char *name)
{
	failed |= !tap_test(good, name);
	return good;
}

/* What some requests, made one at a time on one CPU, took. */
struct cost {
	bool good;
	uint64_t ios, irqs, hits, windows;
};

static struct cost measure(const struct disk *disk, int cpu, const char *what)
{
	struct io_job job = { .node = disk->node, .cpu = cpu, .blocks = 1024 };
	uint64_t irqs = count_irqs(disk), hits = count_sources(disk).hits;
	uint64_t windows = count_sources(disk).windows;
	struct io io = start_io(&job);
	struct cost cost;

	cost.good = io_goes_on(&io, REQUESTS);
	cost.ios = io_done(&io);
	cost.irqs = count_irqs(disk) - irqs;
	cost.hits = count_sources(disk).hits - hits;
	cost.windows = count_sources(disk).windows - windows;
	cost.good &= !stop_io(&io);
	send_tap("# %s: %" PRIu64 " requests on CPU %d, %" PRIu64
		 " interrupts, %" PRIu64 " hits in %" PRIu64 " windows",
		 what, cost.ios, cpu, cost.irqs, cost.hits, cost.windows);
	return cost;
}

/* The CPU that polls; where each queue has its interrupt, the first one's. */
static int owner(const struct disk *disk)
{
	struct source sources[MAX_QUEUES];
	unsigned int count = find_sources(disk, sources), i;

	for (i = 0; i < count; i++)
		if (sources[i].cpu >= 0)
			return sources[i].cpu;
	return -1;
}

static void test_irq_name(const struct disk *disk)
{
	struct queue_irq irqs[MAX_QUEUES];
	unsigned int count = find_irqs(disk, irqs);
	char *wanted = format_text("%s%s", disk->virtio, param("irq", ""));

	errno = 0;
	test(count && !strcmp(irqs[0].name, wanted),
	     "the queues' interrupts are those that are to be tested");
	free(wanted);
}

static void test_off(const struct disk *disk, int cpu, const char *name)
{
	struct cost cost = measure(disk, cpu, "off");

	errno = 0;
	test(cost.good && !cost.hits && cost.irqs >= cost.ios - 1, name);
}

/*
 * On a CPU that the interrupt goes to, and that is idle while it waits. What is
 * lost to a busy host, where the interrupt is sent before the CPU gets to poll,
 * is not counted here; what polling gains is measured elsewhere.
 */
static void test_on(const struct disk *disk, int cpu, const char *name)
{
	struct cost cost = measure(disk, cpu, "on");

	errno = 0;
	test(cost.good && cost.hits >= cost.ios / 4 &&
	     cost.irqs <= cost.ios * 3 / 4, name);
}

static int set_affinity(unsigned int irq, const char *cpus)
{
	char *path = format_text("/proc/irq/%u/smp_affinity_list", irq);
	int ret = write_file(path, cpus);

	free(path);
	return ret;
}

static void find_online(int *online)
{
	unsigned int count;
	char *list = online_cpus(&count);

	if (count != 2 || sscanf(list, "%d,%d", &online[0], &online[1]) != 2)
		fail("two CPUs are to be online, not %s", list);
	free(list);
}

/* A managed interrupt stays where it is. */
static void test_managed(const struct disk *disk)
{
	struct queue_irq irqs[MAX_QUEUES];

	find_irqs(disk, irqs);
	test(set_affinity(irqs[0].number, "0") &&
	     (errno == EIO || errno == EPERM),
	     "a managed interrupt can not be moved");
}

/* Moves the one interrupt under I/O from both CPUs, to @cpu if not -1. */
static void test_move(const struct disk *disk, const int *online, int cpu)
{
	char *cpus = cpu < 0 ? format_text("%d,%d", online[0], online[1]) :
			       format_text("%d", cpu);
	struct queue_irq irqs[MAX_QUEUES];
	struct io io[2];
	bool good;
	int i;

	find_irqs(disk, irqs);
	for (i = 0; i < 2; i++) {
		struct io_job job = { .node = disk->node, .cpu = online[i],
				      .blocks = 1024 };

		io[i] = start_io(&job);
	}
	good = io_goes_on(&io[0], 50) && io_goes_on(&io[1], 50);
	good = test(good && !set_affinity(irqs[0].number, cpus),
		    "the interrupt can be moved under I/O");
	test(owners_follow(disk), "the owner follows");
	for (i = 0; i < 2; i++) {
		good &= io_goes_on(&io[i], 50);
		good &= !stop_io(&io[i]);
	}
	test(good, "the I/O goes on");
	send_tap("# with the mask %s the owner is CPU %d", cpus, owner(disk));
	free(cpus);
	if (cpu >= 0)
		test(owner(disk) == cpu, "it is the CPU that was asked for");
	test_on(disk, owner(disk), "it polls");
}

/*
 * All functions would be too many for an emulated CPU with KASAN. One pattern
 * a write; a file that is not truncated adds them up.
 */
static void start_tracing(void)
{
	bool good = !write_file(TRACING "set_ftrace_filter", "*poll*") &&
		    !write_file(TRACING "set_ftrace_filter", "vring_*") &&
		    !write_file(TRACING "set_ftrace_filter", "virtqueue_*") &&
		    !write_file(TRACING "current_tracer", "function") &&
		    !write_file(TRACING "events/poll_source/enable", "1");

	test(good, "the tracepoints and the function tracer are on");
}

static void stop_tracing(void)
{
	char *trace;

	write_file(TRACING "tracing_on", "0");
	trace = read_file(TRACING "trace");
	errno = 0;
	test(trace && strstr(trace, "poll_source_start: source=") &&
	     strstr(trace, "poll_source_hit: source=") &&
	     strstr(trace, "poll_source_stop: source="),
	     "the trace has starts, hits and stops");
	test(trace && strstr(trace, "vring_poll_check <-"),
	     "and the functions that they call");
	free(trace);
	write_file(TRACING "current_tracer", "nop");
	write_file(TRACING "events/poll_source/enable", "0");
}

int main(void)
{
	struct disk disk = find_disk();
	bool trace = param_number("trace", 0);
	int online[2];

	find_online(online);
	test_irq_name(&disk);
	test_off(&disk, 0, "off: an interrupt for each request");
	if (trace)
		start_tracing();
	test(!set_poll_source(&disk, true) && poll_source_is(&disk, true),
	     "poll_source can be set");
	measure(&disk, 0, "first");
	test(owners_follow(&disk) && owner(&disk) >= 0,
	     "the CPU that the interrupt goes to is the owner");
	test_on(&disk, owner(&disk), "on: it polls");
	if (trace)
		stop_tracing();

	if (param_number("managed", 0)) {
		test_managed(&disk);
	} else {
		test_move(&disk, online, online[1]);
		test_move(&disk, online, online[0]);
		test_move(&disk, online, -1);
	}

	test(!set_poll_source(&disk, false) && poll_source_is(&disk, false),
	     "poll_source can be cleared");
	test_off(&disk, 0, "off again: an interrupt for each request");
	return failed;
}
