/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * board_watch.h - a board as a source of reports: one serial_line whose losses, sessions, hogs, tasks and intervals go to
 * a sink. Any number of them share one event loop, also with a kernel observation, and one sink.
 *
 * Records of single losses and hogs are bounded in each interval, what is above is summed up: a line that is nothing but
 * noise does not become a report that is nothing but gaps.
 *
 * Ownership: strings of the options are borrowed for the watch's life; sink and loop stay the caller's and outlive the
 * start. Free a watch when its loop has ended, before the loop is freed. Errors: -errno with a sentence in *f.
 */
#ifndef LOOPSCOPE_CMD_BOARD_WATCH_H
#define LOOPSCOPE_CMD_BOARD_WATCH_H

#include "cmd/serial_line.h"
#include "lib/evloop.h"
#include "lib/fault.h"
#include "model/record.h"
#include "sink/sink.h"

struct board_watch_options {
	/* Its gap, session, hog and arg are the watch's own and need not be filled. */
	struct serial_line_options line;
	/* Every finished stretch, see board_stretch; may be NULL. A negative return ends the event loop. */
	int (*stretch)(void *arg, const char *label, const struct board_stretch *s);
	void *arg; /* of stretch, and of line.console and line.trouble */
};

struct board_watch;

int board_watch_open(const struct board_watch_options *o, struct board_watch **ret, struct fault *f);
void board_watch_free(struct board_watch *w); /* accepts NULL */
/* Reads from now on: the first interval begins. */
int board_watch_start(struct board_watch *w, struct sink *sink, struct evloop *loop, struct fault *f);

/* Ends an interval. What *ret points to is valid until the next call. With `last` what is half received is decided. */
int board_watch_collect(struct board_watch *w, bool last, struct interval *ret);
/* The same, into the sink. */
int board_watch_report(struct board_watch *w, bool last);

const char *board_watch_label(const struct board_watch *w);
const char *board_watch_where(const struct board_watch *w);
const struct serial_line *board_watch_line(const struct board_watch *w);

#endif
