// SPDX-License-Identifier: GPL-2.0
/*
 * An idle CPU halts when the governor's limit for polling has passed, and not
 * only when something wakes it: sleeps much longer than the limit are counted
 * in both idle states. With poll_source on, too. A limit that is lowered holds
 * at once, also where the one that the CPU has reached may not shrink, and with
 * a limit of 0 it does not poll at all.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <inttypes.h>
#include <stdlib.h>

#define MS UINT64_C(1000000)
#define STATE "/sys/devices/system/cpu/cpu0/cpuidle/state"
#define GOVERNOR "/sys/module/haltpoll/parameters/"

/* guest_halt_poll_ns is 5 ms: short sleeps grow the limit, long ones pass it */
#define LIMIT "5000000"
#define LOWER_LIMIT "500000"
#define SHORT_SLEEP (2 * MS)
#define LONG_SLEEP (50 * MS)
#define SLEEPS 40

static uint64_t usage(unsigned int state)
{
	char *path = format_text(STATE "%u/usage", state);
	char *text = read_file(path);
	uint64_t value;

	if (!text)
		fail("there is no %s: the haltpoll driver is not loaded", path);
	value = strtoull(text, NULL, 10);
	free(text);
	free(path);
	return value;
}

static void set(const char *path, const char *value)
{
	if (write_file(path, value))
		fail("%s cannot be written", path);
}

static void test(const char *what)
{
	uint64_t polls, halts;
	unsigned int i;
	bool good;

	for (i = 0; i < SLEEPS; i++)
		sleep_ns(SHORT_SLEEP);

	polls = usage(0);
	halts = usage(1);
	for (i = 0; i < SLEEPS; i++)
		sleep_ns(LONG_SLEEP);
	polls = usage(0) - polls;
	halts = usage(1) - halts;

	good = polls >= SLEEPS / 2 && halts >= SLEEPS / 2;
	send_tap("%s - %s: an idle CPU polls, then halts", good ? "ok" : "not ok",
		 what);
	send_tap("# %d sleeps: polled %" PRIu64 " times, halted %" PRIu64
		 " times", SLEEPS, polls, halts);
	if (!good)
		fail("%s: the CPU does not poll, or does not halt", what);
}

/* Sleeps that fit into the limit that was reached do not fit into this one. */
static void test_lowered(void)
{
	uint64_t halts = usage(1);
	unsigned int i;
	bool good;

	for (i = 0; i < SLEEPS; i++)
		sleep_ns(SHORT_SLEEP);
	halts = usage(1) - halts;
	good = halts >= SLEEPS / 2;
	send_tap("%s - with a lower limit an idle CPU halts earlier",
		 good ? "ok" : "not ok");
	send_tap("# %d sleeps: halted %" PRIu64 " times", SLEEPS, halts);
	if (!good)
		fail("the CPU goes on polling beyond the lower limit");
}

static void test_off(void)
{
	uint64_t polls = usage(0);
	unsigned int i;

	for (i = 0; i < SLEEPS; i++)
		sleep_ns(SHORT_SLEEP);
	polls = usage(0) - polls;
	send_tap("%s - with a limit of 0 an idle CPU does not poll",
		 polls ? "not ok" : "ok");
	if (polls)
		fail("the CPU polled %" PRIu64 " times", polls);
}

int main(void)
{
	struct disk disk = find_disk();

	set(GOVERNOR "guest_halt_poll_allow_shrink", "N");
	set(GOVERNOR "guest_halt_poll_ns", LIMIT);

	test("haltpoll");
	if (set_poll_source(&disk, true))
		fail("poll_source cannot be set");
	test("poll_source");
	set(GOVERNOR "guest_halt_poll_ns", LOWER_LIMIT);
	test_lowered();
	set(GOVERNOR "guest_halt_poll_ns", "0");
	test_off();
	return 0;
}
