/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * notify.h - how a service tells its manager that it is ready, that it reloads, that it is alive: the protocol of sd_notify(3), one
 * datagram a message to the socket that NOTIFY_SOCKET names. Without one nothing is sent and nothing is wrong.
 */
#ifndef LOOPSCOPE_LIB_NOTIFY_H
#define LOOPSCOPE_LIB_NOTIFY_H

#include <stdint.h>

#include "lib/fault.h"

struct notify {
	int fd;               /* -1: nobody is to be told */
	uint64_t watchdog_ns; /* at least so often "WATCHDOG=1" is expected; 0: never */
};

/* From the environment. -errno with a sentence in *f where there is a socket that can't be reached. */
int notify_open(struct notify *n, struct fault *f);
void notify_close(struct notify *n);

/* "READY=1", "WATCHDOG=1", "STOPPING=1"; several, a line each. A manager that does not listen is no error: never waits. */
void notify_send(const struct notify *n, const char *state);
/* "RELOADING=1" with the time that goes with it; "READY=1" is due afterwards. */
void notify_reloading(const struct notify *n);

#endif
