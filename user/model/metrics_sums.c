/* SPDX-License-Identifier: BSD-2-Clause */
/* metrics_sums.c - from a record's shares to a group's sums: see metrics_internal.h. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "model/metrics_internal.h"

#define LONGEST_INTERVAL_S 1e8 /* of a record that can be believed: three years */

const char *const culprit_class_names[CULPRIT_CLASSES] = {
	[CULPRIT_SAME_PROCESS] = "same_process",   [CULPRIT_SAME_CGROUP] = "same_cgroup", [CULPRIT_OTHER_PROCESS] = "other_process",
	[CULPRIT_KERNEL_THREAD] = "kernel_thread", [CULPRIT_WAKE_UP] = "wake_up",	  [CULPRIT_QUOTA] = "quota",
	[CULPRIT_UNKNOWN] = "unknown",
};

/* A share as it can be believed, whatever a broken recording says. */
static double sane(double share)
{
	return share > 0 ? (share < 1 ? share : 1) : 0;
}

static uint64_t to_ns(double share, double wall_ns)
{
	return (uint64_t)llround(sane(share) * wall_ns);
}

static void know(struct sums *s, unsigned what)
{
	s->known |= 1u << what;
}

/* --- states ------------------------------------------------------------------------------------------------------------- */

/* The running sum is rounded, each state is a step of it: what adds up to 1 in the record adds up to the interval here. */
static void add_states(struct sums *s, const struct loop_record *r, double wall_ns)
{
	const double share[LOOP_NR_STATES] = { [LOOP_IDLE] = r->idle,		  [LOOP_IO_CPU] = r->io_cpu,
					       [LOOP_TICK_CPU] = r->tick_cpu,	  [LOOP_TICK_BLOCKED] = r->tick_blocked,
					       [LOOP_WAIT_IO] = r->wait_io,	  [LOOP_WAIT_TICK] = r->wait_tick };
	double sum = 0;
	uint64_t done = 0;

	for (unsigned i = 0; i < LOOP_NR_STATES; i++) {
		uint64_t upto;

		if (isnan(share[i]))
			continue;
		sum += sane(share[i]);
		upto = (uint64_t)llround(sum * wall_ns);
		s->state_ns[i] += upto - done;
		done = upto;
		know(s, KNOW_STATES + i);
	}
}

static void add_share(struct sums *s, unsigned what, uint64_t *ns, double share, double wall_ns)
{
	if (isnan(share))
		return;
	*ns += to_ns(share, wall_ns);
	know(s, what);
}

static void add_count(struct sums *s, unsigned what, uint64_t *sum, int64_t n)
{
	if (n < 0)
		return;
	*sum += (uint64_t)n;
	know(s, what);
}

/* --- who it waited for ----------------------------------------------------------------------------------------------------- */

static const struct metrics_culprit *culprit_facts(struct metrics *m, int64_t pid)
{
	struct culprit *c;

	HASH_FIND(hh, m->culprits, &pid, sizeof(pid), c);
	if (c)
		return &c->facts;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->pid = pid;
	HASH_ADD(hh, m->culprits, pid, sizeof(c->pid), c);
	if (!c->hh.tbl) {
		free(c);
		return NULL;
	}
	if (m->o.culprit)
		m->o.culprit(m->o.arg, pid, &c->facts);
	return &c->facts;
}

/* Everybody is in the root group where groups are not used: that says nothing. */
static bool same_cgroup(const char *a, const char *b)
{
	return a && b && a[0] && strcmp(a, "/") && !strcmp(a, b);
}

static enum culprit_class classify(struct metrics *m, const struct loop_record *r, const struct waited_share *w)
{
	const struct metrics_culprit *facts;

	if (w->pid == LOOP_WAITED_QUOTA)
		return CULPRIT_QUOTA;
	if (w->pid == LOOP_WAITED_SEVERAL)
		return CULPRIT_OTHER_PROCESS;
	if (w->pid < 0)
		return CULPRIT_UNKNOWN;
	if (w->pid == 0)
		return CULPRIT_WAKE_UP;
	if (w->pid == (int64_t)r->id.pid)
		return CULPRIT_SAME_PROCESS;
	facts = culprit_facts(m, w->pid);
	if (facts && facts->kernel_thread)
		return CULPRIT_KERNEL_THREAD;
	return facts && same_cgroup(facts->cgroup, r->cgroup) ? CULPRIT_SAME_CGROUP : CULPRIT_OTHER_PROCESS;
}

/* The classes add up to what was waited: what no culprit stands for is unknown. */
static void add_waited(struct sums *s, struct metrics *m, const struct loop_record *r, double wall_ns)
{
	uint64_t left;

	if (isnan(r->wait))
		return;
	left = to_ns(r->wait, wall_ns);
	for (size_t i = 0; i < r->n_waited_for && i < ARRAY_SIZE(r->waited_for); i++) {
		uint64_t ns = to_ns(r->waited_for[i].share, wall_ns);

		if (ns > left)
			ns = left;
		left -= ns;
		s->culprit_ns[classify(m, r, &r->waited_for[i])] += ns;
	}
	s->culprit_ns[CULPRIT_UNKNOWN] += left;
	know(s, KNOW_WAITED);
}

/* --- durations ------------------------------------------------------------------------------------------------------------- */

double duration_bound(unsigned i)
{
	return (double)((1ull << (DURATION_FIRST_BIT + i)) - 1) / 1e9;
}

/* The bucket of [low, high]: every bucket of struct hist lies wholly below or above each bound. */
static unsigned duration_bucket(uint64_t low)
{
	unsigned bits = low ? 64u - (unsigned)__builtin_clzll(low) : 0;

	if (bits <= DURATION_FIRST_BIT)
		return 0;
	return bits > DURATION_LAST_BIT ? DURATION_BOUNDS : bits - DURATION_FIRST_BIT;
}

static uint64_t *native_bucket(struct durations *d, unsigned bucket)
{
	uint64_t low = hist_bucket_low(bucket), high = low < HIST_LIMIT ? hist_bucket_high(bucket) : low;
	double seconds = ((double)low + (double)high) / 2e9;
	int index;

	if (seconds <= DURATION_ZERO_S)
		return &d->zeros;
	index = (int)ceil(log2(seconds) * (1 << DURATION_SCHEMA));
	if (index < DURATION_NATIVE_FIRST)
		index = DURATION_NATIVE_FIRST;
	if (index > DURATION_NATIVE_LAST)
		index = DURATION_NATIVE_LAST;
	return &d->native[index - DURATION_NATIVE_FIRST];
}

void durations_add(struct durations *d, const struct hist_packed *p)
{
	for (size_t i = 0; i < p->n_buckets; i++) {
		if (p->bucket[i].bucket >= HIST_BUCKETS)
			continue;
		d->count[duration_bucket(hist_bucket_low(p->bucket[i].bucket))] += p->bucket[i].n;
		*native_bucket(d, p->bucket[i].bucket) += p->bucket[i].n;
		d->n += p->bucket[i].n;
	}
	if (__builtin_add_overflow(d->sum_ns, p->sum, &d->sum_ns))
		d->sum_ns = UINT64_MAX;
}

void durations_native(const struct durations *d, struct metric_native_bucket bucket[DURATION_NATIVES], struct metric_native *ret)
{
	*ret = (struct metric_native){ .schema = DURATION_SCHEMA, .zero_threshold = DURATION_ZERO_S, .zero_count = d->zeros, .bucket = bucket };
	for (int i = 0; i < DURATION_NATIVES; i++)
		if (d->native[i])
			bucket[ret->n++] = (struct metric_native_bucket){ DURATION_NATIVE_FIRST + i, d->native[i] };
}

static int add_durations(struct durations **d, const struct hist_packed *p)
{
	if (!p)
		return 0;
	if (!*d)
		*d = calloc(1, sizeof(**d));
	if (!*d)
		return -ENOMEM;
	durations_add(*d, p);
	return 0;
}

/* --- slow ticks ------------------------------------------------------------------------------------------------------------- */

static enum cause_kind known_kind(enum cause_kind k)
{
	return (unsigned)k < CAUSE_KINDS ? k : CAUSE_OTHER;
}

void slow_counts_add(struct slow_counts *c, const struct slow_tick *t)
{
	if (t->suppressed > 0)
		c->ticks[CAUSE_UNTOLD] += (uint64_t)t->suppressed;
	if (t->in_progress)
		return; /* it comes again when it ends */
	c->ticks[t->n_causes ? known_kind(t->causes[0].kind) : CAUSE_OTHER]++;
	for (size_t i = 0; i < t->n_causes; i++) {
		double ns = t->causes[i].us * 1e3;

		if (ns > 0 && ns < LONGEST_INTERVAL_S * 1e9)
			c->ns[known_kind(t->causes[i].kind)] += (uint64_t)llround(ns);
	}
}

void slow_counts_merge(struct slow_counts *a, const struct slow_counts *b)
{
	for (size_t i = 0; i < ARRAY_SIZE(a->ticks); i++)
		a->ticks[i] += b->ticks[i];
	for (size_t i = 0; i < ARRAY_SIZE(a->ns); i++)
		a->ns[i] += b->ns[i];
}

/* --- a record --------------------------------------------------------------------------------------------------------------- */

int sums_add(struct sums *s, struct metrics *m, const struct loop_record *r)
{
	double wall_ns = r->interval_s > 0 && r->interval_s < LONGEST_INTERVAL_S ? r->interval_s * 1e9 : 0;
	int err;

	add_states(s, r, wall_ns);
	add_share(s, KNOW_THROTTLED, &s->throttled_ns, r->throttled, wall_ns);
	add_share(s, KNOW_SPIN, &s->spin_ns, r->spin, wall_ns);
	add_share(s, KNOW_OBSERVER, &s->observer_ns, r->observer_cost, wall_ns);
	add_count(s, KNOW_SLEEPS, &s->io_sleeps, r->io_sleeps);
	add_count(s, KNOW_IO_WAITS, &s->io_waits, r->io_waits);
	add_count(s, KNOW_TICKS, &s->ticks, r->ticks);
	add_count(s, KNOW_LOST, &s->lost, r->lost);
	if (r->slow_ticks >= 0 && m->o.slow_ticks)
		know(s, KNOW_SLOW);
	add_waited(s, m, r, wall_ns);
	err = add_durations(&s->tick, r->tick_hist);
	return err ? err : add_durations(&s->io, r->io_hist);
}

void sums_release(struct sums *s)
{
	free(s->tick);
	free(s->io);
	s->tick = s->io = NULL;
}
