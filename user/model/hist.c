/* SPDX-License-Identifier: BSD-2-Clause */
/* hist.c - see hist.h. */
#include "model/hist.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "lib/cleanup.h"

unsigned hist_bucket(uint64_t value)
{
	unsigned octave;

	if (value < HIST_LINEAR)
		return (unsigned)value;
	if (value >= HIST_LIMIT)
		return HIST_BUCKETS - 1;
	/* The leading one and the SUB_BITS below it select the bucket: 2^SUB_BITS of them an octave. */
	octave = 63u - (unsigned)__builtin_clzll(value) - HIST_SUB_BITS;
	return (octave << HIST_SUB_BITS) + (unsigned)(value >> octave);
}

uint64_t hist_bucket_low(unsigned bucket)
{
	unsigned octave;

	if (bucket < HIST_LINEAR)
		return bucket;
	octave = (bucket >> HIST_SUB_BITS) - 1;
	return (uint64_t)(bucket - (octave << HIST_SUB_BITS)) << octave;
}

uint64_t hist_bucket_high(unsigned bucket)
{
	if (bucket < HIST_LINEAR)
		return bucket;
	if (bucket >= HIST_BUCKETS - 1)
		return UINT64_MAX;
	return hist_bucket_low(bucket + 1) - 1;
}

void hist_reset(struct hist *h)
{
	memset(h, 0, sizeof(*h));
}

void hist_add_n(struct hist *h, uint64_t value, uint64_t n)
{
	uint64_t add;

	if (n == 0)
		return;
	if (h->n == 0 || value < h->min)
		h->min = value;
	if (value > h->max)
		h->max = value;
	h->n += n;
	if (__builtin_mul_overflow(value, n, &add) || __builtin_add_overflow(h->sum, add, &h->sum))
		h->sum = UINT64_MAX;
	h->bucket[hist_bucket(value)] += n;
}

void hist_add(struct hist *h, uint64_t value)
{
	hist_add_n(h, value, 1);
}

void hist_merge(struct hist *a, const struct hist *b)
{
	if (b->n == 0)
		return;
	if (a->n == 0 || b->min < a->min)
		a->min = b->min;
	if (b->max > a->max)
		a->max = b->max;
	a->n += b->n;
	if (__builtin_add_overflow(a->sum, b->sum, &a->sum))
		a->sum = UINT64_MAX;
	for (size_t i = 0; i < ARRAY_SIZE(a->bucket); i++)
		a->bucket[i] += b->bucket[i];
}

/* The rank of the q-quantile, counted from 1. The product is nudged down so that 0.99 * 100, which is a little more
 * than 99 in binary, asks for the 99th value and not for the 100th. */
static uint64_t rank_of(const struct hist *h, double q)
{
	double r = ceil(q * (double)h->n * (1 - 1e-12));

	if (!(r >= 1))
		return 1;
	return r >= (double)h->n ? h->n : (uint64_t)r;
}

uint64_t hist_quantile(const struct hist *h, double q)
{
	uint64_t rank, seen = 0, v = h->max;

	if (h->n == 0)
		return 0;
	rank = rank_of(h, q);
	if (rank == h->n)
		return h->max;
	if (rank == 1)
		return h->min;
	for (unsigned i = 0; i < HIST_BUCKETS; i++) {
		seen += h->bucket[i];
		if (seen >= rank) {
			if (i < HIST_BUCKETS - 1)
				v = hist_bucket_low(i) + (hist_bucket_high(i) - hist_bucket_low(i)) / 2;
			break;
		}
	}
	return v < h->min ? h->min : v > h->max ? h->max : v;
}

double hist_mean(const struct hist *h)
{
	return h->n ? (double)h->sum / (double)h->n : NAN;
}
