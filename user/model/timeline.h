/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timeline.h - the neutral time line: lanes, as a logic analyser has wires, and spans of time on them, whatever source they came from.
 *
 * Time is int64 nanoseconds since the unix epoch on one line for all sources of a recording: the host's monotonic clock, anchored
 * to the wall clock once, when the recording began. A wall clock that is set or slewed meanwhile moves nothing. Board clocks are
 * fitted to it (model/clock.h), so the line never runs backwards on a lane.
 *
 * Spans of one lane do not overlap, but for marks and gaps, which lie on top of others, and where a board contradicts itself. What
 * lies between the spans of a lane is not known to be anything. Strings are raw bytes that a target chose: hostile, NUL-terminated; "" where unknown.
 */
#ifndef LOOPSCOPE_MODEL_TIMELINE_H
#define LOOPSCOPE_MODEL_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/record.h"

#define LANE_NONE UINT32_MAX

/* Reaches disk and reports: append only. */
enum lane_kind {
	LANE_LOOP = 0, /* a process's thread, or a board's loop as a whole: ticks and IO waits */
	LANE_TASK = 1, /* a named unit of a loop or board */
	LANE_ISR = 2,  /* an interrupt handler */
	LANE_IDLE = 3, /* a board's idle time */
	LANE_MARK = 4, /* the user's own events and values */
};

struct lane {
	uint32_t index;  /* in the recording's array of lanes */
	enum lane_kind kind;
	uint32_t parent; /* lane of the loop that it belongs to; LANE_NONE for a loop */
	uint32_t source; /* in the recording's array of sources */
	struct loop_id id;   /* pid 0: no process */
	const char *name;    /* the thread's, the task's */
	const char *process; /* the process's; a board's name */
	const char *runtime, *cgroup; /* as they were last known; "" for what is no loop of a process */
	uint32_t number;   /* the source's own number of a task, interrupt or mark */
	uint32_t instance; /* among those of one name, from 0 */
	int64_t first_ns, last_ns; /* all its spans and records lie within; first > last: there are none */
	uint64_t spans;            /* how many timeline spans there are, all in all; for who plans how to show them */
};

/* Reaches disk and reports: append only. */
enum span_kind {
	SPAN_TICK = 0,    /* LANE_LOOP: between two IO waits; a board's pass once round its loop */
	SPAN_IO_WAIT = 1, /* LANE_LOOP */
	SPAN_RUN = 2,     /* LANE_TASK: a step */
	SPAN_ISR = 3,     /* LANE_ISR */
	SPAN_IDLE = 4,    /* LANE_IDLE */
	SPAN_ALIVE = 5,   /* LANE_TASK of which only begin and end are known: not necessarily on a CPU */
	SPAN_READY = 6,   /* LANE_TASK: could run, and another has the CPU */
	SPAN_MARK = 7,    /* LANE_MARK: a moment, start == end */
	SPAN_GAP = 8,     /* any lane, and for all lanes below a loop's: nothing is known in between; `value` were lost */
};

struct timeline_span {
	uint32_t lane;
	enum span_kind kind;
	bool slow;    /* over the threshold that was set while recording */
	bool open;    /* it had not ended where the recording does */
	bool unsure;  /* something was lost within: it may have begun or ended elsewhere */
	int64_t start_ns, end_ns; /* start <= end */
	int64_t net_ns; /* its own time, interrupts taken out; -1 unknown, or the same as its length */
	int64_t timeout_ns; /* IO_WAIT: the longest that it would have waited; -1 for ever, or unknown */
	int64_t value;  /* IO_WAIT: events it returned, MARK: its value, GAP: how many were lost; -1 unknown (a mark's is what it is) */
};

/* Called in the order of start_ns, then of lane. A negative return ends the visit and becomes its result. */
typedef int (*timeline_span_fn)(void *arg, const struct timeline_span *s);

/* Names as reports show them: "loop", "tick", ...; static strings. */
const char *lane_kind_name(enum lane_kind k);
const char *span_kind_name(enum span_kind k);

/*
 * For who needs edges rather than spans (wires that rise and fall, begin and end packets): takes spans in the order of their
 * starts, gives both ends of each in the order of time. At one moment ends come before begins, but an empty span's own end follows
 * its begin; of several ends, the one that began last comes first, so that what is nested closes inside out.
 * Memory: one entry for each span that is open at the same time.
 */
struct timeline_edges;
typedef int (*timeline_edge_fn)(void *arg, const struct timeline_span *s, bool begins);

int timeline_edges_new(timeline_edge_fn fn, void *arg, struct timeline_edges **ret); /* -ENOMEM */
void timeline_edges_free(struct timeline_edges *e);                                  /* accepts NULL */
/* A timeline_span_fn: e is its arg. -ENOMEM, -EINVAL out of order, or what fn returned. */
int timeline_edges_span(void *e, const struct timeline_span *s);
int timeline_edges_end(struct timeline_edges *e); /* what is still open */

#endif
