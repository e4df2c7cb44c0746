/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_account_point.c - which IO wait is the loop's own: the outermost that repeats, whatever polls inside its callbacks,
 * while it started up, or when observation happened to begin.
 */
#include "test_account_fixture.h"

TestSuite(account_point, .timeout = 60);

static uint64_t home_sp(const struct ls_thread *t)
{
	return t->home < 0 ? 0 : t->points[t->home].sp;
}

Test(account_point, a_nested_poll_is_blocking)
{
	struct ls_thread t = thread_running(100 * MS);

	for (int i = 0; i < 5; i++) {
		io_sleep(&t, (100 + 10 * i) * MS, HOME_SP - 4096);
		cr_assert_eq(t.state, LS_TICK_BLOCKED);
		wake(&t, (110 + 10 * i) * MS);
		run(&t, (110 + 10 * i) * MS);
	}
	cr_assert_eq(home_sp(&t), HOME_SP);
	assert_ns(blocked_ns(&t, NR_EPOLL), 50 * MS);
	assert_ns(t.sum_ns[LS_IDLE], 9 * MS);
	assert_whole(&t);
}

/* Another call at the wait point's own depth is a callback's, made by a sibling of the function that waits: the one that was
 * there first stays. */
Test(account_point, another_call_at_the_same_depth_is_no_outer_one)
{
	struct ls_thread t = thread_running(100 * MS);
	struct acct_place other = place_io(HOME_SP, NR_POLL);

	for (int i = 0; i < 5; i++) {
		acct_sleep(&t, (110 + 20 * i) * MS, &other);
		cr_assert_eq(t.state, LS_TICK_BLOCKED);
		wake(&t, (120 + 20 * i) * MS);
		run(&t, (120 + 20 * i) * MS);
	}
	cr_assert_eq(t.points[t.home].nr, (uint32_t)NR_EPOLL);
	assert_ns(blocked_ns(&t, NR_POLL), 50 * MS);
	assert_whole(&t);
}

/* Each tick: work, `n` nested polls of 1 ms at `depths` different depths, then 10 ms idle. Returns the end. */
static uint64_t ticks(struct ls_thread *t, uint64_t now, int n_ticks, int n, int depths)
{
	for (int i = 0; i < n_ticks; i++) {
		for (int k = 0; k < n; k++, now += 1 * MS)
			io_visit(t, now, 1 * MS, HOME_SP - 1024 * (1 + k % depths));
		now += 1 * MS;
		io_visit(t, now, 10 * MS, HOME_SP);
		now += 10 * MS;
	}
	return now;
}

Test(account_point, nested_polls_at_any_number_of_depths_are_blocking)
{
	for (int depths = 1; depths <= 10; depths++) {
		struct ls_thread t = thread_running(100 * MS);
		uint64_t idle = t.sum_ns[LS_IDLE];

		ticks(&t, 100 * MS, 100, 10, depths);
		cr_assert_eq(home_sp(&t), HOME_SP, "%d depths", depths);
		assert_ns(t.sum_ns[LS_TICK_BLOCKED], 100 * 10 * MS);
		assert_ns(blocked_ns(&t, NR_EPOLL), 100 * 10 * MS);
		assert_ns(t.sum_ns[LS_IDLE] - idle, 100 * 10 * MS);
		assert_ns(t.sum_ns[LS_TICK_CPU], 100 * 1 * MS);
		assert_whole(&t);
	}
}

/* Observation begins inside a callback, asleep in any of the nested polls: after two ticks all must be as above. */
Test(account_point, found_inside_a_callback_the_loop_is_found_in_two_ticks)
{
	for (int depths = 1; depths <= 10; depths++) {
		for (int first = 0; first < depths; first++) {
			struct ls_thread t = { .home = -1 };
			uint64_t now = 100 * MS, idle, blocked;

			io_visit(&t, now, 1 * MS, HOME_SP - 1024 * (1 + first));
			now = ticks(&t, now + 1 * MS, 2, 10, depths);
			cr_assert_eq(home_sp(&t), HOME_SP, "%d depths, begun at %d", depths, first);
			idle = t.sum_ns[LS_IDLE];
			blocked = t.sum_ns[LS_TICK_BLOCKED];
			ticks(&t, now, 20, 10, depths);
			assert_ns(t.sum_ns[LS_IDLE] - idle, 20 * 10 * MS);
			assert_ns(t.sum_ns[LS_TICK_BLOCKED] - blocked, 20 * 10 * MS);
			assert_whole(&t);
		}
	}
}

Test(account_point, a_shallower_place_takes_over_when_it_comes_back)
{
	struct ls_thread t = { .home = -1 };

	io_visit(&t, 100 * MS, 10 * MS, HOME_SP - 4096);
	io_visit(&t, 120 * MS, 10 * MS, HOME_SP - 4096);
	io_visit(&t, 140 * MS, 10 * MS, HOME_SP);
	cr_assert_eq(home_sp(&t), HOME_SP - 4096, "once is chance");
	assert_ns(t.sum_ns[LS_TICK_BLOCKED], 10 * MS);
	io_visit(&t, 160 * MS, 10 * MS, HOME_SP);
	cr_assert_eq(home_sp(&t), HOME_SP);
	/* Observation had begun inside a callback: what was slept before changes places. */
	assert_ns(t.sum_ns[LS_TICK_BLOCKED], 20 * MS);
	assert_ns(t.sum_ns[LS_IDLE], 20 * MS);
	io_visit(&t, 180 * MS, 10 * MS, HOME_SP - 4096);
	assert_ns(t.sum_ns[LS_TICK_BLOCKED], 30 * MS);
	assert_whole(&t);
}

/* An interpreter that optimises its calls moves the stack pointer of one and the same wait. */
Test(account_point, the_same_queue_is_the_same_loop)
{
	struct ls_thread t = thread_running(100 * MS);
	struct acct_place moved = place_io(HOME_SP + 512, NR_EPOLL), other = place_io(HOME_SP - 1024, NR_EPOLL);

	moved.fd = t.points[t.home].fd;
	for (int i = 0; i < 3; i++) {
		acct_sleep(&t, (110 + 20 * i) * MS, &moved);
		cr_assert_eq(t.state, LS_IDLE);
		wake(&t, (120 + 20 * i) * MS);
		run(&t, (120 + 20 * i) * MS);
		moved.sp -= 256;
	}
	acct_sleep(&t, 170 * MS, &other);
	cr_assert_eq(t.state, LS_TICK_BLOCKED, "another epoll, deeper: a callback's");
	assert_whole(&t);
}

/* Hours of idle time are not turned into blocking because the program waits further out for once. */
Test(account_point, what_was_long_its_own_stays_so)
{
	struct ls_thread t = { .home = -1 };

	for (int i = 0; i < 200; i++)
		io_visit(&t, (100 + 200 * i) * MS, 150 * MS, HOME_SP - 4096);
	io_visit(&t, 41000 * MS, 10 * MS, HOME_SP);
	io_visit(&t, 41020 * MS, 10 * MS, HOME_SP);
	cr_assert_eq(home_sp(&t), HOME_SP);
	assert_ns(t.sum_ns[LS_IDLE], 200 * 150 * MS + 10 * MS);
	assert_ns(t.sum_ns[LS_TICK_BLOCKED], 10 * MS);
	assert_whole(&t);
}

/* A wait further out, seen while the program started up: the loop below it takes over after the patience of 1 s. */
Test(account_point, a_wait_of_the_startup_ages_out)
{
	struct ls_thread t = { .home = -1 };
	uint64_t now = 100 * MS;

	io_visit(&t, now, 5 * MS, HOME_SP + 8192);
	for (now = 110 * MS; now < 1100 * MS; now += 10 * MS)
		io_visit(&t, now, 9 * MS, HOME_SP);
	cr_assert_eq(home_sp(&t), HOME_SP + 8192);
	io_visit(&t, 1100 * MS + 1, 9 * MS, HOME_SP);
	cr_assert_eq(home_sp(&t), HOME_SP);
	cr_assert_eq(t.state, LS_TICK_CPU);
	assert_ns(t.sum_ns[LS_IDLE], 5 * MS + 9 * MS);
	assert_whole(&t);
}

Test(account_point, patience_is_twice_the_age_between_one_second_and_sixty)
{
	struct ls_point p = { .first_ns = 10 * SEC, .last_ns = 10 * SEC };

	assert_ns(acct_patience(&p), 1 * SEC);
	p.last_ns = 10 * SEC + SEC / 2;
	assert_ns(acct_patience(&p), 1 * SEC);
	p.last_ns = 17 * SEC;
	assert_ns(acct_patience(&p), 14 * SEC);
	p.last_ns = 40 * SEC;
	assert_ns(acct_patience(&p), 60 * SEC);
	p.last_ns = 4000 * SEC;
	assert_ns(acct_patience(&p), 60 * SEC);
}

/* A loop that has been there for a minute calls something that polls for a minute: still its callback. */
Test(account_point, an_old_loops_long_callback_is_blocking_for_a_minute)
{
	struct ls_thread t = { .home = -1 };
	uint64_t now = 1 * SEC, last;

	for (; now <= 61 * SEC; now += SEC)
		io_visit(&t, now, 900 * MS, HOME_SP);
	last = now - SEC;
	for (; now <= last + 60 * SEC; now += SEC) {
		io_visit(&t, now, 900 * MS, HOME_SP - 4096);
		cr_assert_eq(home_sp(&t), HOME_SP);
	}
	io_visit(&t, now, 900 * MS, HOME_SP - 4096);
	cr_assert_eq(home_sp(&t), HOME_SP - 4096);
	/* It was a callback after all: back outside, the loop is itself again at the second visit. */
	io_visit(&t, now + SEC, 100 * MS, HOME_SP);
	io_visit(&t, now + 2 * SEC, 100 * MS, HOME_SP);
	cr_assert_eq(home_sp(&t), HOME_SP);
	assert_whole(&t);
}

Test(account_point, a_place_not_seen_for_a_minute_begins_anew)
{
	struct ls_thread t = thread_running(100 * MS);
	uint64_t now = 200 * MS;
	int row;

	io_visit(&t, now, MS, HOME_SP + 4096);
	for (; now < 70 * SEC; now += 500 * MS)
		io_visit(&t, now, MS, HOME_SP);
	io_visit(&t, now, MS, HOME_SP + 4096);
	cr_assert_eq(home_sp(&t), HOME_SP, "twice in a minute and more is no loop");
	for (row = 0; row < LS_POINTS; row++)
		if (t.points[row].sp == HOME_SP + 4096)
			break;
	cr_assert_lt(row, LS_POINTS);
	cr_assert_eq(t.points[row].count, 1u);
	assert_ns(t.points[row].first_ns, now);
	assert_whole(&t);
}

/* But the loop's own place stays: it may sleep for hours. */
Test(account_point, a_long_sleep_at_the_own_place_changes_nothing)
{
	struct ls_thread t = thread_running(100 * MS);

	io_visit(&t, 101 * MS, 7200 * SEC, HOME_SP);
	io_visit(&t, 7300 * SEC, MS, HOME_SP);
	cr_assert_eq(t.points[t.home].count, 3u);
	assert_ns(t.points[t.home].first_ns, 90 * MS);
	assert_ns(t.sum_ns[LS_TICK_BLOCKED], 0);
}

static bool has_point(const struct ls_thread *t, uint64_t sp)
{
	for (int i = 0; i < LS_POINTS; i++)
		if (t->points[i].count && t->points[i].sp == sp)
			return true;
	return false;
}

Test(account_point, a_full_table_gives_up_its_deepest_row)
{
	struct ls_thread t = thread_running(100 * MS);

	io_visit(&t, 110 * MS, MS, HOME_SP - 1000);
	io_visit(&t, 120 * MS, MS, HOME_SP - 3000);
	io_visit(&t, 130 * MS, MS, HOME_SP - 2000);
	io_visit(&t, 140 * MS, MS, HOME_SP - 5000);
	cr_assert_not(has_point(&t, HOME_SP - 3000));
	cr_assert(has_point(&t, HOME_SP - 1000) && has_point(&t, HOME_SP - 2000) && has_point(&t, HOME_SP - 5000));
	cr_assert(has_point(&t, HOME_SP), "never the loop's own");
	assert_whole(&t);
}

Test(account_point, a_row_silent_for_ten_seconds_goes_first)
{
	struct ls_thread t = thread_running(100 * MS);

	io_visit(&t, 110 * MS, MS, HOME_SP - 1000);
	io_visit(&t, 120 * MS, MS, HOME_SP - 2000);
	io_visit(&t, 9 * SEC, MS, HOME_SP - 3000);
	io_visit(&t, 10 * SEC + 115 * MS, MS, HOME_SP - 4000);
	cr_assert_not(has_point(&t, HOME_SP - 1000));
	cr_assert(has_point(&t, HOME_SP - 2000) && has_point(&t, HOME_SP - 3000) && has_point(&t, HOME_SP));
	assert_whole(&t);
}

/* Several waits of the startup, all further out, and a loop whose callbacks poll: the table is full of what never comes
 * back. It must not stay so. */
Test(account_point, many_waits_of_the_startup_age_out_beside_nested_polls)
{
	struct ls_thread t = { .home = -1 };
	uint64_t now = 100 * MS, blocked;

	for (int i = 0; i < 6; i++, now += 10 * MS)
		io_visit(&t, now, 5 * MS, HOME_SP + 1024 * (1 + i));
	now = ticks(&t, now, 600, 10, 10); /* 12.6 s */
	cr_assert_eq(home_sp(&t), HOME_SP);
	blocked = t.sum_ns[LS_TICK_BLOCKED];
	ticks(&t, now, 10, 10, 10);
	assert_ns(t.sum_ns[LS_TICK_BLOCKED] - blocked, 10 * 10 * MS);
	assert_whole(&t);
}

/* A stack pointer is whatever the target says, 0 too. */
Test(account_point, a_stack_pointer_of_zero_is_a_place_like_any_other)
{
	struct ls_thread t = { .home = -1 };
	uint64_t now = 100 * MS;

	io_visit(&t, now, MS, 0);
	io_visit(&t, now + 10 * MS, MS, 0);
	cr_assert_eq(t.points[t.home].count, 2u);
	for (uint64_t sp = 1; sp < 8; sp++)
		io_visit(&t, now + (10 + sp) * MS, 0, ~0ULL - sp);
	cr_assert(has_point(&t, 0) && home_sp(&t) == 0);
	assert_whole(&t);
}

Test(account_point, fd_and_number_of_fds_are_the_latest)
{
	struct ls_thread t = thread_running(100 * MS);
	struct acct_place p = place_io(HOME_SP, NR_EPOLL);

	p.fd = 77;
	p.nfds = 5;
	acct_sleep(&t, 110 * MS, &p);
	cr_assert_eq(t.points[t.home].fd, 77);
	cr_assert_eq(t.points[t.home].nfds, 5);
	t.points[t.home].count = ~0U;
	wake(&t, 120 * MS);
	run(&t, 120 * MS);
	io_sleep(&t, 130 * MS, HOME_SP);
	cr_assert_eq(t.points[t.home].count, ~0U, "saturates");
	cr_assert_eq(t.state, LS_IDLE);
}
