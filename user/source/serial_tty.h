/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * serial_tty.h - a terminal device made into a raw line of any baud rate, and given back. Private to serial_port.c.
 *
 * termios2 with BOTHER sets any rate that the driver can make; it clashes with <termios.h>, hence this file of its own.
 */
#ifndef LOOPSCOPE_SOURCE_SERIAL_TTY_H
#define LOOPSCOPE_SOURCE_SERIAL_TTY_H

#include <stdbool.h>

#include "lib/fault.h"

struct serial_tty {
	bool low_latency;
	bool saved;
	unsigned iflag, oflag, cflag, lflag, ispeed, ospeed; /* as they were */
	unsigned char vmin, vtime;
};

/* Exclusive, raw, 8N1, no flow control, HUPCL off, receiver on, modem lines ignored and untouched. path: for
 * sentences. */
int serial_tty_take(int fd, const char *path, unsigned baud, struct serial_tty *ret, struct fault *f);
/* Settings as they were, but HUPCL stays off: closing must not reset the board. */
void serial_tty_leave(int fd, const struct serial_tty *t);
/* A pulse on DTR and RTS that resets the usual boards: those that reset on DTR's edge, and those with the circuit of
 * two transistors on ESP boards, which end up running and not in their loader. Takes 150 ms. */
int serial_tty_reset_board(int fd, const char *path, struct fault *f);

#endif
