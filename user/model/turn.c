/* SPDX-License-Identifier: BSD-2-Clause */
/* turn.c - see turn.h. */
#include "model/turn.h"

#define UNSEEN 2 /* events that an edge stands for: a wait's end and a tick's beginning, or the other way round */

struct events {
	struct turn_event *at;
	size_t n;
};

static void add(struct events *e, enum loop_event_kind kind, uint64_t ns, int64_t count)
{
	e->at[e->n++] = (struct turn_event){ .kind = kind, .ns = ns, .timeout_ns = TURN_NO_TIMEOUT, .count = count };
}

static void add_tick_start(struct events *e, const struct loop_turn *t)
{
	if (t->begun)
		return;
	if (!t->io_end_ns) {
		add(e, EVENT_GAP, t->end_ns, UNSEEN);
		return;
	}
	add(e, EVENT_IO_END, t->io_end_ns, t->count);
	add(e, EVENT_TICK_START, t->io_end_ns, -1);
}

static void add_io_start(struct events *e, const struct loop_turn *t)
{
	add(e, EVENT_IO_START, t->end_ns, -1);
	e->at[e->n - 1].timeout_ns = t->next_timeout_ns;
}

static void add_tick_end(struct events *e, const struct loop_turn *t)
{
	if (!t->end_ns) {
		add(e, EVENT_GAP, t->io_end_ns, UNSEEN);
		return;
	}
	add(e, EVENT_TICK_END, t->end_ns, -1);
	add_io_start(e, t);
}

size_t turn_events(const struct loop_turn *t, struct turn_event ret[static TURN_EVENTS_MAX])
{
	struct events e = { .at = ret };

	if (t->lost)
		add(&e, EVENT_GAP, t->io_end_ns && !t->begun ? t->io_end_ns : t->end_ns, t->lost);
	switch (t->kind) {
	case TURN_LOOP_START:
		add(&e, EVENT_LOOP_START, t->end_ns, -1);
		add_io_start(&e, t);
		break;
	case TURN_WHOLE:
		add_tick_start(&e, t);
		add_tick_end(&e, t);
		break;
	case TURN_TICK_START:
		add_tick_start(&e, t);
		break;
	case TURN_AGAIN:
		add_io_start(&e, t);
		break;
	case TURN_LOOP_STOP:
		if (t->io_end_ns)
			add_tick_start(&e, t);
		add(&e, EVENT_LOOP_STOP, t->end_ns, -1);
		break;
	case TURN_GAP:
		break;
	}
	return e.n;
}
