/* SPDX-License-Identifier: BSD-2-Clause */
/* board.c - the board model's spine: time moves on, steps end, events go where they belong. See board.h. */
#include "model/board.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/board_state.h"

#define HOG_NS 50000000ull
#define WINDOW_NS 1000000000ull

int board_new(const struct board_options *o, struct board **ret)
{
	struct board *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->o = *o;
	if (!b->o.label)
		b->o.label = "";
	if (!b->o.hog_ns)
		b->o.hog_ns = HOG_NS;
	if (!b->o.window_ns)
		b->o.window_ns = WINDOW_NS;
	board_clock_reset(&b->clock);
	*ret = b;
	return 0;
}

void board_free(struct board *b)
{
	if (!b)
		return;
	for (unsigned n = 0; n < BOARD_TASKS_MAX; n++) {
		free(b->tasks[n].run);
		free(b->tasks[n].ready);
	}
	free(b);
}

void board_set_byte_ns(struct board *b, uint64_t byte_ns)
{
	b->o.byte_ns = byte_ns;
}

void board_edge(struct board *b, enum board_edge_kind kind, const struct task *t, uint64_t start, uint64_t end,
		uint64_t net, int64_t value, bool clean, bool open)
{
	struct board_edge e = {
		.kind = kind, .start = start, .end = end, .net = net, .hz = b->hz, .value = value,
		.clean = clean, .open = open, .name = "",
	};

	if (!b->o.edge)
		return;
	if (t) {
		e.class = t->class;
		e.id = t->id;
		e.instance = t->instance;
		e.name = t->name;
	}
	b->o.edge(b->o.arg, &e);
}

uint64_t board_hog_ticks(const struct board *b)
{
	return b->hz ? (uint64_t)((unsigned __int128)b->o.hog_ns * b->hz / 1000000000u) : UINT64_MAX;
}

/* A step of a task or interrupt has ended. */
void board_step(struct board *b, struct task *t, uint64_t start, uint64_t end, uint64_t net, bool clean)
{
	bool isr = t->class == BOARD_ISR;

	t->runs++;
	t->since.runs++;
	t->open = false;
	if (isr)
		t->busy += net;
	if (!clean)
		t->left_out++;
	else if (board_hist(&t->run))
		hist_add(t->run, net);
	board_edge(b, isr ? EDGE_ISR : EDGE_RUN, t, start, end, net, 0, clean, false);
	if (net > board_hog_ticks(b)) {
		t->hogs++;
		board_edge(b, EDGE_HOG, t, start, end, net, 0, clean, false);
	}
}

void board_advance(struct board *b, uint64_t t)
{
	uint64_t dt;
	bool idle = false;

	if (!b->any) {
		b->any = true;
		b->now = b->interval_t = t;
		return;
	}
	if (t <= b->now)
		return;
	dt = t - b->now;
	if (b->depth) {
		b->isr[b->depth - 1].net += dt;
		b->sum.isr += dt;
	} else if (b->switched && b->sched) {
		b->sum.sched += dt;
	} else if (b->cur_idle) {
		b->sum.idle += dt;
		b->cur_net += dt;
		idle = true;
	} else if (b->cur) {
		b->sum.busy += dt;
		b->cur_net += dt;
		if (!b->cur->told) {
			b->cur->busy += dt;
			b->cur->since.busy += dt;
		}
	} else if (b->switched) {
		b->sum.unknown += dt;
	} else {
		b->sum.untold += dt;
	}
	if (b->switched)
		board_window_advance(b, dt, idle, b->depth || b->sched || b->cur_idle || b->cur);
	b->now = t;
}

/* Something between the last event and this one is missing: whatever was open is not known to its end. */
static void gap(struct board *b, const struct board_event *ev)
{
	uint64_t from = b->now;

	if (b->any && ev->t > b->now) {
		b->sum.unknown += ev->t - b->now;
		if (b->switched)
			board_window_advance(b, ev->t - b->now, false, false);
	}
	if (!b->any)
		b->interval_t = b->now = from = ev->t;
	b->any = true;
	if (ev->t > b->now)
		b->now = ev->t;
	b->win.dirty = true;
	board_leave(b, false);
	b->depth = 0;
	b->awake_clean = b->asleep = false;
	for (unsigned n = 0; n < BOARD_TASKS_MAX; n++) {
		struct task *t = &b->tasks[n];

		t->is_ready = t->open = false;
		if (!t->gone) /* whoever has said good-bye has told all before it */
			t->behind = true;
	}
	b->gaps++;
	if (ev->u.gap.count < 0)
		b->gaps_uncounted++;
	else if (ev->u.gap.what < LOSS_KINDS)
		b->lost[ev->u.gap.what] += ev->u.gap.count;
	board_edge(b, EDGE_GAP, NULL, from, b->now, 0, ev->u.gap.count, false, false);
}

static void carry_sums(struct board *b)
{
	if (!b->has_sync)
		return;
	b->carry_idle += b->sync.idle - b->sync_done.idle;
	b->carry_total += b->sync.busy + b->sync.idle + b->sync.isr - b->sync_done.busy - b->sync_done.idle -
			  b->sync_done.isr;
}

static void reset(struct board *b, const struct board_event *ev)
{
	bool before = b->any;

	board_leave(b, false);
	board_tasks_forget(b);
	carry_sums(b);
	b->depth = 0;
	b->interrupts.n = 0;
	b->name[0] = 0;
	b->any = true;
	b->now = b->interval_t = ev->t;
	b->from_zero = ev->u.reset.from_zero;
	b->switched = b->sched = b->awake_clean = b->asleep = false;
	b->has_sync = b->no_idle = b->stops = b->withheld = false;
	b->sync = b->sync_done = b->sync_window = (struct sync_sums){ 0 };
	b->has_pulse = b->pass_open = false;
	memset(&b->win, 0, sizeof(b->win));
	board_clock_reset(&b->clock);
	b->first_stamp.host_ns = b->last_stamp.host_ns = 0;
	if (before) {
		memset(b->pings, 0, sizeof(b->pings));
		b->resets++;
		board_edge(b, EDGE_RESET, NULL, ev->t, ev->t, 0, 0, true, false);
	}
}

static void stamp(struct board *b, const struct board_event *ev)
{
	uint64_t arrival = ev->arrival_ns, way = (uint64_t)ev->u.stamp.bytes * b->o.byte_ns;

	if (arrival == CLOCK_UNKNOWN || arrival <= way)
		return;
	arrival -= way;
	if (!b->first_stamp.host_ns) {
		b->first_stamp.t = ev->t;
		b->first_stamp.host_ns = arrival;
	}
	b->last_stamp.t = ev->t;
	b->last_stamp.host_ns = arrival;
	if (b->hz)
		board_clock_one_way(&b->clock, ticks_to_ns(ev->t, b->hz), (int64_t)arrival);
}

void board_ping_sent(struct board *b, uint16_t nonce, uint64_t host_ns)
{
	unsigned n = b->next_ping++ % BOARD_PINGS_MAX;

	b->pings[n].nonce = nonce;
	b->pings[n].host_ns = host_ns;
	b->pings[n].used = true;
}

static void pong(struct board *b, const struct board_event *ev)
{
	uint64_t way = (uint64_t)ev->u.time.bytes * b->o.byte_ns;

	for (unsigned n = 0; n < BOARD_PINGS_MAX; n++) {
		if (!b->pings[n].used || b->pings[n].nonce != ev->u.time.nonce)
			continue;
		b->pings[n].used = false;
		if (b->hz && ev->arrival_ns > way)
			board_clock_ping(&b->clock, (int64_t)b->pings[n].host_ns, ticks_to_ns(ev->u.time.rx, b->hz),
					 ticks_to_ns(ev->u.time.tx, b->hz), (int64_t)(ev->arrival_ns - way));
		return;
	}
}

bool board_host_clock(const struct board *b, struct clock_fit *ret)
{
	if (board_clock_fit(&b->clock, ret))
		return true;
	if (!b->has_lifetimes || !b->hz)
		return false;
	*ret = (struct clock_fit){ .method = CLOCK_ONE_WAY, .error_ns = -1 };
	return true;
}

static void stop(struct board *b)
{
	board_leave(b, true);
	b->depth = 0;
	b->switched = b->awake_clean = b->asleep = false;
	board_window_restart(b);
}

static void set_counter(struct board *b, const struct board_event *ev)
{
	if (b->hz == ev->u.counter.hz)
		return;
	b->hz = ev->u.counter.hz;
	board_clock_reset(&b->clock);
	memset(&b->win, 0, sizeof(b->win));
}

void board_event(struct board *b, const struct board_event *ev)
{
	struct task *t;

	if (ev->arrival_ns != CLOCK_UNKNOWN && ev->arrival_ns > b->last_arrival)
		b->last_arrival = ev->arrival_ns;
	if (ev->kind == BOARD_RESET) {
		reset(b, ev);
		return;
	}
	if (ev->kind == BOARD_GAP) {
		gap(b, ev);
		return;
	}
	board_advance(b, ev->t);
	switch (ev->kind) {
	case BOARD_COUNTER:
		set_counter(b, ev);
		break;
	case BOARD_NAME:
		board_task_name(b, ev);
		break;
	case BOARD_END:
		t = board_task_find(b, BOARD_TASK, ev->id);
		if (t)
			board_task_gone(b, t);
		break;
	case BOARD_STAMP:
		stamp(b, ev);
		break;
	case BOARD_STOP:
		stop(b);
		break;
	case BOARD_SWITCH:
	case BOARD_IDLE:
	case BOARD_NOBODY:
	case BOARD_SCHED:
	case BOARD_READY:
	case BOARD_BLOCKED:
	case BOARD_ISR_IN:
	case BOARD_ISR_OUT:
	case BOARD_ISR_SCHED:
		board_switch_event(b, ev);
		break;
	case BOARD_RUN:
	case BOARD_SLEPT:
	case BOARD_OPEN:
	case BOARD_TOTALS:
	case BOARD_SYNC:
		board_told_event(b, ev);
		break;
	case BOARD_ALIVE:
	case BOARD_GONE:
	case BOARD_PULSE:
		board_life_event(b, ev);
		break;
	case BOARD_MARK:
		t = board_task(b, BOARD_MARKER, ev->id);
		board_edge(b, EDGE_MARK, t, b->now, b->now, 0, ev->u.mark.value, true, false);
		break;
	case BOARD_TIME:
		pong(b, ev);
		break;
	case BOARD_RESET:
	case BOARD_GAP:
		break;
	}
}
