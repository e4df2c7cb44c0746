/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * serial_port.h - where a board's bytes come from: a serial port, a TCP connection, a file or standard input.
 *
 *   /dev/...         a serial port (or a pty): raw, exclusive, any baud rate, low latency where the driver can. Opening
 *                    and closing leave the modem lines alone and clear HUPCL, so that the board is not reset; Linux
 *                    itself raises DTR when a port is opened that nobody left open.
 *   tcp:HOST:PORT    a serial server, an emulator; tcp:[::1]:PORT for IPv6
 *   -                standard input
 *   any other path   a file or a pipe, read to its end
 *
 * A port that goes away (unplugged, server gone) stays a port: serial_port_open_again() is asked now and then until it
 * is back, under its stable name in /dev/serial/by-id where it has one, because the kernel may number it anew.
 *
 * Errors: -errno with a sentence in *f (f may be NULL). No background work, no signals; all fds are close-on-exec.
 */
#ifndef LOOPSCOPE_SOURCE_SERIAL_PORT_H
#define LOOPSCOPE_SOURCE_SERIAL_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/fault.h"

#define SERIAL_BAUD_DEFAULT 115200u
#define SERIAL_BAUD_MAX 20000000u

struct serial_port_options {
	const char *where;     /* as above; copied */
	unsigned baud;         /* 1 to SERIAL_BAUD_MAX; 0: SERIAL_BAUD_DEFAULT; serial ports only */
	bool reset;            /* reset the board on purpose, by DTR and RTS; serial ports only */
	const char *by_id;     /* directory of stable names; NULL: /dev/serial/by-id; borrowed */
	/* Not NULL: a serial port that is not there or in use, and a server that does not answer, are opened as away, and
	 * why is put here. What is not there is taken for a serial port. */
	struct fault *absent;
};

enum serial_port_kind {
	SERIAL_PORT_TTY,
	SERIAL_PORT_TCP,
	SERIAL_PORT_FILE, /* and pipes, and standard input */
};

struct serial_port;

int serial_port_open(const struct serial_port_options *o, struct serial_port **ret, struct fault *f);
void serial_port_free(struct serial_port *p); /* accepts NULL; standard input is not closed */

/* For poll and epoll (regular files: not for epoll); -1 while the port is away. Nonblocking, except regular files. */
int serial_port_fd(const struct serial_port *p);
enum serial_port_kind serial_port_kind(const struct serial_port *p);
/* Whether the moment at which bytes arrive says when they were sent: true for ports, connections and pipes. */
bool serial_port_is_live(const struct serial_port *p);
/* What the port is called; the stable name where it has one. */
const char *serial_port_name(const struct serial_port *p);
/* Nanoseconds a byte takes on the line (10 bits), 0 where there is no baud rate or it means nothing (pty, USB CDC). */
uint64_t serial_port_byte_ns(const struct serial_port *p);
/* Whether the driver was asked successfully not to hold bytes back. */
bool serial_port_low_latency(const struct serial_port *p);

/* Bytes read; -EAGAIN: none now; -ENODATA: the file has ended; -ENODEV: the port is gone (its fd is closed: take it out
 * of epoll before reading from a port that reported EPOLLHUP); another -errno. */
ssize_t serial_port_read(struct serial_port *p, uint8_t *buf, size_t n);
/* All of buf, waiting at most a second for the line. -ENOTSUP: a file; -ENODEV: away. -EINVAL: buf holds a byte 03,
 * which would interrupt a REPL; any_byte allows it, for a protocol that is known to need it. */
int serial_port_write(struct serial_port *p, const uint8_t *buf, size_t n, bool any_byte);
/* 0: back again; -EAGAIN: not yet; -ENOTSUP: a file does not come back; another error: it is there but cannot be used
 * (*f says why). Does not reset the board. */
int serial_port_open_again(struct serial_port *p, struct fault *f);

#endif
