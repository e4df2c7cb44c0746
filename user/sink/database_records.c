/* SPDX-License-Identifier: BSD-2-Clause */
/* database_records.c - the sink of one source: intervals, slow ticks and events as rows, numbered in the order in which they come. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "sink/database_internal.h"

/* A time that no clock shows is no time: what is beyond the year 2262 has no place on the line. */
int64_t db_line_of_wall(const struct database *db, double ts)
{
	if (!(ts > -9e9 && ts < 9e9))
		return db->end_ns;
	return (int64_t)(ts * 1e9) + db->wall_behind_ns;
}

static void reach(struct database *db, int64_t at_ns)
{
	if (at_ns > db->end_ns)
		db->end_ns = at_ns;
}

/* --- intervals --- */

static int lists(struct database *db, int64_t interval, int64_t place, const struct loop_record *r, struct fault *f)
{
	int err = 0;

	for (size_t i = 0; i < r->n_blocked_by && i < LOOP_BLOCKED_MAX + 1 && !err; i++) {
		sqlite3_stmt *s = db->statement[DB_BLOCKED];

		sqlite3_bind_int64(s, 1, interval);
		sqlite3_bind_int64(s, 2, place);
		sqlite3_bind_int64(s, 3, (int64_t)i);
		db_bind_text(s, 4, r->blocked_by[i].what, sizeof(r->blocked_by[i].what));
		sqlite3_bind_double(s, 5, r->blocked_by[i].share);
		err = db_step(db, s, f);
	}
	for (size_t i = 0; i < r->n_waited_for && i < LOOP_WAITED_MAX + 1 && !err; i++) {
		sqlite3_stmt *s = db->statement[DB_WAITED];

		sqlite3_bind_int64(s, 1, interval);
		sqlite3_bind_int64(s, 2, place);
		sqlite3_bind_int64(s, 3, (int64_t)i);
		db_bind_text(s, 4, r->waited_for[i].comm, sizeof(r->waited_for[i].comm));
		sqlite3_bind_int64(s, 5, r->waited_for[i].pid);
		sqlite3_bind_double(s, 6, r->waited_for[i].share);
		err = db_step(db, s, f);
	}
	return err;
}

static int add_loop(struct db_source *src, int64_t interval, int64_t place, const struct loop_record *r, struct fault *f)
{
	struct database *db = src->db;
	sqlite3_stmt *s = db->statement[DB_LOOP];
	/* A source's own loop has its name, whatever the board calls itself. */
	const char *comm = r->id.pid ? r->comm : src->o.name, *thread = r->id.pid ? r->thread : src->o.name;
	uint32_t lane;
	int64_t who;
	int err = db_lane_of_loop(src, &r->id, comm, thread, r->runtime, &lane, f);

	if (!err)
		err = db_who(src, lane, r, &who, f);
	if (err)
		return err;
	sqlite3_bind_int64(s, 1, interval);
	sqlite3_bind_int64(s, 2, place);
	sqlite3_bind_int64(s, 3, who);
	db_bind_fields(db, s, 4, &loop_fields, r);
	err = db_step(db, s, f);
	if (!err && r->over_budget)
		err = db_turns_stop(src, &r->id, f);
	return err ? err : lists(db, interval, place, r, f);
}

static int add_task(struct db_source *src, int64_t interval, int64_t place, const struct task_record *t, struct fault *f)
{
	struct database *db = src->db;
	sqlite3_stmt *s = db->statement[DB_TASK];
	uint32_t lane;
	int err = db_lane_of_span(src, t->kind == TASK_ISR ? LANE_ISR : LANE_TASK, t->id, t->instance, t->task, &lane, f);

	if (err)
		return err;
	sqlite3_bind_int64(s, 1, interval);
	sqlite3_bind_int64(s, 2, place);
	sqlite3_bind_int64(s, 3, lane);
	db_bind_fields(db, s, 4, &task_fields, t);
	return db_step(db, s, f);
}

/* What a source says of itself, and its protocol once that is known. */
static int add_state(struct db_source *src, int64_t interval, int64_t place, const struct source_record *r, struct fault *f)
{
	struct database *db = src->db;
	sqlite3_stmt *s = db->statement[DB_STATE];
	int err;

	sqlite3_bind_int64(s, 1, interval);
	sqlite3_bind_int64(s, 2, place);
	db_bind_fields(db, s, 3, &source_fields, r);
	err = db_step(db, s, f);
	if (err || !r->protocol || !strncmp(src->protocol, r->protocol, sizeof(src->protocol) - 1))
		return err;
	memcpy(src->protocol, r->protocol, strnlen(r->protocol, sizeof(src->protocol) - 1) + 1);
	src->protocol[sizeof(src->protocol) - 1] = '\0';
	s = db->statement[DB_SOURCE_PROTOCOL];
	db_bind_text(s, 1, src->protocol, sizeof(src->protocol));
	sqlite3_bind_int64(s, 2, src->id);
	return db_step(db, s, f);
}

static int64_t interval_line(struct database *db, const struct interval *iv)
{
	int64_t at_ns;

	if (!iv->mono_ns)
		return db_line_of_wall(db, iv->ts);
	at_ns = db->anchor_ns + (int64_t)iv->mono_ns;
	if (iv->ts > 0 && iv->ts < 9e9)
		db->wall_behind_ns = at_ns - (int64_t)(iv->ts * 1e9);
	return at_ns;
}

static int on_interval(struct sink *sink, const struct interval *iv, struct fault *f)
{
	struct db_source *src = (struct db_source *)sink;
	struct database *db = src->db;
	sqlite3_stmt *s = db->statement[DB_INTERVAL];
	int64_t id = ++db->last_id, at_ns = interval_line(db, iv);
	int err;

	if (db_is_stalled(src))
		return 0;
	reach(db, at_ns);
	sqlite3_bind_int64(s, 1, id);
	sqlite3_bind_int64(s, 2, src->id);
	sqlite3_bind_int64(s, 3, at_ns);
	db_bind_fields(db, s, 4, &interval_fields, iv);
	err = db_step(db, s, f);
	for (size_t i = 0; i < iv->n_loops && !err; i++)
		err = add_loop(src, id, (int64_t)i, &iv->loops[i], f);
	for (size_t i = 0; i < iv->n_tasks && !err; i++)
		err = add_task(src, id, (int64_t)i, &iv->tasks[i], f);
	for (size_t i = 0; i < iv->n_sources && !err; i++)
		err = add_state(src, id, (int64_t)i, &iv->sources[i], f);
	db->stats.intervals += !err;
	return err;
}

/* --- single ticks --- */

static int lane_of(struct db_source *src, const struct loop_id *id, const char *comm, const char *thread, const char *runtime,
		   uint32_t *ret, struct fault *f)
{
	if (!id->pid)
		return db_lane_of_span(src, LANE_LOOP, 0, 0, "", ret, f);
	/* A record of a stream may not know when the thread began: then it is whoever has that thread now. */
	if (!id->start_ns) {
		struct db_thread *t;
		int err = db_thread(src, id->pid, id->tid, &t, f);

		*ret = err ? 0 : t->lane;
		return err;
	}
	return db_lane_of_loop(src, id, comm, thread, runtime, ret, f);
}

static int add_cause(struct database *db, int64_t tick, int64_t n, const struct slow_cause *c, struct fault *f)
{
	sqlite3_stmt *s = db->statement[DB_CAUSE];
	int64_t stack = 0;
	int err = db_stack(db, &c->stack, &stack, f);

	if (err)
		return err;
	sqlite3_bind_int64(s, 1, tick);
	sqlite3_bind_int64(s, 2, n);
	if (stack) {
		sqlite3_bind_int64(s, 3, stack);
		sqlite3_bind_int(s, 4, c->stack.incomplete);
	}
	db_bind_fields(db, s, 5, &cause_fields, c);
	return db_step(db, s, f);
}

static int on_slow_tick(struct sink *sink, const struct slow_tick *t, struct fault *f)
{
	struct db_source *src = (struct db_source *)sink;
	struct database *db = src->db;
	sqlite3_stmt *s = db->statement[DB_SLOW_TICK];
	int64_t id = ++db->last_id, length = t->duration_us > 0 && t->duration_us < 9e15 ? (int64_t)(t->duration_us * 1e3) : 0, end;
	uint32_t lane;
	int err;

	if (db_is_stalled(src))
		return 0;
	err = lane_of(src, &t->id, t->comm, t->thread, t->runtime, &lane, f);
	if (err)
		return err;
	end = src->o.host_clock ? db->anchor_ns + (int64_t)t->start_ns + length : db_line_of_wall(db, t->ts);
	reach(db, end);
	sqlite3_bind_int64(s, 1, id);
	sqlite3_bind_int64(s, 2, lane);
	sqlite3_bind_int64(s, 3, end - length);
	sqlite3_bind_int64(s, 4, end);
	db_bind_fields(db, s, 5, &slow_tick_fields, t);
	err = db_step(db, s, f);
	for (size_t i = 0; i < t->n_causes && !err; i++)
		err = add_cause(db, id, (int64_t)i, &t->causes[i], f);
	db->stats.slow_ticks += !err;
	return err ? err : db_turn_goes_on(src, t, f);
}

static int on_event(struct sink *sink, const struct loop_event *e, struct fault *f)
{
	struct db_source *src = (struct db_source *)sink;
	struct database *db = src->db;
	sqlite3_stmt *s = db->statement[DB_EVENT];
	int64_t at_ns = e->mono_ns ? db->anchor_ns + (int64_t)e->mono_ns : db_line_of_wall(db, e->ts);
	uint32_t lane;
	int err;

	if (db_is_stalled(src))
		return 0;
	err = lane_of(src, &e->id, e->comm, e->thread, e->runtime, &lane, f);
	if (err)
		return err;
	reach(db, at_ns);
	sqlite3_bind_int64(s, 1, ++db->last_id);
	sqlite3_bind_int64(s, 2, lane);
	sqlite3_bind_int64(s, 3, at_ns);
	db_bind_fields(db, s, 4, &event_fields, e);
	return db_step(db, s, f);
}

/* That there was one; the sums are made again from the slow ticks when they are read. */
static int on_slow_summary(struct sink *sink, const struct slow_summary *sum, struct fault *f)
{
	struct db_source *src = (struct db_source *)sink;
	sqlite3_stmt *s = src->db->statement[DB_SOURCE_SUMMARY];

	sqlite3_bind_int64(s, 1, src->id);
	return db_step(src->db, s, f);
}

const struct sink_ops db_sink_ops = {
	.name = "recording",
	.interval = on_interval,
	.slow_tick = on_slow_tick,
	.event = on_event,
	.turn = db_turn,
	.span = db_span,
	.slow_summary = on_slow_summary,
};
