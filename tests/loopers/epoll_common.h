/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * epoll_common.h - an epoll instance that watches one fd, for the three epoll loopers and the blocker.
 */
#ifndef LOOPSCOPE_TESTS_EPOLL_COMMON_H
#define LOOPSCOPE_TESTS_EPOLL_COMMON_H

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>

#include "looper.h"

static inline int epoll_watching(int fd)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};
	int ep = epoll_create1(EPOLL_CLOEXEC);

	if (ep < 0 || epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev))
		die("epoll: %s", strerror(errno));
	return ep;
}

/* The state of a waiter is a pointer: the epoll fd travels in it. */
static inline void *epoll_open(int fd)
{
	return (void *)(intptr_t)epoll_watching(fd);
}

static inline int epoll_of(void *state)
{
	return (int)(intptr_t)state;
}

#endif
