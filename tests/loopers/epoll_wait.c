/* SPDX-License-Identifier: BSD-2-Clause */
/* epoll_wait.c - a loop on epoll_wait(). See looper.h. */
#include "epoll_common.h"
#include "looper.h"

static void wait_epoll(void *state, int fd)
{
	struct epoll_event ev;

	(void)fd;
	epoll_wait(epoll_of(state), &ev, 1, -1);
}

int main(int argc, char **argv)
{
	return looper_main(argc, argv, &(struct waiter){.name = "epoll_wait", .open = epoll_open, .wait = wait_epoll});
}
