/* SPDX-License-Identifier: BSD-2-Clause */
/* slow_sums.c - see slow_sums.h. */
#include "model/slow_sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "lib/cleanup.h"

/* The key: kind, what and frames, each with its NUL, the only byte that no name contains. */
struct sum {
	char *key;
	char *what;
	struct stack_names stack; /* frames point into `frames` */
	char *frames;
	struct slow_sum out;
	UT_hash_handle hh;
};

struct slow_sums {
	struct sum *sums;
	struct slow_sum *list;
	uint64_t ticks, held_back;
	double us;
};

int slow_sums_new(struct slow_sums **ret)
{
	struct slow_sums *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	*ret = s;
	return 0;
}

static void free_sum(struct sum *u)
{
	free(u->key);
	free(u->what);
	free(u->frames);
	free(u);
}

void slow_sums_free(struct slow_sums *s)
{
	struct sum *u, *tmp;

	if (!s)
		return;
	HASH_ITER(hh, s->sums, u, tmp) {
		HASH_DEL(s->sums, u);
		free_sum(u);
	}
	free(s->list);
	free(s);
}

static char *make_key(const struct slow_cause *c, size_t *ret_size)
{
	char *key = NULL;
	FILE *out = open_memstream(&key, ret_size);

	if (!out)
		return NULL;
	fprintf(out, "%d%c%s%c", c->kind, '\0', c->what, '\0');
	for (size_t i = 0; i < c->stack.n; i++)
		fprintf(out, "%s%c", c->stack.frame[i], '\0');
	if (fclose(out)) {
		free(key);
		return NULL;
	}
	return key;
}

/* One block holds all frame names, one after the other. */
static int copy_stack(struct sum *u, const struct stack_names *from)
{
	size_t size = 1;
	char *p;

	for (size_t i = 0; i < from->n; i++)
		size += strlen(from->frame[i]) + 1;
	u->frames = p = malloc(size);
	if (!p)
		return -ENOMEM;
	u->stack.n = from->n;
	u->stack.incomplete = from->incomplete;
	for (size_t i = 0; i < from->n; i++) {
		u->stack.frame[i] = p;
		p = stpcpy(p, from->frame[i]) + 1;
	}
	return 0;
}

static struct sum *add_sum(struct slow_sums *s, char *key, size_t size, const struct slow_cause *c)
{
	struct sum *u = calloc(1, sizeof(*u));

	if (!u) {
		free(key);
		return NULL;
	}
	u->key = key;
	u->what = strdup(c->what);
	if (!u->what || copy_stack(u, &c->stack)) {
		free_sum(u);
		return NULL;
	}
	u->out = (struct slow_sum){ .kind = c->kind, .what = u->what, .stack = u->stack.n ? &u->stack : NULL };
	HASH_ADD_KEYPTR(hh, s->sums, u->key, size, u);
	return u;
}

static int add_cause(struct slow_sums *s, const struct slow_cause *c)
{
	static const struct slow_cause other = { .kind = CAUSE_OTHER, .what = "(further causes)" };
	size_t size = 0;
	char *key = make_key(c, &size);
	struct sum *u;

	if (!key)
		return -ENOMEM;
	HASH_FIND(hh, s->sums, key, size, u);
	if (!u && HASH_COUNT(s->sums) >= SLOW_SUMS_MAX && c->what != other.what) {
		struct slow_cause rest = other;

		free(key);
		rest.us = c->us;
		return add_cause(s, &rest);
	}
	if (u)
		free(key);
	else
		u = add_sum(s, key, size, c);
	if (!u)
		return -ENOMEM;
	u->out.us += c->us;
	u->out.ticks++;
	return 0;
}

int slow_sums_add(struct slow_sums *s, const struct slow_tick *t)
{
	s->held_back += t->suppressed > 0 ? (uint64_t)t->suppressed : 0;
	if (t->in_progress)
		return 0;
	s->ticks++;
	s->us += t->duration_us;
	for (size_t i = 0; i < t->n_causes; i++) {
		int err = add_cause(s, &t->causes[i]);

		if (err)
			return err;
	}
	return 0;
}

static int by_us(const void *a, const void *b)
{
	const struct slow_sum *x = a, *y = b;

	return x->us < y->us ? 1 : x->us > y->us ? -1 : 0;
}

const struct slow_sum *slow_sums_list(struct slow_sums *s, size_t *ret_n)
{
	size_t n = HASH_COUNT(s->sums), i = 0;
	struct slow_sum *list = reallocarray(s->list, n ? n : 1, sizeof(*list));
	struct sum *u, *tmp;

	*ret_n = 0;
	if (!list)
		return NULL;
	s->list = list;
	HASH_ITER(hh, s->sums, u, tmp)
		list[i++] = u->out;
	qsort(list, n, sizeof(*list), by_us);
	*ret_n = n;
	return list;
}

uint64_t slow_sums_ticks(const struct slow_sums *s)
{
	return s->ticks;
}

double slow_sums_us(const struct slow_sums *s)
{
	return s->us;
}

uint64_t slow_sums_held_back(const struct slow_sums *s)
{
	return s->held_back;
}
