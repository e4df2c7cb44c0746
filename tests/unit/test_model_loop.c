/* SPDX-License-Identifier: BSD-2-Clause */
/* test_model_loop.c - from two samples to a record: shares that sum, rows that moved, and what is a loop at all. */
#include "test_model_fixture.h"

TestSuite(model_loop, .timeout = 60);

/* --- states -------------------------------------------------------------------------------------------------------- */

Test(model_loop, shares_of_the_time_between_two_samples)
{
	struct loop_sample before = sample_ms(500, 200, 100, 50, 150), now = sample_ms(1100, 350, 180, 60, 310);
	struct loop_record r;

	before.naive_idle_ns = 600 * MODEL_MS;
	now.naive_idle_ns = 1250 * MODEL_MS;
	before.throttled_ns = 10 * MODEL_MS;
	now.throttled_ns = 60 * MODEL_MS;
	before.io_sleeps = 5;
	now.io_sleeps = 25;
	now.lost = 2;
	now.repaired = 3;
	cr_assert(loop_delta(&before, &now, &plain_facts, &r));
	assert_near(r.interval_s, 1.0);
	assert_near(r.idle, 0.6);
	assert_near(r.tick_cpu, 0.15);
	assert_near(r.tick_blocked, 0.08);
	assert_near(r.wait_io, 0.01);
	assert_near(r.wait_tick, 0.16);
	assert_near(r.throttled, 0.05);
	assert_near(r.busy, 0.23);
	assert_near(r.wait, 0.17);
	assert_near(r.load, 0.4);
	assert_near(r.naive_load, 0.35);
	cr_assert_eq(r.io_sleeps, 20);
	cr_assert_eq(r.lost, 2);
	cr_assert_eq(r.repaired, 3);
	assert_conserves(&r);
}

Test(model_loop, what_the_source_cannot_know_is_not_zero)
{
	struct loop_sample now = sample_ms(600, 400, 0, 0, 0);
	struct loop_record r;

	cr_assert(loop_delta(NULL, &now, &plain_facts, &r));
	cr_assert(isnan(r.io_cpu) && isnan(r.spin) && isnan(r.observer_cost));
	cr_assert_eq(r.io_waits, -1);
	cr_assert_eq(r.ticks, -1);
	cr_assert_not(r.tick_us.known);
	cr_assert_not(r.io_us.known);
	cr_assert_str_eq(r.cgroup, "");

	now.edges = EDGES_TRACEPOINT;
	now.state_ns[LOOP_IO_CPU] = 100 * MODEL_MS;
	now.state_ns[LOOP_TICK_CPU] = 300 * MODEL_MS;
	cr_assert(loop_delta(NULL, &now, &plain_facts, &r));
	assert_near(r.io_cpu, 0.1);
	assert_near(r.busy, 0.4);
	assert_conserves(&r);
}

/* Edges that were measured for a part of the interval have left time in io_cpu: it is the tick's share now, and counts once. */
Test(model_loop, edges_let_go_leave_no_hole_and_count_nothing_twice)
{
	struct loop_sample now = sample_ms(600, 300, 0, 0, 0);
	struct loop_record r;

	now.state_ns[LOOP_IO_CPU] = 100 * MODEL_MS;
	cr_assert(loop_delta(NULL, &now, &plain_facts, &r));
	cr_assert(isnan(r.io_cpu));
	assert_near(r.tick_cpu, 0.4);
	assert_near(r.busy, 0.4);
	assert_near(r.load, 0.4);
	assert_conserves(&r);
}

Test(model_loop, identity_and_names_are_the_later_ones)
{
	struct loop_sample before = sample_ms(600, 400, 0, 0, 0), now = sample_ms(1200, 800, 0, 0, 0);
	struct loop_facts f = plain_facts;
	struct loop_record r;

	f.cgroup = (char *)"/system.slice/x";
	strcpy(now.thread, "renamed");
	now.wait_syscall = "poll";
	now.wait_fd = -1;
	now.ended = true;
	cr_assert(loop_delta(&before, &now, &f, &r));
	cr_assert_eq(r.id.tid, 101u);
	cr_assert_str_eq(r.thread, "renamed");
	cr_assert_str_eq(r.comm, "prog");
	cr_assert_str_eq(r.cgroup, "/system.slice/x");
	cr_assert_str_eq(r.wait_syscall, "poll");
	cr_assert_eq(r.wait_fd, -1);
	cr_assert_eq(r.nspid, 7);
	cr_assert(r.ended);
}

Test(model_loop, without_a_sample_before_it_is_the_whole_life)
{
	struct loop_sample now = sample_ms(300, 100, 50, 20, 30);
	struct loop_record r;

	sample_blocked(&now, 0, "fsync", 50);
	sample_waited(&now, 0, 9, "hog", 50);
	now.now_ns += 7 * MODEL_SEC;
	now.birth_ns = 7 * MODEL_SEC;
	cr_assert(loop_delta(NULL, &now, &plain_facts, &r));
	assert_near(r.interval_s, 0.5);
	assert_near(r.idle, 0.6);
	assert_near(blocked_total(&r), 0.1);
	assert_near(waited_total(&r), 0.1);
	assert_conserves(&r);
}

Test(model_loop, no_time_passed_is_no_record)
{
	struct loop_sample now = sample_ms(300, 100, 0, 0, 0), later = now, born = now;
	struct loop_record r = { .nspid = 4711 };

	later.now_ns++;
	born.birth_ns = born.now_ns;
	cr_assert_not(loop_delta(&now, &now, &plain_facts, &r));
	cr_assert_not(loop_delta(&later, &now, &plain_facts, &r));
	cr_assert_not(loop_delta(NULL, &born, &plain_facts, &r));
	cr_assert_eq(r.nspid, 4711, "the record is left alone");
}

/* Asleep for all of the interval: one nanosecond's sums move, the shares still sum. */
Test(model_loop, one_nanosecond_is_an_interval)
{
	struct loop_sample before = sample_ms(300, 100, 0, 0, 0), now = before;
	struct loop_record r;

	now.now_ns++;
	now.state_ns[LOOP_WAIT_TICK]++;
	cr_assert(loop_delta(&before, &now, &plain_facts, &r));
	assert_near(r.wait, 1.0);
	assert_conserves(&r);
}

/* The sample before counted 40 ms as waiting that a repair later gave to the CPU. */
Test(model_loop, a_sum_that_a_repair_made_smaller_keeps_the_shares_whole)
{
	struct loop_sample before = sample_ms(500, 300, 0, 0, 200), now = sample_ms(1200, 640, 0, 0, 160);
	struct loop_record r;

	cr_assert(loop_delta(&before, &now, &plain_facts, &r));
	assert_near(r.interval_s, 1.0);
	assert_near(r.wait_tick, 0);
	assert_near(r.idle, 0.7 / 1.04);
	assert_near(r.tick_cpu, 0.34 / 1.04);
	assert_conserves(&r);
}

Test(model_loop, time_in_no_state_cannot_be_known)
{
	struct loop_sample before = sample_ms(500, 300, 0, 0, 200), now = before;
	struct loop_record r;

	now.now_ns += MODEL_SEC;
	cr_assert(loop_delta(&before, &now, &plain_facts, &r));
	cr_assert(isnan(r.load) && isnan(r.busy) && isnan(r.wait) && isnan(r.idle));
}

Test(model_loop, throttled_is_a_part_of_wait_even_when_its_clock_catches_up)
{
	struct loop_sample before = sample_ms(500, 300, 0, 0, 200), now = sample_ms(1200, 590, 0, 0, 210);
	struct loop_record r;

	now.throttled_ns = 50 * MODEL_MS;
	cr_assert(loop_delta(&before, &now, &plain_facts, &r));
	assert_near(r.wait, 0.01);
	assert_near(r.throttled, 0.01);
	assert_conserves(&r);
}

/* --- park_is_idle --------------------------------------------------------------------------------------------------- */

Test(model_loop, a_runtime_that_parks_is_idle_in_its_futex)
{
	struct loop_sample before = sample_ms(100, 300, 600, 0, 0), now = sample_ms(200, 500, 1300, 0, 0);
	struct loop_facts f = plain_facts;
	struct loop_record r;

	sample_blocked(&before, 0, "futex", 500);
	sample_blocked(&before, 1, "fsync", 100);
	sample_blocked(&now, 0, "futex", 1000);
	sample_blocked(&now, 1, "fsync", 300);
	f.park_is_idle = true;
	cr_assert(loop_delta(&before, &now, &f, &r));
	assert_near(r.idle, 0.6);
	assert_near(r.tick_blocked, 0.2);
	assert_near(r.busy, 0.4);
	cr_assert(isnan(r.naive_load));
	cr_assert_eq(r.n_blocked_by, 1u);
	cr_assert_str_eq(r.blocked_by[0].what, "fsync");
	assert_conserves(&r);

	f.park_is_idle = false;
	cr_assert(loop_delta(&before, &now, &f, &r));
	assert_near(r.idle, 0.1);
	assert_near(r.tick_blocked, 0.7);
	cr_assert_eq(r.n_blocked_by, 2u);
	assert_conserves(&r);
}

/* A recording may claim more time in the futex than it was blocked at all. */
Test(model_loop, a_park_is_never_longer_than_the_block)
{
	struct loop_sample now = sample_ms(100, 300, 600, 0, 0);
	struct loop_facts f = plain_facts;
	struct loop_record r;

	sample_blocked(&now, 0, "futex", 5000);
	f.park_is_idle = true;
	cr_assert(loop_delta(NULL, &now, &f, &r));
	assert_near(r.idle, 0.7);
	assert_near(r.tick_blocked, 0);
	assert_conserves(&r);
}

/* --- blocked_by ----------------------------------------------------------------------------------------------------- */

Test(model_loop, blocked_by_is_largest_first_and_other_last)
{
	struct loop_sample before = sample_ms(500, 0, 500, 0, 0), now = sample_ms(500, 0, 1500, 0, 0);
	struct loop_record r;

	sample_blocked(&before, 0, "read", 300);
	sample_blocked(&before, 1, "fsync", 100);
	sample_blocked(&before, 2, "poll", 50);
	before.blocked_other_ns = 50 * MODEL_MS;
	now = sample_ms(500, 0, 1500, 0, 0);
	sample_blocked(&now, 0, "read", 400);
	sample_blocked(&now, 1, "fsync", 300);
	sample_blocked(&now, 2, "poll", 50);
	sample_blocked(&now, 3, "futex", 150);
	now.blocked_other_ns = 600 * MODEL_MS;
	cr_assert(loop_delta(&before, &now, &plain_facts, &r));
	cr_assert_eq(r.n_blocked_by, 4u);
	cr_assert_str_eq(r.blocked_by[0].what, "fsync");
	cr_assert_str_eq(r.blocked_by[1].what, "futex");
	cr_assert_str_eq(r.blocked_by[2].what, "read");
	cr_assert_str_eq(r.blocked_by[3].what, "other");
	assert_near(r.blocked_by[0].share, 0.2);
	assert_near(r.blocked_by[3].share, 0.55);
	assert_near(blocked_total(&r), r.tick_blocked);
}

/* The 32-bit and the native table both know an fsync. */
Test(model_loop, rows_of_one_name_are_one)
{
	struct loop_sample before = sample_ms(500, 0, 500, 0, 0), now = sample_ms(500, 0, 1000, 0, 500);
	struct loop_record r;

	sample_blocked(&before, 0, "fsync", 300);
	sample_blocked(&before, 1, "fsync", 200);
	sample_blocked(&now, 0, "fsync", 350);
	sample_blocked(&now, 1, "fsync", 650);
	sample_waited(&now, 0, 9, "hog", 100);
	sample_waited(&now, 1, 9, "hog", 400);
	cr_assert(loop_delta(&before, &now, &plain_facts, &r));
	cr_assert_eq(r.n_blocked_by, 1u);
	assert_near(r.blocked_by[0].share, 0.5);
	cr_assert_eq(r.n_waited_for, 1u);
	assert_near(r.waited_for[0].share, 0.5);
}

Test(model_loop, full_tables_and_other_fit_the_record)
{
	struct loop_sample now = sample_ms(0, 0, 900, 0, 900);
	struct loop_record r;
	char name[16];

	for (unsigned i = 0; i < LOOP_BLOCKED_MAX; i++) {
		snprintf(name, sizeof(name), "call_%u", i);
		sample_blocked(&now, i, name, 100);
		sample_waited(&now, i, i, name, 100);
	}
	now.blocked_other_ns = now.waited_other_ns = 100 * MODEL_MS;
	cr_assert(loop_delta(NULL, &now, &plain_facts, &r));
	cr_assert_eq(r.n_blocked_by, (size_t)LOOP_BLOCKED_MAX + 1);
	cr_assert_eq(r.n_waited_for, (size_t)LOOP_WAITED_MAX + 1);
	assert_near(blocked_total(&r), 0.5);
	assert_near(waited_total(&r), 0.5);
	cr_assert_eq(r.waited_for[LOOP_WAITED_MAX].pid, -1);
}

/* --- waited_for ----------------------------------------------------------------------------------------------------- */

Test(model_loop, a_culprit_whose_row_was_given_up_is_not_counted_again_as_other)
{
	struct loop_sample before = sample_ms(500, 200, 0, 0, 300), now = sample_ms(1000, 500, 0, 0, 500);
	struct loop_record r;

	sample_waited(&before, 0, 9, "old", 250);
	sample_waited(&before, 1, 10, "stays", 40);
	before.waited_other_ns = 10 * MODEL_MS;
	/* `old` ran 30 ms more before it gave way: its 280 are in other. */
	sample_waited(&now, 0, 11, "new", 120);
	sample_waited(&now, 1, 10, "stays", 90);
	now.waited_other_ns = 290 * MODEL_MS;
	cr_assert(loop_delta(&before, &now, &plain_facts, &r));
	cr_assert_eq(r.n_waited_for, 3u);
	cr_assert_str_eq(r.waited_for[0].comm, "new");
	assert_near(r.waited_for[0].share, 0.12);
	assert_near(r.waited_for[1].share, 0.05);
	cr_assert_eq(r.waited_for[2].pid, -1);
	assert_near(r.waited_for[2].share, 0.03);
	assert_near(waited_total(&r), r.wait);
}

Test(model_loop, a_culprit_that_gave_way_and_came_back_is_not_counted_twice)
{
	struct loop_sample before = sample_ms(500, 200, 0, 0, 300), now = sample_ms(1000, 600, 0, 0, 400);
	struct loop_record r;

	sample_waited(&before, 0, 9, "hog", 300);
	sample_waited(&now, 0, 9, "hog", 80);
	now.waited_other_ns = 320 * MODEL_MS;
	cr_assert(loop_delta(&before, &now, &plain_facts, &r));
	cr_assert_eq(r.n_waited_for, 2u);
	assert_near(r.waited_for[0].share, 0.08);
	assert_near(r.waited_for[1].share, 0.02);
	assert_near(waited_total(&r), r.wait);
}

/* Two of three of one name had to make room together: what they had before the interval is none of it. */
Test(model_loop, culprits_that_were_put_together_are_not_counted_again)
{
	struct loop_sample before = sample_ms(500, 200, 0, 0, 300), now = sample_ms(1000, 500, 0, 0, 500);
	struct loop_record r;

	sample_waited(&before, 0, 9, "cc1", 100);
	sample_waited(&before, 1, 10, "cc1", 50);
	sample_waited(&before, 2, 11, "cc1", 150);
	sample_waited(&now, 0, LOOP_WAITED_SEVERAL, "cc1", 290);
	sample_waited(&now, 2, 11, "cc1", 210);
	cr_assert(loop_delta(&before, &now, &plain_facts, &r));
	cr_assert_eq(r.n_waited_for, 2u);
	cr_assert_eq(r.waited_for[0].pid, LOOP_WAITED_SEVERAL);
	assert_near(r.waited_for[0].share, 0.14);
	cr_assert_eq(r.waited_for[1].pid, 11);
	assert_near(r.waited_for[1].share, 0.06);
	assert_near(waited_total(&r), r.wait);
}

/* A snapshot charged 100 ms of a wait in progress to the hog; when it ended, all but 20 ms of that had left the CPU's ring. */
Test(model_loop, a_culprit_that_only_a_snapshot_saw_does_not_count_from_its_birth)
{
	struct loop_sample before = sample_ms(500, 200, 0, 0, 5300), now = sample_ms(1000, 600, 0, 0, 5400);
	struct loop_record r;

	sample_waited(&before, 0, 9, "hog", 5300);
	sample_waited(&now, 0, 9, "hog", 5220);
	now.waited_other_ns = 180 * MODEL_MS;
	cr_assert(loop_delta(&before, &now, &plain_facts, &r));
	cr_assert_eq(r.n_waited_for, 1u);
	cr_assert_eq(r.waited_for[0].pid, -1);
	assert_near(r.waited_for[0].share, 0.1);
	assert_near(waited_total(&r), r.wait);
}

/* --- what is a loop -------------------------------------------------------------------------------------------------- */

Test(model_loop, a_place_seen_once_is_no_loop)
{
	struct loop_sample s = sample_ms(900, 100, 0, 0, 0);

	cr_assert_eq(loop_classify(&s, &plain_facts), LOOP_IS_LOOP);
	s.wait_repeats = 2;
	cr_assert_eq(loop_classify(&s, &plain_facts), LOOP_IS_LOOP);
	s.wait_repeats = 1;
	cr_assert_eq(loop_classify(&s, &plain_facts), LOOP_IS_NO_LOOP);
	s.wait_repeats = 0;
	cr_assert_eq(loop_classify(&s, &plain_facts), LOOP_IS_NO_LOOP);
}

Test(model_loop, asleep_throughout_is_a_loop_only_where_it_is_known_to_be)
{
	struct loop_sample s = sample_ms(1000, 0, 0, 0, 0);
	struct loop_facts f = plain_facts;

	s.in_progress_only = true;
	s.wait_repeats = 1;
	cr_assert_eq(loop_classify(&s, &f), LOOP_IS_ASLEEP);
	f.runtime_known = true;
	cr_assert_eq(loop_classify(&s, &f), LOOP_IS_LOOP);
	s.wait_syscall = "io_uring_enter";
	cr_assert_eq(loop_classify(&s, &f), LOOP_IS_LOOP);
	s.wait_syscall = "poll"; /* any program may call it in passing */
	cr_assert_eq(loop_classify(&s, &f), LOOP_IS_ASLEEP);
}

Test(model_loop, a_worker_that_parks_outside_is_no_loop)
{
	struct loop_sample s = sample_ms(100, 200, 700, 0, 0);
	struct loop_facts f = plain_facts;

	s.outer_ns = 500 * MODEL_MS;
	cr_assert_eq(loop_classify(&s, &f), LOOP_IS_LOOP);
	s.outer_ns = 501 * MODEL_MS;
	cr_assert_eq(loop_classify(&s, &f), LOOP_IS_NO_LOOP);
	s.birth_ns = 10 * MODEL_SEC;
	s.now_ns += 10 * MODEL_SEC;
	cr_assert_eq(loop_classify(&s, &f), LOOP_IS_NO_LOOP);
	f.park_is_idle = true;
	cr_assert_eq(loop_classify(&s, &f), LOOP_IS_LOOP, "a runtime that parks is a loop there");
}

Test(model_loop, a_reader_of_a_terminal_is_no_loop)
{
	struct loop_sample s = sample_ms(900, 100, 0, 0, 0);
	struct loop_facts f = plain_facts;

	s.wait_syscall = "pselect6"; /* readline: select(1, {0}) */
	s.wait_nfds = 1;
	cr_assert_eq(loop_classify(&s, &f), LOOP_IS_LOOP, "stdin is a socket");
	f.stdin_is_tty = true;
	cr_assert_eq(loop_classify(&s, &f), LOOP_IS_NO_LOOP);
	s.in_progress_only = true;
	cr_assert_eq(loop_classify(&s, &f), LOOP_IS_NO_LOOP);
	s.in_progress_only = false;
	s.wait_syscall = "select";
	cr_assert_eq(loop_classify(&s, &f), LOOP_IS_NO_LOOP);
	s.wait_nfds = 5;
	cr_assert_eq(loop_classify(&s, &f), LOOP_IS_LOOP, "more than the terminal");
	s.wait_nfds = 1;
	s.wait_syscall = "poll"; /* one fd, but which is not known */
	cr_assert_eq(loop_classify(&s, &f), LOOP_IS_LOOP);
}
