/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel_ticks.c - see kernel_ticks.h. */
#include "source/kernel_ticks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "lib/cleanup.h"
#include "source/kernel_causes.h"
#include "source/syscalls.h"

_Static_assert(LS_HIST_BUCKETS == HIST_BUCKETS && LS_HIST_SUB_BITS == HIST_SUB_BITS && LS_HIST_LIMIT_BITS == HIST_LIMIT_BITS,
	       "both sides cut durations into the same buckets");

#define FORGET_AFTER_ROUNDS 3

struct measured_id {
	uint64_t start_ns;
	uint32_t tid, pad;
};

struct measured {
	struct measured_id id;
	struct ls_ticks last; /* as read last time: for the differences */
	struct ls_tick_hist last_hist;
	struct quantiles tick_us, io_us; /* of the interval */
	struct hist_packed *tick_hist, *io_hist; /* of the interval, where asked for; NULL: no value in it */
	uint64_t stalled_start_ns, tell_again_ns; /* the tick in progress that was told, and at what age it is told again */
	unsigned round;
	bool taken; /* from a walk, in that round */
	UT_hash_handle hh;
};

static void drop_hists(struct measured *m)
{
	free(m->tick_hist);
	free(m->io_hist);
	m->tick_hist = m->io_hist = NULL;
}

static void forget(struct kernel_ticks *k, struct measured *m)
{
	HASH_DEL(k->loops, m);
	drop_hists(m);
	free(m);
}

void kernel_ticks_free(struct kernel_ticks *k)
{
	struct measured *m, *tmp;

	HASH_ITER(hh, k->loops, m, tmp)
		forget(k, m);
}

void kernel_ticks_begin(struct kernel_ticks *k)
{
	k->round++;
}

static struct measured *find(struct kernel_ticks *k, uint32_t tid, uint64_t start_ns)
{
	struct measured_id id = { .start_ns = start_ns, .tid = tid };
	struct measured *m;

	/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): uthash reads the key, which is whole, by bytes */
	HASH_FIND(hh, k->loops, &id, sizeof(id), m);
	return m;
}

static struct measured *add(struct kernel_ticks *k, uint32_t tid, uint64_t start_ns)
{
	struct measured *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->id = (struct measured_id){ .start_ns = start_ns, .tid = tid };
	m->round = k->round;
	HASH_ADD(hh, k->loops, id, sizeof(m->id), m);
	return m;
}

/* The kernel counts in 32 bits: differences are right across a wrap. sum and max are exact, from the kernel. */
static void difference(struct hist *h, const uint32_t *now, const uint32_t *before, uint64_t sum, uint64_t max)
{
	unsigned lowest = 0, seen = 0;

	hist_reset(h);
	for (unsigned b = 0; b < HIST_BUCKETS; b++) {
		uint32_t n = now[b] - before[b];

		if (!n)
			continue;
		if (!seen++)
			lowest = b;
		h->bucket[b] = n;
		h->n += n;
	}
	if (!h->n)
		return;
	h->sum = sum;
	h->min = hist_bucket_low(lowest);
	h->max = max;
	if (h->max < h->min)
		h->max = h->min;
}

static struct quantiles quantiles(const struct hist *h)
{
	struct quantiles q = {};

	if (!h->n)
		return q;
	q.known = true;
	q.p50 = (double)hist_quantile(h, 0.5) / 1e3;
	q.p90 = (double)hist_quantile(h, 0.9) / 1e3;
	q.p99 = (double)hist_quantile(h, 0.99) / 1e3;
	q.p999 = (double)hist_quantile(h, 0.999) / 1e3;
	q.max = (double)h->max / 1e3;
	return q;
}

/* The maximum of the epoch that has just ended: the kernel opens a new one with the first edge after the change. */
static uint64_t ended_epoch_max(const struct ls_ticks *t, uint32_t epoch, uint64_t now_max, uint64_t before_max)
{
	if (t->epoch == epoch)
		return before_max;
	return t->epoch + 1 == epoch ? now_max : 0;
}

static int keep(const struct kernel_ticks *k, struct hist_packed **ret)
{
	if (!k->histograms || !k->hist.n)
		return 0;
	*ret = hist_pack(&k->hist);
	return *ret ? 0 : -ENOMEM;
}

int kernel_ticks_take(struct kernel_ticks *k, const struct ls_tick_snap *s, uint32_t epoch)
{
	struct measured *m = find(k, s->tid, s->start_boottime_ns);
	int err = 0;

	if (m && m->taken && m->round == k->round)
		return 0; /* the walk was made again for another thread's sake */
	if (!m)
		m = add(k, s->tid, s->start_boottime_ns);
	if (!m)
		return -ENOMEM;
	m->round = k->round;
	m->taken = true;
	m->tick_us = m->io_us = (struct quantiles){};
	drop_hists(m);
	if (s->k.ticks != m->last.ticks) {
		difference(&k->hist, s->tick_hist.bucket, m->last_hist.bucket, s->k.tick_sum_ns - m->last.tick_sum_ns,
			   ended_epoch_max(&s->k, epoch, s->k.tick_max_ns, s->k.tick_max_before_ns));
		m->tick_us = quantiles(&k->hist);
		err = keep(k, &m->tick_hist);
	}
	if (s->k.io_waits != m->last.io_waits || s->k.io_sum_ns != m->last.io_sum_ns) {
		difference(&k->hist, s->k.io_hist, m->last.io_hist, s->k.io_sum_ns - m->last.io_sum_ns,
			   ended_epoch_max(&s->k, epoch, s->k.io_max_ns, s->k.io_max_before_ns));
		m->io_us = quantiles(&k->hist);
		err = err ? err : keep(k, &m->io_hist);
	}
	m->last = s->k;
	m->last_hist = s->tick_hist;
	return err;
}

void kernel_ticks_fill(struct kernel_ticks *k, struct loop_sample *s)
{
	struct measured *m = find(k, s->id.tid, s->id.start_ns);

	if (!m)
		return;
	s->io_waits = m->last.io_waits;
	s->ticks = m->last.ticks;
	s->spin_ns = m->last.spin_ns;
	s->io_events = m->last.io_events;
	s->late_n = m->last.late_n;
	s->late_ns = m->last.late_ns;
	s->late_wait_ns = m->last.late_wait_ns;
	s->slow_ticks = m->last.slow_ticks;
	if (m->round != k->round)
		return;
	s->tick_us = m->tick_us;
	s->io_us = m->io_us;
	if (!k->histograms)
		return;
	s->tick_hist = m->tick_hist ? m->tick_hist : &hist_packed_empty;
	s->io_hist = m->io_hist ? m->io_hist : &hist_packed_empty;
}

void kernel_ticks_end(struct kernel_ticks *k)
{
	struct measured *m, *tmp;

	HASH_ITER(hh, k->loops, m, tmp) {
		if (k->round - m->round >= FORGET_AFTER_ROUNDS)
			forget(k, m);
	}
}

/* --- slow ticks --------------------------------------------------------------------------------------------------------- */

/* A stall is told once, and again each time that it has lasted ten times as long. */
static bool stall_is_news(struct kernel_ticks *k, const struct ls_slow *s)
{
	struct measured *m = find(k, s->tid, s->start_boottime_ns);
	uint64_t age = s->now_ns - s->tick.start_ns;

	if (!m)
		m = add(k, s->tid, s->start_boottime_ns);
	if (!m)
		return true;
	if (m->stalled_start_ns == s->tick.start_ns && age < m->tell_again_ns)
		return false;
	m->stalled_start_ns = s->tick.start_ns;
	m->tell_again_ns = 10 * age;
	return true;
}

int kernel_ticks_slow(struct kernel_ticks *k, const struct ls_slow *s)
{
	_cleanup_free_ struct tick_report *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	if (!k->slow || !s->tick.start_ns || s->now_ns < s->tick.start_ns)
		return 0;
	r->id = (struct loop_id){ .pid = s->tgid, .tid = s->tid, .start_ns = s->start_boottime_ns, .generation = s->generation };
	memcpy(r->thread, s->comm, LOOP_COMM_LEN);
	r->thread[LOOP_COMM_LEN - 1] = '\0';
	r->start_ns = s->tick.start_ns;
	r->now_ns = s->now_ns;
	r->cpu_ns = s->cpu_ns;
	r->blocked_ns = s->blocked_ns;
	r->wait_ns = s->wait_ns;
	r->throttled_ns = s->throttled_ns;
	r->in_progress = s->in_progress;
	r->wait_syscall = s->wait_nr == LS_NR_UNKNOWN ? "" : syscall_name(s->wait_abi, s->wait_nr);
	r->events = s->tick.events;
	r->suppressed = s->held;
	r->told = s->in_progress && !stall_is_news(k, s);
	kernel_causes(k->stacks_fd, s, r);
	return k->slow(k->arg, r);
}
