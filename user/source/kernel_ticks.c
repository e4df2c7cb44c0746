/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel_ticks.c - see kernel_ticks.h. */
#include "source/kernel_ticks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include <bpf/bpf.h>

#include "lib/cleanup.h"
#include "source/syscalls.h"

_Static_assert(LS_HIST_BUCKETS == HIST_BUCKETS && LS_HIST_SUB_BITS == HIST_SUB_BITS && LS_HIST_LIMIT_BITS == HIST_LIMIT_BITS,
	       "both sides cut durations into the same buckets");
_Static_assert(LS_POLLED_KNOWN == 1ull << 32, "as registry/sysargs.h takes it");
_Static_assert(LS_STACK_FRAMES <= STACK_FRAMES_MAX, "stacks");

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

	if (!m)
		m = add(k, s->tid, s->start_boottime_ns);
	if (!m)
		return -ENOMEM;
	m->round = k->round;
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

static void read_stack(const struct kernel_ticks *k, int32_t id, struct raw_cause *c)
{
	uint64_t frames[LS_STACK_FRAMES] = {};
	__u32 key = (__u32)id;

	if (id < 0 || bpf_map_lookup_elem(k->stacks_fd, &key, frames))
		return;
	while (c->n_frames < LS_STACK_FRAMES && frames[c->n_frames]) {
		c->frame[c->n_frames] = frames[c->n_frames];
		c->n_frames++;
	}
}

static struct raw_cause *add_cause(struct tick_report *r, enum cause_kind kind, uint64_t ns)
{
	struct raw_cause *c;

	if (!ns || r->n_causes == ARRAY_SIZE(r->cause))
		return NULL;
	c = &r->cause[r->n_causes++];
	*c = (struct raw_cause){ .kind = kind, .ns = ns, .call = "", .pid = -1, .samples = -1 };
	return c;
}

static void add_remembered(const struct kernel_ticks *k, struct tick_report *r, const struct ls_cause *from, uint64_t ns)
{
	static const enum cause_kind kinds[] = { [LS_CAUSE_SYSCALL] = CAUSE_SYSCALL,
						 [LS_CAUSE_FAULT] = CAUSE_PAGE_FAULT,
						 [LS_CAUSE_WAIT] = CAUSE_WAIT };
	struct raw_cause *c = add_cause(r, from->kind <= LS_CAUSE_WAIT ? kinds[from->kind] : CAUSE_OTHER, ns);

	if (!c)
		return;
	memcpy(c->args, from->args, sizeof(c->args));
	if (from->kind == LS_CAUSE_SYSCALL)
		c->call = from->nr == LS_NR_STOPPED ? "stopped" : from->nr == LS_NR_UNKNOWN ? "" : syscall_name(from->abi, from->nr);
	if (from->kind == LS_CAUSE_WAIT) {
		memcpy(c->comm, from->comm, LOOP_COMM_LEN);
		c->comm[LOOP_COMM_LEN - 1] = '\0';
		c->pid = from->nr;
	}
	read_stack(k, from->stack, c);
}

/* The CPU time is shared out over the sampled stacks; without a sample it is one cause without a stack. */
static void add_cpu(const struct kernel_ticks *k, struct tick_report *r, const struct ls_tick *t)
{
	uint32_t kept = 0;
	uint64_t left = r->cpu_ns;

	for (int i = 0; i < LS_SAMPLES && t->samples[i].count; i++)
		kept += t->samples[i].count;
	for (int i = 0; kept && i < LS_SAMPLES && t->samples[i].count; i++) {
		uint64_t ns = (uint64_t)((double)r->cpu_ns * t->samples[i].count / (t->n_samples > kept ? t->n_samples : kept));
		struct raw_cause *c = add_cause(r, CAUSE_CPU, ns);

		if (!c)
			break;
		c->samples = t->samples[i].count;
		read_stack(k, t->samples[i].stack, c);
		left -= ns < left ? ns : left;
	}
	/* Rounding is no cause of its own. */
	if (left > r->cpu_ns / 1000)
		add_cause(r, CAUSE_CPU, left);
}

static int by_ns(const void *a, const void *b)
{
	const struct raw_cause *x = a, *y = b;

	return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : 0;
}

/* What the causes don't account for: sleeps and waits too short to be remembered one by one. */
static void add_rest(struct tick_report *r)
{
	uint64_t blocked = r->blocked_ns, wait = r->wait_ns - (r->throttled_ns < r->wait_ns ? r->throttled_ns : r->wait_ns);

	for (size_t i = 0; i < r->n_causes; i++) {
		struct raw_cause *c = &r->cause[i];
		uint64_t *from = c->kind == CAUSE_WAIT ? &wait : c->kind == CAUSE_SYSCALL || c->kind == CAUSE_PAGE_FAULT ? &blocked : NULL;

		if (from)
			*from -= c->ns < *from ? c->ns : *from;
	}
	add_cause(r, CAUSE_OTHER, blocked + wait > (r->now_ns - r->start_ns) / 1000 ? blocked + wait : 0);
}

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
	uint64_t throttled;

	if (!r)
		return -ENOMEM;
	if (!k->slow || !s->tick.start_ns || s->now_ns < s->tick.start_ns || (s->in_progress && !stall_is_news(k, s)))
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
	add_cpu(k, r, &s->tick);
	throttled = s->throttled_ns;
	add_cause(r, CAUSE_THROTTLE, throttled);
	for (int i = 0; i < LS_CAUSES && s->tick.causes[i].kind; i++) {
		uint64_t ns = s->tick.causes[i].ns;

		/* A wait for the quota is remembered with whoever ran meanwhile: it is the throttle's. */
		if (s->tick.causes[i].kind == LS_CAUSE_WAIT && throttled) {
			uint64_t part = ns < throttled ? ns : throttled;

			ns -= part;
			throttled -= part;
		}
		add_remembered(k, r, &s->tick.causes[i], ns);
	}
	/* What it is held up by now is not among those yet. */
	if (s->in_progress && s->state == LS_TICK_BLOCKED && s->tick.blocked.kind)
		add_remembered(k, r, &s->tick.blocked, s->state_ns);
	if (s->in_progress && s->state == LS_WAIT_TICK)
		add_cause(r, CAUSE_WAIT, s->state_ns);
	add_rest(r);
	qsort(r->cause, r->n_causes, sizeof(r->cause[0]), by_ns);
	return k->slow(k->arg, r);
}
