/* SPDX-License-Identifier: BSD-2-Clause */
/* tick_names.c - see tick_names.h. */
#include "model/tick_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

struct named_cause {
	struct raw_cause cause;
	char name[TICK_NAME_LEN];
};

struct loop_key {
	uint64_t start_ns; /* of the thread */
	uint32_t tid, pad;
};

struct named_tick {
	struct loop_key key;
	uint64_t start_ns; /* of the tick */
	size_t n;          /* kept so far, those given up included */
	struct named_cause cause[TICK_NAMES_CAUSES];
	UT_hash_handle hh;
};

struct tick_names {
	struct named_tick *ticks; /* one a loop; uthash keeps them in the order in which they came */
};

int tick_names_new(struct tick_names **ret)
{
	struct tick_names *n = calloc(1, sizeof(*n));

	if (!n)
		return -ENOMEM;
	*ret = n;
	return 0;
}

static void drop(struct tick_names *n, struct named_tick *t)
{
	HASH_DEL(n->ticks, t);
	free(t);
}

void tick_names_free(struct tick_names *n)
{
	struct named_tick *t, *tmp;

	if (!n)
		return;
	HASH_ITER(hh, n->ticks, t, tmp)
		drop(n, t);
	free(n);
}

static struct named_tick *tick_of_loop(const struct tick_names *n, const struct tick_report *r)
{
	struct loop_key key = { .start_ns = r->id.start_ns, .tid = r->id.tid };
	struct named_tick *t;

	/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): uthash reads the key, which is whole, by bytes */
	HASH_FIND(hh, n->ticks, &key, sizeof(key), t);
	return t;
}

/* As the kernel side tells them apart: those that it sums up have one name. */
static bool same_cause(const struct raw_cause *a, const struct raw_cause *b)
{
	return a->kind == b->kind && !strcmp(a->call, b->call) && a->args[0] == b->args[0] && a->args[3] == b->args[3] &&
	       a->n_frames == b->n_frames && !memcmp(a->frame, b->frame, a->n_frames * sizeof(a->frame[0]));
}

static struct named_cause *find(struct named_tick *t, const struct tick_report *r, const struct raw_cause *c)
{
	if (!t || t->start_ns != r->start_ns)
		return NULL;
	for (size_t i = 0; i < t->n && i < TICK_NAMES_CAUSES; i++)
		if (same_cause(&t->cause[i].cause, c))
			return &t->cause[i];
	return NULL;
}

const char *tick_names_find(const struct tick_names *n, const struct tick_report *r, const struct raw_cause *c)
{
	const struct named_cause *known = find(tick_of_loop(n, r), r, c);

	return known ? known->name : NULL;
}

static struct named_tick *add(struct tick_names *n, const struct tick_report *r)
{
	struct named_tick *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	if (HASH_COUNT(n->ticks) >= TICK_NAMES_LOOPS)
		drop(n, n->ticks);
	t->key = (struct loop_key){ .start_ns = r->id.start_ns, .tid = r->id.tid };
	/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): as above */
	HASH_ADD(hh, n->ticks, key, sizeof(t->key), t);
	return t;
}

int tick_names_keep(struct tick_names *n, const struct tick_report *r, const struct raw_cause *c, const char *name)
{
	struct named_tick *t = tick_of_loop(n, r);
	struct named_cause *to;

	if (!t)
		t = add(n, r);
	if (!t)
		return -ENOMEM;
	if (t->start_ns != r->start_ns) {
		t->start_ns = r->start_ns;
		t->n = 0;
	}
	to = find(t, r, c);
	if (!to)
		to = &t->cause[t->n++ % TICK_NAMES_CAUSES];
	to->cause = *c;
	snprintf(to->name, sizeof(to->name), "%s", name);
	return 0;
}

void tick_names_forget(struct tick_names *n, const struct tick_report *r)
{
	struct named_tick *t = tick_of_loop(n, r);

	if (t)
		drop(n, t);
}
