/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * serial_tcp.h - a board behind a TCP connection (a serial server, an emulator). Private to serial_port.c.
 *
 * Connecting again never waits: who reads one board may have others, and a kernel, to see to.
 */
#ifndef LOOPSCOPE_SOURCE_SERIAL_TCP_H
#define LOOPSCOPE_SOURCE_SERIAL_TCP_H

#include <stdint.h>

#include "lib/fault.h"

struct addrinfo;

struct serial_tcp {
	const char *where;       /* HOST:PORT or [v6]:PORT; borrowed */
	struct addrinfo *list;   /* owned; NULL: not found yet */
	struct addrinfo *at;     /* tried next, or being tried */
	int fd;                  /* being connected, -1 none */
	uint64_t since_ns;       /* when that began, or when HOST was last looked for */
};

/* where is borrowed. -EINVAL with EXIT_USAGE if it is no address. */
int serial_tcp_init(struct serial_tcp *t, const char *where, struct fault *f);
void serial_tcp_release(struct serial_tcp *t);
/* Tries every address of HOST, 5 s each. */
int serial_tcp_connect(struct serial_tcp *t, int *ret_fd, struct fault *f);
/* One step of it: 0, or -EAGAIN: not yet, call again. Only a HOST that was never found is looked up again, now and then:
 * that may take as long as the resolver does. */
int serial_tcp_try(struct serial_tcp *t, int *ret_fd);

#endif
