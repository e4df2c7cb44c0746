/* SPDX-License-Identifier: BSD-2-Clause */
/* recording_internal.h - what the files of the recording's reader share. */
#ifndef LOOPSCOPE_SOURCE_RECORDING_INTERNAL_H
#define LOOPSCOPE_SOURCE_RECORDING_INTERNAL_H

#include <sqlite3.h>

#include "lib/arena.h"
#include "model/fields.h"
#include "source/recording.h"

/* More of them are no recording of ours: what is tracked at once is bounded by less. */
#define RECORDING_LANES_MAX 4000000
#define RECORDING_SOURCES_MAX 4096
#define RECORDING_LOOPS_MAX 131072 /* in one interval; and tasks */
#define RECORDING_STACK_MAX STACK_FRAMES_MAX

/* A point where ticks of a source's clock are on the time line. */
struct line_point {
	uint32_t session;
	uint64_t ticks;
	int64_t at_ns;
	double ns_per_tick;
};

/* How many ticks a second there were in a session. */
struct line_rate {
	uint32_t session;
	uint64_t hz;
};

struct recorded_source {
	struct recording_source pub;
	int64_t id;
	bool host_clock, slow_summary;
	int64_t anchor_ns; /* of a host's clock: where the line has its 0 */
	struct line_point *points; /* owned; by session, then ticks; monotone */
	size_t n_points;
	struct line_rate *rates; /* owned; by session: of those that have spans. A host's clock needs none */
	size_t n_rates;
};

/* Lanes have other numbers in the file, and one lane may have several: one for each era in which it was met. */
struct lane_number {
	int64_t id;
	uint32_t index;
};

struct recording {
	struct recording_view view; /* first: the ops get this */
	sqlite3 *sql;
	char *path; /* owned */
	struct arena strings; /* of all that lives as long as the recording */
	struct recording_host host;
	struct recorded_source *sources;
	struct recording_source *public_sources;
	size_t n_sources;
	struct lane *lanes;
	size_t n_lanes;
	struct lane_number *numbers; /* by id */
	size_t n_numbers;
	bool looked; /* lanes know their reach */
	recording_progress_fn progress;
	void *progress_arg;
	unsigned steps; /* since progress was told */
};

/* --- recording_row.c */
/* Once for each row or span: at_ns is where on the line we are. 0, or what ends the reading. */
int rec_progress(struct recording *r, int64_t at_ns);
int rec_damaged(const struct recording *r, struct fault *f); /* -EBADMSG and the sentence */
int rec_error(const struct recording *r, struct fault *f);   /* of SQLite's last call */
int rec_prepare(const struct recording *r, sqlite3_stmt **ret, struct fault *f, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* 1: a row, 0: no more, or an error. */
int rec_step(const struct recording *r, sqlite3_stmt *s, struct fault *f);
/* The names of a table's fields, each with a comma before it: for SELECT. table: what stands before each. */
char *rec_columns(const struct field_table *t, const char *table); /* to be freed; NULL: out of memory */
/* Columns from `first` on into a record. Strings and histograms are a's. -EBADMSG, -ENOMEM without a sentence. */
int rec_row_fields(sqlite3_stmt *s, int first, const struct field_table *t, void *record, struct arena *a);
const char *rec_row_text(sqlite3_stmt *s, int i, struct arena *a); /* "": NULL; NULL: out of memory */
int64_t rec_row_count(sqlite3_stmt *s, int i, int64_t unknown);
/* A moment of the line. Those that can't be are at an end of it, so that no two of them are further apart than an int64_t can tell. */
static inline int64_t rec_time(int64_t ns)
{
	return ns < -(INT64_MAX / 4) ? -(INT64_MAX / 4) : ns > INT64_MAX / 4 ? INT64_MAX / 4 : ns;
}
static inline int64_t rec_row_time(sqlite3_stmt *s, int i)
{
	return rec_time(sqlite3_column_int64(s, i));
}

/* --- recording_lanes.c */
int rec_read_sources(struct recording *r, struct fault *f);
int rec_read_lanes(struct recording *r, struct fault *f);
bool rec_lane_index(const struct recording *r, int64_t id, uint32_t *ret);
bool rec_source_index(const struct recording *r, int64_t id, uint32_t *ret);

/* --- recording_clock.c */
int rec_read_clocks(struct recording *r, struct fault *f);
/* Ticks of a session on the time line: never running backwards. hz 0: unknown. */
int64_t rec_line(const struct recording *r, const struct recorded_source *s, uint32_t session, uint64_t hz, uint64_t ticks);
/*
 * SQL's line_of(lane, clock_ns, live_ns): where a source's own nanoseconds are on the time line, by the same points as its spans, so
 * that what is told of a step stands where the step does. live_ns is where it was put while recording, by what was known then: it
 * tells the session, and is the answer where nothing better is known.
 */
int rec_add_line_of(struct recording *r, struct fault *f);
/* Of a row t of slow_tick. */
#define SLOW_START "line_of(t.lane, t.clock_ns, t.at_ns)"
#define SLOW_END   "line_of(t.lane, t.clock_ns + (t.end_ns - t.at_ns), t.end_ns)"

/* --- recording_records.c */
int rec_view_loops(struct recording_view *v, const struct recording_select *s, recording_loop_fn fn, void *arg, struct fault *f);
int rec_view_slow_ticks(struct recording_view *v, const struct recording_select *s, recording_slow_fn fn, void *arg, struct fault *f);
int rec_view_tasks(struct recording_view *v, const struct recording_select *s, recording_task_fn fn, void *arg, struct fault *f);
int rec_view_states(struct recording_view *v, const struct recording_select *s, recording_state_fn fn, void *arg, struct fault *f);
/* One loop's lists of blocked_by and waited_for; causes of a slow tick. */
struct rec_lists {
	sqlite3_stmt *blocked, *waited, *causes, *frames;
};
int rec_lists_open(const struct recording *r, struct rec_lists *l, struct fault *f);
void rec_lists_close(struct rec_lists *l);
int rec_read_loop_lists(const struct recording *r, struct rec_lists *l, int64_t interval, int64_t place, struct loop_record *rec,
			struct fault *f);
int rec_read_causes(const struct recording *r, struct rec_lists *l, int64_t tick, struct slow_tick *t, struct arena *a, struct fault *f);
static inline bool rec_wants(const struct recording_select *s, uint32_t lane)
{
	return !s->lanes || s->lanes[lane];
}
static inline bool rec_within(const struct recording_select *s, int64_t at_ns)
{
	return at_ns > s->from_ns && at_ns <= s->to_ns;
}

/* --- recording_spans.c */
int rec_view_spans(struct recording_view *v, const struct recording_select *s, timeline_span_fn fn, void *arg, struct fault *f);

#endif
