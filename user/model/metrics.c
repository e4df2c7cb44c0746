/* SPDX-License-Identifier: BSD-2-Clause */
/* metrics.c - see metrics.h: intervals and slow ticks into the sums. */
#include "model/metrics.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "model/metrics_internal.h"

int metrics_new(const struct metrics_options *o, struct metrics **ret)
{
	struct metrics *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->o = *o;
	if (!m->o.max_groups)
		m->o.max_groups = METRICS_MAX_GROUPS;
	if (!m->o.keep_ns)
		m->o.keep_ns = METRICS_KEEP_NS;
	*ret = m;
	return 0;
}

static void culprits_clear(struct metrics *m)
{
	struct culprit *c, *tmp;

	HASH_ITER(hh, m->culprits, c, tmp) {
		HASH_DEL(m->culprits, c);
		free(c->facts.cgroup);
		free(c);
	}
}

void metrics_free(struct metrics *m)
{
	if (!m)
		return;
	groups_free(m);
	culprits_clear(m);
	metrics_boards_free(m);
	metrics_own_free(m);
	free(m);
}

/* A tick that ended within this interval, which began after the stall did: it was the stalled one. Where ticks are not counted
 * any more, nobody knows. */
static bool stall_is_over(const struct counted_loop *l, const struct loop_record *r, uint64_t now_ns)
{
	double began_ns = (double)now_ns - r->interval_s * 1e9;

	return r->ended || r->ticks < 0 || (r->ticks > 0 && (double)l->stall_since_ns <= began_ns);
}

static int take_loop(struct metrics *m, unsigned origin, const struct loop_record *r, uint64_t now_ns)
{
	struct counted_loop *l = counted_loop_add(m, origin, &r->id);
	struct group *g = group_of(m, r, now_ns);
	int err;

	if (!l || !g)
		return -ENOMEM;
	err = sums_add(&g->sums, m, r);
	if (err)
		return err;
	counted_loop_belongs(l, g, r->over_budget);
	g->live_ns = now_ns;
	l->round = m->origins[origin].round;
	if (l->stalled && stall_is_over(l, r, now_ns))
		l->stalled = false;
	if (r->ended)
		counted_loop_end(l);
	return 0;
}

static void take_host(struct metrics *m, struct origin *o, const struct interval *iv)
{
	o->n_beyond = iv->n_beyond;
	o->n_asleep = iv->n_asleep;
	o->n_excluded = iv->n_excluded;
	if (iv->lost >= 0) {
		o->lost += (uint64_t)iv->lost;
		o->lost_known = true;
	}
	if (m->o.n_cpus && iv->steal >= 0 && iv->steal <= 1 && iv->interval_s > 0) {
		m->steal_ns += (uint64_t)llround(iv->steal * iv->interval_s * m->o.n_cpus * 1e9);
		m->steal_known = true;
	}
}

int metrics_interval(struct metrics *m, unsigned origin, const struct interval *iv, uint64_t now_ns)
{
	int err = 0;

	if (origin >= METRICS_ORIGINS_MAX)
		return -EINVAL;
	m->version++;
	m->origins[origin].round++;
	for (size_t i = 0; i < iv->n_loops && !err; i++)
		err = take_loop(m, origin, &iv->loops[i], now_ns);
	culprits_clear(m);
	take_host(m, &m->origins[origin], iv);
	if (!err)
		err = metrics_tasks(m, origin, iv, now_ns);
	if (!err)
		err = metrics_sources(m, iv);
	counted_loops_age(m, origin);
	groups_age(m, now_ns);
	return err;
}

static void note_stall(struct counted_loop *l, const struct slow_tick *t, uint64_t now_ns)
{
	double age = t->duration_us * 1e3;

	if (t->in_progress) {
		l->stalled = true;
		l->stall_tick_ns = t->start_ns;
		l->stall_since_ns = age > 0 && age < (double)now_ns ? now_ns - (uint64_t)age : now_ns;
	} else if (l->stalled && t->start_ns >= l->stall_tick_ns) {
		l->stalled = false;
	}
}

int metrics_slow_tick(struct metrics *m, unsigned origin, const struct slow_tick *t, uint64_t now_ns)
{
	struct counted_loop *l;

	if (origin >= METRICS_ORIGINS_MAX)
		return -EINVAL;
	l = counted_loop_add(m, origin, &t->id);
	if (!l)
		return -ENOMEM;
	m->version++;
	note_stall(l, t, now_ns);
	if (l->group) {
		l->group->sums.known |= 1u << KNOW_SLOW;
		slow_counts_add(&l->group->sums.slow, t);
		return 0;
	}
	if (!l->pending)
		l->pending = calloc(1, sizeof(*l->pending));
	if (!l->pending)
		return -ENOMEM;
	slow_counts_add(l->pending, t);
	return 0;
}

uint64_t metrics_version(const struct metrics *m)
{
	return m->version;
}
