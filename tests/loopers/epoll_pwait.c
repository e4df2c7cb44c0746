/* SPDX-License-Identifier: BSD-2-Clause */
/* epoll_pwait.c - a loop on epoll_pwait(). See looper.h. */
#include "epoll_common.h"
#include "looper.h"

static void wait_epoll(void *state, int fd)
{
	struct epoll_event ev;
	sigset_t mask;

	(void)fd;
	sigemptyset(&mask); /* an empty mask, as libuv passes */
	epoll_pwait(epoll_of(state), &ev, 1, -1, &mask);
}

int main(int argc, char **argv)
{
	return looper_main(argc, argv, &(struct waiter){.name = "epoll_pwait", .open = epoll_open, .wait = wait_epoll});
}
