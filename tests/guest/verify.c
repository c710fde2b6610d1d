// SPDX-License-Identifier: GPL-2.0
/*
 * Data written and read back while the disk is polled: each section of
 * verify.fio must end without an error or a mismatch, and the poll source
 * must have served some requests where there is one at a time.
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
	/* With 16 requests in flight a CPU may have no time to poll. */
	static const struct {
		const char *name;
		bool polled;
	} sections[] = {
		{ "sync-randwrite", true },
		{ "sync-randrw", true },
		{ "libaio-16", false },
		{ "io_uring-16", false },
	};
	struct disk disk = find_disk();
	bool failed = false;
	size_t i;

	if (set_poll_source(&disk, true))
		fail("%s's poll_source cannot be set: %s", disk.virtio,
		     strerror(errno));
	setenv("DEVICE", disk.node, 1);
	for (i = 0; i < sizeof(sections) / sizeof(*sections); i++) {
		uint64_t before = count_sources(&disk).hits, hits;
		int status = run_section(sections[i].name);
		bool served;

		hits = count_sources(&disk).hits - before;
		served = hits || !sections[i].polled;
		send_tap("# fio %s: %llu hits of the poll source",
			 sections[i].name, (unsigned long long)hits);
		send_tap("%s - fio %s: no error, no mismatch%s",
			 status || !served ? "not ok" : "ok", sections[i].name,
			 served ? "" : " (but the poll source served none)");
		failed |= status || !served;
	}
	return failed;
}
