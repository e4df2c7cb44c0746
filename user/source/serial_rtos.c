/* SPDX-License-Identifier: BSD-2-Clause */
/* serial_rtos.c - see serial_rtos.h. */
#include "source/serial_rtos.h"

void serial_rtos_emit(struct serial_rtos *s, struct board_event *ev)
{
	ev->t = s->t;
	ev->arrival_ns = s->arrival_ns;
	serial_emit(&s->d, ev);
}

void serial_rtos_simple(struct serial_rtos *s, enum board_event_kind kind, uint32_t id)
{
	struct board_event ev = { .kind = kind, .id = id };

	serial_rtos_emit(s, &ev);
}

void serial_rtos_begin(struct serial_rtos *s, bool from_zero)
{
	struct board_event ev = { .kind = BOARD_RESET };

	if (s->any)
		return;
	s->any = true;
	ev.u.reset.from_zero = from_zero;
	serial_rtos_emit(s, &ev);
}

void serial_rtos_counter(struct serial_rtos *s, uint64_t hz, unsigned bits)
{
	struct board_event ev = { .kind = BOARD_COUNTER };

	ev.u.counter.hz = hz;
	ev.u.counter.bits = bits;
	serial_rtos_emit(s, &ev);
}

void serial_rtos_switch(struct serial_rtos *s, uint32_t id)
{
	s->current = id;
	s->has_current = true;
	serial_rtos_simple(s, BOARD_SWITCH, id);
}

void serial_rtos_current_blocks(struct serial_rtos *s)
{
	if (s->has_current)
		serial_rtos_simple(s, BOARD_BLOCKED, s->current);
}

void serial_rtos_gap(struct serial_rtos *s, int64_t count, enum board_loss what)
{
	struct board_event ev = { .kind = BOARD_GAP };

	ev.u.gap.count = count;
	ev.u.gap.what = what;
	s->has_current = false;
	serial_rtos_emit(s, &ev);
}

void serial_rtos_mark(struct serial_rtos *s, uint32_t id, int64_t value)
{
	struct board_event ev = { .kind = BOARD_MARK, .id = id };

	ev.u.mark.value = value;
	serial_rtos_emit(s, &ev);
}

uint32_t serial_rtos_lost(struct serial_rtos *s, uint32_t count)
{
	uint32_t before = s->lost_known ? s->lost : s->from_start ? 0 : count;

	s->lost_known = true;
	s->lost = count;
	return count - before;
}

void serial_rtos_stamp(struct serial_rtos *s)
{
	if (s->any)
		serial_rtos_simple(s, BOARD_STAMP, 0);
}
