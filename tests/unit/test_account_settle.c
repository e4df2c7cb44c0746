/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_account_settle.c - a snapshot of a state in progress can be taken at any time and any number of times: what it shows
 * depends on when it was taken and on nothing else.
 */
#include "test_account_fixture.h"

TestSuite(account_settle, .timeout = 60);

static const struct acct_place in_tick = { .sp = HOME_SP - 256, .nr = LS_NR_UNKNOWN };

/* One thread in each state, begun at 100 ms. */
static struct ls_thread in_state(enum ls_state state, struct ls_cpu *cpu)
{
	struct acct_throttle thr = { .ref = 1, .clock = 40 * MS };
	struct ls_thread t = thread_running(90 * MS);

	ring_switch(cpu, 100 * MS, 7, "hog-a");
	switch (state) {
	case LS_IDLE:
		io_sleep_for(&t, 100 * MS, 30 * MS);
		break;
	case LS_TICK_BLOCKED:
		block(&t, 100 * MS, NR_FSYNC);
		break;
	case LS_WAIT_IO:
		io_sleep_for(&t, 95 * MS, 30 * MS);
		acct_wakeup(&t, 100 * MS, 0, &thr);
		break;
	case LS_WAIT_TICK:
		acct_preempt(&t, 100 * MS, &in_tick, 0, &thr);
		break;
	default:
		acct_settle(&t, 100 * MS, NULL, 0);
		break;
	}
	return t;
}

static const enum ls_state states[] = { LS_TICK_CPU, LS_IDLE, LS_TICK_BLOCKED, LS_WAIT_IO, LS_WAIT_TICK };

#define N_STATES (sizeof(states) / sizeof(states[0]))

Test(account_settle, settling_twice_at_one_time_changes_nothing)
{
	for (size_t i = 0; i < N_STATES; i++) {
		struct ls_cpu cpu = { 0 };
		struct ls_thread t = in_state(states[i], &cpu), once;

		acct_settle(&t, 120 * MS, &cpu, 55 * MS);
		cr_assert_eq(t.state, states[i]);
		assert_ns(t.last_ns, 120 * MS);
		once = t;
		acct_settle(&t, 120 * MS, &cpu, 55 * MS);
		cr_assert_arr_eq(&t, &once, sizeof(t), "state %d", states[i]);
		acct_settle(&t, 50 * MS, &cpu, 55 * MS);
		cr_assert_arr_eq(&t, &once, sizeof(t), "state %d, time goes back", states[i]);
		assert_whole(&t);
	}
}

/* When a row was last heard is not part of what is shown. */
static void forget_when_heard(struct ls_thread *t)
{
	for (int i = 0; i < LS_CULPRITS; i++)
		t->culprits[i].last_ns = 0;
}

Test(account_settle, settling_in_steps_is_settling_at_once)
{
	for (size_t i = 0; i < N_STATES; i++) {
		struct ls_cpu cpu = { 0 };
		struct ls_thread steps = in_state(states[i], &cpu), once = steps;

		acct_settle(&steps, 110 * MS, &cpu, 45 * MS);
		acct_settle(&steps, 125 * MS, &cpu, 52 * MS);
		acct_settle(&steps, 150 * MS, &cpu, 53 * MS);
		acct_settle(&once, 150 * MS, &cpu, 53 * MS);
		forget_when_heard(&steps);
		forget_when_heard(&once);
		cr_assert_arr_eq(&steps, &once, sizeof(once), "state %d", states[i]);
		assert_whole(&steps);
	}
}

Test(account_settle, a_settled_thread_goes_on_as_if_nobody_had_looked)
{
	for (size_t i = 0; i < N_STATES; i++) {
		struct ls_cpu cpu = { 0 };
		struct ls_thread looked = in_state(states[i], &cpu), alone = looked;

		acct_settle(&looked, 110 * MS, &cpu, 45 * MS);
		acct_settle(&looked, 125 * MS, &cpu, 52 * MS);
		if (states[i] == LS_IDLE || states[i] == LS_TICK_BLOCKED) {
			wake(&looked, 140 * MS);
			wake(&alone, 140 * MS);
		}
		if (states[i] != LS_TICK_CPU) {
			acct_run(&looked, 160 * MS, &cpu, 60 * MS, 0);
			acct_run(&alone, 160 * MS, &cpu, 60 * MS, 0);
		}
		io_sleep(&looked, 170 * MS, HOME_SP);
		io_sleep(&alone, 170 * MS, HOME_SP);
		forget_when_heard(&looked);
		forget_when_heard(&alone);
		/* What belongs to the wait that is over may differ. */
		looked.throttle_base = alone.throttle_base;
		cr_assert_arr_eq(&looked, &alone, sizeof(alone), "state %d", states[i]);
		assert_whole(&looked);
	}
}
