/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * listen.h - a listening stream socket where a user says: ADDR:PORT, [ADDR]:PORT for IPv6, or unix:PATH.
 *
 * Addresses are numbers (or localhost, 127.0.0.1): a name could mean another address tomorrow. Port 0 takes any that is free. A
 * unix socket is made for user and group only (0660); one that a dead process has left is replaced, anything else is not.
 * The socket is non-blocking and close-on-exec.
 *
 * Errors: EXIT_USAGE where the address can't be read, EXIT_FAILED where it can't be had, each with a sentence.
 */
#ifndef LOOPSCOPE_LIB_LISTEN_H
#define LOOPSCOPE_LIB_LISTEN_H

#include <sys/types.h>
#include <time.h>

#include "lib/fault.h"

struct listener {
	int fd;
	char shown[128]; /* where it really listens: "127.0.0.1:9464", "unix:/run/x" */
	char path[108];  /* unix: removed by listen_close(), if it is still ours; else "" */
	dev_t dev;
	ino_t ino;
	struct timespec made; /* inode numbers are used again at once */
};

int listen_open(const char *where, struct listener *ret, struct fault *f);
void listen_close(struct listener *l); /* accepts one that is all zeros or closed */

#endif
