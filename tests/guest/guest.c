// SPDX-License-Identifier: GPL-2.0
/* What the programs in the guest share; guest.h says what each gives. */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

struct disk find_disk(void)
{
	struct disk disk = { .name = "vda", .node = "/dev/vda" };
	char target[512];
	const char *base;
	ssize_t length;

	length = readlink("/sys/block/vda/device", target, sizeof(target) - 1);
	if (length < 0)
		fail("no virtio-blk disk vda: %s", strerror(errno));
	target[length] = '\0';
	base = strrchr(target, '/');
	base = base ? base + 1 : target;
	if (strlen(base) >= sizeof(disk.virtio))
		fail("vda sits on %s, not on a virtio device", target);
	strcpy(disk.virtio, base);
	return disk;
}

int set_poll_source(const struct disk *disk, bool on)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/virtio/devices/%s/poll_source",
		 disk->virtio);
	return write_file(path, on ? "1" : "0");
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

/* Lines of debugfs: name cpu windows hits raced irqs. No file: no counts. */
struct source_counts count_sources(const struct disk *disk)
{
	struct source_counts counts = { 0 };
	char *name = format_text("%s-", disk->virtio);
	char *text = read_file("/sys/kernel/debug/poll_source");
	char *line, *rest = text;

	while (text && (line = strsep(&rest, "\n"))) {
		uint64_t windows, hits, raced, irqs;

		if (strncmp(line, name, strlen(name)) ||
		    sscanf(line, "%*s %*d %" SCNu64 " %" SCNu64 " %" SCNu64
			   " %" SCNu64, &windows, &hits, &raced, &irqs) != 4)
			continue;
		counts.windows += windows;
		counts.hits += hits;
		counts.raced += raced;
		counts.irqs += irqs;
	}
	free(text);
	free(name);
	return counts;
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
