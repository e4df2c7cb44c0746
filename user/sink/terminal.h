/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * terminal.h - what a report's stream is connected to.
 */
#ifndef LOOPSCOPE_SINK_TERMINAL_H
#define LOOPSCOPE_SINK_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Where out is no terminal, and nobody says otherwise. */
#define TERMINAL_DEFAULT_WIDTH 80

/* In columns: $COLUMNS, or the terminal's width, or the default. */
size_t terminal_width(FILE *out);
/* A terminal that is not dumb, and no $NO_COLOR (no-color.org: present and not empty). */
bool terminal_wants_colour(FILE *out);

#endif
