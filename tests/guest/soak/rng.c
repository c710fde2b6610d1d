// SPDX-License-Identifier: GPL-2.0
/*
 * Reads of the hardware random number generator. Its callback takes no lock,
 * so it counts on never running twice at once.
 */
#define _GNU_SOURCE
#include "soak.h"

#include <fcntl.h>
#include <unistd.h>

void run_rng(struct engine *engine)
{
	while (!engine->soak->stop_engines) {
		int fd = open("/dev/hwrng", O_RDONLY | O_CLOEXEC);
		uint64_t burst = between(&engine->prng, 1, 30);
		char bytes[64];

		while (fd >= 0 && burst-- && !engine->soak->stop_engines) {
			begin(engine, 0);
			end(engine, 0, read(fd, bytes, sizeof(bytes)) > 0);
		}
		if (fd >= 0)
			close(fd);
		pause_at_random(engine);
	}
}
