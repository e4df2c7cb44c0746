/* SPDX-License-Identifier: BSD-2-Clause */
/* test_board_fixture.h - a board that has told how its clock counts, and nothing else yet. */
#ifndef LOOPSCOPE_TEST_BOARD_FIXTURE_H
#define LOOPSCOPE_TEST_BOARD_FIXTURE_H

#include <criterion/criterion.h>

#include "lib/cleanup.h"
#include "model/board.h"

DEFINE_CLEANUP(struct board *, board_free);
#define _cleanup_board_ CLEANUP(board_free_ptr)

#define HZ 1000000u

static inline struct board *board_that_counts(const struct board_options *o)
{
	struct board_event e = { .kind = BOARD_COUNTER };
	struct board *b = NULL;

	cr_assert_eq(board_new(o, &b), 0);
	e.u.counter.hz = HZ;
	e.u.counter.bits = 32;
	board_event(b, &e);
	return b;
}

#endif
