/* SPDX-License-Identifier: BSD-2-Clause */
/* test_phases.c - ticks split by phase: bpf/phases.h on a thread whose sleeps and waits are given by hand; and what the model makes of it. */
#include "bpf/phases.h"
#include "test_account_fixture.h"
#include "test_account_random.h"
#include "test_model_fixture.h"

TestSuite(phases, .timeout = 60);

enum { TIMERS, POLL, CHECK };
#define ATTACHED 1

static void begins(struct ls_phases *p, const struct ls_thread *t, uint64_t now, uint32_t which)
{
	phases_enter(p, phases_tick_ns(t, now), which, ATTACHED, t->generation);
}

static void settle(struct ls_phases *p, const struct ls_thread *t, uint64_t now)
{
	phases_settle(p, phases_tick_ns(t, now));
}

static struct ls_thread at_work(uint64_t now)
{
	struct ls_thread t = {};

	acct_begin_running(&t, now, 0);
	return t;
}

/* Sleeps at its own wait point, twice, so that it is the loop's. */
static struct ls_thread a_loop(uint64_t now)
{
	struct ls_thread t = at_work(now - 10 * MS);

	for (uint64_t at = now - 9 * MS; at < now; at += 4 * MS) {
		io_sleep(&t, at, HOME_SP);
		wake(&t, at + 1 * MS);
		run(&t, at + 1 * MS);
	}
	return t;
}

Test(phases, a_phase_lasts_until_another_begins)
{
	struct ls_thread t = a_loop(100 * MS);
	struct ls_phases p = {};

	begins(&p, &t, 100 * MS, TIMERS);
	begins(&p, &t, 107 * MS, POLL);
	begins(&p, &t, 110 * MS, TIMERS);
	settle(&p, &t, 111 * MS);
	cr_expect_eq(p.sum_ns[TIMERS], 8 * MS);
	cr_expect_eq(p.sum_ns[POLL], 3 * MS);
	cr_expect_eq(p.sum_ns[CHECK], 0u);
	cr_expect_eq(p.entries[TIMERS], 2u);
	cr_expect_eq(p.entries[POLL], 1u);
	settle(&p, &t, 111 * MS);
	cr_expect_eq(p.sum_ns[TIMERS], 8 * MS, "settling twice counts nothing twice");
}

Test(phases, what_came_before_the_first_is_nobodys)
{
	struct ls_thread t = a_loop(100 * MS);
	struct ls_phases p = {};

	settle(&p, &t, 150 * MS);
	begins(&p, &t, 200 * MS, CHECK);
	settle(&p, &t, 201 * MS);
	cr_expect_eq(p.sum_ns[CHECK], 1 * MS);
	cr_expect_eq(p.sum_ns[TIMERS] + p.sum_ns[POLL], 0u);
}

Test(phases, the_own_io_wait_is_taken_out_and_blocking_is_not)
{
	struct ls_thread t = a_loop(100 * MS);
	struct ls_phases p = {};

	begins(&p, &t, 100 * MS, POLL);
	io_sleep(&t, 102 * MS, HOME_SP); /* 2 ms before it */
	wake(&t, 150 * MS);
	run(&t, 153 * MS); /* waiting for the CPU at the wait point is the IO wait's */
	block(&t, 154 * MS, NR_FSYNC);
	wake(&t, 160 * MS);
	run(&t, 163 * MS); /* waiting for it in a callback is the callback's */
	begins(&p, &t, 165 * MS, CHECK);
	cr_expect_eq(p.sum_ns[POLL], (2 + 1 + 6 + 3 + 2) * MS, "%llu", (unsigned long long)p.sum_ns[POLL]);
}

Test(phases, in_a_measured_wait_no_phase_goes_on)
{
	struct ls_thread t = a_loop(100 * MS);
	struct acct_place home = place_io(HOME_SP, NR_EPOLL);
	struct ls_phases p = {};

	begins(&p, &t, 100 * MS, POLL);
	acct_io_enter(&t, 101 * MS, &home, 1, false);
	settle(&p, &t, 105 * MS);
	cr_expect_eq(p.sum_ns[POLL], 1 * MS, "the wait in progress too");
	acct_io_exit(&t, 106 * MS, 0, 0);
	settle(&p, &t, 108 * MS);
	cr_expect_eq(p.sum_ns[POLL], 3 * MS);
}

Test(phases, what_was_in_progress_when_the_probes_were_let_go_is_forgotten)
{
	struct ls_thread t = a_loop(100 * MS);
	struct ls_phases p = {};

	begins(&p, &t, 100 * MS, TIMERS);
	phases_enter(&p, phases_tick_ns(&t, 900 * MS), POLL, ATTACHED + 1, t.generation);
	cr_expect_eq(p.sum_ns[TIMERS], 0u);
	acct_restart(&t);
	acct_begin_running(&t, 1000 * MS, 0);
	phases_enter(&p, phases_tick_ns(&t, 1001 * MS), CHECK, ATTACHED + 1, t.generation);
	settle(&p, &t, 1003 * MS);
	cr_expect_eq(p.sum_ns[POLL], 0u, "an exec ends it as well");
	cr_expect_eq(p.sum_ns[CHECK], 2 * MS);
	phases_enter(&p, 0, LS_PHASES, ATTACHED + 1, t.generation);
	cr_expect_eq(p.current, CHECK + 1u, "a number that is none changes nothing");
}

/* Whatever happens in whatever order, the phases' sums are the thread's time in ticks since the first entry. */
Test(phases, the_sums_are_the_ticks)
{
	for (uint64_t round = 1; round <= 200; round++) {
		uint64_t seed = 88172645463325252ull * round, now = 100 * MS, begun = 0, sum = 0;
		struct ls_thread t = a_loop(now);
		struct ls_phases p = {};

		for (int i = 0; i < 300; i++) {
			now += next_random(&seed) % (3 * MS);
			switch (t.state == LS_TICK_CPU ? next_random(&seed) % 5 : 5) {
			case 0:
				io_sleep(&t, now, HOME_SP);
				break;
			case 1:
				block(&t, now, NR_FUTEX);
				break;
			case 2:
				preempt(&t, now);
				break;
			case 5:
				if (!acct_waiting(&t))
					wake(&t, now);
				else
					run(&t, now);
				break;
			default:
				if (!p.current)
					begun = phases_tick_ns(&t, now);
				begins(&p, &t, now, (uint32_t)(next_random(&seed) % LS_PHASES));
			}
		}
		settle(&p, &t, now);
		for (int i = 0; i < LS_PHASES; i++)
			sum += p.sum_ns[i];
		cr_assert(p.current);
		cr_assert_eq(sum, phases_tick_ns(&t, now) - begun, "round %llu", (unsigned long long)round);
	}
}

/* --- records --------------------------------------------------------------------------------------------------------- */

static struct loop_sample with_phases(struct loop_sample s, uint64_t timers_ms, uint64_t entries)
{
	s.phases_known = true;
	s.n_phases = 2;
	s.phases[0] = (struct loop_phase){ .name = "timers", .ns = timers_ms * MODEL_MS, .entries = entries, .seen = true };
	s.phases[1] = (struct loop_phase){ .name = "check" };
	return s;
}

Test(phases, shares_are_of_the_interval)
{
	struct loop_sample a = with_phases(sample_ms(500, 500, 0, 0, 0), 100, 7);
	struct loop_sample b = with_phases(sample_ms(1000, 1000, 0, 0, 0), 350, 17);
	struct loop_record r;

	cr_assert(loop_delta(&a, &b, &plain_facts, &r));
	cr_assert_eq(r.n_phases, 2u);
	cr_expect_str_eq(r.phases[0].name, "timers");
	assert_near(r.phases[0].share, 0.25);
	cr_expect_eq(r.phases[0].entries, 10);
	cr_expect(isnan(r.phases[1].share), "no symbol: not known, which is not 0");
	cr_expect_eq(r.phases[1].entries, -1);
}

Test(phases, a_first_entry_and_a_pause)
{
	struct loop_sample none = sample_ms(500, 500, 0, 0, 0);
	struct loop_sample some = with_phases(sample_ms(1000, 1000, 0, 0, 0), 100, 3);
	struct loop_sample paused = with_phases(sample_ms(2000, 2000, 0, 0, 0), 100, 3);
	struct loop_sample again = with_phases(sample_ms(3000, 3000, 0, 0, 0), 300, 4);
	struct loop_record r;

	paused.phases_known = false;
	cr_assert(loop_delta(&none, &some, &plain_facts, &r));
	assert_near(r.phases[0].share, 0.1);
	cr_assert(loop_delta(&some, &paused, &plain_facts, &r));
	cr_expect_eq(r.n_phases, 0u, "let go: not known");
	cr_assert(loop_delta(&paused, &again, &plain_facts, &r));
	assert_near(r.phases[0].share, 0.1);
	cr_expect_eq(r.phases[0].entries, 1);
}
