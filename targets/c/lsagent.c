/* SPDX-License-Identifier: 0BSD */
/*
 * lsagent.c - the recording half: who has the CPU, the sums, and the ring of raw events. This is what the firmware pays
 * for at each step, so nothing is encoded here.
 */
#include "lsagent.h"
#include "lsagent_private.h"

#define HOG_MS 50

static struct lsa_task *task_of(struct lsa *a, uint16_t id)
{
	return id && id <= a->n_tasks ? &a->cfg.tasks[id - 1] : NULL;
}

/* ---- all of the following is called under the lock ---- */

/* Time that somebody took who stepped in between. The agent borrows the interrupts' way of doing so, but is none. */
static void charge_nested(struct lsa *a, uint32_t ticks)
{
	uint8_t top = (uint8_t)((a->depth < LSA_ISR_NEST ? a->depth : LSA_ISR_NEST) - 1);

	a->nest[top].own += ticks;
	if (a->nest[top].id == a->agent)
		a->busy += ticks;
	else
		a->isr += ticks;
}

uint32_t lsa_charge(struct lsa *a)
{
	uint32_t raw = a->cfg.clock(), ticks = (raw - a->raw) & a->mask;

	a->raw = raw;
	a->last += ticks;
	if (a->depth) {
		charge_nested(a, ticks);
		return a->last;
	}
	a->own += ticks;
	if (a->current == LSA_IDLE)
		a->idle += ticks;
	else
		a->busy += ticks;
	return a->last;
}

void lsa_push(struct lsa *a, uint8_t type, uint16_t id, uint32_t t, uint32_t value)
{
	uint16_t used = (uint16_t)(a->head - a->tail), len = a->cfg.ring_len;
	struct lsa_event *e;

	if (a->stopped)
		return;
	if (used >= len - a->gap) {
		a->dropped++;
		a->gap = true;
		return;
	}
	if (a->gap) {
		a->gap = false;
		e = &a->cfg.ring[a->head++ & a->ring_mask];
		*e = (struct lsa_event){ .t = t, .value = a->dropped, .type = LSW_DROPPED };
	}
	e = &a->cfg.ring[a->head & a->ring_mask];
	e->t = t;
	e->value = value;
	e->id = id;
	e->type = type;
	/* The one that sends may interrupt nothing here, but must not see head before the event. */
	__asm__ volatile("" : : : "memory");
	a->head++;
}

static uint32_t saturated(uint64_t ticks)
{
	return ticks > UINT32_MAX ? UINT32_MAX : (uint32_t)ticks;
}

/* A task gave up the CPU: its sums. Returns it, NULL where nobody's step ends. */
static struct lsa_task *close_step(struct lsa *a)
{
	struct lsa_task *t = task_of(a, a->current);

	if (t) {
		t->runs++;
		t->busy += a->own;
		if (a->own > t->max)
			t->max = saturated(a->own);
	}
	return t;
}

static void end_step(struct lsa *a, uint32_t now)
{
	struct lsa_task *t;

	if (!a->current)
		return;
	t = close_step(a);
	if (t && t->pass && a->rate >= LSW_RATE_RUNS && a->own >= a->min_step)
		lsa_push(a, LSW_RUN, a->current, now, saturated(a->own));
}

static void begin_step(struct lsa *a, uint16_t id, uint32_t now)
{
	a->current = id;
	a->own = 0;
	a->began = now;
	a->hog_after = a->hog;
}

/* ---- what firmware calls ---- */

void lsa_init(struct lsa *a, const struct lsa_config *cfg)
{
	*a = (struct lsa){ .cfg = *cfg };
	a->mask = cfg->bits >= 32 ? 0xFFFFFFFFu : (1u << cfg->bits) - 1;
	a->ring_mask = (uint16_t)(cfg->ring_len - 1);
	a->rate = cfg->rate;
	a->flags = cfg->flags;
	a->stopped = cfg->stopped;
	a->hog = lsa_ticks_of_ms(a, cfg->hog_ms ? cfg->hog_ms : HOG_MS);
	a->requests = REQUEST_NAMES;
	a->raw = cfg->clock();
	a->last = a->raw;
	a->cursor = a->last;
	if (!a->stopped)
		lsa_put_sync(a); /* goes out with the first frame */
	a->agent = lsa_name(a, "loopscope", LSW_KIND_AGENT);
}

static bool same_text(const char *x, const char *y)
{
	while (*x && *x == *y) {
		x++;
		y++;
	}
	return *x == *y;
}

uint16_t lsa_name(struct lsa *a, const char *name, uint8_t kind)
{
	uint32_t s = LSA_LOCK();
	uint16_t id = 0, inst = 0;

	for (uint16_t i = 0; i < a->n_tasks; i++) {
		const struct lsa_task *t = &a->cfg.tasks[i];

		if (!t->name)
			id = id ? id : (uint16_t)(i + 1);
		else if (t->kind == kind && t->inst >= inst && same_text(t->name, name))
			inst = (uint16_t)(t->inst + 1);
	}
	if (!id && a->n_tasks < a->cfg.tasks_len)
		id = ++a->n_tasks;
	if (id) {
		a->cfg.tasks[id - 1] = (struct lsa_task){ .name = name, .inst = inst, .kind = kind,
							  .pass = !(a->flags & LSW_FLAG_FILTER) };
		if (a->rate >= LSW_RATE_TOTALS)
			lsa_push(a, LSW_NAME, id, lsa_charge(a), 0);
	}
	LSA_UNLOCK(s);
	return id;
}

uint16_t lsa_task(struct lsa *a, const char *name)
{
	return lsa_name(a, name, LSW_KIND_TASK);
}

void lsa_task_gone(struct lsa *a, uint16_t id)
{
	uint32_t s = LSA_LOCK(), now = lsa_charge(a);
	struct lsa_task *t = task_of(a, id);

	if (t && t->name && id != a->agent) {
		if (a->current == id) {
			end_step(a, now);
			begin_step(a, 0, now);
		}
		t->name = NULL;
		if (a->rate >= LSW_RATE_TOTALS)
			lsa_push(a, LSW_END, id, now, 0);
	}
	LSA_UNLOCK(s);
}

void lsa_begin(struct lsa *a, uint16_t id)
{
	uint32_t s = LSA_LOCK(), now = lsa_charge(a);

	end_step(a, now);
	begin_step(a, id, now);
	LSA_UNLOCK(s);
}

void lsa_end(struct lsa *a)
{
	uint32_t s = LSA_LOCK(), now = lsa_charge(a);

	end_step(a, now);
	a->current = 0;
	LSA_UNLOCK(s);
}

void lsa_switch(struct lsa *a, uint16_t id)
{
	uint32_t s = LSA_LOCK(), now = lsa_charge(a);
	struct lsa_task *t = task_of(a, id);

	close_step(a);
	begin_step(a, id ? id : (uint16_t)LSA_IDLE, now);
	if (a->rate >= LSW_RATE_RUNS && (!t || t->pass))
		lsa_push(a, LSW_SWITCH, t ? id : 0, now, 0);
	LSA_UNLOCK(s);
}

void lsa_idle_begin(struct lsa *a, uint16_t asked_ms)
{
	uint32_t s = LSA_LOCK(), now = lsa_charge(a);

	end_step(a, now);
	begin_step(a, LSA_IDLE, now);
	a->asked_ms = asked_ms;
	LSA_UNLOCK(s);
}

void lsa_idle_end(struct lsa *a)
{
	uint32_t s = LSA_LOCK(), now = lsa_charge(a);

	if (a->current == LSA_IDLE) {
		if (a->rate >= LSW_RATE_ALL)
			lsa_push(a, LSW_IDLE, a->asked_ms, now, saturated(a->own));
		begin_step(a, 0, now);
	}
	LSA_UNLOCK(s);
}

void lsa_nest_in(struct lsa *a, uint16_t id)
{
	if (a->depth < LSA_ISR_NEST) {
		a->nest[a->depth].own = 0;
		a->nest[a->depth].id = id;
	}
	if (a->depth < UINT8_MAX)
		a->depth++;
}

struct lsa_task *lsa_nest_out(struct lsa *a, uint16_t *ret_id)
{
	struct lsa_task *t;
	uint32_t own;

	if (!a->depth || a->depth-- > LSA_ISR_NEST)
		return NULL;
	own = a->nest[a->depth].own;
	*ret_id = a->nest[a->depth].id;
	t = task_of(a, *ret_id);
	if (t) {
		t->runs++;
		t->busy += own;
		if (own > t->max)
			t->max = own;
	}
	return t;
}

void lsa_isr_enter(struct lsa *a, uint16_t id)
{
	uint32_t s = LSA_LOCK(), now = lsa_charge(a);
	struct lsa_task *t = task_of(a, id);

	lsa_nest_in(a, id);
	if (t && t->pass && a->rate >= LSW_RATE_ALL && a->depth <= LSA_ISR_NEST)
		lsa_push(a, LSW_ISR_IN, id, now, 0);
	LSA_UNLOCK(s);
}

void lsa_isr_exit(struct lsa *a)
{
	uint32_t s = LSA_LOCK(), now = lsa_charge(a);
	uint16_t id;
	struct lsa_task *t = lsa_nest_out(a, &id);

	if (t && t->pass && a->rate >= LSW_RATE_ALL)
		lsa_push(a, LSW_ISR_OUT, id, now, 0);
	LSA_UNLOCK(s);
}

void lsa_mark(struct lsa *a, uint16_t id, int32_t value)
{
	uint32_t s = LSA_LOCK(), now = lsa_charge(a);
	struct lsa_task *t = task_of(a, id);

	if (t) {
		t->runs++;
		if (t->pass && a->rate >= LSW_RATE_ALL)
			lsa_push(a, LSW_MARK, id, now, (uint32_t)value);
	}
	LSA_UNLOCK(s);
}
