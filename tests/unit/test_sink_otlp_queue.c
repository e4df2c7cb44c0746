/* SPDX-License-Identifier: BSD-2-Clause */
/* test_sink_otlp_queue.c - bounded in bytes; the oldest goes first, but never the one that is under way. */
#include <criterion/criterion.h>

#include <stdlib.h>

#include "sink/otlp_queue.h"

TestSuite(sink_otlp_queue, .timeout = 30);

static size_t add(struct otlp_queue *q, size_t n, size_t points)
{
	return otlp_queue_add(q, malloc(n), n, points);
}

Test(sink_otlp_queue, in_order)
{
	struct otlp_queue q;

	otlp_queue_init(&q, 1000);
	for (size_t i = 1; i <= 3; i++)
		cr_assert_eq(add(&q, 100, i), 0);
	cr_assert_eq(q.bytes, 300);
	cr_assert_eq(q.points, 6);
	for (size_t i = 1; i <= 3; i++)
		cr_assert_eq(otlp_queue_drop_first(&q), i);
	cr_assert_null(q.first);
	cr_assert_eq(q.bytes, 0);
	cr_assert_eq(add(&q, 100, 4), 0, "it can be used again once it was empty");
	cr_assert_eq(otlp_queue_drop_first(&q), 4);
	otlp_queue_clear(&q);
}

Test(sink_otlp_queue, full_throws_out_the_oldest)
{
	struct otlp_queue q;

	otlp_queue_init(&q, 1000);
	for (size_t i = 1; i <= 10; i++)
		cr_assert_eq(add(&q, 100, i), 0);
	cr_assert_eq(add(&q, 250, 11), 1 + 2 + 3);
	cr_assert_eq(q.bytes, 950);
	cr_assert_eq(otlp_queue_drop_first(&q), 4);
	otlp_queue_clear(&q);
	cr_assert_eq(q.points, 0);
}

Test(sink_otlp_queue, what_is_under_way_stays)
{
	struct otlp_queue q;

	otlp_queue_init(&q, 1000);
	cr_assert_eq(add(&q, 600, 1), 0);
	cr_assert_eq(add(&q, 400, 2), 0);
	q.first_is_held = true;
	cr_assert_eq(add(&q, 300, 4), 2);
	cr_assert_eq(add(&q, 500, 8), 8, "no room beside it: nothing else is thrown out for that");
	cr_assert_eq(q.bytes, 900);
	cr_assert_eq(otlp_queue_drop_first(&q), 1);
	cr_assert_not(q.first_is_held);
	cr_assert_eq(otlp_queue_drop_first(&q), 4);
	otlp_queue_clear(&q);
}

Test(sink_otlp_queue, what_never_fits_is_lost_alone)
{
	struct otlp_queue q;

	otlp_queue_init(&q, 1000);
	cr_assert_eq(add(&q, 900, 1), 0);
	cr_assert_eq(add(&q, 1001, 2), 2);
	cr_assert_eq(q.points, 1);
	otlp_queue_clear(&q);
}
