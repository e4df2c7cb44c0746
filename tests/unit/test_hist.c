/* SPDX-License-Identifier: BSD-2-Clause */
/* test_hist.c - the histogram's promises: exact ends, bounded error, merging as good as adding. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "lib/cleanup.h"
#include "model/hist.h"

TestSuite(hist, .timeout = 60);

static struct hist *new_hist(void)
{
	struct hist *h = calloc(1, sizeof(*h));

	cr_assert_not_null(h);
	return h;
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

Test(hist, buckets_tile_the_range_without_holes)
{
	for (unsigned i = 0; i < HIST_BUCKETS; i++) {
		cr_assert_eq(hist_bucket(hist_bucket_low(i)), i);
		cr_assert_eq(hist_bucket(hist_bucket_high(i)), i);
		if (i > 0)
			cr_assert_eq(hist_bucket_high(i - 1) + 1, hist_bucket_low(i));
	}
	cr_assert_eq(hist_bucket(0), 0u);
	cr_assert_eq(hist_bucket(HIST_LIMIT - 1), HIST_BUCKETS - 2);
	cr_assert_eq(hist_bucket(HIST_LIMIT), HIST_BUCKETS - 1);
	cr_assert_eq(hist_bucket(UINT64_MAX), HIST_BUCKETS - 1);
}

Test(hist, an_hour_of_nanoseconds_is_inside_the_range)
{
	cr_assert_lt(3600ull * 1000000000ull, HIST_LIMIT);
}

Test(hist, every_value_is_read_back_within_the_error)
{
	_cleanup_free_ struct hist *h = new_hist();
	uint64_t seed = 88172645463325252ull;

	for (int i = 0; i < 20000; i++) {
		/* Uniform in the logarithm, so that every octave is met. */
		uint64_t v = next_random(&seed) >> (22 + next_random(&seed) % 42);
		double got;

		hist_reset(h);
		/* Three values around it: the ends are exact, so only a middle one shows the bucket's error. */
		hist_add(h, 0);
		hist_add(h, v);
		hist_add(h, UINT64_MAX);
		got = (double)hist_quantile(h, 0.5);
		cr_assert_leq(fabs(got - (double)v), (double)v / 64, "%lu read back as %.0f", v, got);
	}
}

Test(hist, quantiles_of_a_skewed_sample)
{
	enum { N = 50001 };
	_cleanup_free_ struct hist *h = new_hist();
	_cleanup_free_ uint64_t *v = calloc(N, sizeof(*v));
	uint64_t seed = 1234567, sum = 0;
	static const double q[] = { 0, 0.001, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1 };

	for (int i = 0; i < N; i++) {
		v[i] = 1000 + (next_random(&seed) % 1000) * (next_random(&seed) % 1000) * (next_random(&seed) % 1000);
		sum += v[i];
		hist_add(h, v[i]);
	}
	qsort(v, N, sizeof(*v), compare);
	for (size_t i = 0; i < ARRAY_SIZE(q); i++) {
		size_t rank = (size_t)ceil(q[i] * N);
		double want = (double)v[rank ? rank - 1 : 0], got = (double)hist_quantile(h, q[i]);

		cr_assert_leq(fabs(got - want), want / 64, "q %g: %g for %g", q[i], got, want);
	}
	cr_assert_eq(hist_quantile(h, 0), v[0]);
	cr_assert_eq(hist_quantile(h, 1), v[N - 1]);
	cr_assert_eq(h->sum, sum);
	cr_assert_eq(h->n, (uint64_t)N);
	cr_assert_float_eq(hist_mean(h), (double)sum / N, 1e-9);
}

Test(hist, merging_is_as_good_as_adding)
{
	_cleanup_free_ struct hist *all = new_hist();
	_cleanup_free_ struct hist *a = new_hist();
	_cleanup_free_ struct hist *b = new_hist();
	uint64_t seed = 42;

	for (int i = 0; i < 10000; i++) {
		uint64_t v = next_random(&seed) >> (next_random(&seed) % 64);

		hist_add(all, v);
		hist_add(i % 3 ? a : b, v);
	}
	hist_merge(a, b);
	cr_assert_eq(a->n, all->n);
	cr_assert_eq(a->sum, all->sum);
	cr_assert_eq(a->min, all->min);
	cr_assert_eq(a->max, all->max);
	for (unsigned i = 0; i < HIST_BUCKETS; i++)
		cr_assert_eq(a->bucket[i], all->bucket[i]);
	/* Merging with nothing changes nothing, on either side. */
	hist_reset(b);
	hist_merge(a, b);
	cr_assert_eq(a->n, all->n);
	hist_merge(b, a);
	cr_assert_eq(b->min, all->min);
	cr_assert_eq(b->max, all->max);
}

Test(hist, empty_and_full)
{
	_cleanup_free_ struct hist *h = new_hist();

	cr_assert_eq(hist_quantile(h, 0.5), 0u);
	cr_assert(isnan(hist_mean(h)));
	hist_add_n(h, 7, 0);
	cr_assert_eq(h->n, 0u);
	hist_add_n(h, UINT64_MAX, 3);
	cr_assert_eq(h->sum, UINT64_MAX, "the sum saturates");
	cr_assert_eq(hist_quantile(h, 0.5), UINT64_MAX, "beyond the range only the maximum is known");
}

Test(hist, ranks_are_not_off_by_one)
{
	_cleanup_free_ struct hist *h = new_hist();

	for (unsigned i = 1; i <= 50; i++)
		hist_add(h, i); /* one value a bucket: exact */
	cr_assert_eq(hist_quantile(h, 0.5), 25u);
	cr_assert_eq(hist_quantile(h, 0.9), 45u);
	cr_assert_eq(hist_quantile(h, 0.98), 49u);
	cr_assert_eq(hist_quantile(h, 0.99), 50u);
}
