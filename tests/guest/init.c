// SPDX-License-Identifier: GPL-2.0
/*
 * PID 1 of the guest: prepares the file systems, the results port and the
 * CPUs, runs the one program that the kernel command line names (ps.run=NAME,
 * /tests/NAME; "shell" is a prompt on the console, "none" runs none), reports
 * its status as the last record and powers off.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void mount_at(const char *type, const char *path, bool needed)
{
	mkdir(path, 0755);
	if (mount(type, path, type, 0, NULL) && errno != EBUSY && needed)
		perror(path);
}

static void mount_all(void)
{
	mount_at("proc", "/proc", true);
	mount_at("sysfs", "/sys", true);
	mount_at("devtmpfs", "/dev", true);
	mount_at("tmpfs", "/tmp", true);
	mount_at("tmpfs", "/dev/shm", false);
	mount_at("debugfs", "/sys/kernel/debug", false);
	mount_at("tracefs", "/sys/kernel/tracing", false);
}

/* ps.KEY=VALUE words of the kernel command line become PS_KEY=VALUE. */
static void export_params(void)
{
	char *line = read_file("/proc/cmdline");
	char *word, *rest = line;

	while (line && (word = strsep(&rest, " \n"))) {
		char *value = strchr(word, '=');
		char name[64];

		if (strncmp(word, "ps.", 3) || !value)
			continue;
		*value++ = '\0';
		snprintf(name, sizeof(name), "PS_%s", word + 3);
		setenv(name, value, 1);
	}
	free(line);
}

/*
 * Whatever lies in /modules. The order is left to the kernel: a module that
 * needs another is refused until that is there.
 */
static void load_modules(void)
{
	bool progress = true;

	while (progress) {
		DIR *modules = opendir("/modules");
		struct dirent *module;

		progress = false;
		while (modules && (module = readdir(modules)))
			if (*module->d_name != '.')
				progress |= !load_module(module->d_name);
		if (modules)
			closedir(modules);
	}
}

static bool cpu_is_online(const char *cpu)
{
	unsigned int count;
	char *online = online_cpus(&count);
	char *word, *rest = online;
	bool found = false;

	while (!found && (word = strsep(&rest, ",")))
		found = !strcmp(word, cpu);
	free(online);
	return found;
}

static bool bring_up(const char *cpu)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%s/online",
		 cpu);
	return !write_file(path, "1");
}

/*
 * The guest has more CPUs than it may use (see tools/vm.sh), and the disk's
 * queues are spread over all of them. Bring up one CPU of each queue until
 * ps.vcpus are online, so that each has a queue of its own.
 */
static void bring_up_cpus(unsigned int wanted)
{
	unsigned int queue, count;

	for (queue = 0; ; queue++) {
		char *cpus, *cpu, *rest, *path;
		bool served = false;

		free(online_cpus(&count));
		if (count >= wanted)
			return;
		path = format_text("/sys/block/vda/mq/%u/cpu_list", queue);
		cpus = read_file(path);
		free(path);
		if (!cpus)
			break;
		for (rest = format_text("%s", cpus); (cpu = strsep(&rest, ", \n"));)
			served |= *cpu && cpu_is_online(cpu);
		for (rest = cpus; !served && (cpu = strsep(&rest, ", \n"));)
			served = *cpu && bring_up(cpu);
		free(cpus);
	}
	fail("only %u of %u CPUs could be brought up", count, wanted);
}

static void become_session(void)
{
	int fd;

	setsid();
	fd = open("/dev/console", O_RDWR);
	if (fd >= 0) {
		dup2(fd, STDIN_FILENO);
		dup2(fd, STDOUT_FILENO);
		dup2(fd, STDERR_FILENO);
		if (fd > STDERR_FILENO)
			close(fd);
		ioctl(STDIN_FILENO, TIOCSCTTY, 1);
	}
}

static int run(const char *name)
{
	char *path = format_text("/tests/%s", name);
	int pid, status;

	pid = fork();
	if (!pid) {
		become_session();
		if (!strcmp(name, "none"))
			_exit(0);
		if (!strcmp(name, "shell"))
			execl("/bin/busybox", "sh", "-l", (char *)NULL);
		else
			execl(path, path, (char *)NULL);
		perror(path);
		_exit(127);
	}
	free(path);
	while (pid > 0) {
		int done = waitpid(-1, &status, 0);

		if (done == pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) :
						   128 + WTERMSIG(status);
		if (done < 0 && errno != EINTR)
			break;
	}
	perror("init");
	return 1;
}

/* A failing run must not take PID 1 down: fail() exits, so use a child. */
static int run_in_child(void)
{
	int pid = fork();

	if (!pid) {
		const char *name = param("run", NULL);

		if (!name)
			fail("ps.run=NAME is missing on the kernel command line");
		send_record("{\"type\":\"start\",\"run\":\"%s\"}", name);
		bring_up_cpus(param_number("vcpus", 1));
		exit(run(name));
	}
	for (;;) {
		int status;
		int done = waitpid(-1, &status, 0);

		if (done == pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) :
						   128 + WTERMSIG(status);
		if (done < 0 && errno != EINTR)
			return 1;
	}
}

int main(void)
{
	int status;

	if (getpid() != 1) {
		fprintf(stderr, "init: meant to run as PID 1 of the guest\n");
		return 1;
	}
	setenv("PATH", "/bin:/usr/bin:/tests", 1);
	setenv("HOME", "/tmp", 1);
	mount_all();
	export_params();
	load_modules();
	open_results();
	status = run_in_child();
	open_results();
	send_record("{\"type\":\"end\",\"status\":%d}", status);
	sync();
	/* The port is drained by the host; close() waits for it. */
	close(RESULTS_FD);
	reboot(RB_POWER_OFF);
	return 1;
}
