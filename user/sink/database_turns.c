/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * database_turns.c - turns of loops on the host's clock, as spans: what is known of each thread follows what was known before, and
 * where something was lost in between, that is a gap.
 */
#include <math.h>
#include <string.h>

#include "model/recording_format.h"
#include "sink/database_internal.h"

#define LONGEST (RECORDING_LONG_SPAN_S * 1000000000ull)

static int put(struct db_source *s, uint32_t lane, enum span_kind kind, uint64_t from_ns, uint64_t to_ns, int64_t value, uint8_t flags,
	       struct fault *f)
{
	const struct span_entry e = { .lane = lane, .kind = (uint8_t)kind, .start = from_ns, .length = to_ns > from_ns ? to_ns - from_ns : 0,
				      .value = value, .flags = flags, .timeout_ns = SPAN_TIMEOUT_NONE };

	return db_put_span(s, &e, f);
}

static int put_wait(struct db_source *s, uint32_t lane, const struct loop_turn *t, struct fault *f)
{
	const struct span_entry e = { .lane = lane, .kind = SPAN_IO_WAIT, .start = t->io_start_ns, .length = t->io_end_ns - t->io_start_ns,
				      .value = t->count, .timeout_ns = t->timeout_ns };

	return db_put_span(s, &e, f);
}

/* The wait, if its begin was seen, and the tick after it, if there are both of its ends. */
static int put_whole(struct db_source *s, uint32_t lane, const struct loop_turn *t, struct fault *f)
{
	bool wait = t->io_start_ns && t->io_end_ns >= t->io_start_ns, tick = t->end_ns >= t->io_end_ns && t->end_ns;
	struct span_entry e = { .lane = lane, .kind = SPAN_TURN, .start = t->io_start_ns, .length = t->io_end_ns - t->io_start_ns,
				.then = t->end_ns - t->io_end_ns, .value = t->count, .timeout_ns = t->timeout_ns };
	int err = 0;

	if (wait && tick && e.length < LONGEST && e.then < LONGEST)
		return db_put_span(s, &e, f);
	if (wait)
		err = put_wait(s, lane, t, f);
	if (!err && tick)
		err = put(s, lane, SPAN_TICK, t->io_end_ns, t->end_ns, -1, 0, f);
	return err;
}

static int put_lost(struct db_source *s, struct db_thread *th, const struct loop_turn *t, struct fault *f)
{
	uint64_t until = t->io_start_ns ? t->io_start_ns : t->io_end_ns ? t->io_end_ns : t->end_ns;
	uint64_t from = th->known_ns && th->known_ns < until ? th->known_ns : until;

	s->db->stats.lost += t->lost > 0 ? (uint64_t)t->lost : 1;
	return put(s, th->lane, SPAN_GAP, from, until, t->lost, 0, f);
}

/* Lost, and nobody knows whose they were: the source's as a whole. */
static int put_nobodys(struct db_source *s, const struct loop_turn *t, struct fault *f)
{
	uint32_t lane;
	int err = db_lane_of_span(s, LANE_LOOP, 0, 0, "", &lane, f);

	s->db->stats.lost += t->lost > 0 ? (uint64_t)t->lost : 1;
	return err ? err : put(s, lane, SPAN_GAP, t->end_ns, t->end_ns, t->lost, 0, f);
}

static int tell(struct db_source *s, const struct loop_turn *t, enum loop_event_kind kind, struct fault *f)
{
	struct loop_event e = { .kind = kind, .ts = NAN, .mono_ns = t->end_ns, .source = s->o.kind, .id = { .pid = t->pid, .tid = t->tid },
				.runtime = "", .timeout_us = NAN, .count = -1 };

	e.ts = (double)((int64_t)t->end_ns + s->db->anchor_ns - s->db->wall_behind_ns) / 1e9;
	return sink_event(&s->sink, &e, f);
}

static int one_turn(struct db_source *s, struct db_thread *th, const struct loop_turn *t, struct fault *f)
{
	int err = 0;

	switch (t->kind) {
	case TURN_LOOP_START:
		err = tell(s, t, EVENT_LOOP_START, f);
		break;
	case TURN_WHOLE:
		/* An edge that nobody saw leaves both sides of it unknown. */
		err = t->io_end_ns ? put_whole(s, th->lane, t, f) : put(s, th->lane, SPAN_GAP, th->known_ns ? th->known_ns : t->end_ns, t->end_ns, -1, 0, f);
		break;
	case TURN_LOOP_STOP:
		if (t->io_end_ns)
			err = put_whole(s, th->lane, t, f);
		if (!err)
			err = tell(s, t, EVENT_LOOP_STOP, f);
		break;
	case TURN_TICK_START:
		th->io_end_ns = t->io_end_ns;
		th->known_ns = t->io_start_ns ? t->io_start_ns : t->io_end_ns;
		return 0;
	case TURN_AGAIN:
	case TURN_GAP:
		break;
	}
	th->io_end_ns = 0;
	th->known_ns = t->kind == TURN_LOOP_STOP ? 0 : t->end_ns;
	return err;
}

int db_turn(struct sink *sink, const struct loop_turn *t, struct fault *f)
{
	struct db_source *s = (struct db_source *)sink;
	struct db_thread *th;
	int err;

	if (db_is_stalled(s))
		return 0;
	if (!t->tid)
		return put_nobodys(s, t, f);
	err = db_thread(s, t->pid, t->tid, &th, f);
	if (!err && t->lost)
		err = put_lost(s, th, t, f);
	s->db->stats.spans += t->kind == TURN_WHOLE;
	return err ? err : one_turn(s, th, t, f);
}

int db_turns_stop(struct db_source *s, const struct loop_id *id, struct fault *f)
{
	struct db_thread *th;
	int err = id->tid ? db_thread(s, id->pid, id->tid, &th, f) : 0;

	if (!err && id->tid)
		th->known_ns = th->io_end_ns = 0;
	return err;
}

int db_turn_goes_on(struct db_source *s, const struct slow_tick *t, struct fault *f)
{
	struct db_thread *th;
	int err;

	if (!s->db->has_ticks || !s->o.host_clock || !t->in_progress || !t->id.tid)
		return 0;
	err = db_thread(s, t->id.pid, t->id.tid, &th, f);
	if (!err && th->known_ns && t->start_ns > th->known_ns)
		th->io_end_ns = t->start_ns;
	return err;
}

int db_open_turns(struct db_source *s, uint64_t mono_ns, struct fault *f)
{
	struct db_thread *th, *tmp;
	int err = 0;

	HASH_ITER(hh, s->threads, th, tmp) {
		if (!th->known_ns || th->known_ns >= mono_ns || err)
			continue;
		if (th->io_end_ns && th->io_end_ns > th->known_ns)
			err = put(s, th->lane, SPAN_IO_WAIT, th->known_ns, th->io_end_ns, -1, 0, f);
		if (!err)
			err = put(s, th->lane, th->io_end_ns ? SPAN_TICK : SPAN_IO_WAIT, th->io_end_ns ? th->io_end_ns : th->known_ns, mono_ns, -1,
				  SPAN_ENTRY_OPEN, f);
	}
	return err;
}
