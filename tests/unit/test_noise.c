/* SPDX-License-Identifier: BSD-2-Clause */
/* test_noise.c - a difference is seen where there is one, and hardly ever where there is none. */
#include <criterion/criterion.h>
#include <math.h>

#include "model/noise.h"

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* About normal: mean, deviation. */
static double value(uint64_t *seed, double mean, double deviation)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += (double)(next_random(seed) >> 11) / (double)(1ull << 53);
	return mean + deviation * sum;
}

static struct series draw(uint64_t *seed, size_t n, double mean, double deviation)
{
	struct series s = { 0 };

	for (size_t i = 0; i < n; i++)
		series_add(&s, value(seed, mean, deviation));
	return s;
}

Test(noise, mean_and_spread_are_those_of_the_values)
{
	struct series s = { 0 }, z = { 0 };

	for (int i = 1; i <= 5; i++)
		series_add(&s, i);
	series_add(&s, NAN);
	cr_assert_eq(s.n, 5);
	cr_assert_float_eq(s.mean, 3, 1e-12);
	cr_assert_float_eq(s.squares, 10, 1e-12);
	series_add(&z, 6);
	series_add(&z, 4);
	series_add_zeros(&z, 3);
	cr_assert_eq(z.n, 5);
	cr_assert_float_eq(z.mean, 2, 1e-12);
	cr_assert_float_eq(z.squares, 32, 1e-12); /* 16 + 4 + 3 * 4 */
}

Test(noise, the_same_is_hardly_ever_different)
{
	uint64_t seed = 1;
	unsigned wrong = 0;

	for (int i = 0; i < 5000; i++) {
		struct series a = draw(&seed, 3 + i % 20, 0.3, 0.2), b = draw(&seed, 3 + i % 7, 0.3, 0.2);

		wrong += noise_compare(&a, &b, 0.005).beyond;
	}
	cr_assert_leq(wrong, 15u, "%u of 5000", wrong); /* 99.9 %: 5 */
}

Test(noise, three_times_as_much_is_seen)
{
	uint64_t seed = 2;

	for (int i = 0; i < 1000; i++) {
		struct series a = draw(&seed, 8, 0.1, 0.01), b = draw(&seed, 8, 0.3, 0.03);

		cr_assert(noise_compare(&a, &b, 0.005).beyond);
	}
}

Test(noise, little_is_not_enough_and_few_say_nothing)
{
	struct series a = { 0 }, b = { 0 }, few = { 0 };

	for (int i = 0; i < 10; i++) {
		series_add(&a, 0.5);
		series_add(&b, 0.54);
	}
	series_add(&few, 1);
	series_add(&few, 1);
	cr_assert_not(noise_compare(&a, &b, 0.005).beyond, "less than a tenth");
	cr_assert_not(noise_compare(&a, &few, 0.005).known);
	cr_assert_not(noise_compare(&a, &few, 0.005).beyond);
}
