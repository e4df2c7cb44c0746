/* SPDX-License-Identifier: BSD-2-Clause */
/* board_tasks.c - the board model's table of tasks, interrupts and markers: fixed size, found by class and id. */
#include "model/board_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned slot_of(enum board_class class, uint32_t id)
{
	uint64_t key = ((uint64_t)class << 32 | id) * 0x9E3779B97F4A7C15ull;

	return (unsigned)(key >> 54); /* the 10 bits that TASK_INDEX_SIZE wants */
}

_Static_assert(TASK_INDEX_SIZE == 1 << 10, "slot_of() makes 10 bits");

static void index_put(struct board *b, unsigned n)
{
	unsigned i = slot_of(b->tasks[n].class, b->tasks[n].id);

	while (b->index[i])
		i = (i + 1) % TASK_INDEX_SIZE;
	b->index[i] = (uint16_t)(n + 1);
}

/* Taking one out of an open-addressed index would tear its neighbours' chains: names change rarely, so build anew. */
static void index_rebuild(struct board *b)
{
	memset(b->index, 0, sizeof(b->index));
	for (unsigned n = 0; n < BOARD_TASKS_MAX; n++)
		if (b->tasks[n].used && !b->tasks[n].gone)
			index_put(b, n);
}

struct task *board_task_find(struct board *b, enum board_class class, uint32_t id)
{
	for (unsigned i = slot_of(class, id); b->index[i]; i = (i + 1) % TASK_INDEX_SIZE) {
		struct task *t = &b->tasks[b->index[i] - 1];

		if (t->id == id && t->class == class)
			return t;
	}
	return NULL;
}

/* Ten KiB each, and most are empty: those are not written. */
static void clear(struct hist *h)
{
	if (h && h->n)
		hist_reset(h);
}

static struct task *task_new(struct board *b, enum board_class class, uint32_t id)
{
	struct hist *run, *ready;
	struct task *t;
	unsigned n = b->free_from;

	if (b->n_tasks == BOARD_TASKS_MAX)
		return NULL;
	while (b->tasks[n].used)
		n++;
	b->free_from = n + 1;
	t = &b->tasks[n];
	run = t->run; /* of the slot's last tenant: the memory is used again */
	ready = t->ready;
	*t = (struct task){ .used = true, .class = class, .id = id, .run = run, .ready = ready };
	clear(run);
	clear(ready);
	t->kind = class == BOARD_ISR ? TASK_ISR : TASK_RUNS;
	t->last_t = b->now;
	t->reported.t = b->interval_t;
	b->n_tasks++;
	index_put(b, n);
	return t;
}

struct task *board_task(struct board *b, enum board_class class, uint32_t id)
{
	struct task *t = board_task_find(b, class, id);

	if (!t)
		t = task_new(b, class, id);
	if (t)
		t->last_t = b->now;
	else
		b->untracked++;
	return t;
}

/* All but its entry in the index. */
static void leave(struct board *b, struct task *t)
{
	if (b->cur == t) {
		board_leave(b, true);
		b->sched = b->switched;
	}
	for (unsigned i = 0; i < b->depth; i++)
		if (b->isr[i].task == t)
			b->isr[i].task = NULL;
	if (t->use) {
		uint64_t from = t->high_t > b->interval_t ? t->high_t : b->interval_t;

		t->alive += b->now > from ? b->now - from : 0;
	}
	t->use = 0;
	t->open = t->is_ready = false;
	t->gone = true;
}

void board_task_gone(struct board *b, struct task *t)
{
	leave(b, t);
	index_rebuild(b);
}

static bool same_name(const struct task *t, const char *name)
{
	return strncmp(t->name, name, sizeof(t->name) - 1) == 0;
}

void board_task_name(struct board *b, const struct board_event *ev)
{
	const char *text = ev->u.name.text;
	struct task *t;

	if (ev->u.name.class == BOARD_SELF) {
		snprintf(b->name, sizeof(b->name), "%s", text);
		return;
	}
	t = board_task_find(b, ev->u.name.class, ev->id);
	/* Another name means another task, which has got the id now. A first name only tells who it always was. */
	if (t && t->name[0] && text[0] && (!same_name(t, text) || t->instance != ev->u.name.instance)) {
		board_task_gone(b, t);
		t = NULL;
	}
	if (!t)
		t = board_task(b, ev->u.name.class, ev->id);
	if (!t)
		return;
	if (text[0]) {
		snprintf(t->name, sizeof(t->name), "%s", text);
		t->instance = ev->u.name.instance;
	}
	if (t->kind == TASK_IDLE) /* what it was found out to be is not always said again */
		return;
	t->kind = ev->u.name.kind;
	if (t->kind == TASK_IDLE)
		board_task_turned_idle(b, t);
}

void board_tasks_forget(struct board *b)
{
	for (unsigned n = 0; n < BOARD_TASKS_MAX; n++)
		if (b->tasks[n].used && !b->tasks[n].gone)
			leave(b, &b->tasks[n]);
	memset(b->index, 0, sizeof(b->index)); /* nobody is left to be found */
}

void board_tasks_next_interval(struct board *b)
{
	for (unsigned n = 0; n < BOARD_TASKS_MAX; n++) {
		struct task *t = &b->tasks[n];

		if (!t->used)
			continue;
		if (t->gone) {
			t->used = false;
			b->n_tasks--;
			if (n < b->free_from)
				b->free_from = n;
			continue;
		}
		t->runs = t->busy = t->waited = t->alive = t->left_out = t->hogs = 0;
		clear(t->run);
		clear(t->ready);
	}
}

struct hist *board_hist(struct hist **h)
{
	if (!*h)
		*h = calloc(1, sizeof(**h));
	return *h;
}
