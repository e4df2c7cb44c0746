/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * witness.c - samples /proc/PID/task/TID/schedstat of some threads, so that a record can be held against what the
 * scheduler itself says of exactly the record's interval.
 *
 * witness [-p PERIOD (default 1ms)] PID/TID...   prints "ready PID" and at SIGTERM a line a sample:
 * TID MONOTONIC_NS ON_CPU_NS RUNQ_NS. It asks for a real-time priority, because a witness that waits for a hog sees nothing.
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

static void take_sample(int thread, int fd)
{
	struct sample *s;
	char buf[96];
	ssize_t n = pread(fd, buf, sizeof(buf) - 1, 0);

	if (n <= 0)
		return; /* the thread is gone: its last sample stays its last */
	if (n_samples == cap_samples) {
		cap_samples = cap_samples ? cap_samples * 2 : 1 << 16;
		samples = realloc(samples, cap_samples * sizeof(*samples));
		if (!samples)
			die("out of memory");
	}
	buf[n] = '\0';
	s = &samples[n_samples];
	s->thread = thread;
	s->at = now_ns();
	if (sscanf(buf, "%" SCNu64 " %" SCNu64, &s->cpu, &s->runq) != 2)
		die("schedstat: '%s' is not what it was", buf);
	n_samples++;
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
	int fds[THREADS_MAX], n = 0;
	long tids[THREADS_MAX];
	uint64_t due;
	struct looper l;

	looper_init(&l, "witness", argc, argv, NULL, NULL);
	if (l.period_ns == 10 * NSEC_PER_MSEC)
		l.period_ns = NSEC_PER_MSEC;
	for (; optind < argc && n < THREADS_MAX; optind++, n++)
		fds[n] = open_schedstat(argv[optind], &tids[n]);
	if (!n)
		die("usage: witness [-p PERIOD] PID/TID...");
	sched_setscheduler(0, SCHED_FIFO, &rt);
	looper_start(&l);
	looper_ready();
	for (due = now_ns(); !looper_over(&l); due += l.period_ns) {
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
