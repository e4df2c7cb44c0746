/* SPDX-License-Identifier: BSD-2-Clause */
/* notify.c - see notify.h. Sources of fact: sd_notify(3), sd_watchdog_enabled(3), unix(7). */
#include "lib/notify.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/fault.h"
#include "lib/parse.h"

/* Meant for another process where the PID is another's. */
static uint64_t watchdog_period(void)
{
	const char *us = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	uint64_t period, whose;

	if (!us || parse_u64(us, 1, UINT64_MAX / 1000, &period))
		return 0;
	if (pid && (parse_u64(pid, 1, INT32_MAX, &whose) || whose != (uint64_t)getpid()))
		return 0;
	return period * 1000;
}

int notify_open(struct notify *n, struct fault *f)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	_cleanup_close_ int fd = -1;
	size_t len;

	*n = (struct notify){.fd = -1, .watchdog_ns = watchdog_period()};
	if (!path || !*path)
		return 0;
	len = strlen(path);
	if ((*path != '/' && *path != '@') || len >= sizeof(to.sun_path))
		return fault(f, -EINVAL, EXIT_FAILED, "NOTIFY_SOCKET is no path of a socket: '%.100s'; unset it, or let the service manager set it",
			     path);
	memcpy(to.sun_path, path, len);
	if (*path == '@')
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)))
		return fault(f, -errno, EXIT_FAILED, "the service manager can't be told anything at %s: %m; unset NOTIFY_SOCKET to do without",
			     path);
	n->fd = TAKE_FD(fd);
	return 0;
}

void notify_close(struct notify *n)
{
	if (n->fd >= 0)
		close(n->fd);
	n->fd = -1;
}

void notify_send(const struct notify *n, const char *state)
{
	if (n->fd >= 0 && send(n->fd, state, strlen(state), MSG_NOSIGNAL) < 0)
		return; /* it will notice by itself */
}

void notify_reloading(const struct notify *n)
{
	struct timespec ts;
	char state[80];

	clock_gettime(CLOCK_MONOTONIC, &ts);
	snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
		 (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000);
	notify_send(n, state);
}
