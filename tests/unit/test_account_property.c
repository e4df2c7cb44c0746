/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_account_property.c - what always holds: events in no sensible order, at times that go back, from places, rings and
 * clocks that mean nothing. After every one the invariants of bpf/account.h hold, nothing has shrunk, and a snapshot taken
 * there is whole.
 */
#include "test_account_random.h"

TestSuite(account_property, .timeout = 300);

/* A snapshot at `at`, and a second one later: whole, not before what it was taken from, the same when taken again, and
 * the later one the same as if the first had not been taken. */
static const char *snapshot_broken(const struct world *w, uint64_t at, uint64_t later, uint64_t clock)
{
	struct ls_thread first = w->t, again, direct = w->t;
	const char *broken;

	acct_settle(&first, at, world_ring(w), clock);
	broken = thread_broken(&first);
	if (!broken)
		broken = thread_shrank(&w->t, &first);
	if (broken)
		return broken;
	if (first.state != w->t.state)
		return "a snapshot changed the state";
	if (sum_culprits(&first) != sum_wait(&first))
		return "a snapshot's culprits do not sum to WAIT_*";
	again = first;
	acct_settle(&again, at, world_ring(w), clock);
	if (memcmp(&again, &first, sizeof(first)))
		return "a second snapshot at one time differs";
	acct_settle(&again, later, world_ring(w), clock);
	acct_settle(&direct, at > later ? at : later, world_ring(w), clock);
	broken = thread_broken(&again);
	if (broken)
		return broken;
	if (memcmp(again.sum_ns, direct.sum_ns, sizeof(direct.sum_ns)) || again.naive_idle_ns != direct.naive_idle_ns ||
	    memcmp(again.blocked, direct.blocked, sizeof(direct.blocked)) || again.outer_ns != direct.outer_ns ||
	    again.last_ns != direct.last_ns || sum_culprits(&again) != sum_culprits(&direct))
		return "a snapshot depends on an earlier one";
	return NULL;
}

static void expect_whole(uint64_t seed, unsigned n_events)
{
	struct world w = { .t.home = -1 };
	uint64_t s = seed, now = 1 + random_ns(&s, 100 * SEC);
	struct ls_thread was;
	const char *broken;

	for (unsigned i = 0; i < n_events; i++) {
		struct event e = random_event(&s, now);

		was = w.t;
		world_event(&w, &e);
		broken = thread_broken(&w.t);
		cr_assert(!broken, "seed %llu, event %u (kind %d): %s", (unsigned long long)seed, i, e.kind, broken);
		broken = thread_shrank(&was, &w.t);
		cr_assert(!broken, "seed %llu, event %u (kind %d): shrank: %s", (unsigned long long)seed, i, e.kind, broken);
		if (e.at > now)
			now = e.at;
		if (!chance(&s, 20))
			continue;
		broken = snapshot_broken(&w, random_time(&s, now), random_time(&s, now), random_clock(&s, now));
		cr_assert(!broken, "seed %llu, after event %u (kind %d): %s", (unsigned long long)seed, i, e.kind, broken);
	}
}

Test(account_property, any_sequence_of_events_keeps_the_invariants)
{
	for (uint64_t seed = 1; seed <= 2000; seed++)
		expect_whole(seed, 300);
}

/* An edge finds the loop's own wait point without a search: with the search, after any life and at any place, it is the same. */
static void expect_same_point(uint64_t seed, unsigned n_events)
{
	struct world w = { .t.home = -1 };
	uint64_t s = seed, now = 1 + random_ns(&s, 100 * SEC);

	for (unsigned i = 0; i < n_events; i++) {
		struct event e = random_event(&s, now);
		struct acct_place p = random_place(&s);
		struct ls_thread at_once, searched;
		int own;

		world_event(&w, &e);
		now = e.at > now ? e.at : now;
		if (w.t.home >= 0 && chance(&s, 70)) {
			p.sp = w.t.points[w.t.home].sp;
			p.nr = w.t.points[w.t.home].nr;
			p.abi = w.t.points[w.t.home].abi;
		}
		if (w.t.home >= 0 && chance(&s, 30))
			p.fd = w.t.points[w.t.home].fd;
		at_once = searched = w.t;
		own = acct_note_point(&searched, &p, w.t.last_ns);
		cr_assert_eq(acct_note_edge(&at_once, &p, w.t.last_ns), own, "seed %llu, event %u", (unsigned long long)seed, i);
		cr_assert(!memcmp(&at_once, &searched, sizeof(searched)), "seed %llu, event %u", (unsigned long long)seed, i);
		if (chance(&s, 50))
			w.t = searched;
	}
}

Test(account_property, an_edge_finds_the_same_point)
{
	for (uint64_t seed = 1; seed <= 500; seed++)
		expect_same_point(seed, 300);
}

Test(account_property, a_long_life_keeps_the_invariants)
{
	expect_whole(0x10ffe, 300000);
}

/* The invariants' own check: each kind of damage must be seen. */
Test(account_property, the_check_sees_damage)
{
	struct ls_thread whole = thread_running(100 * MS), t;

	block(&whole, 110 * MS, NR_FSYNC);
	wake(&whole, 120 * MS);
	assert_whole(&whole);
#define SEES(change)                                                  \
	do {                                                          \
		t = whole;                                            \
		change;                                               \
		cr_assert_not_null(thread_broken(&t), "%s", #change); \
	} while (0)
	SEES(t.sum_ns[LS_IDLE]++);
	SEES(t.last_ns--);
	SEES(t.last_ns = t.birth_ns - 1);
	SEES(t.state = LS_NR_STATES);
	SEES(t.state = LS_IO_CPU);
	SEES(t.blocked[0].ns--);
	SEES(t.blocked_other_ns++);
	SEES(t.culprit_other_ns--);
	SEES(t.wait_start_ns++);
	SEES(t.throttled_ns = sum_wait(&t) + 1);
	SEES(t.naive_idle_ns = t.sum_ns[LS_IDLE] + t.sum_ns[LS_WAIT_IO] + 1);
	SEES(t.outer_ns = t.sum_ns[LS_TICK_BLOCKED] + 1);
	SEES(t.home = LS_POINTS);
	SEES(t.home = -1);
	SEES(t.points[t.home].last_ns = t.last_ns + 1);
	SEES(t.points[(t.home + 1) % LS_POINTS] = t.points[t.home]);
	t = whole;
	t.sum_ns[LS_TICK_CPU]--;
	cr_assert_not_null(thread_shrank(&whole, &t));
}
