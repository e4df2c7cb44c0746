/* SPDX-License-Identifier: BSD-2-Clause */
/* test_lib_backoff.c - waits double up to their limit, and are partly chance. */
#include <criterion/criterion.h>

#include "lib/backoff.h"

TestSuite(lib_backoff, .timeout = 30);

Test(lib_backoff, doubles_up_to_the_limit)
{
	static const uint64_t due[] = {1000, 2000, 4000, 8000, 10000, 10000, 10000};

	for (uint64_t seed = 0; seed < 200; seed++) {
		struct backoff b = {.first_ns = 1000, .max_ns = 10000, .random = seed};

		for (size_t i = 0; i < sizeof(due) / sizeof(due[0]); i++) {
			uint64_t wait = backoff_next(&b);

			cr_assert(wait >= due[i] / 2 && wait <= due[i], "try %zu of seed %llu waits %llu", i,
				  (unsigned long long)seed, (unsigned long long)wait);
		}
		backoff_reset(&b);
		cr_assert_leq(backoff_next(&b), 1000);
	}
}

/* Many who fail together do not come back together: each tenth of the possible waits gets about its share. */
Test(lib_backoff, spreads)
{
	unsigned tenths[10] = {0};

	for (uint64_t seed = 0; seed < 10000; seed++) {
		struct backoff b = {.first_ns = 2000000, .max_ns = 2000000, .random = seed};

		tenths[(backoff_next(&b) - 1000000) * 10 / 1000001]++;
	}
	for (int i = 0; i < 10; i++)
		cr_assert(tenths[i] > 850 && tenths[i] < 1150, "tenth %d has %u of 10000", i, tenths[i]);
}

Test(lib_backoff, never_overflows)
{
	struct backoff b = {.first_ns = 3, .max_ns = UINT64_MAX - 1};

	for (int i = 0; i < 1000; i++)
		cr_assert_leq(backoff_next(&b), UINT64_MAX - 1);
	cr_assert_geq(backoff_next(&b), UINT64_MAX / 4);
}
