/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recording.h - a whole recording, as a report that looks at it afterwards sees it: what was measured, by whom, on one time line.
 *
 * A view is read-only and may be visited any number of times. Reports know nothing of how it is kept (source/recording.c: a
 * file), and those that write one interval after the other (table, json) need none of this: they are sinks like any other.
 *
 * Times are of the time line (timeline.h), unless they are fields of a record, which say what the live command would have said.
 * Names are hostile. What callbacks get is borrowed until they return; lanes, sources and host facts live as long as the view.
 * Each visit is in the order of time (of a record: its end); a negative return of a callback ends it and becomes its result.
 * Errors: -errno with a sentence in *f, -EBADMSG where the recording is damaged.
 */
#ifndef LOOPSCOPE_MODEL_RECORDING_H
#define LOOPSCOPE_MODEL_RECORDING_H

#include "lib/fault.h"
#include "model/slow_tick.h"
#include "model/source_record.h"
#include "model/timeline.h"

struct recording_host {
	const char *hostname, *kernel, *machine; /* as uname says */
	const char *version;                     /* of the loopscope that recorded */
	const char *command;                     /* what was typed, words separated by blanks */
	int64_t cpus;                            /* online; -1 unknown */
	int64_t start_ns, end_ns;                /* of all that was recorded */
	int64_t monotonic_ns;                    /* where the time line has the 0 of the host's CLOCK_MONOTONIC; 0 unknown */
	int64_t interval_ns;                     /* between interval records */
	int64_t slow_ns;                         /* threshold of slow ticks; -1: none were looked for */
	bool has_ticks;                          /* every tick was recorded: there are SPAN_TICK spans for all, not for slow ones alone */
	bool complete;                           /* ended in order; false: was killed, or ran out of disk, or still runs */
	int64_t dropped_until_ns;                /* the oldest was dropped to keep a size: nothing is left before; INT64_MIN: all is there */
};

struct recording_source {
	enum record_source kind;
	const char *name;     /* "kernel", a board's label */
	const char *where;    /* a board's port; "" */
	const char *protocol; /* a board's; "" */
};

/* What is asked for. */
struct recording_select {
	int64_t from_ns, to_ns; /* spans that overlap, records that end within (from, to]; INT64_MIN and INT64_MAX: all */
	const bool *lanes;      /* by lane index: those that are wanted; NULL: all */
};

#define RECORDING_ALL { .from_ns = INT64_MIN, .to_ns = INT64_MAX }

struct recording_loop {
	uint32_t lane;
	int64_t start_ns, end_ns;
	const struct loop_record *record;
};

struct recording_slow {
	uint32_t lane;
	int64_t start_ns, end_ns;
	const struct slow_tick *tick;
};

struct recording_task {
	uint32_t lane;
	int64_t start_ns, end_ns;
	const struct task_record *record;
};

struct recording_state {
	uint32_t source;
	int64_t at_ns;
	const struct source_record *record;
};

typedef int (*recording_loop_fn)(void *arg, const struct recording_loop *r);
typedef int (*recording_slow_fn)(void *arg, const struct recording_slow *r);
typedef int (*recording_task_fn)(void *arg, const struct recording_task *r);
typedef int (*recording_state_fn)(void *arg, const struct recording_state *r);

struct recording_view;

struct recording_ops {
	const struct recording_host *(*host)(struct recording_view *v);
	const struct recording_source *(*sources)(struct recording_view *v, size_t *ret_n);
	const struct lane *(*lanes)(struct recording_view *v, size_t *ret_n);
	int (*loops)(struct recording_view *v, const struct recording_select *s, recording_loop_fn fn, void *arg, struct fault *f);
	int (*slow_ticks)(struct recording_view *v, const struct recording_select *s, recording_slow_fn fn, void *arg, struct fault *f);
	int (*tasks)(struct recording_view *v, const struct recording_select *s, recording_task_fn fn, void *arg, struct fault *f);
	int (*states)(struct recording_view *v, const struct recording_select *s, recording_state_fn fn, void *arg, struct fault *f);
	int (*spans)(struct recording_view *v, const struct recording_select *s, timeline_span_fn fn, void *arg, struct fault *f);
};

struct recording_view {
	const struct recording_ops *ops;
};

static inline const struct recording_host *recording_host(struct recording_view *v)
{
	return v->ops->host(v);
}

static inline const struct recording_source *recording_sources(struct recording_view *v, size_t *ret_n)
{
	return v->ops->sources(v, ret_n);
}

static inline const struct lane *recording_lanes(struct recording_view *v, size_t *ret_n)
{
	return v->ops->lanes(v, ret_n);
}

/* Interval records of loops: load, parts, quantiles, histograms, who blocked it and who had the CPU. */
static inline int recording_loops(struct recording_view *v, const struct recording_select *s, recording_loop_fn fn, void *arg,
				  struct fault *f)
{
	return v->ops->loops(v, s, fn, arg, f);
}

/* Slow ticks with causes and stacks, in the order of their starts. One that was told while it lasted comes again when it ended. */
static inline int recording_slow_ticks(struct recording_view *v, const struct recording_select *s, recording_slow_fn fn, void *arg,
				       struct fault *f)
{
	return v->ops->slow_ticks(v, s, fn, arg, f);
}

/* Interval records of tasks. */
static inline int recording_tasks(struct recording_view *v, const struct recording_select *s, recording_task_fn fn, void *arg,
				  struct fault *f)
{
	return v->ops->tasks(v, s, fn, arg, f);
}

/* What sources said of themselves: headroom, clocks, losses. The lanes that are asked for do not matter. */
static inline int recording_states(struct recording_view *v, const struct recording_select *s, recording_state_fn fn, void *arg,
				   struct fault *f)
{
	return v->ops->states(v, s, fn, arg, f);
}

/* Every span of the time line. Read piece by piece: visiting millions takes no memory to speak of. */
static inline int recording_spans(struct recording_view *v, const struct recording_select *s, timeline_span_fn fn, void *arg,
				  struct fault *f)
{
	return v->ops->spans(v, s, fn, arg, f);
}

#endif
