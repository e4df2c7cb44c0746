/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * multi.c - several loops in one process, none on the main thread, which only joins them.
 *
 * -n N threads (default 3), in turn on epoll_wait, poll and ppoll; thread i (from 1) works i times the -w a tick and is
 * named "multi-i". Truth: "loops", one object a thread with its tid.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "epoll_common.h"
#include "looper.h"

#define MULTI_MAX 64

struct member {
	pthread_t thread;
	struct looper looper;
	const struct waiter *waiter;
	char name[16];
	char truth[512];
};

static void wait_epoll(void *state, int fd)
{
	struct epoll_event ev;

	(void)fd;
	epoll_wait(epoll_of(state), &ev, 1, -1);
}

static void wait_poll(void *state, int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	(void)state;
	poll(&p, 1, -1);
}

static void wait_ppoll(void *state, int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	(void)state;
	ppoll(&p, 1, NULL, NULL);
}

static const struct waiter waiters[] = {
	{.name = "epoll_wait", .open = epoll_open, .wait = wait_epoll},
	{.name = "poll", .wait = wait_poll},
	{.name = "ppoll", .wait = wait_ppoll},
};

static void *member_main(void *arg)
{
	struct member *m = arg;

	prctl(PR_SET_NAME, m->name, 0, 0, 0);
	m->looper.name = m->waiter->name;
	looper_run(&m->looper, m->waiter);
	looper_truth_object(&m->looper, m->truth, sizeof(m->truth));
	return NULL;
}

static void take_count(void *arg, const char *value)
{
	*(unsigned long *)arg = number_arg(value, MULTI_MAX);
}

int main(int argc, char **argv)
{
	static const struct looper_option extra[] = {{'n', "LOOPS", take_count}, {0}};
	static struct member members[MULTI_MAX];
	static char more[MULTI_MAX * 520 + 32];
	unsigned long n = 3;
	size_t used;
	struct looper l;

	looper_init(&l, "multi", argc, argv, extra, &n);
	looper_start(&l);
	for (unsigned long i = 0; i < n; i++) {
		struct member *m = &members[i];

		m->looper = l;
		m->looper.schedstat_fd = -1;
		m->looper.work_ns = l.work_ns * (i + 1);
		m->waiter = &waiters[i % (sizeof(waiters) / sizeof(waiters[0]))];
		snprintf(m->name, sizeof(m->name), "multi-%u", (unsigned)i + 1);
		if (pthread_create(&m->thread, NULL, member_main, m))
			die("thread %lu: %s", i, strerror(errno));
	}
	while (atomic_load(&looper_looping) < n)
		sleep_ns(NSEC_PER_MSEC);
	looper_ready();
	used = (size_t)snprintf(more, sizeof(more), ",\"loops\":[");
	for (unsigned long i = 0; i < n; i++) {
		pthread_join(members[i].thread, NULL);
		used += (size_t)snprintf(more + used, sizeof(more) - used, "%s%s", i ? "," : "", members[i].truth);
	}
	snprintf(more + used, sizeof(more) - used, "]");
	looper_truth(&l, more);
	return 0;
}
