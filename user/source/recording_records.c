/* SPDX-License-Identifier: BSD-2-Clause */
/* recording_records.c - the view's records, one row after the other: loops, slow ticks, tasks, what sources said. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "source/recording_internal.h"

static int row_fault(const struct recording *r, int err, struct fault *f)
{
	return err == -ENOMEM ? fault(f, err, EXIT_FAILED, "out of memory") : err == -EBADMSG ? rec_damaged(r, f) : err;
}

/* Where a record's time begins on the line: it ends at at_ns and lasts interval_s, as far as that is known. */
static int64_t begin_of(int64_t at_ns, double interval_s)
{
	return interval_s > 0 && interval_s < 1e9 ? at_ns - (int64_t)(interval_s * 1e9) : at_ns;
}

/* By lane: how far records have told of it. A board's sums reach to where it told them last, not to where our intervals end, so that
 * by its length a record may reach back into the one before. On the line they do not overlap. */
struct told {
	int64_t *until_ns;
};

static int told_new(const struct recording *r, struct told *ret)
{
	ret->until_ns = reallocarray(NULL, r->n_lanes + 1, sizeof(*ret->until_ns));
	for (size_t i = 0; ret->until_ns && i <= r->n_lanes; i++)
		ret->until_ns[i] = INT64_MIN;
	return ret->until_ns ? 0 : -ENOMEM;
}

/* share: what the record is about; where that is not known it tells nothing of its time. */
static int64_t told_from(struct told *t, uint32_t lane, int64_t at_ns, double interval_s, double share)
{
	int64_t begin_ns = begin_of(at_ns, interval_s);

	if (isnan(share))
		return begin_ns;
	if (begin_ns < t->until_ns[lane])
		begin_ns = t->until_ns[lane] < at_ns ? t->until_ns[lane] : at_ns;
	t->until_ns[lane] = at_ns;
	return begin_ns;
}

/* --- lists --- */

int rec_lists_open(const struct recording *r, struct rec_lists *l, struct fault *f)
{
	_cleanup_free_ char *columns = rec_columns(&cause_fields, "c");
	int err;

	*l = (struct rec_lists){ 0 };
	if (!columns)
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	err = rec_prepare(r, &l->blocked, f, "SELECT what, share FROM blocked WHERE interval = ? AND place = ? ORDER BY n LIMIT %d",
			  LOOP_BLOCKED_MAX + 1);
	if (!err)
		err = rec_prepare(r, &l->waited, f, "SELECT comm, pid, share FROM waited WHERE interval = ? AND place = ? ORDER BY n LIMIT %d",
				  LOOP_WAITED_MAX + 1);
	if (!err)
		err = rec_prepare(r, &l->causes, f, "SELECT c.stack, c.stack_incomplete%s FROM cause c WHERE c.tick = ? ORDER BY c.n LIMIT %d",
				  columns, SLOW_CAUSES_MAX);
	if (!err)
		err = rec_prepare(r, &l->frames, f, "SELECT s.outer, f.name FROM stack s LEFT JOIN frame f ON f.id = s.frame WHERE s.id = ?");
	return err;
}

void rec_lists_close(struct rec_lists *l)
{
	sqlite3_finalize(l->blocked);
	sqlite3_finalize(l->waited);
	sqlite3_finalize(l->causes);
	sqlite3_finalize(l->frames);
}

static void bytes(sqlite3_stmt *s, int i, char *dst, size_t size)
{
	const char *text = (const char *)sqlite3_column_text(s, i);

	memset(dst, 0, size);
	if (text)
		memcpy(dst, text, strnlen(text, size - (size > LOOP_COMM_LEN)));
}

static double share(sqlite3_stmt *s, int i)
{
	double v = sqlite3_column_double(s, i);

	return sqlite3_column_type(s, i) == SQLITE_NULL || !(fabs(v) < 1e9) ? NAN : v;
}

int rec_read_loop_lists(const struct recording *r, struct rec_lists *l, int64_t interval, int64_t place, struct loop_record *rec,
			struct fault *f)
{
	int err;

	sqlite3_bind_int64(l->blocked, 1, interval);
	sqlite3_bind_int64(l->blocked, 2, place);
	while ((err = rec_step(r, l->blocked, f)) == 1) {
		struct blocked_share *b = &rec->blocked_by[rec->n_blocked_by++];

		bytes(l->blocked, 0, b->what, sizeof(b->what));
		b->share = share(l->blocked, 1);
	}
	sqlite3_reset(l->blocked);
	if (err)
		return err;
	sqlite3_bind_int64(l->waited, 1, interval);
	sqlite3_bind_int64(l->waited, 2, place);
	while ((err = rec_step(r, l->waited, f)) == 1) {
		struct waited_share *w = &rec->waited_for[rec->n_waited_for++];

		bytes(l->waited, 0, w->comm, sizeof(w->comm));
		w->pid = rec_row_count(l->waited, 1, -1);
		w->share = share(l->waited, 2);
	}
	sqlite3_reset(l->waited);
	return err;
}

/* From the innermost frame to the root. A stack is a list of rows whose numbers fall: no damage makes it endless. */
static int read_stack(const struct recording *r, struct rec_lists *l, int64_t id, struct stack_names *ret, struct arena *a, struct fault *f)
{
	int err = 0;

	while (id > 0 && !err) {
		int64_t outer;

		if (ret->n == STACK_FRAMES_MAX)
			return rec_damaged(r, f);
		sqlite3_bind_int64(l->frames, 1, id);
		err = rec_step(r, l->frames, f);
		if (err == 0)
			err = rec_damaged(r, f);
		if (err == 1) {
			outer = rec_row_count(l->frames, 0, 0);
			ret->frame[ret->n] = rec_row_text(l->frames, 1, a);
			err = ret->frame[ret->n++] ? 0 : row_fault(r, -ENOMEM, f);
			if (!err && outer >= id)
				err = rec_damaged(r, f);
			id = outer;
		}
		sqlite3_reset(l->frames);
	}
	return err;
}

int rec_read_causes(const struct recording *r, struct rec_lists *l, int64_t tick, struct slow_tick *t, struct arena *a, struct fault *f)
{
	struct slow_cause *causes = arena_get(a, SLOW_CAUSES_MAX * sizeof(*causes));
	int err;

	if (!causes)
		return row_fault(r, -ENOMEM, f);
	t->causes = causes;
	sqlite3_bind_int64(l->causes, 1, tick);
	while ((err = rec_step(r, l->causes, f)) == 1) {
		struct slow_cause *c = &causes[t->n_causes++];
		int64_t stack = rec_row_count(l->causes, 0, 0);

		c->stack.incomplete = sqlite3_column_int(l->causes, 1) != 0;
		err = row_fault(r, rec_row_fields(l->causes, 2, &cause_fields, c, a), f);
		if (!err)
			err = read_stack(r, l, stack, &c->stack, a, f);
		if (err)
			break;
	}
	sqlite3_reset(l->causes);
	return err;
}

/* --- loops --- */

static int take_loop(struct recording *r, sqlite3_stmt *s, struct rec_lists *l, const struct recording_select *sel, struct told *told,
		     struct arena *a, recording_loop_fn fn, void *arg, struct fault *f)
{
	int64_t at_ns = rec_row_time(s, 2);
	struct loop_record rec = { 0 };
	struct recording_loop out = { .end_ns = at_ns, .record = &rec };
	const int who = 4;
	int err;

	if (!rec_lane_index(r, sqlite3_column_int64(s, 3), &out.lane))
		return rec_damaged(r, f);
	if (!rec_wants(sel, out.lane) || !rec_within(sel, at_ns))
		return 0;
	rec.id = r->lanes[out.lane].id;
	rec.source = r->sources[r->lanes[out.lane].source].pub.kind;
	err = row_fault(r, rec_row_fields(s, who, &loop_who_fields, &rec, a), f);
	if (!err)
		err = row_fault(r, rec_row_fields(s, who + (int)loop_who_fields.n, &loop_fields, &rec, a), f);
	if (!err)
		err = rec_read_loop_lists(r, l, sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1), &rec, f);
	if (err)
		return err;
	out.start_ns = told_from(told, out.lane, at_ns, rec.interval_s, rec.load);
	return fn(arg, &out);
}

int rec_view_loops(struct recording_view *v, const struct recording_select *sel, recording_loop_fn fn, void *arg, struct fault *f)
{
	struct recording *r = (struct recording *)v;
	_cleanup_free_ char *who = rec_columns(&loop_who_fields, "w"), *loop = rec_columns(&loop_fields, "p");
	struct rec_lists lists = { 0 };
	struct told told = { 0 };
	struct arena a = { 0 };
	sqlite3_stmt *s = NULL;
	int err;

	if (!who || !loop || told_new(r, &told))
		return row_fault(r, -ENOMEM, f);
	err = rec_lists_open(r, &lists, f);
	if (!err)
		err = rec_prepare(r, &s, f,
				  "SELECT i.id, p.place, i.at_ns, w.lane%s%s FROM interval i JOIN loop p ON p.interval = i.id LEFT JOIN who w ON w.id = p.who "
				  "ORDER BY i.at_ns, i.id, p.place", who, loop);
	while (!err && (err = rec_step(r, s, f)) == 1) {
		err = take_loop(r, s, &lists, sel, &told, &a, fn, arg, f);
		err = err ? err : rec_progress(r, sqlite3_column_int64(s, 2));
		arena_reset(&a);
	}
	free(told.until_ns);
	sqlite3_finalize(s);
	rec_lists_close(&lists);
	arena_free(&a);
	return err;
}

/* --- slow ticks --- */

static int take_slow(struct recording *r, sqlite3_stmt *s, struct rec_lists *l, const struct recording_select *sel, struct arena *a,
		     recording_slow_fn fn, void *arg, struct fault *f)
{
	struct slow_tick t = { 0 };
	struct recording_slow out = { .start_ns = rec_row_time(s, 2), .end_ns = rec_row_time(s, 3), .tick = &t };
	int err;

	if (!rec_lane_index(r, sqlite3_column_int64(s, 1), &out.lane) || out.end_ns < out.start_ns)
		return rec_damaged(r, f);
	if (!rec_wants(sel, out.lane) || !rec_within(sel, out.end_ns))
		return 0;
	t.id = r->lanes[out.lane].id;
	t.source = r->sources[r->lanes[out.lane].source].pub.kind;
	err = row_fault(r, rec_row_fields(s, 4, &slow_tick_fields, &t, a), f);
	if (!err)
		err = rec_read_causes(r, l, sqlite3_column_int64(s, 0), &t, a, f);
	return err ? err : fn(arg, &out);
}

int rec_view_slow_ticks(struct recording_view *v, const struct recording_select *sel, recording_slow_fn fn, void *arg, struct fault *f)
{
	struct recording *r = (struct recording *)v;
	_cleanup_free_ char *columns = rec_columns(&slow_tick_fields, "t");
	struct rec_lists lists = { 0 };
	struct arena a = { 0 };
	sqlite3_stmt *s = NULL;
	int err = columns ? rec_lists_open(r, &lists, f) : row_fault(r, -ENOMEM, f);

	if (!err)
		err = rec_prepare(r, &s, f, "SELECT t.id, t.lane, " SLOW_START " AS start, " SLOW_END "%s FROM slow_tick t ORDER BY start, t.id", columns);
	while (!err && (err = rec_step(r, s, f)) == 1) {
		err = take_slow(r, s, &lists, sel, &a, fn, arg, f);
		err = err ? err : rec_progress(r, sqlite3_column_int64(s, 2));
		arena_reset(&a);
	}
	sqlite3_finalize(s);
	rec_lists_close(&lists);
	arena_free(&a);
	return err;
}

/* --- tasks, and what sources said --- */

/* A walk over rows of one kind, in the order of their intervals. */
struct walk {
	struct recording *r;
	const struct recording_select *sel;
	recording_task_fn task;
	recording_state_fn state;
	void *arg; /* theirs */
	struct told told;
	struct arena arena; /* of the row */
	struct fault *f;
};

typedef int (*row_fn)(struct walk *w, sqlite3_stmt *s);

/* owner: the column that says whose row of the table it is; the table goes by the name x. */
static int walk_rows(struct walk *w, const char *table, const char *owner, const struct field_table *fields, row_fn fn)
{
	_cleanup_free_ char *columns = rec_columns(fields, "x");
	sqlite3_stmt *s = NULL;
	int err;

	if (!columns || told_new(w->r, &w->told))
		return row_fault(w->r, -ENOMEM, w->f);
	err = rec_prepare(w->r, &s, w->f,
			  "SELECT i.at_ns, %s%s FROM interval i JOIN %s x ON x.interval = i.id ORDER BY i.at_ns, i.id, x.place",
			  owner, columns, table);
	while (!err && (err = rec_step(w->r, s, w->f)) == 1) {
		err = fn(w, s);
		err = err ? err : rec_progress(w->r, sqlite3_column_int64(s, 0));
		arena_reset(&w->arena);
	}
	free(w->told.until_ns);
	sqlite3_finalize(s);
	arena_free(&w->arena);
	return err;
}

static int take_task(struct walk *w, sqlite3_stmt *s)
{
	struct task_record rec = { 0 };
	struct recording_task out = { .end_ns = rec_row_time(s, 0), .record = &rec };
	int err;

	if (!rec_lane_index(w->r, sqlite3_column_int64(s, 1), &out.lane))
		return rec_damaged(w->r, w->f);
	if (!rec_wants(w->sel, out.lane) || !rec_within(w->sel, out.end_ns))
		return 0;
	rec.source = w->r->sources[w->r->lanes[out.lane].source].pub.kind;
	err = row_fault(w->r, rec_row_fields(s, 2, &task_fields, &rec, &w->arena), w->f);
	if (err)
		return err;
	out.start_ns = told_from(&w->told, out.lane, out.end_ns, rec.interval_s, rec.busy);
	return w->task(w->arg, &out);
}

int rec_view_tasks(struct recording_view *v, const struct recording_select *sel, recording_task_fn fn, void *arg, struct fault *f)
{
	struct walk w = { .r = (struct recording *)v, .sel = sel, .task = fn, .arg = arg, .f = f };

	return walk_rows(&w, "task", "x.lane", &task_fields, take_task);
}

static int take_state(struct walk *w, sqlite3_stmt *s)
{
	struct source_record rec = { 0 };
	struct recording_state out = { .at_ns = rec_row_time(s, 0), .record = &rec };
	int err;

	if (!rec_source_index(w->r, sqlite3_column_int64(s, 1), &out.source))
		return rec_damaged(w->r, w->f);
	if (!rec_within(w->sel, out.at_ns))
		return 0;
	rec.source = w->r->sources[out.source].pub.kind;
	err = row_fault(w->r, rec_row_fields(s, 2, &source_fields, &rec, &w->arena), w->f);
	return err ? err : w->state(w->arg, &out);
}

int rec_view_states(struct recording_view *v, const struct recording_select *sel, recording_state_fn fn, void *arg, struct fault *f)
{
	struct walk w = { .r = (struct recording *)v, .sel = sel, .state = fn, .arg = arg, .f = f };

	return walk_rows(&w, "state", "i.source", &source_fields, take_state);
}
