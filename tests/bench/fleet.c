/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fleet.c - many threads that cost little: what the observer has to watch.
 *
 *   fleet loops N    N event loops, each a thread in epoll_wait with a timer of 100 ms, their phases spread evenly
 *   fleet named N    the same, each thread with a name of its own
 *   fleet short N    N such loops one after the other, 100 at a time, each 200 ms long; "ready" comes when they have been
 *   fleet asleep N   N threads asleep in epoll_wait without a timeout
 *   fleet idle N     N threads blocked in read(): no loops
 *
 * Prints "ready" when all have been started; ends with its standard input.
 */
#include <err.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define PERIOD_NS 100000000L
#define STACK_SIZE (64 * 1024)
#define AT_A_TIME 100

static unsigned long total;
static int never[2]; /* a pipe that nobody writes to */

static void wait_events(int ep)
{
	struct epoll_event ev[4];

	if (epoll_wait(ep, ev, 4, -1) < 0 && errno != EINTR)
		err(1, "epoll_wait");
}

static void *loop(void *arg)
{
	unsigned long i = (unsigned long)arg;
	long first = PERIOD_NS + (long)((double)i / (double)total * PERIOD_NS);
	struct itimerspec its = { .it_interval.tv_nsec = PERIOD_NS, .it_value = { first / 1000000000L, first % 1000000000L } };
	struct epoll_event want = { .events = EPOLLIN };
	int ep = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, 0);
	unsigned long long expirations;

	if (ep < 0 || timer < 0 || timerfd_settime(timer, 0, &its, NULL) || epoll_ctl(ep, EPOLL_CTL_ADD, timer, &want))
		err(1, "loop %lu", i);
	for (;;) {
		wait_events(ep);
		if (read(timer, &expirations, sizeof(expirations)) < 0 && errno != EINTR)
			err(1, "timerfd");
	}
	return NULL;
}

static void *named(void *arg)
{
	char name[16];

	snprintf(name, sizeof(name), "fleet-%lu", (unsigned long)arg);
	prctl(PR_SET_NAME, name);
	return loop(arg);
}

static void *short_loop(void *arg)
{
	int ep = epoll_create1(0);
	struct epoll_event ev;

	(void)arg;
	if (ep < 0)
		err(1, "epoll_create1");
	for (int i = 0; i < 20; i++)
		if (epoll_wait(ep, &ev, 1, 10) < 0 && errno != EINTR)
			err(1, "epoll_wait");
	close(ep);
	return NULL;
}

static void *asleep(void *arg)
{
	int ep = epoll_create1(0);

	(void)arg;
	if (ep < 0)
		err(1, "epoll_create1");
	for (;;)
		wait_events(ep);
	return NULL;
}

static void *idle(void *arg)
{
	char c;

	(void)arg;
	while (read(never[0], &c, 1) < 0 && errno == EINTR)
		;
	return NULL;
}

static void *(*kind_of(const char *name))(void *)
{
	if (!strcmp(name, "loops"))
		return loop;
	if (!strcmp(name, "named"))
		return named;
	if (!strcmp(name, "short"))
		return short_loop;
	if (!strcmp(name, "asleep"))
		return asleep;
	if (!strcmp(name, "idle"))
		return idle;
	errx(2, "usage: fleet loops|named|short|asleep|idle N");
}

static void allow_files(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r))
		err(1, "getrlimit");
	r.rlim_cur = r.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &r))
		err(1, "setrlimit");
}

int main(int argc, char **argv)
{
	void *(*body)(void *) = kind_of(argc == 3 ? argv[1] : "");
	bool one_after_the_other = body == short_loop;
	pthread_t turn[AT_A_TIME] = {};
	pthread_attr_t attr;
	pthread_t t;
	char c;

	allow_files();
	total = strtoul(argv[2], NULL, 10);
	if (pipe(never) || pthread_attr_init(&attr) || pthread_attr_setstacksize(&attr, STACK_SIZE))
		err(1, "start");
	for (unsigned long i = 0; i < total; i++) {
		int e;

		if (one_after_the_other && i >= AT_A_TIME)
			pthread_join(turn[i % AT_A_TIME], NULL);
		e = pthread_create(&t, &attr, body, (void *)i);
		if (e)
			errx(1, "thread %lu can't be started: %s", i, strerror(e));
		turn[i % AT_A_TIME] = t;
	}
	for (unsigned long i = 0; one_after_the_other && i < AT_A_TIME && i < total; i++)
		pthread_join(turn[i], NULL);
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	return 0;
}
