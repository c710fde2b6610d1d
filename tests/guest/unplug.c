// SPDX-License-Identifier: GPL-2.0
/*
 * Devices, drivers and CPUs that come and go while polled I/O runs: the I/O of
 * what goes ends with an error, all other goes on, and what comes is polled.
 *
 * ps.unplug=N ps.bind=N ps.cpus=N: how often each; 0: not at all
 */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_CPUS 16
#define VIRTIO_BLK "/sys/bus/virtio/drivers/virtio_blk/"
#define VIRTIO_PCI "/sys/bus/pci/drivers/virtio-pci/"

static bool failed;

static bool test(bool good, const char *name)
{
	failed |= !tap_test(good, name);
	return good;
}

/* QEMU takes the device out of the slot a while after the kernel lets it go. */
static bool wait_for_empty_slot(void)
{
	unsigned int tries;
	bool empty = false;

	for (tries = 0; !empty && tries < 3000; tries++) {
		char *adapter = read_file("/sys/bus/pci/slots/1/adapter");

		empty = adapter && *adapter == '0';
		free(adapter);
		sleep_ns(20000000);
	}
	return empty;
}

/* A name of sysfs appears or goes within a minute. */
static bool wait_for(const char *path, bool there)
{
	unsigned int tries;

	for (tries = 0; !access(path, F_OK) != there; tries++) {
		if (tries == 3000)
			return false;
		sleep_ns(20000000);
	}
	return true;
}

static struct io read_from(const struct disk *disk, int cpu)
{
	struct io_job job = { .node = disk->node, .cpu = cpu, .blocks = 1024 };

	return start_io(&job);
}

/* NULL, or what went wrong */
static const char *polled_io(const struct disk *disk)
{
	struct io io = read_from(disk, -1);
	uint64_t hits, end_ns = now_ns() + 30000000000;
	const char *wrong = NULL;

	if (set_poll_source(disk, true))
		wrong = "poll_source can not be set";
	hits = count_sources(disk).hits;
	while (!wrong && count_sources(disk).hits < hits + 20)
		if (!io_goes_on(&io, 50))
			wrong = "the I/O does not go on";
		else if (now_ns() > end_ns)
			wrong = "the disk is not polled";
	if (stop_io(&io) && !wrong)
		wrong = "the I/O had an error";
	return wrong;
}

/* Has the disk go by @go, and come by @come, under its I/O. */
static const char *round_trip(const char *name, bool (*go)(void),
			      bool (*come)(void))
{
	char *path = format_text("/sys/block/%s/device", name);
	struct disk disk = find_disk_named(name);
	const char *wrong = polled_io(&disk);
	struct io io[2] = { read_from(&disk, 0), read_from(&disk, 1) };
	int error = 0, i;

	for (i = 0; i < 2; i++)
		if (!io_goes_on(&io[i], 50) && !wrong)
			wrong = "no I/O";
	if (!wrong && (!go() || !wait_for(path, false)))
		wrong = "it does not go";
	for (i = 0; i < 2; i++) {
		error = wrong ? stop_io(&io[i]) : wait_io(&io[i]);
		if (!wrong && (!error || error == ETIME))
			wrong = error ? "its I/O hangs" :
					"its I/O ended without an error";
	}
	if (!wrong && (!come() || !wait_for(path, true)))
		wrong = "it does not come";
	if (!wrong) {
		disk = find_disk_named(name);
		wrong = polled_io(&disk);
	}
	free(path);
	return wrong;
}

static void test_rounds(unsigned int rounds, const char *name, bool (*go)(void),
			bool (*come)(void), const char *what)
{
	const char *wrong = NULL;
	unsigned int round;

	if (!rounds)
		return;
	for (round = 0; !wrong && round < rounds; round++)
		wrong = round_trip(name, go, come);
	send_tap("# %u rounds%s%s", round, wrong ? ", in the last: " : "",
		 wrong ? wrong : "");
	errno = 0;
	test(!wrong, what);
}

/* The device that vm.sh's caller gave the id "second". */
static bool unplug(void)
{
	send_record("{\"type\":\"qmp\",\"request\":{\"execute\":\"device_del\","
		    "\"arguments\":{\"id\":\"second\"}}}");
	return true;
}

static bool plug(void)
{
	if (!wait_for_empty_slot())
		return false;
	send_record("{\"type\":\"qmp\",\"request\":{\"execute\":\"device_add\","
		    "\"arguments\":{\"driver\":\"virtio-blk-pci\","
		    "\"id\":\"second\",\"drive\":\"second\",\"bus\":\"slot1\"}}}");
	return true;
}

/* The virtio device of vdb, and the PCI device beneath that. */
static char virtio_device[NAME_MAX + 1], pci_device[NAME_MAX + 1];

static void find_devices(void)
{
	char path[PATH_MAX], *end;

	if (!realpath("/sys/block/vdb/device", path))
		fail("no disk vdb: %s", strerror(errno));
	end = strrchr(path, '/');
	strcpy(virtio_device, end + 1);
	*end = '\0';
	strcpy(pci_device, strrchr(path, '/') + 1);
}

static bool unbind_blk(void)
{
	find_devices();
	return !write_file(VIRTIO_BLK "unbind", virtio_device);
}

static bool bind_blk(void)
{
	return !write_file(VIRTIO_BLK "bind", virtio_device);
}

static bool unbind_pci(void)
{
	find_devices();
	return !write_file(VIRTIO_PCI "unbind", pci_device);
}

static bool bind_pci(void)
{
	return !write_file(VIRTIO_PCI "bind", pci_device);
}

static bool set_cpu(int cpu, bool online)
{
	char *path = format_text("/sys/devices/system/cpu/cpu%d/online", cpu);
	char *now = read_file(path);
	bool good = now && ((*now == '1') == online ||
			    !write_file(path, online ? "1" : "0"));

	free(now);
	free(path);
	return good;
}

/* CPU @cpu goes and comes while a program on each CPU does I/O. */
static const char *cpu_goes(const struct disk *disk, int cpu, int cpus)
{
	struct io io[MAX_CPUS];
	const char *wrong = NULL;
	int i;

	for (i = 0; i < cpus; i++)
		io[i] = read_from(disk, i);
	for (i = 0; i < cpus; i++)
		if (!io_goes_on(&io[i], 20))
			wrong = "no I/O";
	if (!wrong && !set_cpu(cpu, false))
		wrong = "it does not go";
	for (i = 0; i < cpus; i++)
		if (!io_goes_on(&io[i], 50) && !wrong)
			wrong = "I/O hangs without it";
	if (!wrong && !set_cpu(cpu, true))
		wrong = "it does not come";
	/* Its program was sent to other CPUs, and stays there. */
	if (stop_io(&io[cpu]) && !wrong)
		wrong = "its I/O had an error";
	io[cpu] = read_from(disk, cpu);
	for (i = 0; i < cpus; i++)
		if (!io_goes_on(&io[i], 50) && !wrong)
			wrong = "I/O hangs with it";
	if (!wrong && !owners_follow(disk))
		wrong = "the owners do not follow the interrupts";
	for (i = 0; i < cpus; i++)
		if (stop_io(&io[i]) && !wrong)
			wrong = "I/O had an error";
	return wrong;
}

static void test_cpus(unsigned int rounds)
{
	struct disk disk = find_disk();
	const char *wrong = NULL;
	unsigned int round;
	int cpu = 0, cpus = sysconf(_SC_NPROCESSORS_CONF);

	if (cpus > MAX_CPUS)
		fail("more than %d CPUs", MAX_CPUS);
	for (cpu = 0; cpu < cpus; cpu++)
		if (!set_cpu(cpu, true))
			fail("CPU %d does not come", cpu);
	wrong = polled_io(&disk);
	for (round = 0; !wrong && round < rounds; round++)
		for (cpu = 0; !wrong && cpu < cpus; cpu++)
			wrong = cpu_goes(&disk, cpu, cpus);
	send_tap("# %u rounds of %d CPUs%s%s", round, cpus,
		 wrong ? ", in the last: " : "", wrong ? wrong : "");
	errno = 0;
	test(!wrong, "each CPU goes and comes");
	wrong = polled_io(&disk);
	test(!wrong, wrong ? wrong : "the disk is polled after that");
}

int main(void)
{
	test_rounds(param_number("unplug", 3), "vdb", unplug, plug,
		    "a disk is unplugged and replugged");
	test_rounds(param_number("bind", 5), "vdb", unbind_blk, bind_blk,
		    "virtio_blk is unbound and bound");
	test_rounds(param_number("bind", 5), "vdb", unbind_pci, bind_pci,
		    "virtio-pci is unbound and bound");
	if (param_number("cpus", 1))
		test_cpus(param_number("cpus", 1));
	return failed;
}
