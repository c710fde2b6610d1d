// SPDX-License-Identifier: GPL-2.0
/*
 * The benchmark's part in the guest: runs fio in each of the compared modes,
 * round after round, and sends one record a sample: what fio measured and
 * what the kernel counted meanwhile. It judges nothing; the host does, see
 * tools/report.
 *
 * ps.modes=LIST ps.rw=LIST ps.rounds=N ps.runtime=SECONDS ps.ramp_ms=N
 * ps.halt_poll_ns=N (guest_halt_poll_ns of the modes that poll)
 * ps.count_host=1 (the host is asked for its counters at the same moments)
 */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define HALT_POLL_NS "/sys/module/haltpoll/parameters/guest_halt_poll_ns"
#define FIO_OUTPUT "/tmp/fio.json"
#define MAX_STATES 64
#define MS 1000000ull

struct mode {
	const char *name;
	bool halt_poll;		/* haltpoll may poll before it halts */
	bool poll_source;	/* ... and looks at the disk's queues */
	const char *section;	/* of the fio job file */
};

static const struct mode modes[] = {
	{ "halt",	 false, false, "sync" },
	{ "haltpoll",	 true,	false, "sync" },
	{ "poll_source", true,	true,  "sync" },
	{ "io_poll",	 false, false, "io_poll" },
};

/* One idle state of one CPU. */
struct idle_state {
	unsigned int cpu, state;
	uint64_t usage, time_us;
};

struct counters {
	uint64_t ns, ios, irqs;
	struct source_counts source;
	unsigned int states;
	struct idle_state state[MAX_STATES];
	/* What the host had counted, and after how many requests that was. */
	char *host;
	uint64_t host_ios;
};

struct bench {
	struct disk disk;
	FILE *host;		/* the port to ask it on, or NULL */
	char *cpus;
	unsigned int cpu_count;
	unsigned int rounds, runtime, ramp_ms;
	const char *halt_poll_ns;
	unsigned int done, total;
};

static bool read_count(unsigned int cpu, unsigned int state, const char *what,
		       uint64_t *count)
{
	char *path = format_text("/sys/devices/system/cpu/cpu%u/cpuidle/state%u/%s",
				 cpu, state, what);
	char *text = read_file(path);

	if (text)
		*count = strtoull(text, NULL, 10);
	free(path);
	free(text);
	return text;
}

static void count_idle(const char *cpus, struct counters *counters)
{
	char *list = format_text("%s", cpus);
	char *cpu, *rest = list;

	while ((cpu = strsep(&rest, ","))) {
		struct idle_state now = { .cpu = atoi(cpu) };

		for (; read_count(now.cpu, now.state, "usage", &now.usage) &&
		       read_count(now.cpu, now.state, "time", &now.time_us);
		     now.state++) {
			if (counters->states == MAX_STATES)
				fail("more idle states than expected");
			counters->state[counters->states++] = now;
		}
	}
	free(list);
}

/* The host answers with a line of JSON, which goes into the sample as it is. */
static char *ask_host(FILE *port)
{
	char *line = NULL;
	size_t size;
	ssize_t length;

	if (dprintf(fileno(port), "count\n") < 0)
		fail("the host cannot be asked: %s", strerror(errno));
	length = getline(&line, &size, port);
	if (length < 1 || line[length - 1] != '\n')
		fail("the host did not say what it counted");
	line[length - 1] = '\0';
	return line;
}

static struct counters count(const struct bench *bench)
{
	struct counters counters = { 0 };

	counters.source = count_sources(&bench->disk);
	count_idle(bench->cpus, &counters);
	counters.irqs = count_irqs(&bench->disk);
	counters.ios = count_ios(&bench->disk);
	counters.ns = now_ns();
	if (bench->host) {
		counters.host = ask_host(bench->host);
		/* It counted somewhere between. */
		counters.host_ios = (counters.ios + count_ios(&bench->disk)) / 2;
	}
	return counters;
}

static void set_mode(const struct bench *bench, const struct mode *mode)
{
	const char *ns = mode->halt_poll ? bench->halt_poll_ns : "0";

	/* A kernel without poll_source runs the modes that do without. */
	if (set_poll_source(&bench->disk, mode->poll_source) &&
	    (mode->poll_source || errno != ENOENT))
		fail("mode %s: %s's poll_source cannot be set: %s", mode->name,
		     bench->disk.virtio, strerror(errno));
	if (write_file(HALT_POLL_NS, ns) &&
	    (mode->halt_poll || errno != ENOENT))
		fail("mode %s: " HALT_POLL_NS " cannot be set: %s", mode->name,
		     strerror(errno));
}

static int start_fio(const struct mode *mode, const char *rw)
{
	char *section = format_text("--section=%s", mode->section);
	char *job = format_text("/fio/%s.fio", rw);
	char *const argv[] = {
		"fio", "--output-format=json+", "--output=" FIO_OUTPUT,
		"--eta=never", section, job, NULL
	};
	int pid = start_program(argv, NULL);

	free(section);
	free(job);
	return pid;
}

/* When it was, to 20 ms. */
static uint64_t wait_for_first_io(const struct bench *bench, int pid)
{
	uint64_t before = count_ios(&bench->disk);
	unsigned int tries;

	for (tries = 0; count_ios(&bench->disk) == before; tries++) {
		if (tries == 1500 || waitpid(pid, NULL, WNOHANG))
			fail("fio did no I/O");
		sleep_ns(20 * MS);
	}
	return now_ns();
}

static void sleep_until(uint64_t ns)
{
	uint64_t now = now_ns();

	if (now < ns)
		sleep_ns(ns - now);
}

static void send_idle(FILE *out, const struct counters *before,
		      const struct counters *after)
{
	unsigned int i;

	for (i = 0; i < after->states && i < before->states; i++)
		fprintf(out, "%s{\"cpu\":%u,\"state\":%u,\"usage\":%" PRIu64
			",\"time_us\":%" PRIu64 "}", i ? "," : "",
			after->state[i].cpu, after->state[i].state,
			after->state[i].usage - before->state[i].usage,
			after->state[i].time_us - before->state[i].time_us);
}

static void send_host(FILE *out, const struct counters *before,
		      const struct counters *after)
{
	if (before->host && after->host)
		fprintf(out, "\"host\":{\"ios\":%" PRIu64
			",\"before\":%s,\"after\":%s},",
			after->host_ios - before->host_ios, before->host,
			after->host);
}

/* fio may say things ahead of its JSON. */
static char *fio_json(void)
{
	char *text = read_file(FIO_OUTPUT);
	char *json = text ? strchr(text, '{') : NULL;
	char *copy, *c;

	if (!json)
		fail("fio left no results");
	copy = format_text("%s", json);
	for (c = copy; *c; c++)
		if (*c == '\n')
			*c = ' ';
	free(text);
	return copy;
}

static void send_sample(const struct bench *bench, const struct mode *mode,
			const char *rw, unsigned int round,
			const struct counters *before,
			const struct counters *after)
{
	char *json = fio_json();
	char *more = NULL;
	size_t length;
	FILE *out = open_memstream(&more, &length);

	if (!out)
		fail("out of memory");
	send_host(out, before, after);
	fprintf(out, "\"idle\":[");
	send_idle(out, before, after);
	fprintf(out, "]");
	fclose(out);
	send_record("{\"type\":\"sample\",\"round\":%u,\"rw\":\"%s\","
		    "\"mode\":\"%s\",\"cpus\":%u,\"wall_ns\":%" PRIu64
		    ",\"ios\":%" PRIu64 ",\"irqs\":%" PRIu64
		    ",\"source\":{\"windows\":%" PRIu64 ",\"hits\":%" PRIu64
		    ",\"raced\":%" PRIu64 ",\"irqs\":%" PRIu64
		    "},%s,\"fio\":%s}",
		    round, rw, mode->name, bench->cpu_count,
		    after->ns - before->ns, after->ios - before->ios,
		    after->irqs - before->irqs,
		    after->source.windows - before->source.windows,
		    after->source.hits - before->source.hits, after->source.raced - before->source.raced,
		    after->source.irqs - before->source.irqs, more, json);
	free(more);
	free(json);
}

static void send_progress(const struct bench *bench, const struct mode *mode,
			  const char *rw, unsigned int round)
{
	char *stage = round ? format_text("round %u of %u", round, bench->rounds) :
			      format_text("warm-up");

	send_record("{\"type\":\"progress\",\"done\":%u,\"total\":%u,"
		    "\"text\":\"(%s: %s, %s)\"}", bench->done, bench->total,
		    stage, rw, mode->name);
	free(stage);
}

/*
 * fio runs for the ramp, untimed, in which the mode settles, and then for the
 * time that counts. The counters are taken within the latter, well before its
 * end: false, nothing measured, where a busy host made us miss even that, or
 * let this program sleep through half of it. A request that hangs is another
 * matter: then we wake in time, and the sample shows it.
 */
static bool try_sample(const struct bench *bench, const struct mode *mode,
		       const char *rw, unsigned int round)
{
	struct counters before, after;
	uint64_t began;
	int pid, status;
	bool in_time;

	pid = start_fio(mode, rw);
	began = wait_for_first_io(bench, pid) + bench->ramp_ms * MS;
	sleep_until(began + 50 * MS);
	before = count(bench);
	sleep_until(began + bench->runtime * 750 * MS);
	after = count(bench);
	in_time = !waitpid(pid, &status, WNOHANG);
	if (in_time)
		status = wait_program(pid);
	if (status)
		fail("fio %s in mode %s ended with status %d", rw, mode->name,
		     status);
	in_time = in_time &&
		  after.ns - before.ns >= bench->runtime * 500 * MS;
	if (in_time && round)
		send_sample(bench, mode, rw, round, &before, &after);
	free(before.host);
	free(after.host);
	return in_time;
}

static void sample(struct bench *bench, const struct mode *mode,
		   const char *rw, unsigned int round)
{
	unsigned int tries = 5;

	send_progress(bench, mode, rw, round);
	set_mode(bench, mode);
	while (!try_sample(bench, mode, rw, round))
		if (!--tries)
			fail("the host is too busy: fio ends before its counters can be read");
	bench->done++;
}

static bool listed(const char *list, const char *name)
{
	size_t length = strlen(name);
	const char *at = list;

	while ((at = strstr(at, name))) {
		if ((at == list || at[-1] == ',') &&
		    (at[length] == ',' || !at[length]))
			return true;
		at += length;
	}
	return false;
}

static void export_job(const struct bench *bench)
{
	char *jobs = format_text("%u", bench->cpu_count);
	char *runtime = format_text("%u", bench->runtime);
	char *ramp = format_text("%ums", bench->ramp_ms);

	setenv("DEVICE", bench->disk.node, 1);
	setenv("CPUS", bench->cpus, 1);
	setenv("JOBS", jobs, 1);
	setenv("RUNTIME", runtime, 1);
	setenv("RAMP", ramp, 1);
	free(jobs);
	free(runtime);
	free(ramp);
}

/* Without a queue for polled I/O fio would only say "Operation not supported". */
static void need_poll_queue(const struct bench *bench)
{
	char *path = format_text("/sys/block/%s/queue/io_poll",
				 bench->disk.name);
	char *polls = read_file(path);

	if (!polls || polls[0] != '1')
		fail("mode io_poll: the disk has no queue for polled I/O: leave its num-queues at 2 at least, or leave io_poll out of the modes");
	free(polls);
	free(path);
}

static FILE *host_port(void)
{
	int fd;
	FILE *port;

	if (!param_number("count_host", 0))
		return NULL;
	fd = open_serial("counters", O_RDWR | O_CLOEXEC);
	port = fd < 0 ? NULL : fdopen(fd, "r");
	if (!port)
		fail("the host's counters: there is no port named counters");
	return port;
}

int main(void)
{
	static const char *const patterns[] = { "randread", "randwrite", "randrw" };
	const size_t n_modes = sizeof(modes) / sizeof(*modes);
	const size_t n_patterns = sizeof(patterns) / sizeof(*patterns);
	const char *mode_list = param("modes", "halt,haltpoll,poll_source,io_poll");
	const char *rw_list = param("rw", "randread,randwrite,randrw");
	struct bench bench = {
		.disk = find_disk(),
		.host = host_port(),
		.rounds = param_number("rounds", 5),
		.runtime = param_number("runtime", 2),
		.ramp_ms = param_number("ramp_ms", 500),
		.halt_poll_ns = param("halt_poll_ns", "200000"),
	};
	size_t m, p, n_listed = 0, p_listed = 0;
	unsigned int round;

	bench.cpus = online_cpus(&bench.cpu_count);
	for (m = 0; m < n_modes; m++)
		n_listed += listed(mode_list, modes[m].name);
	for (p = 0; p < n_patterns; p++)
		p_listed += listed(rw_list, patterns[p]);
	bench.total = n_listed * (1 + bench.rounds * p_listed);
	if (listed(mode_list, "io_poll"))
		need_poll_queue(&bench);
	export_job(&bench);

	/* Round 0 is the warm-up: each mode once, nothing sent. */
	for (round = 0; round <= bench.rounds; round++)
		for (p = 0; p < (round ? n_patterns : 1); p++)
			for (m = 0; m < n_modes; m++)
				if (listed(mode_list, modes[m].name) &&
				    (!round || listed(rw_list, patterns[p])))
					sample(&bench, &modes[m], patterns[p],
					       round);
	free(bench.cpus);
	return 0;
}
