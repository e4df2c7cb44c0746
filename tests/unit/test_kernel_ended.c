/* SPDX-License-Identifier: BSD-2-Clause */
/* test_kernel_ended.c - what ended between two snapshots comes with the next one, in order, or is counted as lost. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "source/kernel_ended.h"

TestSuite(kernel_ended, .timeout = 30);

struct seen {
	size_t n;
	unsigned next;
};

static void see(void *arg, const struct ls_snap *s)
{
	struct seen *seen = arg;

	cr_assert_eq(s->tid, seen->next++);
	seen->n++;
}

Test(kernel_ended, all_in_order_and_once)
{
	struct kernel_ended e = {};
	struct seen seen = {};
	unsigned tid = 0;

	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < round * 100; i++) {
			struct ls_snap s = { .tid = tid++ };

			kernel_ended_keep(&e, &s);
		}
		seen.n = 0;
		kernel_ended_hand_out(&e, see, &seen);
		cr_assert_eq(seen.n, (size_t)round * 100);
		kernel_ended_hand_out(&e, see, &seen);
		cr_assert_eq(seen.n, (size_t)round * 100);
	}
	cr_assert_eq(kernel_ended_lost(&e), 0u);
	kernel_ended_free(&e);
}

Test(kernel_ended, too_many_are_counted)
{
	struct kernel_ended e = {};
	struct seen seen = {};

	for (unsigned i = 0; i < KERNEL_ENDED_MAX + 7; i++) {
		struct ls_snap s = { .tid = i };

		kernel_ended_keep(&e, &s);
	}
	cr_assert_eq(kernel_ended_lost(&e), 7u);
	cr_assert_eq(kernel_ended_lost(&e), 0u);
	kernel_ended_hand_out(&e, see, &seen);
	cr_assert_eq(seen.n, (size_t)KERNEL_ENDED_MAX);
	cr_assert_null(e.snaps, "the room for many is given back");
	kernel_ended_free(&e);
}
