// SPDX-License-Identifier: GPL-2.0
/*
 * Two network devices that are joined: a frame goes out at one, is recognised
 * at the other, and goes back. A frame may get lost when rings are reset, and
 * is sent again; what must not happen is that none arrives any more, or a
 * wrong one. And the rings of these devices are resized: of virtio's drivers
 * this one resets single queues.
 */
#define _GNU_SOURCE
#include "soak.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define ETHERTYPE 0x88b5	/* for local experiments */
#define HEADER 14
#define LONGEST (HEADER + 1500)
#define AGAIN_MS 300

struct frame {
	unsigned char bytes[LONGEST];
	size_t length;
};

/* The C library's if_nametoindex() wants a socket of the Internet's. */
static int open_port(const char *name)
{
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET,
		.sll_protocol = __builtin_bswap16(ETHERTYPE),
	};
	struct ifreq request = { 0 };
	bool good = fd >= 0;

	strcpy(request.ifr_name, name);
	good = good && !ioctl(fd, SIOCGIFINDEX, &request);
	address.sll_ifindex = request.ifr_ifindex;
	request.ifr_flags = IFF_UP | IFF_PROMISC;
	if (!good || ioctl(fd, SIOCSIFFLAGS, &request) ||
	    bind(fd, (struct sockaddr *)&address, sizeof(address)))
		fail("%s cannot be used: %s", name, strerror(errno));
	return fd;
}

/* To everybody, from nobody; the sequence number, then what follows from it. */
static void make_frame(struct frame *frame, uint64_t sequence, size_t length)
{
	struct prng prng = { sequence };
	size_t i;

	memset(frame->bytes, 0xff, 6);
	memset(frame->bytes + 6, 0x02, 6);
	frame->bytes[12] = ETHERTYPE >> 8;
	frame->bytes[13] = ETHERTYPE & 0xff;
	memcpy(frame->bytes + HEADER, &sequence, sizeof(sequence));
	for (i = HEADER + sizeof(sequence); i < length; i++)
		frame->bytes[i] = draw(&prng);
	frame->length = length;
}

/* Waits for this frame; earlier ones, sent twice, are passed over. */
static bool receive(struct engine *engine, int fd, const struct frame *wanted)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	struct frame got;
	ssize_t length;

	while (poll(&wait, 1, AGAIN_MS) > 0) {
		length = recv(fd, got.bytes, sizeof(got.bytes), MSG_DONTWAIT);
		if (length < HEADER + (ssize_t)sizeof(uint64_t))
			continue;
		if (memcmp(got.bytes + HEADER, wanted->bytes + HEADER,
			   sizeof(uint64_t)))
			continue;
		if ((size_t)length == wanted->length &&
		    !memcmp(got.bytes, wanted->bytes, length))
			return true;
		engine->wrong++;
	}
	return false;
}

static bool cross(struct engine *engine, int from, int to,
		  const struct frame *frame)
{
	/* ENETDOWN, ENOBUFS: a ring is being reset; the next one will do. */
	if (send(from, frame->bytes, frame->length, MSG_DONTWAIT) < 0)
		sleep_ns(MS);
	return receive(engine, to, frame);
}

void run_net(struct engine *engine)
{
	uint64_t sequence = 0;
	int one, other;

	pthread_mutex_lock(&engine->soak->net_lock);
	one = open_port("eth0");
	other = open_port("eth1");
	pthread_mutex_unlock(&engine->soak->net_lock);

	while (!engine->soak->stop_engines) {
		uint64_t burst = between(&engine->prng, 1, 30);

		while (burst-- && !engine->soak->stop_engines) {
			struct frame out, back;

			make_frame(&out, ++sequence,
				   between(&engine->prng, 60, LONGEST));
			make_frame(&back, ++sequence,
				   between(&engine->prng, 60, LONGEST));
			begin(engine, 0);
			while (!engine->soak->stop_engines &&
			       !(cross(engine, one, other, &out) &&
				 cross(engine, other, one, &back)))
				engine->failed++;
			end(engine, 0, true);
		}
		pause_at_random(engine);
	}
	close(one);
	close(other);
}

int resize_rings(struct event *event)
{
	const char *name = below(&event->prng, 2) ? "eth1" : "eth0";
	struct ethtool_ringparam rings = {
		.cmd = ETHTOOL_SRINGPARAM,
		.rx_pending = 16u << below(&event->prng, 5),
		.tx_pending = 32u << below(&event->prng, 4),
	};
	struct ifreq request = { .ifr_data = (void *)&rings };
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	int ret, error;

	strcpy(request.ifr_name, name);
	pthread_mutex_lock(&event->soak->net_lock);
	ret = ioctl(fd, SIOCETHTOOL, &request);
	error = errno;
	pthread_mutex_unlock(&event->soak->net_lock);
	close(fd);
	errno = error;
	return ret;
}
