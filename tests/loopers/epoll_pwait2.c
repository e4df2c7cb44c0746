/* SPDX-License-Identifier: BSD-2-Clause */
/* epoll_pwait2.c - a loop on epoll_pwait2(). See looper.h. */
#include "epoll_common.h"
#include "looper.h"

static void wait_epoll(void *state, int fd)
{
	struct epoll_event ev;

	(void)fd;
	epoll_pwait2(epoll_of(state), &ev, 1, NULL, NULL);
}

int main(int argc, char **argv)
{
	return looper_main(argc, argv, &(struct waiter){.name = "epoll_pwait2", .open = epoll_open, .wait = wait_epoll});
}
