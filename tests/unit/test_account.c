/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_account.c - the state machine by example: each arrow of the diagram in bpf/account.h, events that contradict the
 * state, the beginning, exec, and the table of what a thread was blocked in.
 */
#include "test_account_fixture.h"

TestSuite(account, .timeout = 60);

/* --- arrows -------------------------------------------------------------------------------------------------------- */

Test(account, begins_at_its_first_sleep_in_an_io_wait)
{
	struct ls_thread t = { .home = -1 };

	block(&t, 1 * MS, NR_READ);
	wake(&t, 2 * MS);
	run(&t, 3 * MS);
	preempt(&t, 4 * MS);
	run(&t, 5 * MS);
	cr_assert_eq(t.state, LS_NONE);
	assert_ns(sum_states(&t), 0);
	cr_assert_eq(t.lost, 0u);

	io_sleep(&t, 10 * MS, HOME_SP);
	cr_assert_eq(t.state, LS_IDLE);
	assert_ns(t.birth_ns, 10 * MS);
	assert_ns(t.last_ns, 10 * MS);
	cr_assert_eq(t.io_sleeps, 1u);
	cr_assert_geq(t.home, 0);
	assert_whole(&t);
}

Test(account, idle_until_woken_and_waiting_until_switched_in)
{
	struct ls_thread t = thread_asleep(100 * MS);

	wake(&t, 130 * MS);
	cr_assert_eq(t.state, LS_WAIT_IO);
	assert_ns(t.sum_ns[LS_IDLE], 30 * MS);
	run(&t, 137 * MS);
	cr_assert_eq(t.state, LS_TICK_CPU);
	assert_ns(t.sum_ns[LS_WAIT_IO], 7 * MS);
	assert_ns(t.sum_ns[LS_WAIT_TICK], 0);
	cr_assert_eq(t.lost, 0u);
	assert_whole(&t);
}

Test(account, a_tick_on_the_cpu_ends_at_the_wait_point)
{
	struct ls_thread t = thread_running(100 * MS);

	io_sleep(&t, 142 * MS, HOME_SP);
	cr_assert_eq(t.state, LS_IDLE);
	assert_ns(t.sum_ns[LS_TICK_CPU], 42 * MS);
	cr_assert_eq(t.io_sleeps, 2u);
	cr_assert_eq(t.points[t.home].count, 2u);
	assert_whole(&t);
}

Test(account, a_sleep_elsewhere_is_blocked_in_that_syscall)
{
	struct ls_thread t = thread_running(100 * MS);

	block(&t, 103 * MS, NR_FSYNC);
	cr_assert_eq(t.state, LS_TICK_BLOCKED);
	cr_assert_eq(t.blocked_nr, (uint32_t)NR_FSYNC);
	wake(&t, 120 * MS);
	cr_assert_eq(t.state, LS_WAIT_TICK);
	assert_ns(t.sum_ns[LS_TICK_BLOCKED], 17 * MS);
	assert_ns(blocked_ns(&t, NR_FSYNC), 17 * MS);
	run(&t, 125 * MS);
	cr_assert_eq(t.state, LS_TICK_CPU);
	assert_ns(t.sum_ns[LS_WAIT_TICK], 5 * MS);
	cr_assert_eq(t.io_sleeps, 1u);
	cr_assert_eq(t.lost, 0u);
	assert_whole(&t);
}

Test(account, a_preempted_tick_waits_until_switched_in)
{
	struct ls_thread t = thread_running(100 * MS);

	preempt(&t, 102 * MS);
	cr_assert_eq(t.state, LS_WAIT_TICK);
	run(&t, 110 * MS);
	cr_assert_eq(t.state, LS_TICK_CPU);
	assert_ns(t.sum_ns[LS_TICK_CPU], 2 * MS);
	assert_ns(t.sum_ns[LS_WAIT_TICK], 8 * MS);
	cr_assert_eq(t.lost, 0u);
	assert_whole(&t);
}

Test(account, begins_preempted_in_an_io_wait_that_never_sleeps)
{
	struct acct_place p = place_io(HOME_SP, NR_EPOLL);
	struct ls_thread t = { 0 };

	acct_begin_preempted(&t, 50 * MS, &p, 1, &no_quota);
	cr_assert_eq(t.state, LS_WAIT_TICK);
	cr_assert_eq(t.wait_cpu, 1u);
	run(&t, 60 * MS);
	assert_ns(t.sum_ns[LS_WAIT_TICK], 10 * MS);
	acct_preempt(&t, 70 * MS, &p, 1, &no_quota);
	cr_assert_eq(t.points[t.home].count, 2u, "a spinning loop is recognised by where it is preempted");
	cr_assert_eq(t.io_sleeps, 0u);
	assert_whole(&t);
}

/* --- events that change nothing, or contradict --------------------------------------------------------------------- */

Test(account, a_wake_up_of_a_thread_that_is_not_asleep_changes_nothing)
{
	struct ls_thread t = thread_running(100 * MS), was = t;

	wake(&t, 105 * MS);
	was.events++;
	cr_assert_arr_eq(&t, &was, sizeof(t));
	preempt(&t, 110 * MS);
	was = t;
	wake(&t, 115 * MS);
	was.events++;
	cr_assert_arr_eq(&t, &was, sizeof(t));
}

Test(account, a_second_switch_in_is_counted_as_lost_and_keeps_the_time)
{
	struct ls_thread t = thread_running(100 * MS);

	run(&t, 110 * MS);
	cr_assert_eq(t.state, LS_TICK_CPU);
	cr_assert_eq(t.lost, 1u);
	assert_ns(t.sum_ns[LS_TICK_CPU], 10 * MS);
	assert_whole(&t);
}

Test(account, a_missed_wake_up_leaves_the_time_with_the_sleep)
{
	struct ls_thread t = thread_asleep(100 * MS);

	run(&t, 150 * MS);
	cr_assert_eq(t.state, LS_TICK_CPU);
	assert_ns(t.sum_ns[LS_IDLE], 50 * MS);
	assert_ns(t.naive_idle_ns, 50 * MS);
	cr_assert_eq(t.lost, 1u);
	block(&t, 160 * MS, NR_FUTEX);
	run(&t, 170 * MS);
	assert_ns(t.sum_ns[LS_TICK_BLOCKED], 10 * MS);
	cr_assert_eq(t.lost, 2u);
	assert_whole(&t);
}

Test(account, a_missed_wake_up_is_put_where_the_scheduler_says)
{
	struct ls_thread t = thread_asleep(100 * MS);

	acct_run(&t, 150 * MS, NULL, 0, 20 * MS);
	cr_assert_eq(t.state, LS_TICK_CPU);
	assert_ns(t.sum_ns[LS_IDLE], 30 * MS);
	assert_ns(t.sum_ns[LS_WAIT_IO], 20 * MS);
	assert_ns(t.culprit_other_ns, 20 * MS);
	block(&t, 160 * MS, NR_FUTEX);
	acct_run(&t, 170 * MS, NULL, 0, 50 * MS); /* longer than it slept, by another clock */
	assert_ns(t.sum_ns[LS_WAIT_TICK], 10 * MS);
	cr_assert_eq(t.lost, 0u);
	cr_assert_eq(t.repaired, 2u);
	assert_whole(&t);
}

Test(account, a_wait_of_which_nothing_was_seen_is_no_time_on_the_cpu)
{
	struct acct_place p = place_io(HOME_SP, NR_EPOLL);
	struct ls_thread t = thread_asleep(100 * MS), looked;

	run(&t, 110 * MS);
	p.delay_ns = 5 * MS;
	acct_sleep(&t, 120 * MS, &p);
	wake(&t, 130 * MS);
	run(&t, 133 * MS);
	/* seen waiting for 3 ms, the scheduler says 3 + 12: at a look, and at the next switch just the same */
	looked = t;
	acct_settle(&looked, 160 * MS, NULL, 0);
	acct_unseen_wait(&looked, 20 * MS);
	assert_ns(looked.sum_ns[LS_WAIT_TICK], 12 * MS);
	p.delay_ns = 20 * MS;
	acct_sleep(&t, 160 * MS, &p);
	assert_ns(t.sum_ns[LS_WAIT_IO], 3 * MS);
	assert_ns(t.sum_ns[LS_WAIT_TICK], 12 * MS);
	assert_ns(t.sum_ns[LS_TICK_CPU], 10 * MS + 15 * MS);
	assert_ns(t.culprit_other_ns, 15 * MS);
	cr_assert_eq(t.repaired, 1u);
	assert_whole(&t);
	/* more than it can have been: not more than it seemed to run since */
	wake(&t, 170 * MS);
	run(&t, 170 * MS);
	p.delay_ns = 500 * MS;
	acct_sleep(&t, 171 * MS, &p);
	assert_ns(t.sum_ns[LS_TICK_CPU], 25 * MS);
	assert_ns(t.sum_ns[LS_WAIT_TICK], 13 * MS);
	assert_whole(&t);
}

Test(account, a_missed_switch_in_is_split_where_the_scheduler_says)
{
	struct acct_place p = place_io(HOME_SP, NR_EPOLL);
	struct ls_thread t = thread_running(100 * MS);

	preempt(&t, 110 * MS);
	/* switched in at 130 unseen; ran 25 ms */
	p.ran_ns = 25 * MS;
	acct_sleep(&t, 155 * MS, &p);
	cr_assert_eq(t.state, LS_IDLE);
	assert_ns(t.sum_ns[LS_WAIT_TICK], 20 * MS);
	assert_ns(t.sum_ns[LS_TICK_CPU], 35 * MS);
	assert_ns(t.culprit_other_ns, 1 * MS + 20 * MS);
	cr_assert_eq(t.repaired, 1u);
	cr_assert_eq(t.lost, 0u);
	assert_whole(&t);
}

Test(account, a_missed_switch_in_after_a_wake_up_is_repaired_too)
{
	struct acct_place p = place_block(HOME_SP - 64, NR_FUTEX);
	struct ls_thread t = thread_asleep(100 * MS);

	wake(&t, 110 * MS);
	p.ran_ns = 5 * MS;
	acct_sleep(&t, 120 * MS, &p);
	cr_assert_eq(t.state, LS_TICK_BLOCKED);
	assert_ns(t.sum_ns[LS_WAIT_IO], 5 * MS);
	assert_ns(t.sum_ns[LS_TICK_CPU], 5 * MS);
	assert_ns(t.naive_idle_ns, 15 * MS);
	cr_assert_eq(t.repaired, 1u);
	assert_whole(&t);
}

Test(account, a_missed_wake_up_and_switch_in_lose_the_delay_alone)
{
	struct acct_place p = place_block(HOME_SP - 64, NR_FUTEX);
	struct ls_thread t = thread_asleep(100 * MS);

	p.ran_ns = 5 * MS;
	acct_sleep(&t, 120 * MS, &p);
	assert_ns(t.sum_ns[LS_IDLE], 15 * MS);
	assert_ns(t.sum_ns[LS_TICK_CPU], 5 * MS);
	cr_assert_eq(t.lost, 1u);
	cr_assert_eq(t.repaired, 0u);
	assert_whole(&t);
}

Test(account, a_missed_wake_up_and_switch_in_are_put_where_the_scheduler_says)
{
	struct acct_place io = place_io(HOME_SP, NR_EPOLL), block = place_block(HOME_SP - 64, NR_FUTEX);
	struct ls_thread t = {};

	io.delay_ns = 70 * MS;
	acct_sleep(&t, 100 * MS, &io);
	/* woken at 112, switched in at 115, both unseen */
	block.delay_ns = 73 * MS;
	block.ran_ns = 5 * MS;
	acct_sleep(&t, 120 * MS, &block);
	assert_ns(t.sum_ns[LS_IDLE], 12 * MS);
	assert_ns(t.sum_ns[LS_WAIT_IO], 3 * MS);
	assert_ns(t.sum_ns[LS_TICK_CPU], 5 * MS);
	assert_ns(t.culprit_other_ns, 3 * MS);
	cr_assert_eq(t.repaired, 2u);
	cr_assert_eq(t.lost, 0u);
	/* the same after a sleep in a callback, with a delay that is longer than there was time for */
	block.delay_ns = 1000 * MS;
	block.ran_ns = 4 * MS;
	acct_sleep(&t, 130 * MS, &block);
	assert_ns(t.sum_ns[LS_TICK_BLOCKED], 0);
	assert_ns(t.sum_ns[LS_WAIT_TICK], 6 * MS);
	assert_ns(t.sum_ns[LS_TICK_CPU], 9 * MS);
	assert_whole(&t);
}

/* Woken at 110 unseen, moved to another CPU's queue at 125, switched in at 130: the scheduler counts the last 5 ms as this wait. */
Test(account, a_missed_wake_up_before_a_move_to_another_cpu_is_put_where_the_scheduler_says)
{
	struct acct_place io = place_io(HOME_SP, NR_EPOLL);
	struct ls_thread t = {};

	io.delay_ns = 70 * MS;
	acct_sleep(&t, 100 * MS, &io);
	acct_run(&t, 130 * MS, NULL, 0, acct_queued(&t, 5 * MS, 85 * MS));
	assert_ns(t.sum_ns[LS_IDLE], 10 * MS);
	assert_ns(t.sum_ns[LS_WAIT_IO], 20 * MS);
	cr_assert_eq(t.repaired, 1u);
	cr_assert_eq(t.lost, 0u);
	assert_ns(acct_queued(&t, 0, 85 * MS), 0);
	assert_whole(&t);
}

Test(account, a_missed_switch_in_that_nobody_timed_stays_with_the_wait)
{
	struct ls_thread t = thread_running(100 * MS);

	preempt(&t, 110 * MS);
	preempt(&t, 130 * MS);
	assert_ns(t.sum_ns[LS_WAIT_TICK], 20 * MS);
	assert_ns(t.sum_ns[LS_TICK_CPU], 10 * MS);
	cr_assert_eq(t.lost, 1u);
	assert_whole(&t);
}

/* Its run may seem longer than the time since the last event: the scheduler's clock is another one. */
Test(account, a_run_is_never_longer_than_the_time_since_the_last_event)
{
	struct acct_place p = place_io(HOME_SP, NR_EPOLL);
	struct ls_thread t = thread_running(100 * MS);

	preempt(&t, 110 * MS);
	p.ran_ns = 500 * MS;
	acct_sleep(&t, 120 * MS, &p);
	assert_ns(t.sum_ns[LS_WAIT_TICK], 0);
	assert_ns(t.sum_ns[LS_TICK_CPU], 20 * MS);
	assert_whole(&t);
}

Test(account, time_that_goes_back_is_the_last_time)
{
	struct ls_thread t = thread_running(100 * MS);

	block(&t, 90 * MS, NR_FSYNC);
	assert_ns(t.last_ns, 100 * MS);
	wake(&t, 80 * MS);
	run(&t, 70 * MS);
	io_sleep(&t, 60 * MS, HOME_SP);
	assert_ns(t.last_ns, 100 * MS);
	assert_ns(sum_states(&t), 10 * MS);
	assert_ns(t.io_start_ns, 100 * MS);
	assert_ns(t.points[t.home].last_ns, 100 * MS);
	assert_whole(&t);
}

Test(account, nothing_to_account_is_no_crash)
{
	struct acct_place p = place_io(HOME_SP, NR_EPOLL);
	struct ls_thread t = thread_running(100 * MS), was = t;

	acct_sleep(NULL, 1, &p);
	acct_sleep(&t, 200 * MS, NULL);
	acct_preempt(NULL, 1, &p, 0, &no_quota);
	acct_preempt(&t, 200 * MS, NULL, 0, &no_quota);
	acct_preempt(&t, 200 * MS, &p, 0, NULL);
	acct_wakeup(NULL, 1, 0, &no_quota);
	acct_wakeup(&t, 200 * MS, 0, NULL);
	acct_run(NULL, 1, NULL, 0, 0);
	acct_settle(NULL, 1, NULL, 0);
	acct_charge(NULL, NULL, 1);
	acct_blocked(NULL, 1, 0, 1);
	acct_culprit(NULL, NULL, 1, 1);
	acct_note_point(NULL, &p, 1);
	cr_assert_arr_eq(&t, &was, sizeof(t));
}

/* --- beginning again ----------------------------------------------------------------------------------------------- */

Test(account, seeded_until_its_first_event)
{
	struct ls_thread t[4];

	for (int i = 0; i < 4; i++) {
		t[i] = thread_asleep(100 * MS);
		t[i].flags = LS_F_SEEDED;
	}
	acct_settle(&t[0], 500 * MS, NULL, 0);
	cr_assert(t[0].flags & LS_F_SEEDED, "a snapshot is no event");
	assert_ns(t[0].sum_ns[LS_IDLE], 400 * MS);
	wake(&t[0], 510 * MS);
	run(&t[1], 510 * MS);
	io_sleep(&t[2], 510 * MS, HOME_SP);
	preempt(&t[3], 510 * MS);
	for (int i = 0; i < 4; i++)
		cr_assert_not(t[i].flags & LS_F_SEEDED, "event %d", i);
}

Test(account, exec_forgets_all_but_the_count_of_execs)
{
	struct ls_thread t = thread_running(100 * MS), empty = { .home = -1, .generation = 1, .seq = 8 };

	block(&t, 103 * MS, NR_FSYNC);
	wake(&t, 110 * MS);
	run(&t, 111 * MS);
	t.seq = 8;
	t.flags = LS_F_SEEDED;
	acct_restart(&t);
	cr_assert_arr_eq(&t, &empty, sizeof(t));

	/* The new program computes, blocks, is preempted: no loop yet. */
	block(&t, 150 * MS, NR_READ);
	wake(&t, 151 * MS);
	run(&t, 152 * MS);
	preempt(&t, 153 * MS);
	cr_assert_eq(t.state, LS_NONE);
	io_sleep(&t, 200 * MS, HOME_SP - 4096);
	assert_ns(t.birth_ns, 200 * MS);
	cr_assert_eq(t.points[t.home].sp, HOME_SP - 4096);
	cr_assert_eq(t.generation, 1u);
	acct_restart(&t);
	cr_assert_eq(t.generation, 2u);
}

/* An exec, and an exit before the new program ever waited for IO. */
Test(account, a_thread_that_has_not_begun_has_nothing_to_settle)
{
	struct ls_thread t = thread_running(100 * MS);

	acct_restart(&t);
	acct_settle(&t, 900 * MS, NULL, 0);
	assert_ns(sum_states(&t), 0);
	assert_ns(t.last_ns, 0);
	assert_ns(t.birth_ns, 0);
	assert_whole(&t);
}

/* --- blocked table ------------------------------------------------------------------------------------------------- */

Test(account, each_syscall_has_its_own_sum)
{
	struct ls_thread t = thread_running(100 * MS);
	struct acct_place fault = place_block(HOME_SP - 64, LS_NR_PAGE_FAULT);
	struct acct_place ia32 = place_block(HOME_SP - 64, NR_FSYNC);
	uint64_t now = 100 * MS;

	ia32.abi = LS_ABI_IA32;
	for (int i = 0; i < 3; i++) {
		block(&t, now, NR_FSYNC);
		wake(&t, now + 2 * MS);
		run(&t, now + 2 * MS);
		block(&t, now + 2 * MS, NR_READ);
		wake(&t, now + 5 * MS);
		run(&t, now + 5 * MS);
		acct_sleep(&t, now + 5 * MS, &fault);
		wake(&t, now + 12 * MS);
		run(&t, now + 12 * MS);
		acct_sleep(&t, now + 12 * MS, &ia32);
		wake(&t, now + 13 * MS);
		run(&t, now + 13 * MS);
		now += 13 * MS;
	}
	assert_ns(blocked_ns(&t, NR_FSYNC), 6 * MS);
	assert_ns(blocked_ns(&t, NR_READ), 9 * MS);
	assert_ns(blocked_ns(&t, LS_NR_PAGE_FAULT), 21 * MS);
	cr_assert(t.blocked[3].used && t.blocked[3].abi == LS_ABI_IA32);
	assert_ns(t.blocked[3].ns, 3 * MS);
	assert_ns(t.blocked_other_ns, 0);
	assert_whole(&t);
}

Test(account, a_sleep_of_no_length_takes_no_row)
{
	struct ls_thread t = thread_running(100 * MS);

	block(&t, 100 * MS, NR_READ);
	wake(&t, 100 * MS);
	cr_assert_not(t.blocked[0].used);
	assert_whole(&t);
}

Test(account, what_does_not_fit_the_table_is_other)
{
	struct ls_thread t = thread_running(100 * MS);
	uint64_t now = 100 * MS;

	for (uint32_t nr = 300; nr < 300 + LS_BLOCKED + 3; nr++) {
		block(&t, now, nr);
		wake(&t, now + nr);
		run(&t, now + nr);
		now += nr;
	}
	for (uint32_t i = 0; i < LS_BLOCKED; i++)
		assert_ns(blocked_ns(&t, 300 + i), 300 + i);
	assert_ns(t.blocked_other_ns, 308 + 309 + 310);
	/* A known one still finds its row. */
	block(&t, now, 303);
	wake(&t, now + 1000);
	assert_ns(blocked_ns(&t, 303), 1303);
	assert_whole(&t);
}

/* --- sleeps further out than the wait point -------------------------------------------------------------------------- */

Test(account, a_sleep_outside_the_wait_points_frames_is_outer)
{
	struct acct_place park = place_block(HOME_SP + 4096, NR_FUTEX), near = place_block(HOME_SP + 512, NR_FUTEX);
	struct ls_thread t = thread_running(100 * MS);

	acct_sleep(&t, 100 * MS, &park);
	wake(&t, 140 * MS);
	run(&t, 140 * MS);
	assert_ns(t.outer_ns, 40 * MS);
	acct_sleep(&t, 150 * MS, &near);
	wake(&t, 160 * MS);
	run(&t, 160 * MS);
	assert_ns(t.outer_ns, 40 * MS);
	block(&t, 170 * MS, NR_FUTEX);
	acct_settle(&t, 175 * MS, NULL, 0);
	assert_ns(t.outer_ns, 40 * MS);
	assert_ns(t.sum_ns[LS_TICK_BLOCKED], 55 * MS);
	assert_whole(&t);
}
