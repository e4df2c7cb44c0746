/* SPDX-License-Identifier: BSD-2-Clause */
/* loop.c - see loop.h. */
#include "model/loop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"

/* A worker spends most of its life parked outside the frames in which it once polled. */
#define WORKER_OUTER_SHARE 0.5

static bool waits_on_stdin_alone(const struct loop_sample *s)
{
	return s->wait_nfds == 1 && (!strcmp(s->wait_syscall, "select") || !strcmp(s->wait_syscall, "pselect6"));
}

/* Calls that only a program built around them uses, unlike poll and select, which any program may call in passing. */
static bool waits_like_a_loop(const struct loop_sample *s)
{
	return !strncmp(s->wait_syscall, "epoll_", 6) || !strcmp(s->wait_syscall, "io_uring_enter");
}

enum loop_class loop_classify(const struct loop_sample *s, const struct loop_facts *f)
{
	double life = (double)(s->now_ns - s->birth_ns);

	if (waits_on_stdin_alone(s) && f->stdin_is_tty)
		return LOOP_IS_NO_LOOP;
	if (s->in_progress_only)
		return waits_like_a_loop(s) && f->runtime_known ? LOOP_IS_LOOP : LOOP_IS_ASLEEP;
	if (s->wait_repeats < 2)
		return LOOP_IS_NO_LOOP;
	if (!f->park_is_idle && (double)s->outer_ns > WORKER_OUTER_SHARE * life)
		return LOOP_IS_NO_LOOP;
	return LOOP_IS_LOOP;
}

/* Cumulative counters of one thread never shrink; should one (a hostile or broken recording), it counts as no change. */
static uint64_t since(uint64_t before, uint64_t now)
{
	return now > before ? now - before : 0;
}

/* Two rows may bear one name (a call of the 32-bit and of the native table, say): they are summed. */
static uint64_t blocked_ns(const struct loop_sample *s, const char *what)
{
	uint64_t ns = 0;

	for (size_t i = 0; s && i < LOOP_BLOCKED_MAX; i++)
		if (s->blocked[i].ns && !strcmp(s->blocked[i].what, what))
			ns += s->blocked[i].ns;
	return ns;
}

static bool same_waited(const struct loop_waited *a, const struct loop_waited *b)
{
	return a->pid == b->pid && !memcmp(a->comm, b->comm, LOOP_COMM_LEN);
}

static uint64_t waited_ns(const struct loop_sample *s, const struct loop_waited *key)
{
	uint64_t ns = 0;

	for (size_t i = 0; s && i < LOOP_WAITED_MAX; i++)
		if (s->waited[i].ns && same_waited(&s->waited[i], key))
			ns += s->waited[i].ns;
	return ns;
}

/* Is row i the first of its name? The others are counted with it. */
static bool first_blocked(const struct loop_sample *s, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (s->blocked[k].ns && !strcmp(s->blocked[k].what, s->blocked[i].what))
			return false;
	return s->blocked[i].ns > 0;
}

static bool first_waited(const struct loop_sample *s, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (s->waited[k].ns && same_waited(&s->waited[k], &s->waited[i]))
			return false;
	return s->waited[i].ns > 0;
}

static int blocked_by_share(const void *a, const void *b)
{
	const struct blocked_share *x = a, *y = b;

	return x->share < y->share ? 1 : x->share > y->share ? -1 : strcmp(x->what, y->what);
}

static int waited_by_share(const void *a, const void *b)
{
	const struct waited_share *x = a, *y = b;

	return x->share < y->share ? 1 : x->share > y->share ? -1 : x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* A snapshot names the causes of what is in progress as far as it can see then; when it is over they may turn out to be
 * others. Those of two samples can so add up to more than the time between: "other" is cut first, then all alike. Returns the
 * factor for those with a name. */
static double cut(double named, double *other, double limit)
{
	if (named + *other <= limit)
		return 1;
	*other = named < limit ? limit - named : 0;
	return named > limit ? limit / named : 1;
}

static void delta_blocked(const struct loop_sample *before, const struct loop_sample *now, bool park_is_idle, double wall,
			  struct loop_record *r)
{
	double other = (double)since(before ? before->blocked_other_ns : 0, now->blocked_other_ns) / wall, named = 0, factor;

	for (size_t i = 0; i < LOOP_BLOCKED_MAX; i++) {
		const struct loop_blocked *b = &now->blocked[i];
		uint64_t ns;

		if (!first_blocked(now, i) || (park_is_idle && !strcmp(b->what, "futex")))
			continue;
		ns = since(blocked_ns(before, b->what), blocked_ns(now, b->what));
		if (!ns)
			continue;
		strncpy(r->blocked_by[r->n_blocked_by].what, b->what, sizeof(b->what));
		r->blocked_by[r->n_blocked_by++].share = (double)ns / wall;
		named += (double)ns / wall;
	}
	factor = cut(named, &other, r->tick_blocked);
	for (size_t i = 0; i < r->n_blocked_by; i++)
		r->blocked_by[i].share *= factor;
	qsort(r->blocked_by, r->n_blocked_by, sizeof(r->blocked_by[0]), blocked_by_share);
	if (other > 0) {
		strcpy(r->blocked_by[r->n_blocked_by].what, "other");
		r->blocked_by[r->n_blocked_by++].share = other;
	}
}

/* Rows of one name that were put together since `before`: what each had then is in the new row. */
static bool put_together(const struct loop_sample *now, const struct loop_waited *was)
{
	struct loop_waited several = *was;

	several.pid = LOOP_WAITED_SEVERAL;
	return was->pid > 0 && !waited_ns(now, was) && waited_ns(now, &several);
}

/* What a row had in `before`, with those that it was put together from. */
static uint64_t waited_before(const struct loop_sample *before, const struct loop_sample *now, const struct loop_waited *key)
{
	uint64_t ns = waited_ns(before, key);

	for (size_t i = 0; before && key->pid == LOOP_WAITED_SEVERAL && i < LOOP_WAITED_MAX; i++) {
		const struct loop_waited *w = &before->waited[i];

		if (w->ns && !memcmp(w->comm, key->comm, LOOP_COMM_LEN) && put_together(now, w))
			ns += w->ns;
	}
	return ns;
}

/* Time for which the loop waited for `key`, since `before`. A culprit's row may have been given to another process
 * meanwhile, and perhaps taken again by the same; its sum then moved to "other", from which it is taken out again. A row that
 * is smaller without that was larger in a snapshot only: see cut(). */
static uint64_t waited_since(const struct loop_sample *before, const struct loop_sample *now, const struct loop_waited *key,
			     uint64_t *other)
{
	uint64_t was = waited_before(before, now, key), ns = waited_ns(now, key);

	if (ns >= was)
		return ns - was;
	if (*other < was)
		return 0;
	*other -= was;
	return ns;
}

static void delta_waited(const struct loop_sample *before, const struct loop_sample *now, double wall, struct loop_record *r)
{
	uint64_t other_ns = since(before ? before->waited_other_ns : 0, now->waited_other_ns);
	double other, named = 0, factor;

	for (size_t i = 0; before && i < LOOP_WAITED_MAX; i++)
		if (first_waited(before, i) && !waited_ns(now, &before->waited[i]) && !put_together(now, &before->waited[i]))
			waited_since(before, now, &before->waited[i], &other_ns);
	for (size_t i = 0; i < LOOP_WAITED_MAX; i++) {
		const struct loop_waited *w = &now->waited[i];
		uint64_t ns = first_waited(now, i) ? waited_since(before, now, w, &other_ns) : 0;

		if (!ns)
			continue;
		memcpy(r->waited_for[r->n_waited_for].comm, w->comm, LOOP_COMM_LEN);
		r->waited_for[r->n_waited_for].pid = w->pid;
		r->waited_for[r->n_waited_for++].share = (double)ns / wall;
		named += (double)ns / wall;
	}
	other = (double)other_ns / wall;
	factor = cut(named, &other, r->wait);
	for (size_t i = 0; i < r->n_waited_for; i++)
		r->waited_for[i].share *= factor;
	qsort(r->waited_for, r->n_waited_for, sizeof(r->waited_for[0]), waited_by_share);
	if (other > 0) {
		struct waited_share *o = &r->waited_for[r->n_waited_for++];

		memset(o, 0, sizeof(*o));
		strcpy(o->comm, "other");
		o->pid = -1;
		o->share = other;
	}
}

/* The source may have learned that what it took for one kind of sleep was the other (account.h, acct_swap_points): the state that
 * shrank gave to the one that grew, and that part is not this interval's. Returns how much. */
static double trade(const struct loop_sample *before, const struct loop_sample *now, enum loop_state from, enum loop_state to,
		    uint64_t ns[LOOP_NR_STATES])
{
	uint64_t given = since(now->state_ns[from], before->state_ns[from]);

	if (given > ns[to])
		given = ns[to];
	ns[to] -= given;
	return (double)given;
}

/* The states' shares: they sum to 1 whatever the samples say. A missed switch that the source mended after `before` may have
 * taken time from a state that `before` had already counted: that one counts as 0 now, and the others, which got the time
 * a second time, are cut to the interval. NAN where no state has any time. */
static void delta_states(const struct loop_sample *before, const struct loop_sample *now, bool park_is_idle, double *ret_part)
{
	uint64_t ns[LOOP_NR_STATES], parked;
	double sum = 0;

	for (int i = 0; i < LOOP_NR_STATES; i++) {
		ns[i] = since(before ? before->state_ns[i] : 0, now->state_ns[i]);
		sum += (double)ns[i];
	}
	if (before)
		sum -= trade(before, now, LOOP_IDLE, LOOP_TICK_BLOCKED, ns) + trade(before, now, LOOP_TICK_BLOCKED, LOOP_IDLE, ns);
	if (park_is_idle) {
		parked = since(blocked_ns(before, "futex"), blocked_ns(now, "futex"));
		if (parked > ns[LOOP_TICK_BLOCKED])
			parked = ns[LOOP_TICK_BLOCKED];
		ns[LOOP_TICK_BLOCKED] -= parked;
		ns[LOOP_IDLE] += parked;
	}
	for (int i = 0; i < LOOP_NR_STATES; i++)
		ret_part[i] = sum > 0 ? (double)ns[i] / sum : NAN;
}

static void delta_ticks(const struct loop_sample *before, const struct loop_sample *now, double wall, struct loop_record *r)
{
	uint64_t late_n, waits;

	r->events_per_wait = r->late_us = r->late_wait_us = NAN;
	r->slow_ticks = -1;
	r->over_budget = now->over_budget;
	if (now->edges == EDGES_SCHED)
		return;
	waits = since(before ? before->io_waits : 0, now->io_waits);
	r->io_waits = (int64_t)waits;
	r->ticks = (int64_t)since(before ? before->ticks : 0, now->ticks);
	r->spin = (double)since(before ? before->spin_ns : 0, now->spin_ns) / wall;
	r->slow_ticks = (int64_t)since(before ? before->slow_ticks : 0, now->slow_ticks);
	r->tick_us = now->tick_us;
	r->tick_hist = now->tick_hist;
	if (now->edges == EDGES_UPROBE)
		return;
	r->io_us = now->io_us;
	r->io_hist = now->io_hist;
	if (waits)
		r->events_per_wait = (double)since(before ? before->io_events : 0, now->io_events) / (double)waits;
	late_n = since(before ? before->late_n : 0, now->late_n);
	if (late_n) {
		r->late_us = (double)since(before ? before->late_ns : 0, now->late_ns) / (double)late_n / 1e3;
		r->late_wait_us = (double)since(before ? before->late_wait_ns : 0, now->late_wait_ns) / (double)late_n / 1e3;
	}
}

static void delta_phases(const struct loop_sample *before, const struct loop_sample *now, double wall, struct loop_record *r)
{
	if (!now->phases_known)
		return;
	r->n_phases = now->n_phases;
	for (size_t i = 0; i < now->n_phases; i++) {
		const struct loop_phase *n = &now->phases[i];
		bool begun = !before || i >= before->n_phases; /* it has had none until then */

		r->phases[i] = (struct phase_share){ .name = n->name, .share = NAN, .entries = -1 };
		if (!n->seen)
			continue;
		r->phases[i].share = (double)since(begun ? 0 : before->phases[i].ns, n->ns) / wall;
		r->phases[i].entries = (int64_t)since(begun ? 0 : before->phases[i].entries, n->entries);
	}
}

bool loop_delta(const struct loop_sample *before, const struct loop_sample *now, const struct loop_facts *f,
		struct loop_record *ret)
{
	uint64_t from = before ? before->now_ns : now->birth_ns;
	double wall, part[LOOP_NR_STATES];
	struct loop_record r = {
		.source = now->source,
		.edges = now->edges,
		.id = now->id,
		.nspid = f->nspid,
		.cgroup = f->cgroup ? f->cgroup : "",
		.runtime = f->runtime,
		.wait_syscall = now->wait_syscall,
		.wait_fd = now->wait_fd,
		.spin = NAN,
		.io_cpu = NAN,
		.io_waits = -1,
		.ticks = -1,
		.observer_cost = NAN,
		.in_progress_only = now->in_progress_only,
		.ended = now->ended,
	};

	if (now->now_ns <= from)
		return false;
	wall = (double)(now->now_ns - from);
	delta_states(before, now, f->park_is_idle, part);
	memcpy(r.comm, f->comm, LOOP_COMM_LEN);
	memcpy(r.thread, now->thread, LOOP_COMM_LEN);
	r.interval_s = wall / 1e9;
	/* Edges that were let go within the interval have left a part in io_cpu, which alone means nothing. */
	if (now->edges == EDGES_SCHED || now->edges == EDGES_UPROBE)
		r.tick_cpu = part[LOOP_TICK_CPU] + part[LOOP_IO_CPU];
	else {
		r.io_cpu = part[LOOP_IO_CPU];
		r.tick_cpu = part[LOOP_TICK_CPU];
	}
	r.tick_blocked = part[LOOP_TICK_BLOCKED];
	r.wait_io = part[LOOP_WAIT_IO];
	r.wait_tick = part[LOOP_WAIT_TICK];
	r.idle = part[LOOP_IDLE];
	r.wait = r.wait_io + r.wait_tick;
	r.throttled = (double)since(before ? before->throttled_ns : 0, now->throttled_ns) / wall;
	if (r.throttled > r.wait)
		r.throttled = r.wait; /* the quota's clock is behind at times, and catches up in the next interval */
	r.busy = part[LOOP_IO_CPU] + part[LOOP_TICK_CPU] + part[LOOP_TICK_BLOCKED];
	r.load = r.busy + r.wait;
	r.naive_load = 1 - (double)since(before ? before->naive_idle_ns : 0, now->naive_idle_ns) / wall;
	if (f->park_is_idle)
		r.naive_load = NAN; /* parks in a futex: no call that a loop of the proposal would time */
	else if (r.naive_load < 0)
		r.naive_load = 0; /* as above: mended after `before` */
	r.io_sleeps = (int64_t)since(before ? before->io_sleeps : 0, now->io_sleeps);
	r.lost = (int64_t)since(before ? before->lost : 0, now->lost);
	r.repaired = (int64_t)since(before ? before->repaired : 0, now->repaired);
	delta_ticks(before, now, wall, &r);
	delta_blocked(before, now, f->park_is_idle, wall, &r);
	delta_waited(before, now, wall, &r);
	delta_phases(before, now, wall, &r);
	*ret = r;
	return true;
}
