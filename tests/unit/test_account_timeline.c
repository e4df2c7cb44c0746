/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_account_timeline.c - invented lives whose truth is known to the nanosecond: given whole, the machine must tell it
 * exactly, at the end and at any moment in between; with events missing, as much of it as can be known; damaged at random,
 * the invariants.
 */
#include <stdlib.h>

#include "test_account_random.h"

TestSuite(account_timeline, .timeout = 300);

#define HOGS (LS_CULPRITS - 1) /* one row for the quota: none is "other" */
#define N_NRS 6

static const uint32_t block_nrs[N_NRS] = { NR_READ, NR_FSYNC, NR_FUTEX, LS_NR_PAGE_FAULT, 35, NR_EPOLL };

struct truth {
	uint64_t sum[LS_NR_STATES], naive, throttled, outer, io_sleeps;
	uint64_t blocked[N_NRS], hog[HOGS];
};

struct life {
	uint64_t seed, now, birth;
	uint64_t clock;   /* of the throttled queue */
	bool delay_told;  /* the scheduler's record of its waits is given */
	uint64_t run_at;  /* of the last switch-in */
	uint32_t cpu;
	struct truth truth;
	void (*event)(struct life *l, const struct event *e);
	void (*within)(struct life *l, enum ls_state state, uint64_t from, uint64_t to); /* NULL: nobody looks */
	struct world w;
	struct event *events;
	size_t n_events, cap_events;
};

static void live(struct life *l, const struct event *e)
{
	world_event(&l->w, e);
}

static void keep(struct life *l, const struct event *e)
{
	if (l->n_events == l->cap_events) {
		l->cap_events = l->cap_events ? 2 * l->cap_events : 1024;
		l->events = realloc(l->events, l->cap_events * sizeof(*e));
		cr_assert_not_null(l->events);
	}
	l->events[l->n_events++] = *e;
}

/* Time passes in a state, and on the CPU where the thread waits, if it does, hogs take turns. */
static void pass(struct life *l, enum ls_state state, uint64_t ns)
{
	uint64_t from = l->now;

	if (l->within && ns)
		l->within(l, state, from, from + ns);
	l->truth.sum[state] += ns;
	l->now += ns;
}

static void pass_waiting(struct life *l, enum ls_state state)
{
	unsigned turns = 1 + (unsigned)below(&l->seed, LS_CPU_RING);
	uint64_t throttled = 0, waited = 0, ns[LS_CPU_RING], left;
	uint32_t hog[LS_CPU_RING];

	for (unsigned i = 0; i < turns; i++) {
		struct event e = { .kind = EV_RING, .at = l->now, .cpu = l->cpu };

		e.tgid = hog[i] = (uint32_t)below(&l->seed, HOGS);
		ns[i] = random_ns(&l->seed, 5 * MS);
		l->event(l, &e);
		waited += ns[i];
		pass(l, state, ns[i]);
	}
	if (chance(&l->seed, 30))
		throttled = waited ? below(&l->seed, waited + 1) : 0;
	l->clock += throttled;
	l->truth.throttled += throttled;
	/* The quota had the beginning, whoever ran meanwhile. */
	left = throttled;
	for (unsigned i = 0; i < turns; i++) {
		uint64_t quota = ns[i] < left ? ns[i] : left;

		left -= quota;
		l->truth.hog[hog[i]] += ns[i] - quota;
	}
}

static void switch_in(struct life *l)
{
	struct event e = { .kind = EV_RUN, .at = l->now, .clock = l->clock };

	l->event(l, &e);
	l->run_at = l->now;
}

static struct event wait_begins(struct life *l, enum event_kind kind)
{
	l->cpu = (uint32_t)below(&l->seed, CPUS);
	return (struct event){ .kind = kind, .at = l->now, .cpu = l->cpu, .thr = { .ref = 1, .clock = l->clock } };
}

static uint64_t delay(const struct life *l)
{
	return l->delay_told ? 1 + l->truth.sum[LS_WAIT_IO] + l->truth.sum[LS_WAIT_TICK] : 0;
}

static void preempted(struct life *l)
{
	struct event e = wait_begins(l, EV_PREEMPT);

	e.place = place_block(HOME_SP - 128, LS_NR_UNKNOWN);
	e.place.ran_ns = l->now - l->run_at;
	e.place.delay_ns = delay(l);
	l->event(l, &e);
	pass_waiting(l, LS_WAIT_TICK);
	switch_in(l);
}

/* Asleep at p, woken, waiting, on the CPU again. A sleep has a length: the machine keeps no row for none. */
static void sleeps(struct life *l, const struct acct_place *p, enum ls_state state)
{
	struct event e = { .kind = EV_SLEEP, .at = l->now, .place = *p };
	uint64_t ns = 1 + random_ns(&l->seed, 50 * MS), from = l->now, call;

	e.place.ran_ns = l->now - l->run_at;
	e.place.delay_ns = delay(l);
	l->event(l, &e);
	pass(l, state, ns);
	e = wait_begins(l, EV_WAKE);
	l->event(l, &e);
	pass_waiting(l, state == LS_IDLE ? LS_WAIT_IO : LS_WAIT_TICK);
	switch_in(l);
	if (state != LS_IDLE)
		return;
	call = l->now - from;
	l->truth.naive += call < p->timeout_ns ? call : p->timeout_ns;
	l->truth.io_sleeps++;
}

static void blocked(struct life *l)
{
	unsigned which = (unsigned)below(&l->seed, N_NRS);
	struct acct_place p = place_block(HOME_SP - 64, block_nrs[which]);
	uint64_t before = l->truth.sum[LS_TICK_BLOCKED];

	if (p.nr == NR_EPOLL) /* a nested poll, deeper */
		p = place_io(HOME_SP - 1024 * (1 + below(&l->seed, 6)), NR_EPOLL);
	else if (chance(&l->seed, 20))
		p.sp = HOME_SP + 4096;
	sleeps(l, &p, LS_TICK_BLOCKED);
	l->truth.blocked[which] += l->truth.sum[LS_TICK_BLOCKED] - before;
	if (p.sp > HOME_SP)
		l->truth.outer += l->truth.sum[LS_TICK_BLOCKED] - before;
}

static void idles(struct life *l)
{
	struct acct_place p = place_io(HOME_SP, NR_EPOLL);

	if (chance(&l->seed, 60))
		p.timeout_ns = random_ns(&l->seed, 50 * MS);
	sleeps(l, &p, LS_IDLE);
}

static void tick(struct life *l)
{
	uint64_t parts = below(&l->seed, 6);

	pass(l, LS_TICK_CPU, 1 + random_ns(&l->seed, 20 * MS));
	for (uint64_t i = 0; i < parts; i++) {
		if (chance(&l->seed, 50))
			blocked(l);
		else
			preempted(l);
		pass(l, LS_TICK_CPU, 1 + random_ns(&l->seed, 20 * MS));
	}
}

static void life_begin(struct life *l, uint64_t seed)
{
	*l = (struct life){ .seed = seed, .event = live, .w.t.home = -1 };
	l->birth = l->now = l->run_at = 1 + random_ns(&l->seed, 1000 * SEC);
}

static void life_live(struct life *l, unsigned ticks)
{
	for (unsigned i = 0; i < ticks; i++) {
		idles(l);
		tick(l);
	}
	idles(l);
}

static const char *const state_names[LS_NR_STATES] = { "none", "idle", "io_cpu", "tick_cpu", "tick_blocked", "wait_io",
						       "wait_tick" };

static void expect_states(const struct ls_thread *t, const uint64_t *sum)
{
	for (int i = 0; i < LS_NR_STATES; i++)
		cr_assert_eq(t->sum_ns[i], sum[i], "%s: %llu ns, not %llu", state_names[i], (unsigned long long)t->sum_ns[i],
			     (unsigned long long)sum[i]);
}

static void expect_truth(const struct life *l)
{
	const struct ls_thread *t = &l->w.t;
	char comm[16];

	expect_states(t, l->truth.sum);
	assert_ns(t->last_ns, l->now);
	assert_ns(t->birth_ns, l->birth);
	assert_ns(t->naive_idle_ns, l->truth.naive);
	assert_ns(t->throttled_ns, l->truth.throttled);
	assert_ns(t->outer_ns, l->truth.outer);
	cr_assert_eq(t->io_sleeps, l->truth.io_sleeps);
	cr_assert_eq(t->lost, 0u);
	cr_assert_eq(t->repaired, 0u);
	for (int i = 0; i < N_NRS; i++)
		assert_ns(blocked_ns(t, block_nrs[i]), l->truth.blocked[i]);
	for (uint32_t i = 0; i < HOGS; i++) {
		snprintf(comm, sizeof(comm), "hog-%u", i);
		assert_ns(culprit_ns(t, i, comm), l->truth.hog[i]);
	}
	assert_ns(culprit_ns(t, LS_TGID_QUOTA, "(quota)"), l->truth.throttled);
	assert_ns(t->blocked_other_ns + t->culprit_other_ns, 0);
	assert_whole(t);
}

Test(account_timeline, a_whole_life_is_told_exactly)
{
	struct life l;

	for (uint64_t seed = 1; seed <= 300; seed++) {
		life_begin(&l, seed);
		life_live(&l, 100);
		expect_truth(&l);
	}
}

/* A snapshot anywhere within the stretch shows the truth so far. */
static void look(struct life *l, enum ls_state state, uint64_t from, uint64_t to)
{
	struct ls_thread copy = l->w.t;
	struct truth so_far = l->truth;
	uint64_t at = from + below(&l->seed, to - from + 1);

	acct_settle(&copy, at, world_ring(&l->w), l->clock);
	so_far.sum[state] += at - from;
	expect_states(&copy, so_far.sum);
	assert_ns(copy.last_ns, at);
	assert_whole(&copy);
}

Test(account_timeline, a_snapshot_shows_the_truth_at_any_moment)
{
	struct life l;

	for (uint64_t seed = 1000; seed < 1100; seed++) {
		life_begin(&l, seed);
		l.within = look;
		life_live(&l, 100);
		expect_truth(&l);
	}
}

/* --- missing events ------------------------------------------------------------------------------------------------ */

static void replay(struct life *l)
{
	for (size_t i = 0; i < l->n_events; i++)
		world_event(&l->w, &l->events[i]);
}

/* Removes events of this kind; the first sleep is the birth and the last event the end: they stay. Returns how many. */
static size_t drop(struct life *l, enum event_kind kind, unsigned percent)
{
	size_t kept = 0, n = l->n_events;

	for (size_t i = 0; i < n; i++)
		if (l->events[i].kind != kind || !i || i + 1 == n || !chance(&l->seed, percent))
			l->events[kept++] = l->events[i];
	l->n_events = kept;
	return n - kept;
}

Test(account_timeline, missed_switch_ins_misplace_nothing)
{
	size_t dropped, all = 0;
	struct life l;

	for (uint64_t seed = 2000; seed < 2100; seed++) {
		life_begin(&l, seed);
		l.event = keep;
		life_live(&l, 100);
		dropped = drop(&l, EV_RUN, 20);
		replay(&l);
		free(l.events);
		expect_states(&l.w.t, l.truth.sum);
		assert_ns(l.w.t.naive_idle_ns, l.truth.naive);
		cr_assert_eq(l.w.t.repaired, dropped);
		cr_assert_eq(l.w.t.lost, 0u);
		assert_whole(&l.w.t);
		all += dropped;
	}
	cr_assert_gt(all, 1000u);
}

/* Removes wake-ups with the switch-ins that end their waits, but for the last: nothing after it would tell of it. */
static size_t drop_pairs(struct life *l, unsigned percent)
{
	size_t kept = 0, pairs = 0, last = 0;
	bool open = false;

	for (size_t i = 0; i < l->n_events; i++)
		last = l->events[i].kind == EV_WAKE ? i : last;
	for (size_t i = 0; i < l->n_events; i++) {
		enum event_kind kind = l->events[i].kind;

		if (kind == EV_WAKE && i < last && chance(&l->seed, percent)) {
			open = true;
			continue;
		}
		if (kind == EV_RUN && open) {
			open = false;
			pairs++;
			continue;
		}
		l->events[kept++] = l->events[i];
	}
	l->n_events = kept;
	return pairs;
}

Test(account_timeline, missed_wake_ups_with_their_switch_ins_misplace_nothing_where_the_scheduler_tells)
{
	size_t dropped, all = 0;
	struct life l;

	for (uint64_t seed = 2500; seed < 2600; seed++) {
		life_begin(&l, seed);
		l.event = keep;
		l.delay_told = true;
		life_live(&l, 100);
		dropped = drop_pairs(&l, 20);
		replay(&l);
		free(l.events);
		expect_states(&l.w.t, l.truth.sum);
		cr_assert_eq(l.w.t.repaired, 2 * dropped);
		cr_assert_eq(l.w.t.lost, 0u);
		assert_whole(&l.w.t);
		all += dropped;
	}
	cr_assert_gt(all, 1000u);
}

/* When it was woken nobody knows: the delay stays with the sleep before it, and that alone. */
Test(account_timeline, missed_wake_ups_misplace_the_delay_alone)
{
	size_t dropped, all = 0;
	struct life l;

	for (uint64_t seed = 3000; seed < 3100; seed++) {
		const __u64 *sum = l.w.t.sum_ns;

		life_begin(&l, seed);
		l.event = keep;
		life_live(&l, 100);
		dropped = drop(&l, EV_WAKE, 20);
		replay(&l);
		free(l.events);
		assert_ns(sum[LS_TICK_CPU], l.truth.sum[LS_TICK_CPU]);
		assert_ns(sum[LS_IDLE] + sum[LS_WAIT_IO], l.truth.sum[LS_IDLE] + l.truth.sum[LS_WAIT_IO]);
		assert_ns(sum[LS_TICK_BLOCKED] + sum[LS_WAIT_TICK], l.truth.sum[LS_TICK_BLOCKED] + l.truth.sum[LS_WAIT_TICK]);
		assert_ns(l.w.t.naive_idle_ns, l.truth.naive);
		cr_assert_geq(sum[LS_IDLE], l.truth.sum[LS_IDLE]);
		cr_assert_eq(l.w.t.lost, dropped);
		assert_whole(&l.w.t);
		all += dropped;
	}
	cr_assert_gt(all, 1000u);
}

/* --- damage -------------------------------------------------------------------------------------------------------- */

static void expect_whole_after(struct world *w, const struct event *e, uint64_t seed)
{
	struct ls_thread was = w->t;
	const char *broken;

	world_event(w, e);
	broken = thread_broken(&w->t);
	cr_assert(!broken, "seed %llu: %s", (unsigned long long)seed, broken);
	broken = thread_shrank(&was, &w->t);
	cr_assert(!broken, "seed %llu: shrank: %s", (unsigned long long)seed, broken);
}

/* Each event may be lost, come twice, or come after its successor. */
Test(account_timeline, lost_doubled_and_reordered_events_keep_the_invariants)
{
	struct life l;

	for (uint64_t seed = 4000; seed < 4200; seed++) {
		unsigned percent = 1 + (unsigned)(seed % 40);

		life_begin(&l, seed);
		l.event = keep;
		life_live(&l, 100);
		for (size_t i = 0; i < l.n_events; i++) {
			if (chance(&l.seed, percent))
				continue;
			if (i + 1 < l.n_events && chance(&l.seed, percent)) {
				struct event later = l.events[i];

				l.events[i] = l.events[i + 1];
				l.events[i + 1] = later;
			}
			expect_whole_after(&l.w, &l.events[i], seed);
			if (chance(&l.seed, percent))
				expect_whole_after(&l.w, &l.events[i], seed);
		}
		free(l.events);
		cr_assert_leq(sum_states(&l.w.t), l.now - l.birth);
	}
}
