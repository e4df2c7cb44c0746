/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * board_switch.c - who has the CPU: switches, interrupts, the scheduler, and what became ready.
 *
 * A step begins with the switch to its task and ends with the next switch or idle. Its own time (net) is without
 * interrupts, nested ones counted once, and without the scheduler, which begins where the task stops or where the
 * outermost interrupt ends in the scheduler, and lasts until somebody gets the CPU.
 */
#include "model/board_state.h"

void board_fall_asleep(struct board *b, uint64_t t)
{
	b->asleep = true;
	b->asleep_t = t;
}

/* An undisturbed idle stretch ends: what a low-power mode could have used. */
void board_wake_up(struct board *b, uint64_t t)
{
	if (b->asleep && t > b->asleep_t)
		hist_add(&b->sleep, t - b->asleep_t);
	b->asleep = false;
}

static void idle_begins(struct board *b)
{
	b->cur_idle = true;
	b->idle_known = true;
	if (b->awake_clean && b->now > b->awake_t)
		hist_add(&b->tick, b->now - b->awake_t);
	b->awake_clean = false;
	if (b->depth == 0)
		board_fall_asleep(b, b->now);
}

static void idle_ends(struct board *b, bool clean)
{
	if (clean) {
		board_wake_up(b, b->now);
		hist_add(&b->idle, b->now - b->cur_start);
		board_edge(b, EDGE_IDLE, b->cur, b->cur_start, b->now, b->cur_net, 0, true, false);
	}
	b->asleep = false;
	b->awake_t = b->now;
	b->awake_clean = clean;
	b->cur_idle = false;
}

/* A task found out to be the idle one while it has the CPU. */
void board_task_turned_idle(struct board *b, struct task *t)
{
	b->idle_known = true;
	if (b->cur == t && !b->cur_idle)
		idle_begins(b);
}

void board_leave(struct board *b, bool clean)
{
	struct task *t = b->cur;

	if (t && t->kind == TASK_IDLE) {
		t->runs++;
	} else if (t && !t->told) {
		board_step(b, t, b->cur_start, b->now, b->cur_net, clean);
		/* Taken off the CPU, not stopped: it still could run. */
		if (b->has_ready && clean && !t->is_ready && !t->blocked) {
			t->is_ready = true;
			t->ready_clean = false;
			t->ready_t = b->now;
		}
	}
	if (b->cur_idle)
		idle_ends(b, clean);
	b->cur = NULL;
	b->sched = false;
	b->cur_net = 0;
	b->cur_start = b->now;
}

/* A switch within an interrupt is possible (a switching interrupt that is traced itself); two in a row without any
 * interrupt event between mean that the interrupt's end never came. */
static void check_isr_stack(struct board *b)
{
	if (b->depth && !b->isr_since_switch) {
		b->orphans += b->depth;
		b->depth = 0;
	}
	b->isr_since_switch = false;
}

static void first_switch(struct board *b)
{
	if (b->switched)
		return;
	b->switched = true;
	if (!b->idle_known) /* nothing is known of the time before */
		b->sum.untold = b->sum.isr = 0;
}

static void was_ready(struct board *b, struct task *t)
{
	uint64_t waited = b->now - t->ready_t;

	if (!t->is_ready)
		return;
	t->is_ready = false;
	t->waited += b->now - (t->ready_t > b->interval_t ? t->ready_t : b->interval_t);
	if (t->ready_clean && board_hist(&t->ready)) {
		hist_add(t->ready, waited);
		board_edge(b, EDGE_READY, t, t->ready_t, b->now, waited, 0, true, false);
	}
}

static void enter(struct board *b, struct task *t)
{
	b->cur = t;
	if (!t)
		return;
	was_ready(b, t);
	t->blocked = false;
	if (t->kind == TASK_IDLE)
		idle_begins(b);
}

static void isr_in(struct board *b, uint32_t id)
{
	if (b->depth == 0 && b->cur_idle)
		board_wake_up(b, b->now);
	if (b->depth == BOARD_ISR_DEPTH) {
		b->untracked++;
		return;
	}
	b->isr[b->depth++] = (struct isr_frame){ .task = board_task(b, BOARD_ISR, id), .id = id, .start = b->now };
}

static void interrupted(struct board *b, uint64_t start)
{
	struct interrupts *i = &b->interrupts;

	i->last[i->n % BOARD_INTERRUPTS].start = start;
	i->last[i->n++ % BOARD_INTERRUPTS].end = b->now;
}

uint64_t board_began(const struct board *b, uint64_t net)
{
	const struct interrupts *i = &b->interrupts;
	uint64_t began = b->now > net ? b->now - net : 0;

	for (uint64_t n = i->n; n > 0 && i->n - n < BOARD_INTERRUPTS; n--) {
		uint64_t start = i->last[(n - 1) % BOARD_INTERRUPTS].start, end = i->last[(n - 1) % BOARD_INTERRUPTS].end;

		if (end <= began)
			break;
		began = began > end - start ? began - (end - start) : 0;
	}
	return began;
}

static void isr_out(struct board *b)
{
	struct isr_frame *f;

	if (b->depth == 0) {
		b->orphans++;
		return;
	}
	f = &b->isr[--b->depth];
	if (f->task) {
		f->task->last_t = b->now;
		board_step(b, f->task, f->start, b->now, f->net, true);
	}
	if (b->depth == 0)
		interrupted(b, f->start);
	if (b->depth == 0 && b->cur_idle && !b->sched)
		board_fall_asleep(b, b->now);
}

static void ready(struct board *b, struct task *t)
{
	b->has_ready = true;
	if (!t || t->is_ready || (t == b->cur && !b->sched))
		return;
	t->is_ready = t->ready_clean = true;
	t->ready_t = b->now;
}

void board_switch_event(struct board *b, const struct board_event *ev)
{
	struct task *t;

	switch (ev->kind) {
	case BOARD_SWITCH:
		check_isr_stack(b);
		board_leave(b, true);
		first_switch(b);
		t = board_task(b, BOARD_TASK, ev->id);
		enter(b, t);
		if (!t) /* not in the table, yet its time is the loop's */
			b->sched = true;
		break;
	case BOARD_IDLE:
		check_isr_stack(b);
		board_leave(b, true);
		first_switch(b);
		idle_begins(b);
		break;
	case BOARD_NOBODY:
		check_isr_stack(b);
		board_leave(b, true);
		first_switch(b);
		b->sched = true;
		break;
	case BOARD_SCHED:
		if (b->cur_idle && b->depth == 0)
			board_wake_up(b, b->now);
		b->sched = b->switched;
		break;
	case BOARD_READY:
		ready(b, board_task(b, BOARD_TASK, ev->id));
		break;
	case BOARD_BLOCKED:
		t = board_task(b, BOARD_TASK, ev->id);
		if (t) {
			t->is_ready = false;
			t->blocked = true;
		}
		break;
	case BOARD_ISR_IN:
		b->isr_since_switch = true;
		isr_in(b, ev->id);
		break;
	case BOARD_ISR_OUT:
	case BOARD_ISR_SCHED:
		b->isr_since_switch = true;
		if (ev->kind == BOARD_ISR_SCHED && b->depth <= 1)
			b->sched = b->switched;
		isr_out(b);
		break;
	default:
		break;
	}
}
