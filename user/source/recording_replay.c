/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recording_replay.c - what was reported, once more. Intervals, slow ticks and events have numbers of one sequence: three
 * questions, each in the order of its numbers, and the least goes first.
 */
#include <errno.h>
#include <stdlib.h>

#include "lib/cleanup.h"
#include "source/recording_internal.h"

enum row_kind { ROW_INTERVAL, ROW_SLOW_TICK, ROW_EVENT, ROW_KINDS };

/* The parts of an interval: rows of its number, one record each. */
enum part_kind { PART_LOOPS, PART_TASKS, PART_STATES, PART_KINDS };

struct part {
	sqlite3_stmt *rows;
	void *records; /* used again for the next interval */
	size_t cap;
};

struct replay {
	struct recording *r;
	const struct recording_select *sel;
	const struct recording_replay *to;
	struct fault *f;
	sqlite3_stmt *rows[ROW_KINDS];
	struct part parts[PART_KINDS];
	uint32_t source; /* of the interval that is read now */
	bool more[ROW_KINDS];
	struct rec_lists lists;
	struct arena arena; /* of what is handed on now */
};

static int row_fault(struct replay *p, int err)
{
	return err == -ENOMEM ? fault(p->f, err, EXIT_FAILED, "out of memory") : err == -EBADMSG ? rec_damaged(p->r, p->f) : err;
}

static int advance(struct replay *p, enum row_kind k)
{
	int err = rec_step(p->r, p->rows[k], p->f);

	p->more[k] = err == 1;
	return err < 0 ? err : 0;
}

/* Room for one more. NULL: there is none, and the array is as it was; else it has moved, whatever else is wrong. */
static void *room(void *array, size_t n, size_t *cap, size_t size)
{
	void *p;

	if (n < *cap)
		return array;
	p = reallocarray(array, *cap ? 2 * *cap : 16, size);
	if (p)
		*cap = *cap ? 2 * *cap : 16;
	return p;
}

/* --- an interval with all that belongs to it --- */

/* Each takes the row that its part is at: 1: *record holds it, 0: nobody asked for it, or an error, told. */
static int take_loop(struct replay *p, sqlite3_stmt *s, int64_t interval, void *record)
{
	struct loop_record *rec = record;
	uint32_t lane;
	int err;

	if (!rec_lane_index(p->r, sqlite3_column_int64(s, 1), &lane))
		return row_fault(p, -EBADMSG);
	if (!rec_wants(p->sel, lane))
		return 0;
	*rec = (struct loop_record){ .id = p->r->lanes[lane].id, .source = p->r->sources[p->r->lanes[lane].source].pub.kind };
	err = row_fault(p, rec_row_fields(s, 2, &loop_who_fields, rec, &p->arena));
	if (!err)
		err = row_fault(p, rec_row_fields(s, 2 + (int)loop_who_fields.n, &loop_fields, rec, &p->arena));
	if (!err)
		err = rec_read_loop_lists(p->r, &p->lists, interval, sqlite3_column_int64(s, 0), rec, p->f);
	return err ? err : 1;
}

static bool wants_task(const struct replay *p, uint32_t lane)
{
	const struct lane *l = &p->r->lanes[lane];

	return rec_wants(p->sel, lane) || (l->parent != LANE_NONE && rec_wants(p->sel, l->parent));
}

static int take_task(struct replay *p, sqlite3_stmt *s, int64_t interval, void *record)
{
	struct task_record *rec = record;
	uint32_t lane;
	int err;

	if (!rec_lane_index(p->r, sqlite3_column_int64(s, 0), &lane))
		return row_fault(p, -EBADMSG);
	if (!wants_task(p, lane))
		return 0;
	*rec = (struct task_record){ .source = p->r->sources[p->r->lanes[lane].source].pub.kind };
	err = row_fault(p, rec_row_fields(s, 1, &task_fields, rec, &p->arena));
	return err ? err : 1;
}

static int take_state(struct replay *p, sqlite3_stmt *s, int64_t interval, void *record)
{
	struct source_record *rec = record;
	int err;

	*rec = (struct source_record){ .source = p->r->sources[p->source].pub.kind };
	err = row_fault(p, rec_row_fields(s, 0, &source_fields, rec, &p->arena));
	return err ? err : 1;
}

static const struct part_type {
	size_t size, max;
	int (*take)(struct replay *p, sqlite3_stmt *s, int64_t interval, void *record);
} part_types[PART_KINDS] = {
	[PART_LOOPS] = { sizeof(struct loop_record), RECORDING_LOOPS_MAX, take_loop },
	[PART_TASKS] = { sizeof(struct task_record), RECORDING_LOOPS_MAX, take_task },
	[PART_STATES] = { sizeof(struct source_record), RECORDING_SOURCES_MAX, take_state },
};

static int read_part(struct replay *p, enum part_kind kind, int64_t interval, size_t *ret_n)
{
	const struct part_type *type = &part_types[kind];
	struct part *part = &p->parts[kind];
	size_t n = 0;
	int err;

	sqlite3_bind_int64(part->rows, 1, interval);
	while ((err = rec_step(p->r, part->rows, p->f)) == 1) {
		char *records = room(part->records, n, &part->cap, type->size);

		if (records)
			part->records = records;
		if (!records || n == type->max)
			err = row_fault(p, records ? -EBADMSG : -ENOMEM);
		else
			err = type->take(p, part->rows, interval, records + n * type->size);
		if (err < 0)
			break;
		n += (size_t)err;
	}
	sqlite3_reset(part->rows);
	*ret_n = n;
	return err;
}

static int interval(struct replay *p)
{
	sqlite3_stmt *s = p->rows[ROW_INTERVAL];
	int64_t id = sqlite3_column_int64(s, 0);
	struct interval iv = { 0 };
	int err;

	if (!rec_source_index(p->r, sqlite3_column_int64(s, 1), &p->source))
		return rec_damaged(p->r, p->f);
	if (!rec_within(p->sel, rec_row_time(s, 2)))
		return 0;
	err = row_fault(p, rec_row_fields(s, 3, &interval_fields, &iv, &p->arena));
	if (!err)
		err = read_part(p, PART_LOOPS, id, &iv.n_loops);
	if (!err)
		err = read_part(p, PART_TASKS, id, &iv.n_tasks);
	if (!err)
		err = read_part(p, PART_STATES, id, &iv.n_sources);
	iv.loops = p->parts[PART_LOOPS].records;
	iv.tasks = p->parts[PART_TASKS].records;
	iv.sources = p->parts[PART_STATES].records;
	return err ? err : p->to->interval(p->to->arg, p->source, &iv);
}

/* --- single ticks --- */

/* Whose row it is, by its columns 1 and 2: lane and time. 1: it is wanted; 0: it is not. */
static int whose(const struct replay *p, sqlite3_stmt *s, uint32_t *ret_lane, struct loop_id *ret_id, enum record_source *ret_source)
{
	if (!rec_lane_index(p->r, sqlite3_column_int64(s, 1), ret_lane))
		return rec_damaged(p->r, p->f);
	if (!rec_wants(p->sel, *ret_lane) || !rec_within(p->sel, rec_row_time(s, 2)))
		return 0;
	*ret_id = p->r->lanes[*ret_lane].id;
	*ret_source = p->r->sources[p->r->lanes[*ret_lane].source].pub.kind;
	return 1;
}

static int slow_tick(struct replay *p)
{
	sqlite3_stmt *s = p->rows[ROW_SLOW_TICK];
	struct slow_tick t = { 0 };
	uint32_t lane;
	int err = whose(p, s, &lane, &t.id, &t.source);

	if (err <= 0)
		return err;
	err = row_fault(p, rec_row_fields(s, 3, &slow_tick_fields, &t, &p->arena));
	if (!err)
		err = rec_read_causes(p->r, &p->lists, sqlite3_column_int64(s, 0), &t, &p->arena, p->f);
	return err ? err : p->to->slow_tick(p->to->arg, p->r->lanes[lane].source, &t);
}

static int event(struct replay *p)
{
	sqlite3_stmt *s = p->rows[ROW_EVENT];
	struct loop_event e = { 0 };
	uint32_t lane;
	int err = whose(p, s, &lane, &e.id, &e.source);

	if (err <= 0)
		return err;
	err = row_fault(p, rec_row_fields(s, 3, &event_fields, &e, &p->arena));
	if (err)
		return err;
	if (!e.what[0])
		e.what = NULL;
	return p->to->event(p->to->arg, p->r->lanes[lane].source, &e);
}

/* --- the whole --- */

static int open_rows(struct replay *p)
{
	_cleanup_free_ char *columns_i = rec_columns(&interval_fields, "i"), *columns_t = rec_columns(&slow_tick_fields, "t"),
			    *columns_e = rec_columns(&event_fields, "e");
	int err;

	if (!columns_i || !columns_t || !columns_e)
		return row_fault(p, -ENOMEM);
	err = rec_prepare(p->r, &p->rows[ROW_INTERVAL], p->f, "SELECT i.id, i.source, i.at_ns%s FROM interval i ORDER BY i.id", columns_i);
	if (!err)
		err = rec_prepare(p->r, &p->rows[ROW_SLOW_TICK], p->f, "SELECT t.id, t.lane, " SLOW_END "%s FROM slow_tick t ORDER BY t.id", columns_t);
	if (!err)
		err = rec_prepare(p->r, &p->rows[ROW_EVENT], p->f, "SELECT e.id, e.lane, e.at_ns%s FROM event e ORDER BY e.id", columns_e);
	return err;
}

static int open_parts(struct replay *p)
{
	_cleanup_free_ char *who = rec_columns(&loop_who_fields, "w"), *loop = rec_columns(&loop_fields, "p"),
			    *task = rec_columns(&task_fields, "t"), *state = rec_columns(&source_fields, "s");
	int err;

	if (!who || !loop || !task || !state)
		return row_fault(p, -ENOMEM);
	err = rec_prepare(p->r, &p->parts[PART_LOOPS].rows, p->f,
			  "SELECT p.place, w.lane%s%s FROM loop p LEFT JOIN who w ON w.id = p.who WHERE p.interval = ? ORDER BY p.place", who, loop);
	if (!err)
		err = rec_prepare(p->r, &p->parts[PART_TASKS].rows, p->f, "SELECT t.lane%s FROM task t WHERE t.interval = ? ORDER BY t.place", task);
	if (!err) /* the first comma is one too many here */
		err = rec_prepare(p->r, &p->parts[PART_STATES].rows, p->f, "SELECT %s FROM state s WHERE s.interval = ? ORDER BY s.place", state + 1);
	return err ? err : rec_lists_open(p->r, &p->lists, p->f);
}

static void close_all(struct replay *p)
{
	for (int k = 0; k < ROW_KINDS; k++)
		sqlite3_finalize(p->rows[k]);
	for (int k = 0; k < PART_KINDS; k++) {
		sqlite3_finalize(p->parts[k].rows);
		free(p->parts[k].records);
	}
	rec_lists_close(&p->lists);
	arena_free(&p->arena);
}

static int run(struct replay *p)
{
	static int (*const hand_on[])(struct replay *) = { interval, slow_tick, event };
	int err = 0;

	for (int k = 0; k < ROW_KINDS && !err; k++)
		err = advance(p, (enum row_kind)k);
	while (!err) {
		int next = -1;

		for (int k = 0; k < ROW_KINDS; k++)
			if (p->more[k] && (next < 0 || sqlite3_column_int64(p->rows[k], 0) < sqlite3_column_int64(p->rows[next], 0)))
				next = k;
		if (next < 0)
			break;
		err = hand_on[next](p);
		if (!err)
			err = rec_progress(p->r, rec_row_time(p->rows[next], 2));
		arena_reset(&p->arena);
		if (!err)
			err = advance(p, (enum row_kind)next);
	}
	return err;
}

int recording_replay(struct recording *r, const struct recording_select *s, const struct recording_replay *to, struct fault *f)
{
	struct replay p = { .r = r, .sel = s, .to = to, .f = f };
	int err = open_rows(&p);

	if (!err)
		err = open_parts(&p);
	if (!err)
		err = run(&p);
	close_all(&p);
	return err;
}
