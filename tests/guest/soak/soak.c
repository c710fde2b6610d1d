// SPDX-License-Identifier: GPL-2.0
/*
 * The stress program; soak.h says how it is made. It starts fio, the engines
 * and the events, watches them, and ends with tests as TAP and with what was
 * counted, as records {"type":"soak",...}.
 *
 * ps.seed=N ps.seconds=N (30) ps.replug=N (0; 1: there is a disk to unplug)
 * ps.suspend=N (1; 0: the guest is not suspended)
 * ps.device_opts=LIST (of the disk that QEMU puts back, as tools/vm.sh has it)
 */
#define _GNU_SOURCE
#include "soak.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_NS (200 * MS)
#define LATE_NS (120 * SECOND)	/* for all to end after the time is up */

struct fio {
	int pid, status;
	bool ended;
};

static struct fio start_fio(const struct disk *disk, unsigned int seconds)
{
	char *runtime = format_text("%u", seconds);
	char *const argv[] = { "fio", "--eta=never", "/fio/soak.fio", NULL };
	struct fio fio = { 0 };

	setenv("DEVICE", disk->node, 1);
	setenv("RUNTIME", runtime, 1);
	fio.pid = start_program(argv, "/tmp/fio.out");
	free(runtime);
	return fio;
}

static bool fio_ended(struct fio *fio)
{
	if (!fio->ended && waitpid(fio->pid, &fio->status, WNOHANG))
		fio->ended = true;
	return fio->ended;
}

/* --- threads -------------------------------------------------------------- */

static void *run_engine(void *data)
{
	struct engine *engine = data;

	engine->run(engine);
	engine->ended = true;
	return NULL;
}

static void count_event(struct event *event, int ret, int error)
{
	if (!ret) {
		event->did++;
	} else if (event->may_refuse && event->may_refuse(error)) {
		event->refused++;
	} else {
		event->error = error;
		event->unexpected++;
	}
}

static void *run_event(void *data)
{
	struct event *event = data;

	while (!event->soak->stop_events) {
		uint64_t rest = between(&event->prng, event->min_ms * MS,
					event->max_ms * MS);
		int ret;

		/* In pieces, so that the end of the run is noticed. */
		for (; rest > LOOK_NS && !event->soak->stop_events;
		     rest -= LOOK_NS)
			sleep_ns(LOOK_NS);
		if (event->soak->stop_events)
			break;
		sleep_ns(rest);
		event->since = run_ns();
		errno = 0;
		ret = event->act(event);
		event->since = 0;
		count_event(event, ret, errno);
	}
	event->ended = true;
	return NULL;
}

static void start_thread(pthread_t *thread, void *(*run)(void *), void *data)
{
	if (pthread_create(thread, NULL, run, data))
		fail("no thread could be started");
}

static void start_threads(struct soak *soak)
{
	unsigned int i;

	for (i = 0; i < engine_count; i++) {
		engines[i].soak = soak;
		engines[i].prng = prng_of(soak->seed, engines[i].name);
		engines[i].is_offered = !engines[i].offered ||
					engines[i].offered(soak);
		if (engines[i].is_offered)
			start_thread(&engines[i].thread, run_engine,
				     &engines[i]);
		else
			engines[i].ended = true;
	}
	for (i = 0; i < event_count; i++) {
		struct event *event = &events[i];

		event->soak = soak;
		event->prng = prng_of(soak->seed, event->name);
		event->is_offered = !event->offered || event->offered(soak);
		if (event->is_offered)
			start_thread(&event->thread, run_event, event);
		else
			event->ended = true;
	}
}

static bool engines_ended(void)
{
	unsigned int i;

	for (i = 0; i < engine_count && engines[i].ended; i++)
		;
	return i == engine_count;
}

static bool events_ended(void)
{
	unsigned int i;

	for (i = 0; i < event_count && events[i].ended; i++)
		;
	return i == event_count;
}

/* --- the run -------------------------------------------------------------- */

static void report_progress(const struct soak *soak, unsigned int second)
{
	uint64_t ios = 0, did = 0;
	unsigned int i;

	for (i = 0; i < engine_count; i++)
		ios += engines[i].done;
	for (i = 0; i < event_count; i++)
		did += events[i].did;
	send_record("{\"type\":\"progress\",\"done\":%u,\"total\":%u,"
		    "\"text\":\"seconds, %" PRIu64 " requests, %" PRIu64
		    " events\"}", second, soak->seconds, ios, did);
}

/* To the end, or to a hang: returns what hung, or NULL. */
static char *watch_run(struct soak *soak, struct watch *watch, struct fio *fio)
{
	uint64_t began = now_ns(), end = began + soak->seconds * SECOND;
	unsigned int reported = 0;
	char *hang = NULL;

	while (!hang) {
		uint64_t now = now_ns();
		unsigned int second = (now - began) / SECOND;

		if (second > reported && second <= soak->seconds)
			report_progress(soak, reported = second);
		soak->stop_events = now >= end;
		/* There is I/O for as long as there are events. */
		soak->stop_engines = soak->stop_events && events_ended();
		if (fio_ended(fio) && soak->stop_engines && engines_ended())
			break;
		sum_sources();
		hang = find_hang(watch);
		if (!hang && now > end + LATE_NS)
			hang = format_text("the end: not all came to it");
		sleep_ns(LOOK_NS);
	}
	return hang;
}

/* --- what came of it ------------------------------------------------------ */

static void send_counts(const struct watch *watch)
{
	struct source_counts sums = source_sums();
	unsigned int i;

	for (i = 0; i < event_count; i++)
		send_record("{\"type\":\"soak\",\"event\":\"%s\","
			    "\"did\":%" PRIu64 ",\"refused\":%" PRIu64
			    ",\"offered\":%s}", events[i].name, events[i].did,
			    events[i].refused,
			    events[i].is_offered ? "true" : "false");
	for (i = 0; i < engine_count; i++)
		send_record("{\"type\":\"soak\",\"engine\":\"%s\","
			    "\"done\":%" PRIu64 ",\"failed\":%" PRIu64 "}",
			    engines[i].name, engines[i].done,
			    engines[i].failed);
	send_record("{\"type\":\"soak\",\"windows\":%" PRIu64 ",\"hits\":%"
		    PRIu64 ",\"raced\":%" PRIu64 ",\"irqs\":%" PRIu64
		    ",\"main_disk\":%" PRIu64 ",\"oldest_ms\":%" PRIu64 "}",
		    sums.windows, sums.hits, sums.raced, sums.irqs,
		    count_ios(&watch->disk), (uint64_t)(watch->oldest_ns / MS));
}

static bool test(bool good, const char *name, const char *why)
{
	send_tap("%s - %s", good ? "ok" : "not ok", name);
	if (!good)
		send_tap("# %s", why);
	return good;
}

/* Those of a list for which is_bad holds, as a text; NULL: none. */
static char *bad_engines(bool (*is_bad)(const struct engine *engine))
{
	char *list = NULL;
	unsigned int i;

	for (i = 0; i < engine_count; i++)
		if (is_bad(&engines[i]))
			list = format_text("%s%s%s", list ? list : "",
					   list ? ", " : "", engines[i].name);
	return list;
}

static char *bad_events(bool (*is_bad)(const struct event *event))
{
	char *list = NULL;
	unsigned int i;

	for (i = 0; i < event_count; i++)
		if (is_bad(&events[i]))
			list = format_text("%s%s%s (%s)", list ? list : "",
					   list ? ", " : "", events[i].name,
					   strerror(events[i].error));
	return list;
}

static bool saw_wrong(const struct engine *engine)
{
	return engine->wrong;
}

static bool saw_failure(const struct engine *engine)
{
	return engine->failed && !engine->may_fail;
}

static bool did_nothing(const struct engine *engine)
{
	return engine->is_offered && !engine->done;
}

static bool was_refused(const struct event *event)
{
	return event->unexpected;
}

static bool test_list(char *list, const char *name)
{
	return test(!list, name, list ? list : "");
}

static bool send_tests(const char *hang, const struct fio *fio)
{
	bool good = true;

	good &= test(!hang, "no I/O hung", hang ? hang : "");
	good &= test_list(bad_engines(saw_wrong), "no data was wrong");
	good &= test_list(bad_engines(saw_failure),
			  "no request failed on what stays");
	good &= test_list(bad_engines(did_nothing), "every engine did I/O");
	good &= test(fio->ended && !fio->status, "fio: no error, no mismatch",
		     fio->ended ? "see its messages in the log" :
				  "it had not ended");
	good &= test_list(bad_events(was_refused),
			  "no event was refused without need");
	return good;
}

/*
 * A task that hangs cannot be ended, and the guest not shut down: the machine
 * is reset, which ends QEMU.
 */
static void give_up(void)
{
	send_record("{\"type\":\"end\",\"status\":1}");
	close(RESULTS_FD);
	write_file("/proc/sysrq-trigger", "b");
}

static void show_fio(void)
{
	char *text = read_file("/tmp/fio.out");

	fprintf(stderr, "%s\n", text ? text : "fio said nothing");
	free(text);
}

int main(void)
{
	struct soak soak = {
		.seed = param_number("seed", 1),
		.seconds = param_number("seconds", 30),
		.replug = param_number("replug", 0),
		.device_opts = param("device_opts", ""),
		.net_lock = PTHREAD_MUTEX_INITIALIZER,
		.sleep_lock = PTHREAD_MUTEX_INITIALIZER,
		.probe_lock = PTHREAD_MUTEX_INITIALIZER,
	};
	struct watch watch = { .stall.since_ns = run_ns() };
	struct fio fio;
	char *hang;
	bool good;

	free(online_cpus(&soak.cpus));
	if (!find_disk_by_serial(DISK_MAIN, &watch.disk))
		fail("there is no disk with the serial number " DISK_MAIN);
	fio = start_fio(&watch.disk, soak.seconds);
	start_threads(&soak);
	hang = watch_run(&soak, &watch, &fio);
	if (hang)
		dump_state(hang);
	sum_sources();
	send_sources();
	if (fio.status || !fio.ended)
		show_fio();
	send_counts(&watch);
	good = send_tests(hang, &fio);
	if (hang)
		give_up();
	return !good;
}
