/* SPDX-License-Identifier: BSD-2-Clause */
/* timeline.c - see timeline.h. The spans that are open form a binary heap, the next to end at its root. */
#include "model/timeline.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/cleanup.h"

const char *lane_kind_name(enum lane_kind k)
{
	static const char *const names[] = {
		[LANE_LOOP] = "loop", [LANE_TASK] = "task", [LANE_ISR] = "isr", [LANE_IDLE] = "idle", [LANE_MARK] = "mark",
	};

	return (size_t)k < ARRAY_SIZE(names) ? names[k] : "unknown";
}

const char *span_kind_name(enum span_kind k)
{
	static const char *const names[] = {
		[SPAN_TICK] = "tick",	[SPAN_IO_WAIT] = "io_wait", [SPAN_RUN] = "run",	  [SPAN_ISR] = "isr", [SPAN_IDLE] = "idle",
		[SPAN_ALIVE] = "alive", [SPAN_READY] = "ready",	    [SPAN_MARK] = "mark", [SPAN_GAP] = "gap",
	};

	return (size_t)k < ARRAY_SIZE(names) ? names[k] : "unknown";
}

struct open_span {
	struct timeline_span s;
	uint64_t order; /* of its begin */
};

struct timeline_edges {
	timeline_edge_fn fn;
	void *arg;
	struct open_span *heap;
	size_t n, cap;
	uint64_t begun;
	int64_t now;
};

int timeline_edges_new(timeline_edge_fn fn, void *arg, struct timeline_edges **ret)
{
	struct timeline_edges *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	*e = (struct timeline_edges){ .fn = fn, .arg = arg, .now = INT64_MIN };
	*ret = e;
	return 0;
}

void timeline_edges_free(struct timeline_edges *e)
{
	if (!e)
		return;
	free(e->heap);
	free(e);
}

static bool ends_before(const struct open_span *a, const struct open_span *b)
{
	return a->s.end_ns != b->s.end_ns ? a->s.end_ns < b->s.end_ns : a->order > b->order;
}

static int push(struct timeline_edges *e, const struct timeline_span *s)
{
	struct open_span new = { .s = *s, .order = e->begun++ };
	size_t i = e->n;

	if (e->n == e->cap) {
		size_t cap = e->cap ? 2 * e->cap : 64;
		struct open_span *p = reallocarray(e->heap, cap, sizeof(*p));

		if (!p)
			return -ENOMEM;
		e->heap = p;
		e->cap = cap;
	}
	e->n++;
	for (; i && ends_before(&new, &e->heap[(i - 1) / 2]); i = (i - 1) / 2)
		e->heap[i] = e->heap[(i - 1) / 2];
	e->heap[i] = new;
	return 0;
}

static struct open_span pop(struct timeline_edges *e)
{
	struct open_span first = e->heap[0], last = e->heap[--e->n];
	size_t i = 0;

	for (size_t child = 1; child < e->n; child = 2 * i + 1) {
		if (child + 1 < e->n && ends_before(&e->heap[child + 1], &e->heap[child]))
			child++;
		if (!ends_before(&e->heap[child], &last))
			break;
		e->heap[i] = e->heap[child];
		i = child;
	}
	e->heap[i] = last;
	return first;
}

static int end_until(struct timeline_edges *e, int64_t t)
{
	while (e->n && e->heap[0].s.end_ns <= t) {
		struct open_span o = pop(e);
		int err = e->fn(e->arg, &o.s, false);

		if (err < 0)
			return err;
	}
	return 0;
}

int timeline_edges_span(void *arg, const struct timeline_span *s)
{
	struct timeline_edges *e = arg;
	int err;

	if (s->start_ns < e->now || s->end_ns < s->start_ns)
		return -EINVAL;
	e->now = s->start_ns;
	err = end_until(e, e->now);
	if (err < 0)
		return err;
	err = e->fn(e->arg, s, true);
	if (err < 0)
		return err;
	if (s->end_ns == s->start_ns)
		return e->fn(e->arg, s, false);
	return push(e, s);
}

int timeline_edges_end(struct timeline_edges *e)
{
	return end_until(e, INT64_MAX);
}
