/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_account_unseen.c - what comes in between: a preemption in the middle of a program that writes the state, switches that an
 * edge finds to have been missed, and all that may happen between the entry of a wait and its sleep where only entries are seen.
 */
#include "test_ticks_fixture.h"

TestSuite(account_unseen, .timeout = 60);

/* Of thread_broken(), what holds for a thread with edges as well. */
static void assert_conserved(const struct ls_thread *t)
{
	assert_ns(sum_states(t), t->last_ns - t->birth_ns);
	assert_ns(sum_blocked(t), t->sum_ns[LS_TICK_BLOCKED]);
	assert_ns(sum_culprits(t), sum_wait(t));
}

/* --- held --------------------------------------------------------------------------------------------------------------- */

/* In acct_io_enter(), from 101 ms on; the thread does not run from `from` to `to`. */
static void preempted_within(struct ls_thread *t, uint64_t from, uint64_t to)
{
	acct_hold(t, from);
	acct_go_on(t, to);
}

Test(account_unseen, a_preemption_in_the_middle_of_an_edge_is_a_wait)
{
	struct ls_thread t = thread_running(100 * MS);
	struct acct_place home = place_io(HOME_SP, NR_EPOLL);

	preempted_within(&t, 103 * MS, 133 * MS);
	acct_io_enter(&t, 103 * MS, &home, EDGES, true); /* its clock had been read before */
	block(&t, 140 * MS, NR_FSYNC);
	assert_ns(t.sum_ns[LS_WAIT_TICK], 30 * MS);
	assert_ns(t.sum_ns[LS_TICK_CPU], 10 * MS);
	cr_assert_eq(t.held_ns, 0u);
	cr_assert_eq(t.lost, 0u);
	assert_conserved(&t);
}

Test(account_unseen, in_a_measured_wait_it_is_the_waits)
{
	struct ls_thread t = thread_running(100 * MS);
	struct acct_place home = place_io(HOME_SP, NR_EPOLL);

	acct_io_enter(&t, 103 * MS, &home, EDGES, false);
	preempted_within(&t, 103 * MS, 133 * MS);
	acct_io_exit(&t, 135 * MS, 0, 0);
	assert_ns(t.sum_ns[LS_IO_CPU], 2 * MS);
	assert_ns(sum_wait(&t), 1 * MS + 30 * MS);
	assert_ns(t.sum_ns[LS_WAIT_TICK], 0);
	assert_conserved(&t);
}

Test(account_unseen, held_more_than_once_before_the_next_event)
{
	struct ls_thread t = thread_running(100 * MS);

	preempted_within(&t, 101 * MS, 104 * MS);
	preempted_within(&t, 105 * MS, 109 * MS);
	io_sleep(&t, 110 * MS, HOME_SP);
	assert_ns(t.sum_ns[LS_WAIT_TICK], 7 * MS);
	assert_ns(t.sum_ns[LS_TICK_CPU], 3 * MS);
	assert_conserved(&t);
}

Test(account_unseen, a_snapshot_tells_it_too_and_what_does_not_fit_comes_with_the_next)
{
	struct ls_thread t = thread_running(100 * MS), s;

	preempted_within(&t, 101 * MS, 121 * MS);
	s = t;
	acct_settle(&s, 105 * MS, NULL, 0);
	assert_ns(s.sum_ns[LS_WAIT_TICK], 5 * MS);
	assert_conserved(&s);
	acct_settle(&s, 130 * MS, NULL, 0);
	assert_ns(s.sum_ns[LS_WAIT_TICK], 20 * MS);
	assert_ns(s.sum_ns[LS_TICK_CPU], 10 * MS);
	assert_conserved(&s);
}

Test(account_unseen, a_clock_that_goes_back_holds_nothing)
{
	struct ls_thread t = thread_running(100 * MS);

	preempted_within(&t, 104 * MS, 103 * MS);
	io_sleep(&t, 110 * MS, HOME_SP);
	assert_ns(t.sum_ns[LS_TICK_CPU], 10 * MS);
	assert_conserved(&t);
}

/* --- missed switches ------------------------------------------------------------------------------------------------------ */

Test(account_unseen, a_block_whose_end_was_missed_ended_when_the_thread_came_to_its_cpu)
{
	struct measured_loop *l = loop_in_tick(100 * MS);
	struct acct_place home = place_io(HOME_SP, NR_EPOLL);

	block(&l->t, 103 * MS, NR_FSYNC); /* until 107, when it came to run: neither was seen */
	home.ran_ns = 20 * MS;
	acct_io_enter(&l->t, 127 * MS, &home, EDGES, false);
	assert_ns(l->t.sum_ns[LS_TICK_BLOCKED], 4 * MS);
	assert_ns(blocked_ns(&l->t, NR_FSYNC), 4 * MS);
	cr_assert_eq(l->t.lost, 1u);
	assert_conserved(&l->t);
	free(l);
}

Test(account_unseen, a_return_whose_switch_in_was_missed)
{
	struct measured_loop *l = loop_in_tick(100 * MS);

	enter(l, 101 * MS, LS_NO_TIMEOUT);
	io_sleep(&l->t, 101 * MS, HOME_SP);
	wake(&l->t, 121 * MS); /* runs from 123 on */
	acct_io_exit(&l->t, 126 * MS, 3 * MS, 0);
	assert_ns(l->t.sum_ns[LS_IDLE], 20 * MS);
	assert_ns(l->t.sum_ns[LS_WAIT_IO], 2 * MS);
	assert_ns(l->t.sum_ns[LS_IO_CPU], 1 * MS + 3 * MS); /* and in the fixture's first wait */
	cr_assert_eq(l->t.lost, 0u);
	cr_assert_eq(l->t.repaired, 1u);
	assert_conserved(&l->t);
	free(l);
}

/* --- where only entries are seen ----------------------------------------------------------------------------------------- */

#define CALL_SP (HOME_SP - 64) /* the wrapper's frame */

static struct measured_loop *entered(uint64_t now)
{
	struct measured_loop *l = loop_new(now - 1 * MS);

	l->entry_only = true;
	enter(l, now, LS_NO_TIMEOUT);
	return l;
}

/* As bpf/sched.bpf.c has it. */
static void comes_back(struct measured_loop *l, uint64_t now)
{
	uint8_t was = l->t.state;

	run(&l->t, now);
	if (was != LS_WAIT_IO && was != LS_IDLE)
		return;
	ticks_slept(&l->k);
	leave(l, now, LS_RET_UNKNOWN);
}

static void slept_for(struct measured_loop *l, uint64_t from, uint64_t until)
{
	io_sleep(&l->t, from, CALL_SP);
	cr_expect_eq(l->t.state, LS_IDLE);
	wake(&l->t, until);
	comes_back(l, until);
}

Test(account_unseen, preempted_between_the_entry_and_the_call)
{
	struct measured_loop *l = entered(100 * MS);

	preempt(&l->t, 100 * MS);
	comes_back(l, 103 * MS);
	slept_for(l, 103 * MS, 153 * MS);
	assert_ns(l->t.sum_ns[LS_IDLE], 50 * MS);
	assert_ns(l->t.sum_ns[LS_TICK_BLOCKED], 0);
	assert_ns(sum_wait(&l->t), 3 * MS);
	assert_ns(l->k.tick.start_ns, 153 * MS);
	assert_conserved(&l->t);
	free(l);
}

Test(account_unseen, preempted_in_a_tick_whose_wait_did_not_sleep)
{
	struct measured_loop *l = entered(100 * MS);

	preempt(&l->t, 120 * MS);
	comes_back(l, 150 * MS);
	cr_assert_eq(enter(l, 180 * MS, LS_NO_TIMEOUT), TICKS_ENDED);
	assert_ns(l->k.tick_sum_ns, 80 * MS); /* one tick, with the wait in it */
	assert_ns(l->t.sum_ns[LS_WAIT_TICK], 30 * MS);
	assert_conserved(&l->t);
	free(l);
}

Test(account_unseen, woken_for_nothing_it_sleeps_on)
{
	struct measured_loop *l = entered(100 * MS);

	slept_for(l, 100 * MS, 110 * MS);
	slept_for(l, 110 * MS, 150 * MS);
	assert_ns(l->t.sum_ns[LS_IDLE], 50 * MS);
	assert_ns(l->t.sum_ns[LS_TICK_BLOCKED], 0);
	assert_ns(l->k.tick.start_ns, 150 * MS);
	cr_assert_eq(l->k.io_waits, 1u);
	cr_assert_eq(l->t.lost, 0u);
	assert_conserved(&l->t);
	free(l);
}

Test(account_unseen, a_signals_handler_waits_between_the_entry_and_the_call)
{
	struct measured_loop *l = entered(100 * MS);

	enter_at(l, 101 * MS, NESTED_SP, LS_NO_TIMEOUT);
	io_sleep(&l->t, 101 * MS, NESTED_SP - 64);
	cr_assert_eq(l->t.state, LS_TICK_BLOCKED);
	wake(&l->t, 107 * MS);
	comes_back(l, 107 * MS);
	slept_for(l, 108 * MS, 158 * MS);
	assert_ns(l->t.sum_ns[LS_IDLE], 50 * MS);
	assert_ns(l->t.sum_ns[LS_TICK_BLOCKED], 6 * MS);
	assert_ns(l->k.tick.start_ns, 158 * MS);
	assert_conserved(&l->t);
	free(l);
}

Test(account_unseen, what_a_callback_sleeps_in_is_still_its_own)
{
	struct measured_loop *l = entered(100 * MS);

	slept_for(l, 100 * MS, 110 * MS);
	enter_at(l, 111 * MS, HOME_SP - 128, LS_NO_TIMEOUT); /* a nested wait by the same call, from just below */
	io_sleep(&l->t, 111 * MS, HOME_SP - 192);
	cr_assert_eq(l->t.state, LS_TICK_BLOCKED);
	wake(&l->t, 115 * MS);
	comes_back(l, 115 * MS);
	block(&l->t, 116 * MS, NR_FSYNC);
	wake(&l->t, 118 * MS);
	comes_back(l, 118 * MS);
	assert_ns(l->t.sum_ns[LS_TICK_BLOCKED], 6 * MS);
	assert_ns(l->t.sum_ns[LS_IDLE], 10 * MS);
	assert_conserved(&l->t);
	free(l);
}
