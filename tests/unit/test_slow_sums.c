/* SPDX-License-Identifier: BSD-2-Clause */
/* test_slow_sums.c - where slow time went: summed by kind, what and stack, nothing lost, bounded. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "lib/cleanup.h"
#include "model/slow_sums.h"

TestSuite(slow_sums, .timeout = 60);

static struct slow_cause cause(enum cause_kind kind, double us, const char *what, const char *inner, const char *outer)
{
	struct slow_cause c = { .kind = kind, .us = us, .what = what, .samples = -1 };

	if (inner)
		c.stack.frame[c.stack.n++] = inner;
	if (outer)
		c.stack.frame[c.stack.n++] = outer;
	return c;
}

static void add(struct slow_sums *s, double us, const struct slow_cause *causes, size_t n)
{
	struct slow_tick t = { .duration_us = us, .causes = causes, .n_causes = n };

	cr_assert_eq(slow_sums_add(s, &t), 0);
}

static struct slow_sums *new_sums(void)
{
	struct slow_sums *s = NULL;

	cr_assert_eq(slow_sums_new(&s), 0);
	return s;
}

static double sum_us(struct slow_sums *s)
{
	size_t n;
	const struct slow_sum *list = slow_sums_list(s, &n);
	double us = 0;

	for (size_t i = 0; i < n; i++)
		us += list[i].us;
	return us;
}

Test(slow_sums, empty)
{
	struct slow_sums *s = new_sums();
	size_t n = 7;

	cr_assert_not_null(slow_sums_list(s, &n));
	cr_assert_eq(n, 0u);
	cr_assert_eq(slow_sums_ticks(s), 0u);
	slow_sums_free(s);
	slow_sums_free(NULL);
}

Test(slow_sums, the_same_cause_of_two_ticks_is_one_and_the_largest_comes_first)
{
	struct slow_sums *s = new_sums();
	struct slow_cause first[] = { cause(CAUSE_SYSCALL, 40000, "fsync(/a)", "fsync", "save"), cause(CAUSE_CPU, 50000, "", "parse", "main") },
			  second[] = { cause(CAUSE_SYSCALL, 30000, "fsync(/a)", "fsync", "save") };
	const struct slow_sum *list;
	size_t n;

	add(s, 90000, first, 2);
	add(s, 31000, second, 1);
	list = slow_sums_list(s, &n);
	cr_assert_eq(n, 2u);
	cr_assert_eq(list[0].kind, CAUSE_SYSCALL);
	cr_assert_float_eq(list[0].us, 70000, 1e-6);
	cr_assert_eq(list[0].ticks, 2u);
	cr_assert_str_eq(list[0].what, "fsync(/a)");
	cr_assert_eq(list[0].stack->n, 2u);
	cr_assert_str_eq(list[0].stack->frame[1], "save");
	cr_assert_str_eq(list[1].stack->frame[0], "parse");
	cr_assert_eq(slow_sums_ticks(s), 2u);
	cr_assert_float_eq(slow_sums_us(s), 121000, 1e-6);
	slow_sums_free(s);
}

Test(slow_sums, kind_what_and_stack_tell_causes_apart)
{
	struct slow_sums *s = new_sums();
	struct slow_cause c[] = {
		cause(CAUSE_SYSCALL, 1, "read(pipe)", "read", "a"), cause(CAUSE_SYSCALL, 1, "read(pipe)", "read", "b"),
		cause(CAUSE_SYSCALL, 1, "read(/f)", "read", "a"),   cause(CAUSE_PAGE_FAULT, 1, "read(/f)", "read", "a"),
		cause(CAUSE_SYSCALL, 1, "read(/f)", NULL, NULL),    cause(CAUSE_SYSCALL, 1, "read(/f)", "read", NULL),
	};
	size_t n;

	add(s, 6, c, ARRAY_SIZE(c));
	slow_sums_list(s, &n);
	cr_assert_eq(n, ARRAY_SIZE(c));
	slow_sums_free(s);
}

Test(slow_sums, a_newline_in_a_name_makes_no_frame_of_it)
{
	struct slow_sums *s = new_sums();
	const struct slow_cause causes[] = { cause(CAUSE_CPU, 1, "a\nb", NULL, NULL), cause(CAUSE_CPU, 2, "a", "b", NULL),
					     cause(CAUSE_CPU, 4, "a", "b\nc", NULL), cause(CAUSE_CPU, 8, "a", "b", "c") };
	size_t n;

	add(s, 15, causes, 4);
	slow_sums_list(s, &n);
	cr_assert_eq(n, 4u);
	slow_sums_free(s);
}

Test(slow_sums, what_it_keeps_is_its_own)
{
	struct slow_sums *s = new_sums();
	char what[16] = "fsync(/a)", frame[16] = "save";
	struct slow_cause c = cause(CAUSE_SYSCALL, 1, what, frame, NULL);
	const struct slow_sum *list;
	size_t n;

	add(s, 1, &c, 1);
	memset(what, 'x', sizeof(what) - 1);
	memset(frame, 'x', sizeof(frame) - 1);
	list = slow_sums_list(s, &n);
	cr_assert_str_eq(list[0].what, "fsync(/a)");
	cr_assert_str_eq(list[0].stack->frame[0], "save");
	slow_sums_free(s);
}

Test(slow_sums, a_tick_in_progress_comes_again_at_its_end)
{
	struct slow_sums *s = new_sums();
	struct slow_cause c = cause(CAUSE_CPU, 1000, "", NULL, NULL);
	struct slow_tick t = { .duration_us = 1000, .causes = &c, .n_causes = 1, .in_progress = true };
	size_t n;

	cr_assert_eq(slow_sums_add(s, &t), 0);
	slow_sums_list(s, &n);
	cr_assert_eq(n, 0u);
	cr_assert_eq(slow_sums_ticks(s), 0u);
	t.in_progress = false;
	t.suppressed = 12;
	cr_assert_eq(slow_sums_add(s, &t), 0);
	cr_assert_eq(slow_sums_add(s, &t), 0);
	cr_assert_eq(slow_sums_ticks(s), 2u);
	cr_assert_eq(slow_sums_held_back(s), 24u);
	slow_sums_free(s);
}

Test(slow_sums, beyond_the_limit_time_is_still_counted)
{
	struct slow_sums *s = new_sums();
	const struct slow_sum *list;
	double other = 0;
	size_t n;

	for (int i = 0; i < SLOW_SUMS_MAX + 500; i++) {
		char what[32];
		struct slow_cause c;

		snprintf(what, sizeof(what), "read(/f%d)", i);
		c = cause(CAUSE_SYSCALL, 2, what, "read", NULL);
		add(s, 2, &c, 1);
	}
	cr_assert_float_eq(sum_us(s), 2.0 * (SLOW_SUMS_MAX + 500), 1e-6);
	list = slow_sums_list(s, &n);
	cr_assert_leq(n, (size_t)SLOW_SUMS_MAX + 1);
	for (size_t i = 0; i < n; i++)
		other += list[i].kind == CAUSE_OTHER ? list[i].us : 0;
	cr_assert_float_eq(other, 1000, 1e-6);
	slow_sums_free(s);
}
