/* SPDX-License-Identifier: BSD-2-Clause */
/* metrics_group.c - loops and the groups that they are summed into: see metrics_internal.h. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/text.h"
#include "model/container.h"
#include "model/metrics_internal.h"

#define FORGET_AFTER_ROUNDS 3 /* as the tracker: a loop may be missed once */

size_t label_value(char dst[METRIC_LABEL_MAX], const char *src, size_t max)
{
	return text_quote(dst, METRIC_LABEL_MAX, src, max);
}

/* --- what a group is called --------------------------------------------------------------------------------------------- */

enum key_part { PART_SOURCE, PART_COMM, PART_THREAD, PART_RUNTIME, PART_CGROUP, PART_PID, KEY_PARTS };

static const char *const part_names[KEY_PARTS] = { "source", "comm", "thread", "runtime", "cgroup", "pid" };

struct key {
	char bytes[KEY_PARTS * METRIC_LABEL_MAX];
	size_t len;
};

static void add_part(struct key *k, const char *value, size_t max)
{
	k->len += label_value(k->bytes + k->len, value ? value : "", max) + 1;
}

/* Values as they are shown: what looks the same is the same series. */
static void make_key(const struct metrics *m, const struct loop_record *r, struct key *ret)
{
	char pid[24] = "";

	if (m->o.pid_label && r->id.pid)
		snprintf(pid, sizeof(pid), "%u", r->id.pid);
	ret->len = 0;
	add_part(ret, record_source_name(r->source), SIZE_MAX);
	add_part(ret, r->comm, sizeof(r->comm));
	add_part(ret, memcmp(r->thread, r->comm, sizeof(r->comm)) ? r->thread : "", sizeof(r->thread));
	add_part(ret, r->runtime, SIZE_MAX);
	add_part(ret, r->cgroup, SIZE_MAX);
	add_part(ret, pid, sizeof(pid));
}

static void add_label(struct group *g, const char *name, const char *value)
{
	if (value[0] && g->n_labels < METRIC_LABELS_MAX)
		g->labels[g->n_labels++] = (struct metric_label){ name, value };
}

/* The key's parts are the labels; what the control group's path says beside them stands behind the key. */
static int name_group(struct group *g, const struct key *k, const char *cgroup)
{
	const size_t extra = CONTAINER_ID_LEN + 1 + POD_UID_LEN + 1;
	char *at = calloc(1, k->len + extra);

	if (!at)
		return -ENOMEM;
	g->key = at;
	g->key_len = k->len;
	memcpy(at, k->bytes, k->len);
	for (int i = 0; i < KEY_PARTS; i++, at += strlen(at) + 1)
		add_label(g, part_names[i], at);
	if (container_id(cgroup, at))
		add_label(g, "container_id", at);
	at += CONTAINER_ID_LEN + 1;
	if (container_pod_uid(cgroup, at))
		add_label(g, "pod_uid", at);
	return 0;
}

static void free_group(struct group *g)
{
	sums_release(&g->sums);
	free(g->key);
	free(g);
}

static struct group *overflow(struct metrics *m)
{
	struct group *g = &m->overflow;

	if (!g->n_labels) {
		add_label(g, "overflow", "true");
		g->start_s = m->o.start_s;
	}
	return g;
}

struct group *group_of(struct metrics *m, const struct loop_record *r, uint64_t now_ns)
{
	struct group *g;
	struct key key;

	make_key(m, r, &key);
	HASH_FIND(hh, m->groups, key.bytes, key.len, g);
	if (g)
		return g;
	if (HASH_COUNT(m->groups) >= m->o.max_groups)
		return overflow(m);
	g = calloc(1, sizeof(*g));
	if (!g)
		return NULL;
	if (name_group(g, &key, r->cgroup ? r->cgroup : "")) {
		free_group(g);
		return NULL;
	}
	g->start_s = r->ts - (r->interval_s > 0 ? r->interval_s : 0);
	g->live_ns = now_ns;
	HASH_ADD_KEYPTR(hh, m->groups, g->key, g->key_len, g);
	if (g->hh.tbl)
		return g;
	free_group(g);
	return NULL;
}

void groups_age(struct metrics *m, uint64_t now_ns)
{
	struct group *g, *tmp;

	HASH_ITER(hh, m->groups, g, tmp) {
		if (g->n_loops) {
			g->live_ns = now_ns;
		} else if (!g->n_refs && now_ns > g->live_ns && now_ns - g->live_ns >= m->o.keep_ns) {
			HASH_DEL(m->groups, g);
			free_group(g);
			m->dropped++;
		}
	}
}

/* --- loops ---------------------------------------------------------------------------------------------------------------- */

static void loop_key(unsigned origin, const struct loop_id *id, struct counted_loop_id *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->origin = origin;
	ret->id.pid = id->pid;
	ret->id.tid = id->tid;
	ret->id.start_ns = id->start_ns;
	ret->id.generation = id->generation;
}

struct counted_loop *counted_loop_find(struct metrics *m, unsigned origin, const struct loop_id *id)
{
	struct counted_loop_id key;
	struct counted_loop *l;

	loop_key(origin, id, &key);
	HASH_FIND(hh, m->loops, &key, sizeof(key), l);
	return l;
}

struct counted_loop *counted_loop_add(struct metrics *m, unsigned origin, const struct loop_id *id)
{
	struct counted_loop *l = counted_loop_find(m, origin, id);

	if (l)
		return l;
	l = calloc(1, sizeof(*l));
	if (!l)
		return NULL;
	loop_key(origin, id, &l->id);
	l->round = m->origins[origin].round;
	HASH_ADD(hh, m->loops, id, sizeof(l->id), l);
	if (l->hh.tbl)
		return l;
	free(l);
	return NULL;
}

void counted_loop_end(struct counted_loop *l)
{
	if (l->group && !l->ended) {
		l->group->n_loops--;
		l->group->n_over_budget -= l->over_budget;
	}
	l->ended = true;
	l->stalled = false;
}

static void leave_group(struct counted_loop *l)
{
	if (!l->group)
		return;
	counted_loop_end(l);
	l->group->n_refs--;
	l->group = NULL;
	l->ended = false;
}

static void take_pending(struct counted_loop *l, struct group *g)
{
	if (!l->pending)
		return;
	slow_counts_merge(&g->sums.slow, l->pending);
	g->sums.known |= 1u << KNOW_SLOW;
	free(l->pending);
	l->pending = NULL;
}

void counted_loop_belongs(struct counted_loop *l, struct group *g, bool over_budget)
{
	bool stalled = l->stalled;

	leave_group(l);
	l->group = g;
	l->stalled = stalled;
	l->over_budget = over_budget;
	g->n_refs++;
	g->n_loops++;
	g->n_over_budget += over_budget;
	take_pending(l, g);
}

/* What never was in an interval still happened: it is counted with those for whom there was no room. */
static void forget(struct metrics *m, struct counted_loop *l)
{
	if (l->pending)
		take_pending(l, overflow(m));
	leave_group(l);
	HASH_DEL(m->loops, l);
	free(l);
}

void counted_loops_age(struct metrics *m, unsigned origin)
{
	struct counted_loop *l, *tmp;

	HASH_ITER(hh, m->loops, l, tmp) {
		unsigned age = m->origins[origin].round - l->round;

		if (l->id.origin == origin && age >= (l->ended ? 1 : FORGET_AFTER_ROUNDS))
			forget(m, l);
	}
}

void groups_free(struct metrics *m)
{
	struct counted_loop *l, *ltmp;
	struct group *g, *gtmp;

	HASH_ITER(hh, m->loops, l, ltmp)
		forget(m, l);
	HASH_ITER(hh, m->groups, g, gtmp) {
		HASH_DEL(m->groups, g);
		free_group(g);
	}
	sums_release(&m->overflow.sums);
}
