/* SPDX-License-Identifier: BSD-2-Clause */
/* test_kernel_budget.c - when edges are let go for their cost, and when they are tried again. */
#include <criterion/criterion.h>

#include "source/kernel_budget.h"

TestSuite(kernel_budget, .timeout = 20);

#define LOOK_NS 100000000ull
#define WAIT_COST_NS 100.0
#define BUDGET 0.02
#define PER_LOOK 20000ull /* waits that cost exactly the budget */

struct scene {
	struct kernel_budget b;
	uint64_t now, waits[3];
	bool attached;
};

static const struct scene begun = { .now = 1000000000ull, .attached = true };

/* One look: how many waits each loop has had since the last one. */
static enum budget_verdict look(struct scene *s, double budget, size_t n, const uint64_t *more)
{
	enum budget_verdict v;

	s->now += LOOK_NS;
	kernel_budget_begin(&s->b, budget, s->now);
	for (size_t i = 0; i < n; i++) {
		struct ls_pulse p = { .now_ns = s->now, .start_boottime_ns = 7, .tid = (uint32_t)i + 1, .waits = s->waits[i] += more[i] };

		kernel_budget_pulse(&s->b, &p, WAIT_COST_NS);
	}
	v = kernel_budget_end(&s->b, s->attached);
	if (v == BUDGET_LET_GO)
		s->attached = false;
	if (v == BUDGET_TRY_AGAIN)
		s->attached = true;
	return v;
}

static enum budget_verdict look_at_one(struct scene *s, uint64_t more)
{
	return look(s, BUDGET, 1, &more);
}

/* Looks until something happens; returns how many ns that took. */
static uint64_t until(struct scene *s, enum budget_verdict v, uint64_t more)
{
	uint64_t from = s->now;

	for (int i = 0; i < 10000; i++)
		if (look_at_one(s, more) == v)
			return s->now - from;
	cr_assert_fail("verdict %d never came", v);
	return 0;
}

Test(kernel_budget, within_the_budget_nothing_happens)
{
	struct scene s = begun;

	for (int i = 0; i < 1000; i++)
		cr_assert_eq(look_at_one(&s, PER_LOOK), BUDGET_GO_ON);
	kernel_budget_free(&s.b);
}

Test(kernel_budget, two_looks_in_a_row_over_it_let_go)
{
	struct scene s = begun;

	look_at_one(&s, 0);
	cr_assert_eq(look_at_one(&s, PER_LOOK + 100), BUDGET_GO_ON);
	cr_assert_eq(look_at_one(&s, PER_LOOK + 100), BUDGET_LET_GO);
	kernel_budget_free(&s.b);
}

Test(kernel_budget, a_burst_does_not)
{
	struct scene s = begun;

	look_at_one(&s, 0);
	for (int i = 0; i < 100; i++) {
		cr_assert_eq(look_at_one(&s, 10 * PER_LOOK), BUDGET_GO_ON);
		cr_assert_eq(look_at_one(&s, 0), BUDGET_GO_ON);
	}
	kernel_budget_free(&s.b);
}

Test(kernel_budget, the_first_look_counts_nothing)
{
	struct scene s = begun;

	s.waits[0] = 1000000000;
	cr_assert_eq(look_at_one(&s, 0), BUDGET_GO_ON);
	cr_assert_eq(look_at_one(&s, 0), BUDGET_GO_ON);
	cr_assert_eq(look_at_one(&s, 0), BUDGET_GO_ON);
	kernel_budget_free(&s.b);
}

Test(kernel_budget, each_loop_has_a_budget_of_its_own)
{
	static const uint64_t all_within[] = { PER_LOOK, PER_LOOK, PER_LOOK }, one_over[] = { 0, PER_LOOK + 100, 0 };
	struct scene s = begun;

	for (int i = 0; i < 10; i++)
		cr_assert_eq(look(&s, BUDGET, 3, all_within), BUDGET_GO_ON);
	look(&s, BUDGET, 3, one_over);
	cr_assert_eq(look(&s, BUDGET, 3, one_over), BUDGET_LET_GO);
	kernel_budget_free(&s.b);
}

Test(kernel_budget, none_is_no_limit)
{
	struct scene s = begun;
	uint64_t many = 1000 * PER_LOOK;

	for (int i = 0; i < 10; i++)
		cr_assert_eq(look(&s, 0, 1, &many), BUDGET_GO_ON);
	kernel_budget_free(&s.b);
}

Test(kernel_budget, tried_again_after_5_s_then_after_twice_as_long_up_to_5_min)
{
	static const uint64_t pauses_s[] = { 5, 10, 20, 40, 80, 160, 300, 300 };
	struct scene s = begun;

	until(&s, BUDGET_LET_GO, 2 * PER_LOOK);
	for (size_t i = 0; i < sizeof(pauses_s) / sizeof(pauses_s[0]); i++) {
		cr_assert_eq(until(&s, BUDGET_TRY_AGAIN, 2 * PER_LOOK), pauses_s[i] * 1000000000ull, "pause %zu", i);
		cr_assert_leq(until(&s, BUDGET_LET_GO, 2 * PER_LOOK), 3 * LOOK_NS);
	}
	kernel_budget_free(&s.b);
}

Test(kernel_budget, a_calm_minute_is_forgiven)
{
	struct scene s = begun;

	until(&s, BUDGET_LET_GO, 2 * PER_LOOK);
	until(&s, BUDGET_TRY_AGAIN, 0);
	until(&s, BUDGET_LET_GO, 2 * PER_LOOK);
	cr_assert_eq(until(&s, BUDGET_TRY_AGAIN, 0), 10000000000ull);
	for (int i = 0; i < 600; i++)
		cr_assert_eq(look_at_one(&s, 0), BUDGET_GO_ON);
	until(&s, BUDGET_LET_GO, 2 * PER_LOOK);
	cr_assert_eq(until(&s, BUDGET_TRY_AGAIN, 0), 5000000000ull);
	kernel_budget_free(&s.b);
}

Test(kernel_budget, tried_again_also_where_all_loops_have_ended)
{
	struct scene s = begun;
	uint64_t none = 0, from;

	until(&s, BUDGET_LET_GO, 2 * PER_LOOK);
	from = s.now;
	while (look(&s, BUDGET, 0, &none) != BUDGET_TRY_AGAIN)
		cr_assert_leq(s.now - from, 5000000000ull);
	cr_assert_eq(s.now - from, 5000000000ull);
	kernel_budget_free(&s.b);
}

/* The thread id is used again: another loop, whose count begins anew. */
Test(kernel_budget, a_loop_is_forgotten_with_its_end)
{
	struct scene s = begun;
	uint64_t none = 0;

	look_at_one(&s, 0);
	cr_assert_eq(look_at_one(&s, 2 * PER_LOOK), BUDGET_GO_ON);
	look(&s, BUDGET, 0, &none);
	cr_assert_null(s.b.loops);
	cr_assert_eq(look_at_one(&s, 2 * PER_LOOK), BUDGET_GO_ON);
	cr_assert_eq(look_at_one(&s, 2 * PER_LOOK), BUDGET_GO_ON);
	kernel_budget_free(&s.b);
}
