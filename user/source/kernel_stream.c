/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel_stream.c - see kernel_stream.h. */
#include "source/kernel_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <uthash.h>

#define LONG_TICK_NS 40000000ull /* a tick that goes on for so long is told before it ends */
#define FORGET_AFTER_ROUNDS 20

struct stream_thread {
	uint32_t tid;
	uint32_t next; /* events so far */
	uint32_t due;  /* that the walk before this one has seen */
	uint64_t begun_ns; /* the tick whose start has been told */
	unsigned round;
	UT_hash_handle hh;
};

void kernel_stream_free(struct kernel_stream *s)
{
	struct stream_thread *t, *tmp;

	HASH_ITER(hh, s->threads, t, tmp) {
		HASH_DEL(s->threads, t);
		free(t);
	}
	s->latest = NULL;
}

static struct stream_thread *thread_of(struct kernel_stream *s, uint32_t tid)
{
	struct stream_thread *t = s->latest;

	if (t && t->tid == tid)
		return t;
	HASH_FIND(hh, s->threads, &tid, sizeof(tid), t);
	if (!t) {
		t = calloc(1, sizeof(*t));
		if (!t)
			return NULL;
		t->tid = tid;
		HASH_ADD(hh, s->threads, tid, sizeof(t->tid), t);
	}
	s->latest = t;
	return t;
}

static uint32_t events_of(const struct ls_turn *r)
{
	switch (r->type) {
	case LS_EV_LOOP_START:
		return 2;
	case LS_EV_TURN:
		return 4;
	case LS_EV_LOOP_STOP:
		return r->io_end_ns ? 3 : 1;
	default:
		return 1;
	}
}

static struct loop_turn neutral(enum turn_kind kind, const struct ls_turn *r)
{
	return (struct loop_turn){
		.kind = kind,
		.pid = r->tgid,
		.tid = r->tid,
		.io_start_ns = r->io_start_ns,
		.io_end_ns = r->io_end_ns,
		.end_ns = r->end_ns,
		.timeout_ns = r->timeout_ns,
		.next_timeout_ns = r->next_timeout_ns,
		.count = r->count < 0 ? -1 : r->count,
	};
}

_Static_assert(LS_NO_TIMEOUT == TURN_NO_TIMEOUT, "both sides mean the same");

int kernel_stream_turn(struct kernel_stream *s, const struct ls_turn *r)
{
	static const enum turn_kind kinds[] = { [LS_EV_LOOP_START] = TURN_LOOP_START, [LS_EV_TURN] = TURN_WHOLE,
						[LS_EV_AGAIN] = TURN_AGAIN, [LS_EV_LOOP_STOP] = TURN_LOOP_STOP };
	struct stream_thread *t = thread_of(s, r->tid);
	struct loop_turn turn;
	int32_t missing;

	if (!t)
		return -ENOMEM;
	turn = neutral(kinds[r->type], r);
	missing = (int32_t)(r->seq - t->next);
	if (missing > 0) { /* a thread id that is used again starts at 0 */
		turn.lost = missing;
		s->told += (uint64_t)missing;
	}
	if (r->type == LS_EV_AGAIN)
		turn.lost = -1;
	turn.begun = t->begun_ns && t->begun_ns == r->io_end_ns;
	t->next = r->seq + events_of(r);
	t->due = t->next;
	t->round = s->round;
	return s->fn(s->arg, &turn);
}

static int tell_lost(struct kernel_stream *s, const struct ls_pulse *p, struct stream_thread *t, uint32_t due)
{
	struct loop_turn turn = { .kind = TURN_GAP, .pid = p->tgid, .tid = p->tid, .end_ns = p->now_ns };

	turn.lost = (int64_t)(due - t->next);
	s->told += due - t->next;
	t->next = due;
	return s->fn(s->arg, &turn);
}

int kernel_stream_pulse(struct kernel_stream *s, const struct ls_pulse *p, bool last)
{
	struct stream_thread *t = thread_of(s, p->tid);
	uint32_t due;
	int err = 0;

	if (!t)
		return -ENOMEM;
	t->round = s->round;
	due = last ? p->turn.seq : t->due;
	t->due = p->turn.seq;
	if ((int32_t)(due - t->next) > 0)
		err = tell_lost(s, p, t, due);
	if (!err && p->turn.io_end_ns && p->turn.seq == t->next && t->begun_ns != p->turn.io_end_ns &&
	    (last || p->now_ns - p->turn.io_end_ns >= LONG_TICK_NS)) {
		struct loop_turn turn = neutral(TURN_TICK_START, &p->turn);

		t->begun_ns = p->turn.io_end_ns;
		err = s->fn(s->arg, &turn);
	}
	return err;
}

void kernel_stream_pulsed(struct kernel_stream *s)
{
	struct stream_thread *t, *tmp;

	HASH_ITER(hh, s->threads, t, tmp) {
		if (s->round - t->round <= FORGET_AFTER_ROUNDS)
			continue;
		if (s->latest == t)
			s->latest = NULL;
		HASH_DEL(s->threads, t);
		free(t);
	}
	s->round++;
}

int kernel_stream_rest(struct kernel_stream *s, uint64_t lost, uint64_t now_ns)
{
	struct loop_turn turn = { .kind = TURN_GAP, .end_ns = now_ns };

	if (lost <= s->told)
		return 0;
	turn.lost = (int64_t)(lost - s->told);
	s->told = lost;
	return s->fn(s->arg, &turn);
}
