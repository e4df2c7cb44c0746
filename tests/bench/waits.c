/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * waits.c - what a system call costs its caller, asked again and again while somebody observes it or not.
 *
 * Usage: waits poll|event|call|phase CPU. Prints "ready"; for each line on stdin measures for a fifth of a second and prints nanoseconds a
 * call: the tenth percentile over batches, as what interrupts a batch only ever adds.
 *
 * poll   epoll_wait that finds nothing and does not wait: a polling loop
 * event  epoll_wait that finds one event, always: each is an IO wait and a tick
 * call   getppid, as of a process that nobody observes
 * phase  a function that does nothing, named in probes/waits.probe as one that begins a phase
 */
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "pin.h"

#define BATCH 200
#define BATCHES_MAX 20000
#define WINDOW_NS 200000000u

static double batch[BATCHES_MAX];

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void wait_once(int ep)
{
	struct epoll_event ev;

	epoll_wait(ep, &ev, 1, 0);
}

static void call_once(int ep)
{
	(void)ep;
	syscall(SYS_getppid);
}

void bench_turn(void);
__attribute__((noinline)) void bench_turn(void)
{
	__asm__ volatile("" ::: "memory");
}

static void turn_once(int ep)
{
	(void)ep;
	bench_turn();
}

static double measure(void (*once)(int), int ep)
{
	uint64_t end = now_ns() + WINDOW_NS, from, to = 0;
	size_t n = 0;

	wait_once(ep); /* who never waits for IO is not observed */
	for (; to < end && n < BATCHES_MAX; n++) {
		from = now_ns();
		for (int i = 0; i < BATCH; i++)
			once(ep);
		to = now_ns();
		batch[n] = (double)(to - from) / BATCH;
	}
	qsort(batch, n, sizeof(batch[0]), ascending);
	return batch[n / 10];
}

int main(int argc, char **argv)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int ep = epoll_create1(EPOLL_CLOEXEC), ready = eventfd(1, EFD_CLOEXEC);
	char line[16];

	static const struct {
		const char *name;
		void (*once)(int ep);
	} modes[] = { { "poll", wait_once }, { "event", wait_once }, { "call", call_once }, { "phase", turn_once } };
	void (*once)(int ep) = NULL;

	for (size_t i = 0; argc == 3 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(argv[1], modes[i].name))
			once = modes[i].once;
	if (!once)
		errx(2, "usage: waits poll|event|call|phase CPU");
	pin(atoi(argv[2]));
	if (ep < 0 || ready < 0 || (!strcmp(argv[1], "event") && epoll_ctl(ep, EPOLL_CTL_ADD, ready, &ev)))
		err(1, "epoll");
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		printf("%.2f\n", measure(once, ep));
		fflush(stdout);
	}
	return 0;
}
