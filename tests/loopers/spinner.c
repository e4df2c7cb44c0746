/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spinner.c - a loop that polls with timeout 0 and never sleeps; once a period it finds its timer and works.
 *
 * Truth: work_cpu_s / wall_s is what it was loaded with, the rest of its CPU time went into empty polls.
 */
#include "epoll_common.h"
#include "looper.h"

static void wait_epoll(void *state, int fd)
{
	struct epoll_event ev;

	(void)fd;
	epoll_wait(epoll_of(state), &ev, 1, 0);
}

int main(int argc, char **argv)
{
	return looper_main(argc, argv, &(struct waiter){.name = "spinner", .open = epoll_open, .wait = wait_epoll});
}
