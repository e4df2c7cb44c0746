/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * database_spans.c - single spans, and turns as spans: into the source's open chunk, and that as one row when it is full or a second old.
 *
 * Times stay the source's. What places them on the time line is kept beside them, a point a second (the table `clock`), because
 * a board's clock is known better with time: who reads can use what was known later for what came before.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "model/recording_format.h"
#include "sink/database_internal.h"

static int64_t line_of_ticks(const struct db_source *s, uint64_t ticks)
{
	double ns;

	if (s->o.host_clock)
		return s->db->anchor_ns + (int64_t)ticks;
	if (!s->clock.known)
		return s->db->end_ns;
	ns = (double)(int64_t)(ticks - s->clock.at_ticks) * s->clock.ns_per_tick;
	return fabs(ns) < 1e18 ? s->clock.at_ns + (int64_t)ns : s->clock.at_ns;
}

/* --- chunks --- */

static int put_clock(struct db_source *s, struct fault *f)
{
	sqlite3_stmt *st = s->db->statement[DB_CLOCK];

	if (!s->clock_moved || !s->clock.known)
		return 0;
	s->clock_moved = false;
	sqlite3_bind_int64(st, 1, s->id);
	sqlite3_bind_int64(st, 2, s->session);
	sqlite3_bind_int64(st, 3, (int64_t)s->clock.at_ticks);
	sqlite3_bind_int64(st, 4, s->clock.at_ns);
	sqlite3_bind_double(st, 5, s->clock.ns_per_tick);
	return db_step(s->db, st, f);
}

int db_flush_spans(struct db_source *s, struct fault *f)
{
	struct database *db = s->db;
	sqlite3_stmt *st = db->statement[DB_CHUNK];
	const uint8_t *bytes;
	uint64_t first, last;
	size_t n, raw;
	int err = put_clock(s, f);

	if (err || !s->chunk || !span_chunk_count(s->chunk))
		return err;
	if (span_chunk_pack(s->chunk, &bytes, &n, &raw))
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	span_chunk_reach(s->chunk, &first, &last);
	sqlite3_bind_int64(st, 2, s->id);
	sqlite3_bind_int64(st, 3, s->session);
	sqlite3_bind_int64(st, 4, (int64_t)s->hz);
	sqlite3_bind_int64(st, 5, (int64_t)first);
	sqlite3_bind_int64(st, 6, (int64_t)last);
	sqlite3_bind_int64(st, 7, line_of_ticks(s, first));
	sqlite3_bind_int64(st, 8, line_of_ticks(s, last));
	sqlite3_bind_int64(st, 9, (int64_t)span_chunk_count(s->chunk));
	sqlite3_bind_int64(st, 10, (int64_t)raw);
	sqlite3_bind_blob(st, 11, bytes, (int)n, SQLITE_STATIC);
	err = db_step(db, st, f);
	if (err)
		return err;
	db->stats.chunks++;
	db->stats.chunk_bytes += n;
	if (line_of_ticks(s, last) > db->end_ns)
		db->end_ns = line_of_ticks(s, last);
	span_chunk_reset(s->chunk);
	return 0;
}

static int put_long(struct db_source *s, const struct span_entry *e, struct fault *f)
{
	sqlite3_stmt *st = s->db->statement[DB_LONG_SPAN];

	sqlite3_bind_int64(st, 2, s->id);
	sqlite3_bind_int64(st, 3, s->session);
	sqlite3_bind_int64(st, 4, (int64_t)s->hz);
	sqlite3_bind_int64(st, 5, e->lane);
	sqlite3_bind_text(st, 6, span_kind_name((enum span_kind)e->kind), -1, SQLITE_STATIC);
	sqlite3_bind_int64(st, 7, (int64_t)e->start);
	sqlite3_bind_int64(st, 8, (int64_t)e->length);
	if (e->apart)
		sqlite3_bind_int64(st, 9, (int64_t)e->length - e->apart);
	sqlite3_bind_int64(st, 10, e->value);
	if (e->timeout_ns != SPAN_TIMEOUT_NONE)
		sqlite3_bind_int64(st, 11, (int64_t)e->timeout_ns);
	sqlite3_bind_int(st, 12, e->flags & SPAN_ENTRY_OPEN);
	sqlite3_bind_int(st, 13, (e->flags & SPAN_ENTRY_UNSURE) != 0);
	sqlite3_bind_int64(st, 14, line_of_ticks(s, e->start));
	sqlite3_bind_int64(st, 15, line_of_ticks(s, e->start + e->length));
	return db_step(s->db, st, f);
}

/* A time that can't be is left out: a board that tells it tells nothing. */
int db_put_span(struct db_source *s, const struct span_entry *e, struct fault *f)
{
	uint64_t hz = s->hz ? s->hz : 1000000000;
	int err = 0;

	if (e->start >= SPAN_CHUNK_TIME_MAX || e->length >= SPAN_CHUNK_TIME_MAX || e->then >= SPAN_CHUNK_TIME_MAX)
		return 0;
	if (e->length / RECORDING_LONG_SPAN_S >= hz)
		return put_long(s, e, f);
	if (!s->chunk && span_chunk_new(&s->chunk))
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	if (span_chunk_full(s->chunk))
		err = db_flush_spans(s, f);
	if (!err)
		span_chunk_add(s->chunk, e);
	return err;
}

/* --- spans of a source with a clock of its own --- */

/* The best that is known now: the fit, or else when the bytes came. */
static void move_clock(struct db_source *s, const struct source_span *sp)
{
	double rate = sp->hz ? 1e9 / (double)sp->hz : 1;
	int64_t host_ns;

	if (sp->clock && sp->clock->method != CLOCK_NONE && sp->hz) {
		host_ns = clock_fit_host(sp->clock, ticks_to_ns(sp->end, sp->hz));
		rate *= 1 - clock_fit_drift_ppm(sp->clock) / 1e6;
	} else if (sp->arrival_ns != CLOCK_UNKNOWN) {
		host_ns = (int64_t)sp->arrival_ns;
	} else if (!s->clock.known) {
		host_ns = s->db->end_ns - s->db->anchor_ns;
	} else {
		return;
	}
	s->clock = (struct db_clock){ .known = true, .at_ticks = sp->end, .at_ns = s->db->anchor_ns + host_ns, .ns_per_tick = rate };
	s->clock_moved = true;
}

static int begin_session(struct db_source *s, const struct source_span *sp, struct fault *f)
{
	int err = db_flush_spans(s, f);

	if (s->clock.known || sp->new_session)
		s->session++;
	s->hz = sp->hz;
	s->clock = (struct db_clock){ 0 };
	s->reached = 0;
	return err;
}

int db_span(struct sink *sink, const struct source_span *sp, struct fault *f)
{
	struct db_source *s = (struct db_source *)sink;
	struct span_entry e = { .kind = (uint8_t)sp->kind, .start = sp->start, .length = sp->end - sp->start,
				.apart = (int64_t)(sp->end - sp->start - sp->net), .value = sp->value, .timeout_ns = SPAN_TIMEOUT_NONE,
				.flags = (uint8_t)((sp->open ? SPAN_ENTRY_OPEN : 0) | (sp->unsure ? SPAN_ENTRY_UNSURE : 0)) };
	int err = 0;

	if (!s->db->has_ticks || sp->end < sp->start || db_is_stalled(s))
		return 0;
	/* A rate that becomes known late makes other ticks of them, too. */
	if (sp->new_session || sp->hz != s->hz)
		err = begin_session(s, sp, f);
	if (!err)
		err = db_lane_of_span(s, sp->lane, sp->number, sp->instance, sp->name, &e.lane, f);
	if (err)
		return err;
	if (sp->end >= s->reached) {
		s->reached = sp->end;
		move_clock(s, sp);
	}
	s->db->stats.spans++;
	return db_put_span(s, &e, f);
}
