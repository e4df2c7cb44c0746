/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_account_wait.c - what a wait is made of: who had the CPU, how much of it the quota, what a loop that times its own
 * call would have taken for sleep.
 */
#include "test_account_fixture.h"

TestSuite(account_wait, .timeout = 60);

/* --- naive idle ---------------------------------------------------------------------------------------------------- */

Test(account_wait, naive_idle_takes_the_wake_up_delay_for_sleep)
{
	struct ls_thread t = thread_running(100 * MS);
	uint64_t naive = t.naive_idle_ns;

	assert_ns(naive, 10 * MS);
	io_sleep_for(&t, 110 * MS, 100 * MS);
	wake(&t, 130 * MS); /* an fd, 80 ms before the timeout */
	run(&t, 145 * MS);
	assert_ns(t.naive_idle_ns - naive, 35 * MS);
	assert_ns(t.sum_ns[LS_IDLE], 9 * MS + 20 * MS);
	assert_whole(&t);
}

Test(account_wait, naive_idle_is_at_most_the_timeout)
{
	struct ls_thread t = thread_running(100 * MS);
	uint64_t naive = t.naive_idle_ns;

	io_sleep_for(&t, 110 * MS, 20 * MS);
	wake(&t, 130 * MS);
	run(&t, 170 * MS);
	assert_ns(t.naive_idle_ns - naive, 20 * MS);
	io_sleep_for(&t, 180 * MS, 0);
	wake(&t, 190 * MS);
	run(&t, 200 * MS);
	assert_ns(t.naive_idle_ns - naive, 20 * MS);
	assert_whole(&t);
}

Test(account_wait, naive_idle_of_a_wait_in_progress)
{
	struct ls_thread t = thread_running(100 * MS), copy;
	uint64_t naive = t.naive_idle_ns;

	io_sleep_for(&t, 110 * MS, 20 * MS);
	copy = t;
	acct_settle(&copy, 115 * MS, NULL, 0);
	assert_ns(copy.naive_idle_ns - naive, 5 * MS);
	copy = t;
	acct_settle(&copy, 150 * MS, NULL, 0);
	assert_ns(copy.naive_idle_ns - naive, 20 * MS);
	wake(&t, 130 * MS);
	copy = t;
	acct_settle(&copy, 150 * MS, NULL, 0);
	assert_ns(copy.naive_idle_ns - naive, 20 * MS);
	assert_ns(t.naive_idle_ns, naive);
	assert_whole(&t);
}

Test(account_wait, naive_idle_knows_nothing_of_nested_polls)
{
	struct ls_thread t = thread_running(100 * MS);
	uint64_t naive = t.naive_idle_ns;

	io_visit(&t, 110 * MS, 50 * MS, HOME_SP - 4096);
	preempt(&t, 170 * MS);
	run(&t, 180 * MS);
	assert_ns(t.naive_idle_ns, naive);
}

/* --- throttling ---------------------------------------------------------------------------------------------------- */

static const struct acct_place in_tick = { .sp = HOME_SP - 256, .nr = LS_NR_UNKNOWN };

Test(account_wait, throttled_is_what_the_queues_clock_gained)
{
	struct acct_throttle thr = { .ref = 0xabc, .clock = 500 * MS };
	struct ls_thread t = thread_running(100 * MS);

	acct_preempt(&t, 110 * MS, &in_tick, 0, &thr);
	acct_run(&t, 150 * MS, NULL, 530 * MS, 0);
	assert_ns(t.throttled_ns, 30 * MS);
	assert_ns(t.sum_ns[LS_WAIT_TICK], 40 * MS);
	cr_assert_eq(t.throttle_ref, 0u);
	/* woken into a throttled queue */
	io_sleep(&t, 160 * MS, HOME_SP);
	thr.clock = 600 * MS;
	acct_wakeup(&t, 170 * MS, 0, &thr);
	acct_run(&t, 190 * MS, NULL, 605 * MS, 0);
	assert_ns(t.throttled_ns, 35 * MS);
	assert_ns(t.sum_ns[LS_WAIT_IO], 1 * MS + 20 * MS);
	assert_whole(&t);
}

Test(account_wait, throttled_is_never_more_than_the_wait)
{
	struct acct_throttle thr = { .ref = 0xabc, .clock = 500 * MS };
	struct ls_thread t = thread_running(100 * MS);

	acct_preempt(&t, 110 * MS, &in_tick, 0, &thr);
	acct_run(&t, 120 * MS, NULL, 900 * MS, 0);
	assert_ns(t.throttled_ns, 10 * MS);
	/* The queue is gone, its memory another's: the clock reads less, or rubbish. */
	acct_preempt(&t, 130 * MS, &in_tick, 0, &thr);
	acct_run(&t, 140 * MS, NULL, 0, 0);
	acct_preempt(&t, 150 * MS, &in_tick, 0, &thr);
	acct_run(&t, 153 * MS, NULL, ~0ULL, 0);
	assert_ns(t.throttled_ns, 13 * MS);
	assert_whole(&t);
}

Test(account_wait, without_a_quota_the_clock_means_nothing)
{
	struct ls_thread t = thread_running(100 * MS);

	acct_preempt(&t, 110 * MS, &in_tick, 0, &no_quota);
	acct_run(&t, 120 * MS, NULL, 900 * MS, 0);
	assert_ns(t.throttled_ns, 0);
}

Test(account_wait, a_throttled_wait_in_progress_is_shown_once)
{
	struct acct_throttle thr = { .ref = 0xabc, .clock = 500 * MS };
	struct ls_thread t = thread_running(100 * MS), copy;

	acct_preempt(&t, 110 * MS, &in_tick, 0, &thr);
	copy = t;
	acct_settle(&copy, 130 * MS, NULL, 515 * MS);
	assert_ns(copy.throttled_ns, 15 * MS);
	acct_settle(&copy, 130 * MS, NULL, 515 * MS);
	assert_ns(copy.throttled_ns, 15 * MS);
	acct_settle(&copy, 150 * MS, NULL, 520 * MS);
	assert_ns(copy.throttled_ns, 20 * MS);
	acct_run(&copy, 160 * MS, NULL, 530 * MS, 0);
	acct_run(&t, 160 * MS, NULL, 530 * MS, 0);
	assert_ns(copy.throttled_ns, 30 * MS);
	assert_ns(t.throttled_ns, 30 * MS);
	assert_whole(&copy);
}

/* --- culprits ------------------------------------------------------------------------------------------------------ */

Test(account_wait, a_wait_is_charged_to_each_who_ran_meanwhile)
{
	struct ls_thread t = thread_running(100 * MS);
	struct ls_cpu cpu = { 0 };

	ring_switch(&cpu, 90 * MS, 1, "loop");
	preempt(&t, 110 * MS);
	ring_switch(&cpu, 110 * MS, 7, "hog-a");
	ring_switch(&cpu, 116 * MS, 8, "hog-b");
	ring_switch(&cpu, 118 * MS, 7, "hog-a");
	ring_switch(&cpu, 121 * MS, 0, "swapper/0");
	acct_run(&t, 122 * MS, &cpu, 0, 0);
	assert_ns(culprit_ns(&t, 7, "hog-a"), 9 * MS);
	assert_ns(culprit_ns(&t, 8, "hog-b"), 2 * MS);
	assert_ns(culprit_ns(&t, 0, "swapper/0"), 1 * MS);
	assert_ns(culprit_ns(&t, 1, "loop"), 0);
	assert_ns(t.culprit_other_ns, 1 * MS); /* the fixture's own first wait */
	assert_whole(&t);
}

Test(account_wait, who_ran_already_when_it_began_is_charged_from_there)
{
	struct ls_thread t = thread_asleep(100 * MS);
	struct ls_cpu cpu = { 0 };

	ring_switch(&cpu, 20 * MS, 6, "before");
	ring_switch(&cpu, 50 * MS, 7, "hog");
	wake(&t, 120 * MS);
	acct_run(&t, 145 * MS, &cpu, 0, 0);
	assert_ns(culprit_ns(&t, 7, "hog"), 25 * MS);
	assert_ns(culprit_ns(&t, 6, "before"), 0);
	assert_ns(t.culprit_other_ns, 0);
	assert_whole(&t);
}

Test(account_wait, the_ring_wraps)
{
	struct ls_thread t = thread_asleep(100 * MS);
	struct ls_cpu cpu = { 0 };

	for (uint32_t i = 0; i < 3 * LS_CPU_RING + 5; i++)
		ring_switch(&cpu, (1 + i) * MS / 10, i, "past");
	wake(&t, 120 * MS);
	for (uint32_t i = 0; i < LS_CPU_RING - 1; i++)
		ring_switch(&cpu, (121 + i) * MS, 500 + i % 2, "hog");
	acct_run(&t, (121 + LS_CPU_RING - 1) * MS, &cpu, 0, 0);
	assert_ns(culprit_ns(&t, 500, "hog"), LS_CPU_RING / 2 * MS);
	assert_ns(culprit_ns(&t, 501, "hog"), (LS_CPU_RING / 2 - 1) * MS);
	assert_ns(culprit_ns(&t, 3 * LS_CPU_RING + 4, "past"), 1 * MS);
	assert_ns(t.culprit_other_ns, 0);
	assert_whole(&t);
}

Test(account_wait, what_is_older_than_the_ring_is_other)
{
	struct ls_thread t = thread_asleep(100 * MS);
	struct ls_cpu cpu = { 0 };

	wake(&t, 120 * MS);
	for (uint32_t i = 0; i < LS_CPU_RING + 24; i++)
		ring_switch(&cpu, (120 + 10 * i) * MS, 7, "hog");
	acct_run(&t, (120 + 10 * (LS_CPU_RING + 24)) * MS, &cpu, 0, 0);
	assert_ns(culprit_ns(&t, 7, "hog"), 10 * LS_CPU_RING * MS);
	assert_ns(t.culprit_other_ns, 10 * 24 * MS);
	assert_whole(&t);
}

Test(account_wait, a_ring_begun_during_the_wait_leaves_the_rest_other)
{
	struct ls_thread t = thread_asleep(100 * MS);
	struct ls_cpu cpu = { 0 };

	wake(&t, 120 * MS);
	ring_switch(&cpu, 150 * MS, 7, "hog");
	acct_run(&t, 160 * MS, &cpu, 0, 0);
	assert_ns(culprit_ns(&t, 7, "hog"), 10 * MS);
	assert_ns(t.culprit_other_ns, 30 * MS);
	assert_whole(&t);
}

/* Another CPU's ring moves on while it is read: switches after our time are in it. */
Test(account_wait, what_another_cpu_did_later_is_not_charged)
{
	struct ls_thread t = thread_asleep(100 * MS);
	struct ls_cpu cpu = { 0 };

	wake(&t, 120 * MS);
	ring_switch(&cpu, 120 * MS, 7, "hog");
	ring_switch(&cpu, 140 * MS, 8, "later");
	ring_switch(&cpu, 150 * MS, 9, "later still");
	acct_run(&t, 140 * MS, &cpu, 0, 0);
	assert_ns(culprit_ns(&t, 7, "hog"), 20 * MS);
	assert_ns(culprit_ns(&t, 8, "later"), 0);
	assert_ns(culprit_ns(&t, 9, "later still"), 0);
	assert_whole(&t);
}

Test(account_wait, no_ring_is_other)
{
	struct ls_thread t = thread_asleep(100 * MS);

	wake(&t, 120 * MS);
	run(&t, 150 * MS);
	assert_ns(t.culprit_other_ns, 30 * MS);
	assert_whole(&t);
}

Test(account_wait, a_program_that_renames_itself_is_two_culprits)
{
	struct ls_thread t = thread_asleep(100 * MS);
	struct ls_cpu cpu = { 0 };

	wake(&t, 120 * MS);
	ring_switch(&cpu, 120 * MS, 7, "one");
	ring_switch(&cpu, 125 * MS, 7, "fifteen-chars-x");
	acct_run(&t, 140 * MS, &cpu, 0, 0);
	assert_ns(culprit_ns(&t, 7, "one"), 5 * MS);
	assert_ns(culprit_ns(&t, 7, "fifteen-chars-x"), 15 * MS);
}

/* A CPU's idle task is named after it: "swapper/0", "swapper/1". On many CPUs they must not fill the table. */
Test(account_wait, idle_cpus_are_one_culprit)
{
	struct ls_thread t = thread_running(100 * MS);
	uint64_t now = 110 * MS;
	char comm[LS_COMM_LEN];
	int rows = 0;

	for (int i = 0; i < 20; i++, now += 10 * MS) {
		struct ls_cpu cpu = { 0 };

		snprintf(comm, sizeof(comm), "swapper/%u", (unsigned)i % 100);
		preempt(&t, now);
		ring_switch(&cpu, now, 0, comm);
		acct_run(&t, now + MS, &cpu, 0, 0);
	}
	for (int i = 0; i < LS_CULPRITS; i++)
		rows += t.culprits[i].used;
	cr_assert_eq(rows, 1);
	assert_ns(culprit_ns(&t, 0, "swapper/0"), 20 * MS);
	assert_whole(&t);
}

/* The thread is preempted at now and waits 1 ms for this process. */
static void wait_for_named(struct ls_thread *t, uint64_t now, uint32_t tgid, const char *comm)
{
	struct ls_cpu cpu = { 0 };

	preempt(t, now);
	ring_switch(&cpu, now, tgid, comm);
	acct_run(t, now + MS, &cpu, 0, 0);
}

/* Each has a name of its own. */
static void wait_for(struct ls_thread *t, uint64_t now, uint32_t tgid)
{
	char comm[LS_COMM_LEN];

	snprintf(comm, sizeof(comm), "hog-%u", tgid % 100000);
	wait_for_named(t, now, tgid, comm);
}

static uint64_t waited_for(const struct ls_thread *t, uint32_t tgid)
{
	char comm[LS_COMM_LEN];

	snprintf(comm, sizeof(comm), "hog-%u", tgid % 100000);
	return culprit_ns(t, tgid, comm);
}

/* One slice of a stranger does not push out those who have had more. */
Test(account_wait, a_newcomer_with_little_is_other)
{
	struct ls_thread t = thread_running(100 * MS);
	uint64_t now = 110 * MS;

	for (uint32_t i = 0; i < LS_CULPRITS; i++) {
		wait_for(&t, now + i * 4 * MS, 1000 + i);
		wait_for(&t, now + i * 4 * MS + 2 * MS, 1000 + i);
	}
	wait_for(&t, 200 * MS, 2000);
	assert_ns(waited_for(&t, 2000), 0);
	assert_ns(t.culprit_other_ns, 1 * MS + 1 * MS); /* the fixture's own wait */
	for (uint32_t i = 0; i < LS_CULPRITS; i++)
		assert_ns(waited_for(&t, 1000 + i), 2 * MS);
	assert_whole(&t);
}

/* Halved each second: what was had long ago does not keep a row. */
Test(account_wait, the_culprit_with_least_lately_gives_way)
{
	struct ls_thread t = thread_running(100 * MS);

	for (uint32_t i = 0; i < LS_CULPRITS; i++) {
		wait_for(&t, (110 + 4 * i) * MS, 1000 + i);
		wait_for(&t, (112 + 4 * i) * MS, 1000 + i);
	}
	for (uint32_t i = 0; i < LS_CULPRITS; i++)
		if (i != 3)
			wait_for(&t, 2 * SEC + (2 * i) * MS, 1000 + i); /* heard again */
	wait_for(&t, 3 * SEC, 2000);
	assert_ns(waited_for(&t, 2000), 1 * MS);
	assert_ns(waited_for(&t, 1003), 0);
	assert_ns(waited_for(&t, 1000), 3 * MS);
	assert_ns(t.culprit_other_ns, 1 * MS + 2 * MS); /* 1003's sum is kept there */
	assert_whole(&t);
}

/* A new hog on a machine where many run a little is named at once, and stays. */
Test(account_wait, a_new_hog_among_many_small_ones_is_named)
{
	struct ls_thread t = thread_running(100 * MS);
	uint64_t now = 110 * MS;

	for (uint32_t i = 0; i < 400; i++, now += 2 * MS)
		wait_for(&t, now, 1000 + i % 40);
	for (uint32_t i = 0; i < 400; i++, now += 2 * MS)
		wait_for(&t, now, i % 2 ? 7 : 1000 + i % 40);
	cr_assert_gt(waited_for(&t, 7), 190 * MS);
	assert_whole(&t);
}

/* A build beside a loop: many of one name, none of them for long. Together they are named. */
Test(account_wait, short_lived_processes_of_one_name_are_one_culprit)
{
	struct ls_thread t = thread_running(100 * MS);
	uint64_t now = 110 * MS, other;

	for (uint32_t i = 0; i < 5; i++, now += 2 * MS)
		wait_for(&t, now, 10 + i);
	other = t.culprit_other_ns;
	for (uint32_t i = 0; i < 300; i++, now += 2 * MS)
		wait_for_named(&t, now, 1000 + i / 3, "cc1");
	cr_assert_geq(culprit_ns(&t, LS_TGID_SEVERAL, "cc1"), 290 * MS);
	assert_ns(t.culprit_other_ns, other);
	for (uint32_t i = 0; i < 5; i++)
		assert_ns(waited_for(&t, 10 + i), 1 * MS);
	assert_whole(&t);
}

/* The one that matters keeps its number, whatever others of its name do. */
Test(account_wait, the_largest_of_a_name_stays_apart)
{
	struct ls_thread t = thread_running(100 * MS);
	uint64_t now = 110 * MS;

	for (uint32_t i = 0; i < 400; i++, now += 2 * MS)
		wait_for_named(&t, now, i % 2 ? 7 : 1000 + i, "node");
	assert_ns(culprit_ns(&t, 7, "node"), 200 * MS);
	cr_assert_geq(culprit_ns(&t, LS_TGID_SEVERAL, "node"), 190 * MS);
	assert_whole(&t);
}

/* An idle CPU and the quota are nobody's namesakes, whatever a process calls itself. */
Test(account_wait, what_is_no_process_is_put_together_with_none)
{
	static const struct {
		uint32_t tgid;
		const char *comm;
	} none[] = { { 0, "swapper/0" }, { LS_TGID_QUOTA, "(quota)" } };

	for (int k = 0; k < 2; k++) {
		struct ls_thread t = thread_running(100 * MS);
		uint64_t now = 110 * MS;

		for (uint32_t i = 0; i < 20; i++, now += 6 * MS) {
			wait_for_named(&t, now, none[k].tgid, none[k].comm);
			wait_for_named(&t, now + 2 * MS, none[k].tgid, none[k].comm);
			wait_for_named(&t, now + 4 * MS, 1000 + i, none[k].comm);
		}
		assert_ns(culprit_ns(&t, none[k].tgid, none[k].comm), 40 * MS);
		cr_assert_leq(culprit_ns(&t, LS_TGID_SEVERAL, none[k].comm), 20 * MS);
		assert_whole(&t);
	}
}
