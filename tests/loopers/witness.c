/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * witness.c - samples /proc/PID/task/TID/schedstat of some threads, so that a record can be held against what the
 * scheduler itself says of exactly the record's interval.
 *
 * witness [-p PERIOD (default 1ms)] PID/TID...   prints "ready PID" and at SIGTERM a line a sample:
 * TID MONOTONIC_NS ON_CPU_NS RUNQ_NS; and for TID 0, each tenth period, what the hypervisor and interrupts have had of all CPUs in
 * place of ON_CPU_NS: schedstat's clock stands still meanwhile. It asks for a real-time priority, because a witness that waits for a hog sees nothing.
 *
 * The kernel brings on-CPU time up to date at its ticks and at every switch: a sample of a running thread is up to
 * one tick (1 to 10 ms) old. A run-queue wait is added when it ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "looper.h"

#define THREADS_MAX 32

struct sample {
	uint64_t at, cpu, runq;
	int thread;
};

static struct sample *samples;
static size_t n_samples, cap_samples;

static struct sample *new_sample(int thread)
{
	struct sample *s;

	if (n_samples == cap_samples) {
		cap_samples = cap_samples ? cap_samples * 2 : 1 << 16;
		samples = realloc(samples, cap_samples * sizeof(*samples));
		if (!samples)
			die("out of memory");
	}
	s = &samples[n_samples++];
	s->thread = thread;
	s->at = now_ns();
	return s;
}

static void take_sample(int thread, int fd)
{
	struct sample *s;
	char buf[96];
	ssize_t n = pread(fd, buf, sizeof(buf) - 1, 0);

	if (n <= 0)
		return; /* the thread is gone: its last sample stays its last */
	buf[n] = '\0';
	s = new_sample(thread);
	if (sscanf(buf, "%" SCNu64 " %" SCNu64, &s->cpu, &s->runq) != 2)
		die("schedstat: '%s' is not what it was", buf);
}

/* The first line: "cpu user nice system idle iowait irq softirq steal ...", in clock ticks. */
static void take_taken(int thread, int fd)
{
	uint64_t irq, softirq, steal;
	struct sample *s;
	char buf[256];
	ssize_t n = pread(fd, buf, sizeof(buf) - 1, 0);

	if (n <= 0)
		return;
	buf[n] = '\0';
	if (sscanf(buf, "cpu %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64 " %" SCNu64, &irq, &softirq, &steal) != 3)
		die("/proc/stat: '%s' is not what it was", buf);
	s = new_sample(thread);
	s->cpu = (irq + softirq + steal) * (NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));
	s->runq = 0;
}

static int open_schedstat(const char *arg, long *ret_tid)
{
	char path[64];
	int pid, tid, fd;

	if (sscanf(arg, "%d/%d", &pid, &tid) != 2)
		die("'%s' is not PID/TID", arg);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", pid, tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die("%s: %s", path, strerror(errno));
	*ret_tid = tid;
	return fd;
}

int main(int argc, char **argv)
{
	struct sched_param rt = {.sched_priority = 1};
	struct timespec next;
	int fds[THREADS_MAX], n = 0, stat_fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	long tids[THREADS_MAX + 1] = {0};
	uint64_t due;
	unsigned round;
	struct looper l;

	looper_init(&l, "witness", argc, argv, NULL, NULL);
	if (l.period_ns == 10 * NSEC_PER_MSEC)
		l.period_ns = NSEC_PER_MSEC;
	for (; optind < argc && n < THREADS_MAX; optind++, n++)
		fds[n] = open_schedstat(argv[optind], &tids[n]);
	if (stat_fd < 0)
		die("/proc/stat: %s", strerror(errno));
	if (!n)
		die("usage: witness [-p PERIOD] PID/TID...");
	sched_setscheduler(0, SCHED_FIFO, &rt);
	looper_start(&l);
	looper_ready();
	for (due = now_ns(), round = 0; !looper_over(&l); due += l.period_ns, round++) {
		if (round % 10 == 0)
			take_taken(n, stat_fd);
		for (int i = 0; i < n; i++)
			take_sample(i, fds[i]);
		next = (struct timespec){.tv_sec = (time_t)(due / NSEC_PER_SEC), .tv_nsec = (long)(due % NSEC_PER_SEC)};
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
	for (size_t i = 0; i < n_samples; i++)
		printf("%ld %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", tids[samples[i].thread], samples[i].at, samples[i].cpu,
		       samples[i].runq);
	return 0;
}
