/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * board_watches.h - several boards as options name them (--serial PORT --serial NAME=PORT ...), on one event loop and one
 * sink. They stay: a board that is unplugged or that ends does not end the others, and one that is not there yet is waited
 * for. What is wrong with a port is said on standard error when the reason changes.
 *
 * A board is called NAME, or board0, board1, ... by its place among the ports. NAME ends at the first '=', and is a name
 * only if it holds no '/' and no ':'.
 *
 * Ownership and errors as in board_watch.h; a bad name or one given twice is EXIT_USAGE.
 */
#ifndef LOOPSCOPE_CMD_BOARD_WATCHES_H
#define LOOPSCOPE_CMD_BOARD_WATCHES_H

#include <stddef.h>

#include "cmd/board_watch.h"

struct board_watches;

/* ports: n of them, each PORT or NAME=PORT; borrowed. o: what all have in common; its label, where, stays and, where NULL,
 * trouble are filled here. n 0 is fine. */
int board_watches_open(const char *const *ports, size_t n, const struct board_watch_options *o, struct board_watches **ret,
		       struct fault *f);
void board_watches_free(struct board_watches *b); /* accepts NULL */
int board_watches_start(struct board_watches *b, struct sink *sink, struct evloop *loop, struct fault *f);
/* One interval record a board, in the order of the ports. */
int board_watches_report(struct board_watches *b, bool last);

size_t board_watches_count(const struct board_watches *b);
struct board_watch *board_watches_get(struct board_watches *b, size_t i);

#endif
