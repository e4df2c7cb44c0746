/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * looper.h - what the loopers share: options, work of a known CPU time, the truth they log.
 *
 * A looper is a small program whose load is known because it measures itself. It prints "ready PID" on stdout once it
 * loops and, when its duration is over or SIGTERM arrives, one line of JSON: its truth. Nothing here comes from the
 * product, so that an error there cannot hide itself here.
 *
 * Units: nanoseconds of CLOCK_MONOTONIC; JSON has seconds, points in time as seconds of the same clock (the wall clock
 * may be slewed or set while a test runs). Errors end the program with status 1 and a sentence on stderr: a looper that limps would lie.
 *
 * Sources of truth: CLOCK_THREAD_CPUTIME_ID is exact for the calling thread. The second number of
 * /proc/thread-self/schedstat is the time spent runnable without a CPU (kernel: Documentation/scheduler/sched-stats.rst).
 * A block of wall time w, CPU time c and run-queue time r slept for w - c - r.
 */
#ifndef LOOPSCOPE_TESTS_LOOPER_H
#define LOOPSCOPE_TESTS_LOOPER_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NSEC_PER_SEC UINT64_C(1000000000)
#define NSEC_PER_MSEC UINT64_C(1000000)

/* One stretch in which a callback blocked. */
struct block {
	uint64_t start, end;
	uint64_t cpu, runq; /* part of it on CPU, and runnable without a CPU */
};

struct looper {
	const char *name;
	/* Options that every looper has. */
	uint64_t period_ns;   /* -p, default 10 ms */
	uint64_t work_ns;     /* -w: CPU time a tick, default 1 ms */
	uint64_t duration_ns; /* -d, default 0: until SIGTERM */
	uint64_t seed;        /* -s, default 1 */
	double jitter;        /* -j: work varies by up to this share of itself, 0 to 1, default 0 */
	/* Truth. */
	uint64_t start;
	uint64_t cpu_at_start;
	uint64_t ticks, work_cpu;
	uint64_t missed; /* expirations of the period's timer beyond one a tick: the looper did not keep up */
	int schedstat_fd;
	uint64_t random;
	struct block *blocks;
	size_t n_blocks, cap_blocks;
};

/* An option of one looper only. */
struct looper_option {
	char letter;
	const char *help;
	void (*take)(void *arg, const char *value);
};

/* Set by SIGTERM and SIGINT. */
extern volatile sig_atomic_t looper_stopping;
/* How many loops of looper_run() have come back to their wait. */
extern atomic_uint looper_looping;

__attribute__((noreturn, format(printf, 1, 2))) void die(const char *fmt, ...);

uint64_t now_ns(void);
uint64_t thread_cpu_ns(void);
/* "10ms", "250us", "2s": whole or decimal numbers with a unit. Anything else ends the program. */
uint64_t duration_arg(const char *s);
unsigned long number_arg(const char *s, unsigned long max);
void sleep_ns(uint64_t ns);

/* Fills *l from argv; extra may be NULL, else ends with letter 0. */
void looper_init(struct looper *l, const char *name, int argc, char **argv, const struct looper_option *extra, void *arg);
/* Starts the clocks of the calling thread's truth. */
void looper_start(struct looper *l);
void looper_ready(void);
bool looper_over(const struct looper *l);
/* A timerfd with the looper's period, first expiration after one period. */
int looper_timerfd(const struct looper *l, bool nonblocking);
/* Reads the expirations. False where there was none (a nonblocking timer read too early). */
bool looper_take_timer(struct looper *l, int timerfd);
/* One tick's work: burns the CPU time, counts the tick. */
void looper_work(struct looper *l);
/* Next number of the seeded sequence. */
uint64_t looper_random(struct looper *l);

/* Around a call that blocks. */
void block_begin(struct looper *l);
void block_end(struct looper *l);

/* The truth's line. more: further members, beginning with a comma, or "". */
void looper_truth(struct looper *l, const char *more);
/* For a program of several loops: one loop's truth as a JSON object into buf; blocks are left out. */
void looper_truth_object(struct looper *l, char *buf, size_t size);

/* The whole program for a loop that waits on one fd: wait() returns when fd is readable or a signal came. */
struct waiter {
	const char *name;
	void *(*open)(int fd); /* may be NULL */
	void (*wait)(void *state, int fd);
};

int looper_main(int argc, char **argv, const struct waiter *w);
void looper_run(struct looper *l, const struct waiter *w);

#endif
