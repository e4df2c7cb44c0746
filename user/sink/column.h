/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * column.h - the table's columns as data. A new column is one more entry in column.c; nothing else knows which exist.
 *
 * Widths are columns of a terminal. In a table printed once a column is as wide as its contents, up to max; in one that
 * goes on it is at least `width`, so that rows of later intervals stay aligned. Where room is short it shrinks to min.
 */
#ifndef LOOPSCOPE_SINK_COLUMN_H
#define LOOPSCOPE_SINK_COLUMN_H

#include <stdbool.h>
#include <stddef.h>

#include "model/record.h"
#include "sink/cell.h"

/* At most so many columns in a table. */
#define COLUMN_MAX 48

enum column_flags {
	COLUMN_RIGHT = 1 << 0,     /* numbers */
	COLUMN_KEEP_TAIL = 1 << 1, /* when cut, the end stays */
	COLUMN_IF_KNOWN = 1 << 2,  /* by default only where the source knows it at all */
	COLUMN_IF_ANY = 1 << 3,    /* by default only where some value is not 0 */
	COLUMN_HOST = 1 << 4,      /* by default only where some loop is a process's: a board can't have it */
};

struct column {
	const char *name;   /* for --columns: the JSON field's where there is one, with '-' */
	const char *header; /* also accepted by --columns */
	const char *unit;   /* "" for names and numbers of things */
	const char *help;
	/* Writes the value, or CELL_UNKNOWN. */
	void (*text)(const struct column *c, const struct loop_record *r, char dst[CELL_SIZE]);
	size_t offset;                                      /* of the field that text() shows, where it shows one */
	const char *(*colour)(const struct loop_record *r); /* libsmartcols's name of a colour, or NULL; may be NULL */
	unsigned flags;
	size_t min, width, max;
	unsigned priority; /* 1: first to be shown; 0: only when asked for */
};

/* Up to here a column is part of what 80 columns show, and is widened before any further column is added. */
#define COLUMN_CORE_PRIORITY 8

/* In the order in which they are shown by default. */
extern const struct column columns[];
extern const size_t n_columns;

/* One that there is. */
const struct column *column_named(const char *name);
/* The column of the time, which leads the rows of a table that goes on. */
const struct column *column_time(void);
/* The same with the digits that tell rows apart which are so far from each other (0: not known); not of columns[]. */
const struct column *column_time_of(uint64_t interval_ns);
/* NULL when there is none. Case does not matter, nor whether '-' or '_' is used. name need not end after n bytes. */
const struct column *column_find(const char *name, size_t n);

/* Share of wall time, "33.1%". */
void column_format_share(char *dst, size_t size, double share);

#endif
