// SPDX-License-Identifier: GPL-2.0
/*
 * Goes wrong in the way that ps.fault names, so that a test can see that the
 * host notices: "kmsg" (the kernel's log holds ps.line, with blanks for "_"),
 * "status" (ends with status 3), "hang", "die" (the guest stops dead).
 */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <linux/reboot.h>
#include <string.h>
#include <sys/reboot.h>
#include <unistd.h>

static void write_kmsg(void)
{
	char *line = format_text("%s\n", param("line", "nothing"));
	char *blank;

	while ((blank = strchr(line, '_')))
		*blank = ' ';
	if (write_file("/dev/kmsg", line))
		fail("cannot write to the kernel's log: %s", strerror(errno));
}

int main(void)
{
	const char *fault = param("fault", "none");

	if (!strcmp(fault, "kmsg"))
		write_kmsg();
	else if (!strcmp(fault, "status"))
		return 3;
	else if (!strcmp(fault, "hang"))
		pause();
	else if (!strcmp(fault, "die"))
		reboot(LINUX_REBOOT_CMD_POWER_OFF);
	return 0;
}
