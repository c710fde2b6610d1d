// SPDX-License-Identifier: GPL-2.0
/* What the programs in the guest share; guest.h says what each gives. */
#define _GNU_SOURCE
#include "guest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* After so long without an answer nobody waits for one any more. */
#define PATIENCE_NS (30ull * 1000000000)

const char *param(const char *key, const char *fallback)
{
	char name[64];
	const char *value;

	snprintf(name, sizeof(name), "PS_%s", key);
	value = getenv(name);
	return value && *value ? value : fallback;
}

unsigned int param_number(const char *key, unsigned int fallback)
{
	const char *text = param(key, NULL);
	unsigned long value;
	char *end;

	if (!text)
		return fallback;
	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || value > UINT32_MAX)
		fail("ps.%s=%s is not a number", key, text);
	return value;
}

static char *format_list(const char *format, va_list list)
{
	char *text;

	if (vasprintf(&text, format, list) < 0) {
		perror("vasprintf");
		exit(1);
	}
	return text;
}

char *format_text(const char *format, ...)
{
	va_list list;
	char *text;

	va_start(list, format);
	text = format_list(format, list);
	va_end(list);
	return text;
}

/* There is no udev to make /dev/virtio-ports: sysfs knows the names. */
static int find_port(const char *name, int flags)
{
	DIR *ports = opendir("/sys/class/virtio-ports");
	size_t length = strlen(name);
	struct dirent *port;
	int fd = -1;

	while (ports && fd < 0 && (port = readdir(ports))) {
		char path[512];
		char *line;

		snprintf(path, sizeof(path), "/sys/class/virtio-ports/%s/name",
			 port->d_name);
		line = read_file(path);
		if (line && !strncmp(line, name, length) &&
		    !strcmp(line + length, "\n")) {
			snprintf(path, sizeof(path), "/dev/%s", port->d_name);
			fd = open(path, flags);
		}
		free(line);
	}
	if (ports)
		closedir(ports);
	return fd;
}

int open_serial(const char *name, int flags)
{
	unsigned int tries;
	int fd;

	/* The host names its ports a moment after the device is there. */
	for (tries = 0; (fd = find_port(name, flags)) < 0 && tries < 250; tries++)
		sleep_ns(20000000);
	return fd;
}

void open_results(void)
{
	struct pollfd port = { .fd = RESULTS_FD };
	int fd;

	if (poll(&port, 1, 0) >= 0 && !(port.revents & (POLLHUP | POLLNVAL)))
		return;
	fd = open_serial("results", O_WRONLY);
	if (fd < 0) {
		fprintf(stderr, "guest: no virtio-serial port named results\n");
		fd = open("/dev/null", O_WRONLY);
	}
	if (fd != RESULTS_FD) {
		dup2(fd, RESULTS_FD);
		close(fd);
	}
}

static void write_all(int fd, const char *text, size_t length)
{
	while (length) {
		ssize_t done = write(fd, text, length);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0) {
			perror("results port");
			exit(1);
		}
		text += done;
		length -= done;
	}
}

static void send_line(const char *text)
{
	char *line = format_text("%s\n", text);

	write_all(RESULTS_FD, line, strlen(line));
	free(line);
}

void send_record(const char *format, ...)
{
	va_list list;
	char *text;

	va_start(list, format);
	text = format_list(format, list);
	va_end(list);
	send_line(text);
	free(text);
}

/* Printable ASCII only: what is sent is made of kernel and project texts. */
static char *json_string(const char *text)
{
	char *quoted = malloc(2 * strlen(text) + 3);
	char *end = quoted;

	if (!quoted) {
		perror("malloc");
		exit(1);
	}
	*end++ = '"';
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			*end++ = '\\';
		*end++ = *text >= ' ' && *text <= '~' ? *text : ' ';
	}
	*end++ = '"';
	*end = '\0';
	return quoted;
}

static void send_text(const char *type, const char *key, const char *text)
{
	char *quoted = json_string(text);

	send_record("{\"type\":\"%s\",\"%s\":%s}", type, key, quoted);
	free(quoted);
}

void send_tap(const char *format, ...)
{
	va_list list;
	char *text;

	va_start(list, format);
	text = format_list(format, list);
	va_end(list);
	send_text("tap", "line", text);
	free(text);
}

bool tap_test(bool good, const char *name)
{
	int error = errno;

	send_tap("%s - %s", good ? "ok" : "not ok", name);
	if (!good)
		send_tap("# the last error: %s", strerror(error));
	return good;
}

void fail(const char *format, ...)
{
	va_list list;
	char *text;

	va_start(list, format);
	text = format_list(format, list);
	va_end(list);
	fprintf(stderr, "guest: %s\n", text);
	send_text("error", "text", text);
	exit(1);
}

char *read_file(const char *path)
{
	size_t size = 4096, length = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text = NULL;
	ssize_t got;

	if (fd < 0)
		return NULL;
	do {
		if (!text || length + 1 == size) {
			char *larger = realloc(text, size *= 2);

			if (!larger)
				fail("out of memory reading %s", path);
			text = larger;
		}
		got = read(fd, text + length, size - 1 - length);
		if (got > 0)
			length += got;
	} while (got > 0 || (got < 0 && errno == EINTR));
	if (got < 0) {
		int error = errno;

		free(text);
		close(fd);
		errno = error;
		return NULL;
	}
	close(fd);
	text[length] = '\0';
	return text;
}

int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int error;

	if (fd < 0)
		return -1;
	error = write(fd, text, strlen(text)) < 0 ? errno : 0;
	close(fd);
	errno = error;
	return error ? -1 : 0;
}

/* "a.x=1 b.y=2 a.z" for module a: "x=1 z" */
static char *module_params(const char *name)
{
	char *line = read_file("/proc/cmdline");
	char *params = format_text("%s", "");
	size_t length = strlen(name);
	char *word, *rest = line;

	while (line && (word = strsep(&rest, " \n"))) {
		char *longer;

		if (strncmp(word, name, length) || word[length] != '.')
			continue;
		longer = format_text("%s%s ", params, word + length + 1);
		free(params);
		params = longer;
	}
	free(line);
	return params;
}

int load_module(const char *file)
{
	char *path = format_text("/modules/%s", file);
	char *name = format_text("%.*s", (int)strcspn(file, "."), file);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *params, *dash;
	int error = errno;

	while ((dash = strchr(name, '-')))
		*dash = '_';
	params = module_params(name);
	if (fd >= 0) {
		error = syscall(SYS_finit_module, fd, params, 0) ? errno : 0;
		close(fd);
	}
	free(params);
	free(name);
	free(path);
	errno = error;
	return error ? -1 : 0;
}

int remove_module(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? -1 : 0;
}

uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void sleep_ns(uint64_t ns)
{
	struct timespec left = { ns / 1000000000, ns % 1000000000 };

	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

/* False: there is no disk of that name, or it is no virtio disk. */
static bool fill_disk(struct disk *disk, const char *name)
{
	char *path = format_text("/sys/block/%s/device", name);
	char target[512];
	const char *base;
	ssize_t length;

	length = readlink(path, target, sizeof(target) - 1);
	free(path);
	if (length < 0)
		return false;
	target[length] = '\0';
	base = strrchr(target, '/');
	base = base ? base + 1 : target;
	snprintf(disk->name, sizeof(disk->name), "%.31s", name);
	snprintf(disk->virtio, sizeof(disk->virtio), "%.31s", base);
	snprintf(disk->node, sizeof(disk->node), "/dev/%.31s", name);
	return !strncmp(base, "virtio", strlen("virtio"));
}

struct disk find_disk_named(const char *name)
{
	struct disk disk;

	if (!fill_disk(&disk, name))
		fail("no virtio-blk disk %s: %s", name, strerror(errno));
	return disk;
}

struct disk find_disk(void)
{
	return find_disk_named("vda");
}

bool find_disk_by_serial(const char *serial, struct disk *disk)
{
	DIR *disks = opendir("/sys/block");
	struct dirent *entry;
	bool found = false;

	while (disks && !found && (entry = readdir(disks))) {
		char *path = format_text("/sys/block/%s/serial", entry->d_name);
		char *text = read_file(path);

		found = text && !strcmp(text, serial) &&
			fill_disk(disk, entry->d_name);
		free(text);
		free(path);
	}
	if (disks)
		closedir(disks);
	return found;
}

int set_poll_source(const struct disk *disk, bool on)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/virtio/devices/%s/poll_source",
		 disk->virtio);
	return write_file(path, on ? "1" : "0");
}

bool poll_source_is(const struct disk *disk, bool on)
{
	char *path = format_text("/sys/bus/virtio/devices/%s/poll_source",
				 disk->virtio);
	char *text = read_file(path);
	bool same = text && !strcmp(text, on ? "1\n" : "0\n");

	free(text);
	free(path);
	return same;
}

uint64_t count_ios(const struct disk *disk)
{
	char *path = format_text("/sys/block/%s/stat", disk->name);
	char *text = read_file(path);
	uint64_t reads, writes;

	if (!text || sscanf(text, "%" SCNu64 " %*u %*u %*u %" SCNu64,
			    &reads, &writes) != 2)
		fail("cannot read %s", path);
	free(text);
	free(path);
	return reads + writes;
}

/* Lines of debugfs: name cpu windows hits raced irqs. No file: no sources. */
void see_sources(void (*see)(const struct source *source, void *data),
		 void *data)
{
	char *text = read_file("/sys/kernel/debug/poll_source");
	char *line, *rest = text;

	while (text && (line = strsep(&rest, "\n"))) {
		struct source source;
		struct source_counts *counts = &source.counts;

		if (sscanf(line, "%31s %d %" SCNu64 " %" SCNu64 " %" SCNu64
			   " %" SCNu64, source.name, &source.cpu,
			   &counts->windows, &counts->hits, &counts->raced,
			   &counts->irqs) == 6)
			see(&source, data);
	}
	free(text);
}

struct disk_sources {
	char *prefix;
	struct source *sources;
	unsigned int count;
};

static void keep_source(const struct source *source, void *data)
{
	struct disk_sources *of = data;

	if (of->count < MAX_QUEUES &&
	    !strncmp(source->name, of->prefix, strlen(of->prefix)))
		of->sources[of->count++] = *source;
}

unsigned int find_sources(const struct disk *disk, struct source *sources)
{
	struct disk_sources of = {
		.prefix = format_text("%s-", disk->virtio),
		.sources = sources,
	};

	see_sources(keep_source, &of);
	free(of.prefix);
	return of.count;
}

struct source_counts count_sources(const struct disk *disk)
{
	struct source sources[MAX_QUEUES];
	unsigned int count = find_sources(disk, sources), i;
	struct source_counts sum = { 0 };

	for (i = 0; i < count; i++) {
		sum.windows += sources[i].counts.windows;
		sum.hits += sources[i].counts.hits;
		sum.raced += sources[i].counts.raced;
		sum.irqs += sources[i].counts.irqs;
	}
	return sum;
}

/* " 45:   12   0  ITS-MSI 12345 Edge   virtio1-req.0, other" */
static bool parse_irq(char *line, const char *virtio, struct queue_irq *irq)
{
	size_t length = strlen(virtio);
	char *column = strchr(line, ':'), *end, *word;
	uint64_t count;

	if (!column || sscanf(line, "%u:", &irq->number) != 1)
		return false;
	irq->count = 0;
	for (column++; ; column = end) {
		count = strtoull(column, &end, 10);
		if (end == column || (*end != ' ' && *end))
			break;
		irq->count += count;
	}
	while ((word = strsep(&column, " ,"))) {
		if (strncmp(word, virtio, length) || strstr(word, "-config") ||
		    (word[length] && word[length] != '-'))
			continue;
		snprintf(irq->name, sizeof(irq->name), "%s", word);
		return true;
	}
	return false;
}

unsigned int find_irqs(const struct disk *disk, struct queue_irq *irqs)
{
	char *text = read_file("/proc/interrupts");
	char *line, *rest = text;
	unsigned int found = 0;

	if (!text)
		fail("cannot read /proc/interrupts: %s", strerror(errno));
	while (found < MAX_QUEUES && (line = strsep(&rest, "\n")))
		found += parse_irq(line, disk->virtio, &irqs[found]);
	free(text);
	return found;
}

uint64_t count_irqs(const struct disk *disk)
{
	struct queue_irq irqs[MAX_QUEUES];
	unsigned int count = find_irqs(disk, irqs), i;
	uint64_t sum = 0;

	for (i = 0; i < count; i++)
		sum += irqs[i].count;
	return sum;
}

/* The CPU that an interrupt goes to, as the kernel has programmed it. */
static int target_cpu(const struct queue_irq *irq)
{
	char *path = format_text("/proc/irq/%u/effective_affinity_list",
				 irq->number);
	char *text = read_file(path);
	int cpu = text && *text >= '0' && *text <= '9' ? atoi(text) : -1;

	free(text);
	free(path);
	return cpu;
}

static bool owner_follows(const struct source *source,
			  const struct queue_irq *irqs, unsigned int count)
{
	unsigned int i;

	if (source->cpu < 0)
		return true;
	/* One interrupt for all queues does not have a queue's name. */
	for (i = 0; count > 1 && i < count; i++)
		if (!strcmp(irqs[i].name, source->name))
			break;
	return i < count && target_cpu(&irqs[i]) == source->cpu;
}

bool owners_follow(const struct disk *disk)
{
	struct source sources[MAX_QUEUES];
	struct queue_irq irqs[MAX_QUEUES];
	uint64_t end_ns = now_ns() + PATIENCE_NS;
	bool good;

	do {
		unsigned int count = find_sources(disk, sources);
		unsigned int irq_count = find_irqs(disk, irqs), i;

		good = count;
		for (i = 0; i < count; i++)
			good = good && owner_follows(&sources[i], irqs,
						     irq_count);
		if (!good)
			sleep_ns(20000000);
	} while (!good && now_ns() < end_ns);
	return good;
}

static bool in_flight(const struct disk *disk)
{
	char *path = format_text("/sys/block/%s/inflight", disk->name);
	char *text = read_file(path);
	unsigned int reads = 0, writes = 0;

	if (!text || sscanf(text, "%u %u", &reads, &writes) != 2)
		fail("cannot read %s", path);
	free(text);
	free(path);
	return reads + writes;
}

uint64_t stalled_ns(struct stall *stall, const struct disk *disk, uint64_t now)
{
	uint64_t ios = count_ios(disk);

	if (ios != stall->ios || !in_flight(disk)) {
		stall->ios = ios;
		stall->since_ns = now;
	}
	return now - stall->since_ns;
}

char *online_cpus(unsigned int *count)
{
	char *text = read_file("/sys/devices/system/cpu/online");
	char *list = format_text("%s", "");
	char *range, *rest = text;

	if (!text)
		fail("cannot read the online CPUs: %s", strerror(errno));
	*count = 0;
	while ((range = strsep(&rest, ",\n")) && *range) {
		unsigned int first, last;
		int fields = sscanf(range, "%u-%u", &first, &last);

		if (fields < 1)
			fail("unexpected list of online CPUs");
		if (fields < 2)
			last = first;
		for (; first <= last; first++, (*count)++) {
			char *longer = format_text("%s%s%u", list,
						   *list ? "," : "", first);

			free(list);
			list = longer;
		}
	}
	free(text);
	return list;
}

int start_program(char *const argv[], const char *out_path)
{
	int pid = fork();

	if (pid < 0)
		fail("fork: %s", strerror(errno));
	if (pid)
		return pid;
	if (out_path) {
		int fd = open(out_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

		if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0) {
			perror(out_path);
			_exit(126);
		}
		close(fd);
	}
	execvp(argv[0], argv);
	perror(argv[0]);
	_exit(127);
}

int wait_program(int pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			fail("waitpid: %s", strerror(errno));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#define BLOCK_SIZE 4096

/* What a process that does I/O and the one that started it both see. */
struct io_shared {
	_Atomic uint64_t done;
	_Atomic int error;
	_Atomic bool stop;
};

static void pin_to(int cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		perror("sched_setaffinity");
}

/* One request; 0 or an errno. */
static int transfer(int fd, void *buffer, off_t at, bool write)
{
	ssize_t done = write ? pwrite(fd, buffer, BLOCK_SIZE, at) :
			       pread(fd, buffer, BLOCK_SIZE, at);

	if (done < 0)
		return errno;
	return done == BLOCK_SIZE ? 0 : EIO;
}

/* Writes what says where and when it was written, and reads it back. */
static int write_and_read(int fd, uint64_t *buffer, off_t at, uint64_t round)
{
	const size_t words = BLOCK_SIZE / sizeof(*buffer);
	int error;
	size_t i;

	for (i = 0; i < words; i++)
		buffer[i] = (uint64_t)at << 32 ^ round << 9 ^ i;
	error = transfer(fd, buffer, at, true);
	if (error)
		return error;
	memset(buffer, 0, BLOCK_SIZE);
	error = transfer(fd, buffer, at, false);
	for (i = 0; !error && i < words; i++)
		if (buffer[i] != ((uint64_t)at << 32 ^ round << 9 ^ i))
			error = EILSEQ;
	return error;
}

static int do_io(const struct io_job *job, struct io_shared *shared)
{
	int fd = open(job->node, O_RDWR | O_DIRECT | O_CLOEXEC);
	uint64_t *buffer = aligned_alloc(BLOCK_SIZE, BLOCK_SIZE);
	uint64_t round;
	int error = 0;

	if (fd < 0 || !buffer)
		return errno;
	pin_to(job->cpu);
	for (round = 0; !error && !shared->stop; round++) {
		unsigned int block = job->first + round * 7919 % job->blocks;
		off_t at = (off_t)block * BLOCK_SIZE;

		error = job->verify ? write_and_read(fd, buffer, at, round) :
				      transfer(fd, buffer, at, false);
		if (!error)
			shared->done += job->verify ? 2 : 1;
	}
	return error;
}

struct io start_io(const struct io_job *job)
{
	struct io io;

	io.shared = mmap(NULL, sizeof(*io.shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (io.shared == MAP_FAILED)
		fail("mmap: %s", strerror(errno));
	io.pid = fork();
	if (io.pid < 0)
		fail("fork: %s", strerror(errno));
	if (!io.pid) {
		close(RESULTS_FD);
		io.shared->error = do_io(job, io.shared);
		_exit(0);
	}
	return io;
}

uint64_t io_done(const struct io *io)
{
	return io->shared->done;
}

bool io_goes_on(const struct io *io, uint64_t more)
{
	uint64_t done = io_done(io), wanted = done + more;
	uint64_t since_ns = now_ns();

	while (done < wanted && !io->shared->error) {
		uint64_t now = io_done(io);

		if (now != done)
			since_ns = now_ns();
		else if (now_ns() - since_ns > PATIENCE_NS)
			return false;
		done = now;
		sleep_ns(5000000);
	}
	return done >= wanted;
}

int wait_io(struct io *io)
{
	uint64_t end_ns = now_ns() + PATIENCE_NS;
	int error = ETIME;

	while (!waitpid(io->pid, NULL, WNOHANG)) {
		if (now_ns() > end_ns)
			return error;
		sleep_ns(5000000);
	}
	error = io->shared->error;
	munmap(io->shared, sizeof(*io->shared));
	return error;
}

int stop_io(struct io *io)
{
	io->shared->stop = true;
	return wait_io(io);
}
