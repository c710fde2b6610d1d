// SPDX-License-Identifier: GPL-2.0-only
/*
 * poll_source_device.c - the device of the poll_source sample
 *
 * usage: poll_source_device SOCKET LATENCY_NS
 *
 * Runs beside QEMU, on the host, and ends when QEMU does:
 *
 *	poll_source_device /tmp/sample 50000 &
 *	qemu-system-aarch64 ... -chardev socket,path=/tmp/sample,id=sample \
 *		-device ivshmem-doorbell,chardev=sample,vectors=1
 *
 * It is what QEMU calls an ivshmem server, which gives the guest its memory and
 * the interrupts, and the guest's only peer as well. See
 * docs/specs/ivshmem-spec.rst of QEMU for the protocol.
 */
#define _GNU_SOURCE
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "poll_source_sample.h"

#define PROTOCOL_VERSION	0
#define GUEST			0	/* the peers' numbers */
#define DEVICE			1
#define MEMORY_SIZE		65536	/* a power of two, and whole pages */

struct device {
	struct sample_ring *ring;
	int memory;		/* file descriptor of the ring */
	int doorbell;		/* eventfd that the guest writes to */
	int interrupt;		/* eventfd that the guest has as interrupt */
	unsigned long long latency_ns;
};

static void die(const char *what)
{
	fprintf(stderr, "poll_source_device: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* One message of the ivshmem protocol: a number and perhaps a file */
static void tell(int socket, long long number, int fd)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(fd))];
	} control = { 0 };
	unsigned long long message = htole64(number);
	struct iovec data = { &message, sizeof(message) };
	struct msghdr msg = { .msg_iov = &data, .msg_iovlen = 1 };

	if (fd >= 0) {
		control.header.cmsg_len = CMSG_LEN(sizeof(fd));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
		msg.msg_control = control.room;
		msg.msg_controllen = sizeof(control.room);
	}
	if (sendmsg(socket, &msg, MSG_NOSIGNAL) != sizeof(message))
		die("sendmsg");
}

/* Gives QEMU all there is: the memory, how to reach us, how we reach it */
static void introduce(const struct device *device, int socket)
{
	tell(socket, PROTOCOL_VERSION, -1);
	tell(socket, GUEST, -1);
	tell(socket, -1, device->memory);
	tell(socket, DEVICE, device->doorbell);
	tell(socket, GUEST, device->interrupt);
}

static int wait_for_qemu(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int fd;

	if (strlen(path) >= sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		die(path);
	}
	memcpy(address.sun_path, path, strlen(path));
	if (listener < 0 ||
	    bind(listener, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(listener, 1))
		die(path);
	fd = accept(listener, NULL, NULL);
	if (fd < 0)
		die(path);
	close(listener);
	unlink(path);
	return fd;
}

static void make_ring(struct device *device)
{
	struct sample_ring *ring;

	device->memory = memfd_create("poll_source_sample", MFD_CLOEXEC);
	if (device->memory < 0 || ftruncate(device->memory, MEMORY_SIZE))
		die("shared memory");
	ring = mmap(NULL, MEMORY_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
		    device->memory, 0);
	if (ring == MAP_FAILED)
		die("shared memory");
	ring->magic = htole32(SAMPLE_MAGIC);
	ring->version = htole32(SAMPLE_VERSION);
	/* The peer in the upper half, its interrupt in the lower one */
	ring->doorbell = htole32(DEVICE << 16 | 0);
	device->ring = ring;
}

/* The time that the device takes */
static void work(const struct device *device)
{
	struct timespec end;
	unsigned long long ns;

	clock_gettime(CLOCK_MONOTONIC, &end);
	ns = end.tv_nsec + device->latency_ns;
	end.tv_sec += ns / 1000000000;
	end.tv_nsec = ns % 1000000000;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) ==
	       EINTR)
		;
}

static void interrupt(const struct device *device)
{
	if (eventfd_write(device->interrupt, 1))
		die("interrupt");
}

static void answer(const struct device *device, unsigned int number)
{
	struct sample_ring *ring = device->ring;
	struct sample_entry *entry = &ring->entries[number % SAMPLE_ENTRIES];

	work(device);
	entry->answer = htole64(SAMPLE_FACTOR * le64toh(entry->question));
	/* The entry, then the count: pairs with the driver's acquire */
	__atomic_store_n(&ring->completed, htole32(number + 1),
			 __ATOMIC_RELEASE);
	/*
	 * Publish, then look. Pairs with virt_mb() in sample_poll_stop(): if
	 * no_interrupt is seen to be set here, the driver sees the count.
	 */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&ring->no_interrupt, __ATOMIC_RELAXED))
		interrupt(device);
}

/*
 * All requests there are. The doorbell rings for each, after it has been
 * counted, so that none is left: see run().
 */
static void answer_all(const struct device *device)
{
	struct sample_ring *ring = device->ring;
	unsigned int number = le32toh(ring->completed);
	unsigned int submitted;

	/* The count, then the entries: pairs with the driver's release */
	while ((submitted = le32toh(__atomic_load_n(&ring->submitted,
						    __ATOMIC_ACQUIRE))) !=
	       number) {
		if (submitted - number > SAMPLE_ENTRIES) {
			errno = EPROTO;
			die("more requests than the ring has room for");
		}
		answer(device, number++);
	}
}

/* Until QEMU is gone */
static void run(const struct device *device, int socket)
{
	struct pollfd fds[] = {
		{ .fd = device->doorbell, .events = POLLIN },
		{ .fd = socket, .events = POLLIN },
	};
	eventfd_t rings;

	for (;;) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			die("poll");
		if (fds[1].revents)
			return;
		if (fds[0].revents && !eventfd_read(device->doorbell, &rings))
			answer_all(device);
	}
}

int main(int argc, char **argv)
{
	struct device device = { 0 };
	char *end;
	int socket;

	if (argc == 3)
		device.latency_ns = strtoull(argv[2], &end, 10);
	if (argc != 3 || end == argv[2] || *end) {
		fprintf(stderr, "usage: poll_source_device SOCKET LATENCY_NS\n");
		return 2;
	}
	/* Else a sleep takes 50 us longer than it should */
	prctl(PR_SET_TIMERSLACK, 1);

	make_ring(&device);
	device.doorbell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	device.interrupt = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (device.doorbell < 0 || device.interrupt < 0)
		die("eventfd");
	socket = wait_for_qemu(argv[1]);
	introduce(&device, socket);
	run(&device, socket);
	return 0;
}
