/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lswire_link.c - what a sequence of accepted frames says of the link: losses, resets, and time that does not wrap.
 */
#include "lswire.h"

#define NS_PER_S 1000000000u
#define BITS_UNTIL_SYNC 32
/* How far a board's clock may seem to be ahead of the host's: queues on the way, and an RC oscillator's error. */
#define GRACE_NS (NS_PER_S / 4)
#define GRACE_SHIFT 6

void lsw_link_init(struct lsw_link *l)
{
	*l = (struct lsw_link){ .bits = BITS_UNTIL_SYNC };
}

static uint64_t modulus(const struct lsw_link *l)
{
	return (uint64_t)1 << l->bits;
}

static uint64_t ns_to_ticks(uint64_t ns, uint32_t hz)
{
	return ns / NS_PER_S * hz + ns % NS_PER_S * hz / NS_PER_S;
}

/* Ticks from the last cursor to this frame's t0: the clock's difference, and as many wraps as the host's clock leaves
 * room for up to the frame's own last record. Grace of more than half a wrap would let in one that never was. */
static uint64_t ticks_since(const struct lsw_link *l, const struct lsw_frame *f, uint64_t arrival_ns)
{
	uint64_t m = modulus(l), d = (f->t0 - l->time) & (m - 1), room, grace;
	uint64_t ns = arrival_ns > l->arrival_ns ? arrival_ns - l->arrival_ns : 0;

	if (!l->hz)
		return d;
	grace = ns_to_ticks((ns >> GRACE_SHIFT) + GRACE_NS, l->hz);
	room = ns_to_ticks(ns, l->hz) + (grace < m / 2 ? grace : m / 2);
	if (room > d + f->span)
		d += (room - d - f->span) / m * m;
	return d;
}

static void take_sync(struct lsw_link *l, const struct lsw_record *sync)
{
	l->hz = sync->u.sync.hz;
	l->bits = sync->u.sync.bits;
	l->rate = sync->u.sync.rate;
	l->flags = sync->u.sync.flags;
}

static void begin_session(struct lsw_link *l, const struct lsw_frame *f)
{
	l->any = true;
	l->sessions++;
	l->boot = f->boot;
	l->numbered = false;
	l->number = f->seq;
	l->hz = 0;
	l->bits = BITS_UNTIL_SYNC;
	l->rate = l->flags = 0;
}

void lsw_link_frame(struct lsw_link *l, const struct lsw_frame *f, uint64_t arrival_ns, struct lsw_step *ret_s)
{
	struct lsw_step s = { .new_session = l->any };
	struct lsw_record sync;
	size_t pos = f->sync_at;
	bool has_sync = pos != SIZE_MAX && lsw_record_next(f, &pos, &sync);

	s.first = !l->any || f->boot != l->boot;
	/* A board that cannot tell its boots apart still begins to count frames anew. */
	if (has_sync && l->numbered && sync.u.sync.frames < l->number)
		s.first = true;
	if (s.first)
		begin_session(l, f);
	else
		s.new_session = false;

	s.lost = (uint8_t)(f->seq - l->number);
	if (has_sync) {
		if (l->numbered)
			s.lost = sync.u.sync.frames - l->number;
		l->number = sync.u.sync.frames;
		l->numbered = true;
		take_sync(l, &sync);
	} else {
		l->number += s.lost;
	}
	l->number++;
	l->frames++;
	l->lost += s.lost;

	if (s.first) {
		s.t0 = f->t0;
	} else {
		s.silence = ticks_since(l, f, arrival_ns);
		s.t0 = l->time + s.silence;
	}
	l->time = s.t0 + f->span;
	l->arrival_ns = arrival_ns;
	s.clock_known = l->hz != 0;
	*ret_s = s;
}

uint64_t lsw_link_time(const struct lsw_link *l, uint32_t wire)
{
	uint64_t m = modulus(l), ahead = (wire - l->time) & (m - 1);

	return ahead < m / 2 || l->time < m - ahead ? l->time + ahead : l->time - (m - ahead);
}
