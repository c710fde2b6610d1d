// SPDX-License-Identifier: GPL-2.0
/*
 * Data written and read back while the disk is polled: each section of
 * verify.fio must end without an error or a mismatch, and the poll source
 * must have served some of it.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int run_section(const char *section)
{
	char *option = format_text("--section=%s", section);
	char *const argv[] = {
		"fio", "--eta=never", option, "/fio/verify.fio", NULL
	};
	int status = wait_program(start_program(argv, NULL));

	free(option);
	return status;
}

int main(void)
{
	static const char *const sections[] = {
		"sync-randwrite", "sync-randrw", "libaio-16", "io_uring-16"
	};
	struct disk disk = find_disk();
	bool failed = false;
	size_t i;

	if (set_poll_source(&disk, true))
		fail("%s's poll_source cannot be set: %s", disk.virtio,
		     strerror(errno));
	setenv("DEVICE", disk.node, 1);
	for (i = 0; i < sizeof(sections) / sizeof(*sections); i++) {
		struct source_counts before = count_sources(&disk), after;
		int status = run_section(sections[i]);

		after = count_sources(&disk);
		send_tap("%s - fio %s: no error, no mismatch",
			 status ? "not ok" : "ok", sections[i]);
		send_tap("%s - fio %s: served by the poll source",
			 after.hits > before.hits ? "ok" : "not ok",
			 sections[i]);
		failed |= status || after.hits <= before.hits;
	}
	return failed;
}
