/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * layout.h - which columns a table shows, and how wide each is.
 *
 * What the user names is always shown, whatever the width: a table too wide is better than an answer withheld. The rest
 * is chosen by priority among what fits.
 */
#ifndef LOOPSCOPE_SINK_LAYOUT_H
#define LOOPSCOPE_SINK_LAYOUT_H

#include <stdbool.h>

#include "lib/fault.h"
#include "sink/column.h"
#include "sink/sink.h"

/* What --columns says. */
struct column_request {
	const struct column *named[COLUMN_MAX]; /* in the user's order, each once */
	size_t n_named;
	bool with_default; /* NULL or "+...": the named ones, and what else fits */
};

struct layout_column {
	const struct column *column;
	size_t width;
};

struct layout {
	struct layout_column c[COLUMN_MAX];
	size_t n;
};

/* spec: see struct table_options. -EINVAL with a sentence, EXIT_USAGE. */
int column_request_parse(const char *spec, struct column_request *ret, struct fault *f);

/* Loops of processes among those of iv: they have columns that a board's have not. */
bool layout_has_host(const struct interval *iv);

/* Chosen for the loops of iv; a TABLE_REPEAT goes on with it for those of later intervals, its rows led by time (column_time_of()). */
void layout_choose(const struct column_request *req, enum table_layout kind, const struct interval *iv, size_t width,
		   const struct column *time, struct layout *ret);

bool layout_shows(const struct layout *l, const struct column *col);

#endif
