/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sink.h - where a report goes. A sink is given whole intervals and writes each one out before it returns.
 *
 * Ownership: sink_free() accepts NULL. Errors: -errno with a sentence in *f; -EPIPE means that the reader is gone
 * (`| head -1`): the command then ends with EXIT_DONE and says nothing, as other filters do.
 */
#ifndef LOOPSCOPE_SINK_SINK_H
#define LOOPSCOPE_SINK_SINK_H

#include <stdio.h>

#include "lib/fault.h"
#include "model/record.h"
#include "model/slow_tick.h"
#include "model/source_span.h"
#include "model/turn.h"

struct sink;

struct sink_ops {
	const char *name;
	int (*interval)(struct sink *s, const struct interval *iv, struct fault *f);
	/* Records of single ticks, between the intervals; NULL: this sink has no place for them. */
	int (*slow_tick)(struct sink *s, const struct slow_tick *t, struct fault *f);
	int (*event)(struct sink *s, const struct loop_event *e, struct fault *f);
	/* Every turn as it is, in place of the events that it stands for; every span. */
	int (*turn)(struct sink *s, const struct loop_turn *t, struct fault *f);
	int (*span)(struct sink *s, const struct source_span *sp, struct fault *f);
	int (*flush)(struct sink *s, struct fault *f); /* so that events reach a reader now */
	int (*slow_summary)(struct sink *s, const struct slow_summary *sum, struct fault *f); /* once, at the end */
	void (*free)(struct sink *s);
};

struct sink {
	const struct sink_ops *ops;
};

static inline int sink_interval(struct sink *s, const struct interval *iv, struct fault *f)
{
	return s->ops->interval(s, iv, f);
}

static inline int sink_slow_tick(struct sink *s, const struct slow_tick *t, struct fault *f)
{
	return s->ops->slow_tick ? s->ops->slow_tick(s, t, f) : 0;
}

static inline int sink_event(struct sink *s, const struct loop_event *e, struct fault *f)
{
	return s->ops->event ? s->ops->event(s, e, f) : 0;
}

static inline bool sink_takes_turns(const struct sink *s)
{
	return s->ops->turn;
}

static inline int sink_turn(struct sink *s, const struct loop_turn *t, struct fault *f)
{
	return s->ops->turn ? s->ops->turn(s, t, f) : 0;
}

static inline int sink_span(struct sink *s, const struct source_span *sp, struct fault *f)
{
	return s->ops->span ? s->ops->span(s, sp, f) : 0;
}

static inline int sink_flush(struct sink *s, struct fault *f)
{
	return s->ops->flush ? s->ops->flush(s, f) : 0;
}

static inline int sink_slow_summary(struct sink *s, const struct slow_summary *sum, struct fault *f)
{
	return s->ops->slow_summary ? s->ops->slow_summary(s, sum, f) : 0;
}

void sink_free(struct sink *s);

enum table_layout {
	TABLE_ONCE,   /* scan: one table */
	TABLE_REPEAT, /* attach: a header now and then, a row per loop and interval, first column the time */
};

struct table_options {
	FILE *out;
	enum table_layout layout;
	const char *columns; /* comma-separated names; NULL: what fits the width; "all"; "+NAME,..." adds to the default */
	int width;           /* 0: the terminal's, or 80 where out is no terminal ($COLUMNS wins) */
	uint64_t interval_ns; /* between rows of a loop, which the time tells apart; 0: not known */
};

/* -EINVAL with a sentence naming the unknown column and listing the known ones. */
int sink_table_new(const struct table_options *o, struct sink **ret, struct fault *f);
/* NDJSON: one object a line, "v":1, flushed per interval. */
int sink_json_new(FILE *out, struct sink **ret, struct fault *f);

/* Folded stacks ("cause;outer;...;inner microseconds"), written once at the end: what flame graph tools take. */
int sink_folded_new(FILE *out, struct sink **ret, struct fault *f);

/* Prints every column's name, unit and help: for --help and docs. */
void sink_table_columns_help(FILE *out);

#endif
