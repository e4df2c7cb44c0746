/* SPDX-License-Identifier: BSD-2-Clause */
/* board_report.c - the end of an interval: ticks become shares and microseconds, tasks become records. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/board_state.h"

/* What an interval's figures are shares of, and how ticks become time. */
struct scale {
	uint64_t hz;
	double us;          /* microseconds a tick, NAN unknown */
	uint64_t covered;   /* ticks of which something is known */
	double interval_s;
	double silent_s;    /* since the board's time was last heard of; 0 where that is not known */
};

static double share(uint64_t part, uint64_t whole)
{
	double s;

	if (whole == 0)
		return NAN;
	s = (double)part / (double)whole;
	return s > 1 ? 1 : s;
}

static struct span_stats stats(const struct hist *h, double us)
{
	struct span_stats s = { .min = NAN, .p50 = NAN, .p90 = NAN, .p99 = NAN, .max = NAN, .total = NAN };

	if (!h || !h->n)
		return s;
	s.n = (int64_t)h->n;
	s.min = (double)h->min * us;
	s.p50 = (double)hist_quantile(h, 0.5) * us;
	s.p90 = (double)hist_quantile(h, 0.9) * us;
	s.p99 = (double)hist_quantile(h, 0.99) * us;
	s.max = (double)h->max * us;
	s.total = (double)h->sum * us;
	return s;
}

static struct quantiles quantiles(const struct hist *h, double us)
{
	struct quantiles q = { .known = h->n && !isnan(us), .p50 = NAN, .p90 = NAN, .p99 = NAN, .p999 = NAN, .max = NAN };

	if (!q.known)
		return q;
	q.p50 = (double)hist_quantile(h, 0.5) * us;
	q.p90 = (double)hist_quantile(h, 0.9) * us;
	q.p99 = (double)hist_quantile(h, 0.99) * us;
	q.p999 = (double)hist_quantile(h, 0.999) * us;
	q.max = (double)h->max * us;
	return q;
}

/* ---- the loop ---- */
static uint64_t since(const struct sync_sums *now, const struct sync_sums *then)
{
	return (now->busy - then->busy) + (now->idle - then->idle) + (now->isr - then->isr);
}

/* Load from the board's own sums: from the last SYNC reported to the last one that came. */
static void load_from_sums(struct board *b, struct loop_record *r, const struct scale *sc)
{
	uint64_t all = since(&b->sync, &b->sync_done) + b->carry_total;
	uint64_t idle = b->sync.idle - b->sync_done.idle + b->carry_idle;

	if (b->stops && b->sync_done.arrival_ns && b->sync.arrival_ns > b->sync_done.arrival_ns && b->hz) {
		/* The clock stood still in sleep: what the host's clock saw beyond the sums was sleep. */
		uint64_t host = (uint64_t)((unsigned __int128)(b->sync.arrival_ns - b->sync_done.arrival_ns) * b->hz / 1000000000u);

		if (host > all) {
			idle += host - all;
			all = host;
		}
	}
	if (all) {
		if (sc->hz)
			r->interval_s = (double)all / (double)sc->hz;
		if (!b->no_idle)
			r->idle = share(idle, all);
	}
	b->sync_done = b->sync;
	b->carry_idle = b->carry_total = 0;
}

static uint64_t covered(const struct board *b)
{
	return b->sum.idle + b->sum.busy + b->sum.isr + b->sum.sched + b->sum.untold;
}

static void loop_record(struct board *b, struct loop_record *r, const struct scale *sc, double ts)
{
	*r = (struct loop_record){
		.ts = ts, .interval_s = sc->interval_s, .source = SOURCE_SERIAL, .edges = EDGES_BOARD, .nspid = -1,
		.cgroup = "", .runtime = "", .wait_syscall = "", .wait_fd = -1,
		.load = NAN, .busy = NAN, .wait = NAN, .idle = NAN, .spin = NAN, .naive_load = NAN,
		.io_cpu = NAN, .tick_cpu = NAN, .tick_blocked = NAN, .wait_io = NAN, .wait_tick = NAN, .throttled = NAN,
		.io_waits = -1, .ticks = -1, .io_sleeps = -1, .slow_ticks = -1, .repaired = -1, .events_per_wait = NAN,
		.late_us = NAN, .late_wait_us = NAN, .observer_cost = NAN,
	};
	snprintf(r->comm, sizeof(r->comm), "%.*s", (int)sizeof(r->comm) - 1, b->o.label);
	snprintf(r->thread, sizeof(r->thread), "%.*s", (int)sizeof(r->thread) - 1, b->name[0] ? b->name : b->o.label);
	if (b->has_sync || b->carry_total)
		load_from_sums(b, r, sc);
	else if (b->idle_known)
		r->idle = share(b->sum.idle + b->sum.slept, covered(b));
	/* A board's loop has its CPU to itself: what is not idle is its own. */
	if (!isnan(r->idle))
		r->load = r->busy = r->tick_cpu = 1 - r->idle;
	if (b->idle_known) {
		r->io_waits = r->io_sleeps = (int64_t)b->idle.n;
		r->ticks = (int64_t)b->tick.n;
		r->tick_us = quantiles(&b->tick, sc->us);
		r->io_us = quantiles(&b->idle, sc->us);
	} else if (b->has_pulse) {
		r->ticks = (int64_t)b->pass.n;
		r->tick_us = quantiles(&b->pass, sc->us);
		r->io_us = quantiles(&b->idle, NAN);
	}
	r->lost = b->lost[LOSS_FRAMES] + b->lost[LOSS_EVENTS] + b->lost[LOSS_BYTES];
}

/* ---- tasks ---- */
/* Runs and busy share by the sums, as far as they reach; -1 and NAN where a gap left nothing certain. Sums that tell of lost steps
 * from before may add more than the time since the last record: the record then reaches back, and its share of that is 1. */
static void tallies(struct board *b, struct task *t, struct task_record *r, const struct scale *sc)
{
	struct tally now = t->totals;
	uint64_t span, busy;

	if (!t->behind) {
		now.t = b->now;
		now.runs += t->since.runs;
		now.busy += t->since.busy;
	}
	if (now.t <= t->reported.t || now.runs < t->reported.runs || now.busy < t->reported.busy)
		return;
	span = now.t - t->reported.t;
	if (b->stops && sc->covered > span)
		span = sc->covered;
	busy = now.busy - t->reported.busy;
	if (busy > span)
		span = busy < now.t ? busy : now.t;
	r->runs = (int64_t)(now.runs - t->reported.runs);
	r->busy = share(busy, span);
	if (sc->hz)
		r->interval_s = (double)span / (double)sc->hz;
	t->reported = now;
}

static void lifetime(struct board *b, struct task *t, struct task_record *r, uint64_t end)
{
	uint64_t up = t->alive, from = t->high_t > b->interval_t ? t->high_t : b->interval_t;

	if (t->use && end > from)
		up += end - from;
	r->busy = NAN;
	r->alive = end > b->interval_t ? share(up, end - b->interval_t) : NAN;
	r->interval_s = end > b->interval_t ? (double)(end - b->interval_t) / 1e9 : r->interval_s;
	r->uncertainty_us = (double)b->late_ns / 1000;
}

static int64_t instances(const struct board *b, const struct task *t)
{
	int64_t n = 0;

	if (t->kind == TASK_LIFETIME)
		return t->use;
	for (unsigned i = 0; i < BOARD_TASKS_MAX; i++) {
		const struct task *o = &b->tasks[i];

		if (o->used && !o->gone && o->class == t->class && strcmp(o->name, t->name) == 0 && (t->name[0] || o == t))
			n++;
	}
	return n;
}

static void task_record(struct board *b, struct task *t, struct task_record *r, const struct scale *sc, double ts,
			uint64_t end)
{
	*r = (struct task_record){
		.ts = ts, .interval_s = sc->interval_s, .source = SOURCE_SERIAL, .kind = t->kind, .loop = b->o.label,
		.id = t->id, .instance = t->instance, .instances = instances(b, t),
		.runs = -1, .busy = NAN, .wait = NAN, .alive = NAN, .uncertainty_us = NAN, .last_seen_s = NAN,
		.hog_open_us = NAN, .left_out = (int64_t)t->left_out, .hogs = (int64_t)t->hogs, .ended = t->gone,
		.run_us = stats(t->run, sc->us), .ready_us = stats(t->ready, sc->us),
	};
	if (t->name[0])
		memcpy(r->task, t->name, sizeof(r->task));
	else
		snprintf(r->task, sizeof(r->task), "#%u", t->id);
	if (t->has_totals) {
		tallies(b, t, r, sc);
	} else {
		r->runs = (int64_t)t->runs;
		r->busy = share(t->busy, sc->covered);
		t->reported.t = b->now;
		t->reported.runs += t->runs;
		t->reported.busy += t->busy;
	}
	if (t->kind == TASK_LIFETIME)
		lifetime(b, t, r, end);
	if (b->has_ready && t->class == BOARD_TASK) {
		uint64_t waited = t->waited, from = t->ready_t > b->interval_t ? t->ready_t : b->interval_t;

		if (t->is_ready && b->now > from)
			waited += b->now - from;
		r->wait = share(waited, sc->covered);
	}
	if (sc->hz && end >= t->last_t)
		r->last_seen_s = (double)(end - t->last_t) / (double)sc->hz + sc->silent_s;
	if (t->open && b->now > t->open_t)
		r->hog_open_us = (double)(b->now - t->open_t) * sc->us;
	else if (b->cur == t && b->cur_net > board_hog_ticks(b))
		r->hog_open_us = (double)b->cur_net * sc->us;
}

static int by_busy(const void *pa, const void *pb)
{
	const struct task_record *a = pa, *b = pb;
	double x = isnan(a->busy) ? -1 : a->busy, y = isnan(b->busy) ? -1 : b->busy;

	if (x != y)
		return x < y ? 1 : -1;
	return (a->id > b->id) - (a->id < b->id);
}

static size_t task_records(struct board *b, const struct scale *sc, double ts, uint64_t end)
{
	size_t n = 0;

	for (unsigned i = 0; i < BOARD_TASKS_MAX; i++) {
		struct task *t = &b->tasks[i];

		if (t->used && t->kind != TASK_IDLE && t->class != BOARD_MARKER)
			task_record(b, t, &b->records[n++], sc, ts, end);
	}
	qsort(b->records, n, sizeof(b->records[0]), by_busy);
	return n;
}

/* ---- the whole ---- */
static void summary(const struct board *b, struct board_summary *s, const struct scale *sc, bool measured,
		    uint64_t host_ns)
{
	*s = (struct board_summary){
		.name = b->name, .margin = board_margin(b), .sleep_us = stats(&b->sleep, sc->us),
		.pass_us = stats(&b->pass, sc->us), .hz = sc->hz, .hz_measured = measured, .gaps = b->gaps,
		.gaps_uncounted = b->gaps_uncounted, .resets = b->resets, .orphans = b->orphans, .untracked = b->untracked,
		.uncertainty_us = b->has_lifetimes ? (double)b->late_ns / 1000 : NAN, .silent_s = NAN,
		.from_sums = b->has_sync,
	};
	memcpy(s->lost, b->lost, sizeof(s->lost));
	board_clock_fit(&b->clock, &s->clock);
	if (host_ns != CLOCK_UNKNOWN && b->last_arrival && host_ns >= b->last_arrival)
		s->silent_s = (double)(host_ns - b->last_arrival) / 1e9;
}

static void next_interval(struct board *b)
{
	board_tasks_next_interval(b);
	memset(&b->sum, 0, sizeof(b->sum));
	hist_reset(&b->tick);
	hist_reset(&b->idle);
	hist_reset(&b->sleep);
	hist_reset(&b->pass);
	b->interval_t = b->now;
}

void board_interval(struct board *b, double ts, double interval_s, uint64_t host_ns, struct board_report *ret_r)
{
	struct scale sc = { .us = NAN, .interval_s = interval_s };
	uint64_t end = b->now;
	bool measured;

	sc.hz = board_hz(b, &measured);
	sc.covered = covered(b);
	if (sc.hz)
		sc.us = 1e6 / (double)sc.hz;
	if (sc.hz && b->any && sc.covered)
		sc.interval_s = (double)sc.covered / (double)sc.hz;
	/* Lifetimes are on the host's clock: they last until now, not until the last byte. */
	if (b->has_lifetimes && host_ns != CLOCK_UNKNOWN && host_ns > end)
		board_advance(b, end = host_ns);
	else if (host_ns != CLOCK_UNKNOWN && b->last_arrival && host_ns > b->last_arrival)
		sc.silent_s = (double)(host_ns - b->last_arrival) / 1e9;
	loop_record(b, &ret_r->loop, &sc, ts);
	ret_r->n_tasks = task_records(b, &sc, ts, end);
	ret_r->tasks = b->records;
	summary(b, &ret_r->summary, &sc, measured, host_ns);
	next_interval(b);
}

const char *task_kind_name(enum task_kind k)
{
	static const char *const name[] = {
		[TASK_RUNS] = "task", [TASK_ISR] = "isr", [TASK_LIFETIME] = "lifetime", [TASK_AGENT] = "agent", [TASK_IDLE] = "idle",
	};

	return (unsigned)k < sizeof(name) / sizeof(name[0]) ? name[k] : "unknown";
}
