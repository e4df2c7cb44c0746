/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * serial_line.h - one board on one port: bytes into the model, words back to the board, and patience while it is unplugged.
 *
 * Between evloop callbacks nothing blocks, but for a board whose line takes no bytes: then a second once, and nothing more is
 * sent until the port is opened anew (serial_talk.h: what is sent, and when).
 *
 * Errors: -errno with a sentence in the fault given to serial_line_start(); they end the event loop. With `stays` what is
 * wrong with this line alone does not: see trouble.
 */
#ifndef LOOPSCOPE_CMD_SERIAL_LINE_H
#define LOOPSCOPE_CMD_SERIAL_LINE_H

#include "lib/evloop.h"
#include "lib/fault.h"
#include "model/board.h"
#include "model/source_record.h"
#include "source/serial.h"
#include "source/serial_command.h"

struct serial_line_options {
	const char *where;
	const char *label; /* the loop's name; borrowed */
	unsigned baud;
	int protocol; /* enum serial_protocol */
	bool reset, listen;
	bool stays;   /* the line shares its event loop: its end does not end the loop, a port that is not there is waited for,
		       * one that cannot be used is tried again and again */
	bool paced;   /* what is read comes as it is made, also from a pipe: its arrival tells the time */
	uint64_t hog_ns, sync_ns; /* sync_ns: between two questions for the board's clock */
	struct serial_wishes wishes;

	/* Callbacks; arg is theirs. A negative return ends the event loop. */
	int (*gap)(void *arg, int64_t count, const char *what); /* count -1: unknown */
	int (*session)(void *arg, bool begins);
	int (*stretch)(void *arg, const struct board_stretch *s);
	void (*console)(void *arg, const uint8_t *p, size_t n);
	/* With `stays`: why the line is not there, said when the reason changes. */
	void (*trouble)(void *arg, const struct fault *why);
	void *arg;
};

struct serial_line;

int serial_line_open(const struct serial_line_options *o, struct serial_line **ret, struct fault *f);
/* Says good-bye where the protocol has a word for it. Accepts NULL. */
void serial_line_free(struct serial_line *l);

/* Reads from now on. A file's or a pipe's end stops the loop, unless the line stays. */
int serial_line_start(struct serial_line *l, struct evloop *loop, struct fault *f);
/* Has a pace of its own: a port or a connection, not a file. */
bool serial_line_is_live(const struct serial_line *l);
bool serial_line_is_file(const struct serial_line *l); /* a regular one, read at once */
bool serial_line_recognised(const struct serial_line *l); /* something of what came was understood */
/* Ends an interval. interval_s: wall time, NAN where it says nothing. With `last` what is half received is decided. */
void serial_line_interval(struct serial_line *l, double ts, double interval_s, bool last, struct board_report *ret_r,
			  struct source_record *ret_s);

#endif
