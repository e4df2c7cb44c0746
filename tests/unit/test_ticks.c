/* SPDX-License-Identifier: BSD-2-Clause */
/* test_ticks.c - single ticks by example: what ends one, what belongs to a wait, maxima, lateness, waits of which only the entry is seen. */
#include "lib/cleanup.h"
#include "model/hist.h"
#include "test_account_random.h"
#include "test_ticks_fixture.h"

TestSuite(ticks, .timeout = 60);

/* --- buckets -------------------------------------------------------------------------------------------------------- */

Test(ticks, buckets_are_those_of_the_model)
{
	uint64_t seed = 88172645463325252ull;

	for (uint64_t v = 0; v < 300000; v++)
		cr_assert_eq(ticks_bucket(v), hist_bucket(v), "%llu", (unsigned long long)v);
	for (unsigned b = 0; b < HIST_BUCKETS; b++) {
		cr_assert_eq(ticks_bucket(hist_bucket_low(b)), b);
		cr_assert_eq(ticks_bucket(hist_bucket_high(b)), b);
	}
	for (int i = 0; i < 1000000; i++) {
		uint64_t v = next_random(&seed) >> (next_random(&seed) & 63);

		cr_assert_eq(ticks_bucket(v), hist_bucket(v), "%llu", (unsigned long long)v);
	}
	cr_assert_eq(ticks_bucket(UINT64_MAX), (unsigned)HIST_BUCKETS - 1);
}

/* --- ticks and waits ------------------------------------------------------------------------------------------------ */

Test(ticks, a_tick_lasts_from_return_to_entry)
{
	_cleanup_free_ struct measured_loop *l = loop_in_tick(100 * MS);

	cr_assert_eq(l->k.ticks, 0u, "nothing is known of what came before the first wait");
	cr_assert_eq(l->k.io_waits, 1u);
	cr_assert_eq(enter(l, 107 * MS, LS_NO_TIMEOUT), TICKS_ENDED);
	leave(l, 110 * MS, 3);
	cr_assert_eq(l->k.ticks, 1u);
	cr_assert_eq(l->k.io_waits, 2u);
	cr_assert_eq(l->tick_hist.bucket[hist_bucket(7 * MS)], 1u);
	cr_assert_eq(hist_n(l->tick_hist.bucket), 1u);
	cr_assert_eq(l->k.io_hist[hist_bucket(1 * MS)], 1u);
	cr_assert_eq(l->k.io_hist[hist_bucket(3 * MS)], 1u);
	assert_ns(l->k.tick_sum_ns, 7 * MS);
	assert_ns(l->k.io_sum_ns, 4 * MS);
	cr_assert_eq(l->k.io_events, 4u);
	cr_assert_eq(l->k.tick.events, 3);
}

Test(ticks, a_wait_inside_a_callback_ends_no_tick)
{
	_cleanup_free_ struct measured_loop *l = loop_in_tick(100 * MS);

	cr_assert_eq(enter(l, 101 * MS, LS_NO_TIMEOUT), TICKS_ENDED);
	leave(l, 102 * MS, 1);
	cr_assert_eq(enter_at(l, 103 * MS, NESTED_SP, 5 * MS), TICKS_NESTED);
	leave(l, 108 * MS, 1);
	cr_assert_eq(l->k.ticks, 1u);
	cr_assert_eq(l->k.io_events, 2u, "its events are not the loop's");
	cr_assert_eq(enter(l, 110 * MS, LS_NO_TIMEOUT), TICKS_ENDED);
	assert_ns(l->k.tick_max_ns, 8 * MS);
}

Test(ticks, an_error_returns_no_events)
{
	_cleanup_free_ struct measured_loop *l = loop_in_tick(100 * MS);

	enter(l, 101 * MS, LS_NO_TIMEOUT);
	leave(l, 102 * MS, -4);
	cr_assert_eq(l->k.tick.events, 0);
	cr_assert_eq(l->k.io_events, 1u);
	cr_assert_eq(l->k.empty, 0);
}

/* --- empty polls ---------------------------------------------------------------------------------------------------- */

Test(ticks, an_empty_poll_belongs_to_the_wait_after_it)
{
	_cleanup_free_ struct measured_loop *l = loop_in_tick(100 * MS);

	cr_assert_eq(enter(l, 105 * MS, 0), TICKS_ENDED);
	leave(l, 105 * MS + 2 * US, 0);
	cr_assert_eq(enter(l, 105 * MS + 3 * US, LS_NO_TIMEOUT), TICKS_MERGED);
	cr_assert_eq(l->k.ticks, 1u);
	cr_assert_eq(l->k.io_waits, 2u);
	leave(l, 109 * MS, 1);
	cr_assert_eq(l->k.io_hist[hist_bucket(4 * MS)], 1u, "from the empty poll's entry to the second one's return");
	assert_ns(l->k.spin_ns, 3 * US);
	cr_assert_eq(l->k.empty_polls, 1u);
	cr_assert_eq(enter(l, 110 * MS, 0), TICKS_ENDED);
	assert_ns(l->k.tick_max_ns, 5 * MS);
	cr_assert_eq(l->k.ticks, 2u);
}

Test(ticks, an_empty_poll_with_work_after_it_is_a_wait)
{
	_cleanup_free_ struct measured_loop *l = loop_in_tick(100 * MS);

	enter(l, 105 * MS, 0);
	leave(l, 105 * MS + 2 * US, 0);
	cr_assert_eq(enter(l, 105 * MS + 2 * US + TICKS_BARE_NS, LS_NO_TIMEOUT), TICKS_ENDED);
	cr_assert_eq(l->k.ticks, 2u);
	cr_assert_eq(l->k.io_waits, 3u);
	cr_assert_eq(l->tick_hist.bucket[hist_bucket(TICKS_BARE_NS)], 1u);
	cr_assert_eq(l->k.io_hist[hist_bucket(2 * US)], 1u);
}

Test(ticks, only_a_poll_that_asked_for_no_time_and_got_nothing_is_empty)
{
	_cleanup_free_ struct measured_loop *l = loop_in_tick(100 * MS);

	enter(l, 105 * MS, 0);
	leave(l, 105 * MS + 2 * US, 1);
	cr_assert_eq(enter(l, 105 * MS + 3 * US, 1 * MS), TICKS_ENDED, "something was returned");
	leave(l, 106 * MS + 3 * US, 0);
	cr_assert_eq(enter(l, 106 * MS + 4 * US, LS_NO_TIMEOUT), TICKS_ENDED, "a timer came due");
	cr_assert_eq(l->k.empty_polls, 0u);
	assert_ns(l->k.spin_ns, 0);
	cr_assert_eq(l->k.ticks, 3u);
}

Test(ticks, a_polling_loop_is_one_wait_and_spins)
{
	_cleanup_free_ struct measured_loop *l = loop_in_tick(100 * MS);
	uint64_t now = 101 * MS;

	for (int i = 0; i < 1000; i++, now += 2 * US) {
		cr_assert_eq(enter(l, now, 0), i ? TICKS_MERGED : TICKS_ENDED);
		leave(l, now + 1 * US, 0);
	}
	cr_assert_eq(l->k.ticks, 1u);
	cr_assert_eq(l->k.io_waits, 2u);
	cr_assert_eq(l->k.empty_polls, 1000u);
	assert_ns(l->k.spin_ns, 1000 * 2 * US - 1 * US);
	enter(l, now, 0);
	leave(l, now + 1 * US, 1);
	cr_assert_eq(l->k.io_hist[hist_bucket(2001 * US)], 1u);
}

/* --- maxima --------------------------------------------------------------------------------------------------------- */

static void tick_of(struct measured_loop *l, uint64_t *now, uint64_t ns)
{
	enter(l, *now += ns, LS_NO_TIMEOUT);
	leave(l, *now += 1 * MS, 1);
}

Test(ticks, each_epoch_has_its_maximum)
{
	_cleanup_free_ struct measured_loop *l = loop_in_tick(100 * MS);
	uint64_t now = 100 * MS;

	tick_of(l, &now, 9 * MS);
	tick_of(l, &now, 4 * MS);
	assert_ns(l->k.tick_max_ns, 9 * MS);
	l->epoch = 2;
	tick_of(l, &now, 3 * MS);
	assert_ns(l->k.tick_max_ns, 3 * MS);
	assert_ns(l->k.tick_max_before_ns, 9 * MS);
	assert_ns(l->k.io_max_before_ns, 1 * MS);
	l->epoch = 4;
	tick_of(l, &now, 2 * MS);
	assert_ns(l->k.tick_max_ns, 2 * MS);
	assert_ns(l->k.tick_max_before_ns, 0);
	assert_ns(l->k.io_max_before_ns, 0);
}

/* --- lateness ------------------------------------------------------------------------------------------------------- */

static void wait_late(struct measured_loop *l, uint64_t timeout, uint64_t asleep, uint64_t waiting, int64_t ret)
{
	struct acct_place p = place_io(HOME_SP, NR_EPOLL);
	uint64_t now = l->t.last_ns + 1 * MS;

	enter(l, now, timeout);
	acct_sleep(&l->t, now, &p);
	cr_assert_eq(l->t.state, LS_IDLE);
	wake(&l->t, now += asleep);
	run(&l->t, now += waiting);
	leave(l, now, ret);
}

Test(ticks, a_timeout_that_overran_is_late)
{
	_cleanup_free_ struct measured_loop *l = loop_in_tick(100 * MS);

	wait_late(l, 5 * MS, 5 * MS + 60 * US, 2 * MS, 0);
	cr_assert_eq(l->k.late_n, 1u);
	assert_ns(l->k.late_ns, 2 * MS + 60 * US);
	assert_ns(l->k.late_wait_ns, 2 * MS);
	wait_late(l, 5 * MS, 4 * MS, 2 * MS, 0);
	cr_assert_eq(l->k.late_n, 2u);
	assert_ns(l->k.late_ns, 3 * MS + 60 * US);
	assert_ns(l->k.late_wait_ns, 3 * MS); /* not more than it was late by */
}

Test(ticks, what_has_no_timeout_or_came_early_is_not_late)
{
	_cleanup_free_ struct measured_loop *l = loop_in_tick(100 * MS);

	wait_late(l, LS_NO_TIMEOUT, 50 * MS, 2 * MS, 0);
	wait_late(l, 5 * MS, 50 * MS, 2 * MS, 1);
	wait_late(l, 5 * MS, 3 * MS, 1 * MS, 0);
	wait_late(l, 0, 1 * MS, 1 * MS, 0);
	cr_assert_eq(l->k.late_n, 0u);
	assert_ns(l->k.late_ns, 0);
}

/* --- entries only --------------------------------------------------------------------------------------------------- */

Test(ticks, where_only_entries_are_seen_a_sleep_tells_the_waits_end)
{
	_cleanup_free_ struct measured_loop *l = loop_new(100 * MS);
	struct acct_place p = place_io(HOME_SP - 16, NR_EPOLL); /* the wrapper's frame is a little deeper */

	l->entry_only = true;
	enter(l, 101 * MS, LS_NO_TIMEOUT);
	acct_sleep(&l->t, 101 * MS, &p);
	cr_assert_eq(l->t.state, LS_IDLE);
	wake(&l->t, 111 * MS);
	run(&l->t, 112 * MS);
	leave(l, 112 * MS, LS_RET_UNKNOWN);
	assert_ns(l->k.io_sum_ns, 11 * MS);
	cr_assert_lt(l->k.tick.events, 0, "unknown");
	enter(l, 115 * MS, LS_NO_TIMEOUT);
	cr_assert_eq(l->k.ticks, 1u);
	assert_ns(l->k.tick_sum_ns, 3 * MS);
	cr_assert_eq(l->k.io_events, 0u);
}

Test(ticks, where_only_entries_are_seen_a_wait_without_a_sleep_took_no_time)
{
	_cleanup_free_ struct measured_loop *l = loop_new(100 * MS);

	l->entry_only = true;
	enter(l, 101 * MS, LS_NO_TIMEOUT);
	enter(l, 104 * MS, LS_NO_TIMEOUT);
	enter(l, 109 * MS, LS_NO_TIMEOUT);
	cr_assert_eq(l->k.ticks, 2u);
	cr_assert_eq(l->k.io_waits, 3u);
	assert_ns(l->k.tick_sum_ns, 8 * MS);
	assert_ns(l->k.io_sum_ns, 0);
	cr_assert_eq(l->k.io_hist[0], 2u);
	cr_assert_eq(l->k.tick.events, -1);
}

Test(ticks, where_only_entries_are_seen_what_interrupts_a_tick_is_the_ticks)
{
	_cleanup_free_ struct measured_loop *l = loop_new(100 * MS);

	l->entry_only = true;
	enter(l, 101 * MS, LS_NO_TIMEOUT); /* does not sleep */
	preempt(&l->t, 103 * MS);
	cr_assert_eq(l->t.state, LS_WAIT_TICK);
	run(&l->t, 104 * MS);
	cr_assert_eq(l->t.state, LS_TICK_CPU);
	block(&l->t, 106 * MS, NR_FSYNC);
	wake(&l->t, 109 * MS);
	run(&l->t, 109 * MS);
	cr_assert_eq(l->t.state, LS_TICK_CPU);
	enter(l, 110 * MS, LS_NO_TIMEOUT);
	assert_ns(l->k.tick_sum_ns, 9 * MS);
	assert_ns(l->t.sum_ns[LS_WAIT_TICK], 1 * MS);
	assert_ns(l->t.sum_ns[LS_TICK_BLOCKED], 3 * MS);
	assert_ns(l->t.sum_ns[LS_TICK_CPU], 6 * MS);
	assert_ns(l->t.sum_ns[LS_IO_CPU] + l->t.sum_ns[LS_WAIT_IO], 0);
}

Test(ticks, where_only_entries_are_seen_it_may_be_interrupted_in_its_wait)
{
	_cleanup_free_ struct measured_loop *l = loop_new(100 * MS);
	struct acct_place p = place_io(HOME_SP - 16, NR_EPOLL);

	l->entry_only = true;
	enter(l, 101 * MS, LS_NO_TIMEOUT);
	acct_preempt(&l->t, 101 * MS, &p, 0, &no_quota);
	cr_assert_eq(l->t.state, LS_WAIT_IO);
}

/* --- rates ---------------------------------------------------------------------------------------------------------- */

Test(ticks, a_rate_holds_in_each_second)
{
	__u64 window = 0;
	__u32 in_window = 0, sent = 0;

	for (uint64_t now = 10 * SEC; now < 15 * SEC; now += 10 * MS)
		sent += (__u32)ticks_within_rate(&window, &in_window, now, 10);
	cr_assert_eq(sent, 50u);
}
