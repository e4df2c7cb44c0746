/* SPDX-License-Identifier: BSD-2-Clause */
/* test_ticks_cause.c - what a tick remembers of what held it up: nothing is lost, the largest stay, an old tick's never show. */
#include "lib/cleanup.h"
#include "test_account_random.h"
#include "test_ticks_fixture.h"

TestSuite(ticks_cause, .timeout = 60);

static struct ls_cause blocked_in(uint32_t nr, uint64_t arg, int32_t stack)
{
	return (struct ls_cause){ .kind = LS_CAUSE_SYSCALL, .nr = nr, .args = { arg }, .stack = stack };
}

static unsigned n_causes(const struct ls_tick *t)
{
	unsigned n = 0;

	while (n < LS_CAUSES && t->causes[n].kind)
		n++;
	return n;
}

static uint64_t sum_causes(const struct ls_tick *t)
{
	uint64_t sum = t->cause_other_ns;

	for (unsigned i = 0; i < n_causes(t); i++)
		sum += t->causes[i].ns;
	return sum;
}

static const struct ls_cause *cause_of(const struct ls_tick *t, uint32_t nr)
{
	for (unsigned i = 0; i < n_causes(t); i++)
		if (t->causes[i].nr == nr)
			return &t->causes[i];
	return NULL;
}

Test(ticks_cause, the_same_cause_is_summed_and_others_are_kept_apart)
{
	_cleanup_free_ struct measured_loop *l = loop_in_tick(100 * MS);
	struct ls_cause a = blocked_in(NR_FSYNC, 7, 1), other_fd = blocked_in(NR_FSYNC, 8, 1), other_stack = blocked_in(NR_FSYNC, 7, 2),
			hog = { .kind = LS_CAUSE_WAIT, .nr = 9, .stack = LS_NO_STACK, .comm = "hog-1" }, hog2 = hog;

	snprintf(hog2.comm, sizeof(hog2.comm), "hog-2");
	ticks_cause(&l->k, &a, 3 * MS);
	ticks_cause(&l->k, &other_fd, 1 * MS);
	ticks_cause(&l->k, &a, 4 * MS);
	ticks_cause(&l->k, &other_stack, 1 * MS);
	ticks_cause(&l->k, &hog, 1 * MS);
	ticks_cause(&l->k, &hog2, 1 * MS);
	cr_assert_eq(n_causes(&l->k.tick), 5u);
	assert_ns(l->k.tick.causes[0].ns, 7 * MS);
	cr_assert_eq(l->k.tick.causes[0].count, 2u);
	assert_ns(sum_causes(&l->k.tick), 11 * MS);
}

Test(ticks_cause, polls_of_other_fds_are_kept_apart)
{
	_cleanup_free_ struct measured_loop *l = loop_in_tick(100 * MS);
	struct ls_cause one = blocked_in(NR_READ, 0x7ffc, 1), other = one;

	one.args[3] = LS_POLLED_KNOWN | 7;
	other.args[3] = LS_POLLED_KNOWN | 8;
	ticks_cause(&l->k, &one, 3 * MS);
	ticks_cause(&l->k, &other, 2 * MS);
	ticks_cause(&l->k, &one, 1 * MS);
	cr_assert_eq(n_causes(&l->k.tick), 2u);
	assert_ns(l->k.tick.causes[0].ns, 4 * MS);
	assert_ns(l->k.tick.causes[1].ns, 2 * MS);
}

Test(ticks_cause, short_ones_are_summed_only)
{
	_cleanup_free_ struct measured_loop *l = loop_in_tick(100 * MS);
	struct ls_cause c = blocked_in(NR_READ, 3, 1);

	ticks_cause(&l->k, &c, TICKS_CAUSE_MIN_NS - 1);
	cr_assert_eq(n_causes(&l->k.tick), 0u);
	assert_ns(l->k.tick.cause_other_ns, TICKS_CAUSE_MIN_NS - 1);
	ticks_cause(&l->k, &c, TICKS_CAUSE_MIN_NS);
	cr_assert_eq(n_causes(&l->k.tick), 1u);
}

Test(ticks_cause, a_full_list_gives_up_its_smallest)
{
	_cleanup_free_ struct measured_loop *l = loop_in_tick(100 * MS);

	for (uint32_t i = 0; i < LS_CAUSES; i++) {
		struct ls_cause c = blocked_in(100 + i, 0, 1);

		ticks_cause(&l->k, &c, (10 + i) * MS);
	}
	ticks_cause(&l->k, &(struct ls_cause){ .kind = LS_CAUSE_SYSCALL, .nr = 1 }, 9 * MS);
	cr_assert_null(cause_of(&l->k.tick, 1), "smaller than all");
	assert_ns(l->k.tick.cause_other_ns, 9 * MS);
	ticks_cause(&l->k, &(struct ls_cause){ .kind = LS_CAUSE_SYSCALL, .nr = 2 }, 50 * MS);
	cr_assert_not_null(cause_of(&l->k.tick, 2));
	cr_assert_null(cause_of(&l->k.tick, 100), "the smallest one had to go");
	cr_assert_not_null(cause_of(&l->k.tick, 101));
	assert_ns(l->k.tick.cause_other_ns, 19 * MS);
}

Test(ticks_cause, causes_and_the_rest_are_all_that_was_given)
{
	uint64_t seed = 88172645463325252ull;

	for (int round = 0; round < 2000; round++) {
		_cleanup_free_ struct measured_loop *l = loop_in_tick(100 * MS);
		uint64_t given = 0, largest = 0;
		int n = (int)(next_random(&seed) % 60);

		for (int i = 0; i < n; i++) {
			struct ls_cause c = blocked_in((uint32_t)(next_random(&seed) % 30), next_random(&seed) % 2, 1);
			uint64_t ns = next_random(&seed) % (2 * MS);

			ticks_cause(&l->k, &c, ns);
			given += ns;
			largest = ns > largest ? ns : largest;
			assert_ns(sum_causes(&l->k.tick), given);
		}
		if (largest >= TICKS_CAUSE_MIN_NS) {
			uint64_t most = 0;

			for (unsigned i = 0; i < n_causes(&l->k.tick); i++)
				most = l->k.tick.causes[i].ns > most ? l->k.tick.causes[i].ns : most;
			cr_assert_geq(most, largest, "the largest sleep is told");
		}
	}
}

Test(ticks_cause, a_new_tick_begins_with_none)
{
	_cleanup_free_ struct measured_loop *l = loop_in_tick(100 * MS);

	for (uint32_t i = 0; i < LS_CAUSES; i++) {
		struct ls_cause c = blocked_in(100 + i, 0, 1);

		ticks_cause(&l->k, &c, 1 * MS);
		ticks_sample(&l->k, (int32_t)i);
	}
	enter(l, 200 * MS, LS_NO_TIMEOUT);
	leave(l, 201 * MS, 1);
	cr_assert_eq(n_causes(&l->k.tick), 0u);
	ticks_cause(&l->k, &(struct ls_cause){ .kind = LS_CAUSE_SYSCALL, .nr = 1 }, 1 * MS);
	cr_assert_eq(n_causes(&l->k.tick), 1u, "those of the tick before do not show behind it");
	assert_ns(sum_causes(&l->k.tick), 1 * MS);
	cr_assert_eq(l->k.tick.n_samples, 0u);
	ticks_sample(&l->k, 77);
	cr_assert_eq(l->k.tick.samples[0].stack, 77);
	cr_assert_eq(l->k.tick.samples[0].count, 1u);
	cr_assert_eq(l->k.tick.samples[1].count, 0u);
}

Test(ticks_cause, a_wait_is_no_tick)
{
	_cleanup_free_ struct measured_loop *l = loop_new(100 * MS);
	struct ls_cause c = blocked_in(NR_READ, 3, 1);

	ticks_cause(&l->k, &c, 5 * MS); /* before the first edge */
	enter(l, 101 * MS, LS_NO_TIMEOUT);
	ticks_cause(&l->k, &c, 5 * MS);
	cr_assert_eq(n_causes(&l->k.tick), 0u);
	assert_ns(l->k.tick.cause_other_ns, 0);
}

/* --- samples -------------------------------------------------------------------------------------------------------- */

Test(ticks_cause, samples_are_counted_by_stack_and_none_is_forgotten)
{
	_cleanup_free_ struct measured_loop *l = loop_in_tick(100 * MS);
	uint32_t kept = 0;

	for (int32_t i = 0; i < 10; i++)
		ticks_sample(&l->k, 5);
	ticks_sample(&l->k, LS_NO_STACK);
	for (int32_t i = 0; i < LS_SAMPLES + 4; i++)
		cr_assert_eq(ticks_sample(&l->k, 100 + i), i < LS_SAMPLES - 2, "stack %d", i);
	cr_assert_eq(ticks_sample(&l->k, 5), 1, "one that is known has its place");
	cr_assert_eq(l->k.tick.n_samples, 10u + 1u + LS_SAMPLES + 4u + 1u);
	cr_assert_eq(l->k.tick.samples[0].count, 11u);
	cr_assert_eq(l->k.tick.samples[1].stack, LS_NO_STACK);
	for (int i = 0; i < LS_SAMPLES; i++)
		kept += l->k.tick.samples[i].count;
	cr_assert_eq(kept, 11u + LS_SAMPLES - 1u);
}
