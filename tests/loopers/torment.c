/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * torment.c - does to the processes of the given PIDs, in random order, what happens to processes: they are moved between the CPUs,
 * stopped and continued, traced and let go; and all around them threads and processes begin, wait for IO twice and end.
 *
 * torment [-d TIME] [-s SEED] PID...   prints "ready PID", then at its end one line of JSON: how often each was done. Every CPU that it may
 * use is one that the tormented may use. It leaves them running, on any of these.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "looper.h"

#define PIDS_MAX 32
#define BURST 40

struct torment {
	struct looper looper;
	pid_t pids[PIDS_MAX];
	size_t n;
	cpu_set_t cpus;
};

static void wait_twice(void)
{
	poll(NULL, 0, 1);
	poll(NULL, 0, 1);
}

static void move(struct torment *t, pid_t pid)
{
	cpu_set_t some;

	CPU_ZERO(&some);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &t->cpus) && looper_random(&t->looper) % 2)
			CPU_SET(cpu, &some);
	sched_setaffinity(pid, sizeof(some), CPU_COUNT(&some) ? &some : &t->cpus);
}

static void stop(struct torment *t, pid_t pid)
{
	kill(pid, SIGSTOP);
	sleep_ns(looper_random(&t->looper) % (3 * NSEC_PER_MSEC));
	kill(pid, SIGCONT);
}

static void trace(struct torment *t, pid_t pid)
{
	int status;

	if (looper_random(&t->looper) % 2) {
		if (ptrace(PTRACE_ATTACH, pid, NULL, NULL))
			return;
	} else if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) || ptrace(PTRACE_INTERRUPT, pid, NULL, NULL)) {
		return;
	}
	if (waitpid(pid, &status, __WALL) == pid)
		ptrace(PTRACE_DETACH, pid, NULL, NULL);
	kill(pid, SIGCONT);
}

static void *short_life(void *arg)
{
	(void)arg;
	wait_twice();
	return NULL;
}

static void begin_threads(struct torment *t, pid_t pid)
{
	pthread_t thread[BURST];
	size_t n = 0;

	(void)t;
	(void)pid;
	while (n < BURST && !pthread_create(&thread[n], NULL, short_life, NULL))
		n++;
	while (n)
		pthread_join(thread[--n], NULL);
}

/* The first thread ends before the others. */
static void leave_to_another(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, short_life, NULL))
		pthread_exit(NULL);
	_exit(1);
}

static void *exec_from_here(void *arg)
{
	wait_twice();
	execl("/bin/true", "true", (char *)NULL);
	return arg;
}

static void exec_from_another(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, exec_from_here, NULL))
		for (;;)
			wait_twice();
	_exit(1);
}

static void begin_process(struct torment *t, pid_t pid)
{
	uint64_t kind = looper_random(&t->looper) % 5;
	pid_t child = kind == 4 ? vfork() : fork();

	(void)pid;
	if (child) {
		if (child > 0)
			waitpid(child, NULL, 0);
		return;
	}
	if (kind == 4)
		_exit(0);
	wait_twice();
	if (kind == 1)
		leave_to_another();
	if (kind == 2)
		exec_from_another();
	if (kind == 3)
		execl("/bin/true", "true", (char *)NULL);
	_exit(0);
}

static void enter_namespace(struct torment *t, pid_t pid)
{
	static const char *const kinds[] = {"net", "uts", "ipc"};
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, kinds[looper_random(&t->looper) % 3]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	setns(fd, 0);
	close(fd);
}

static const struct deed {
	const char *name;
	void (*fn)(struct torment *t, pid_t pid);
} deeds[] = {{"moved", move}, {"moved", move}, {"stopped", stop}, {"traced", trace}, {"threads", begin_threads},
	     {"processes", begin_process}, {"namespaces", enter_namespace}};

#define DEEDS (sizeof(deeds) / sizeof(deeds[0]))

int main(int argc, char **argv)
{
	struct torment t = {0};
	uint64_t done[DEEDS] = {0};

	looper_init(&t.looper, "torment", argc, argv, NULL, NULL);
	for (; optind < argc && t.n < PIDS_MAX; optind++, t.n++)
		t.pids[t.n] = (pid_t)number_arg(argv[optind], 1UL << 22);
	if (!t.n)
		die("usage: torment [-d TIME] [-s SEED] PID...");
	if (sched_getaffinity(0, sizeof(t.cpus), &t.cpus))
		die("sched_getaffinity: %s", strerror(errno));
	looper_start(&t.looper);
	looper_ready();
	while (!looper_over(&t.looper)) {
		size_t i = looper_random(&t.looper) % DEEDS;

		deeds[i].fn(&t, t.pids[looper_random(&t.looper) % t.n]);
		done[i]++;
		sleep_ns(looper_random(&t.looper) % (2 * NSEC_PER_MSEC));
	}
	for (size_t i = 0; i < t.n; i++) {
		sched_setaffinity(t.pids[i], sizeof(t.cpus), &t.cpus);
		kill(t.pids[i], SIGCONT);
	}
	printf("{");
	for (size_t i = 1; i < DEEDS; i++) /* both of the first two are one */
		printf("%s\"%s\":%" PRIu64, i > 1 ? "," : "", deeds[i].name, done[i] + (i == 1 ? done[0] : 0));
	printf("}\n");
	return 0;
}
