/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hist.h - a log-linear histogram of durations: fixed memory, mergeable, quantiles within a known error.
 *
 * Values are unsigned integers of any unit; ranges are chosen for nanoseconds, 1 ns to 1 hour. Below 64 every value
 * has a bucket of its own; above, each octave is cut into 32 equal buckets, and a quantile is the middle of its
 * bucket: the relative error is at most half a bucket's width, 1/64 = 1.5625 %. Values from HIST_LIMIT on (73 minutes
 * in nanoseconds) share the last bucket. Count, sum, minimum and maximum are exact for every value.
 *
 * Memory: sizeof(struct hist) is 9.5 KiB (1217 buckets), wherever it is put; no function here allocates.
 * The sum saturates at UINT64_MAX (584 years of nanoseconds). An all-zero struct is an empty histogram.
 */
#ifndef LOOPSCOPE_MODEL_HIST_H
#define LOOPSCOPE_MODEL_HIST_H

#include <stdint.h>

#define HIST_SUB_BITS 5 /* 32 buckets an octave */
#define HIST_LIMIT_BITS 42
#define HIST_LIMIT (1ull << HIST_LIMIT_BITS)
#define HIST_LINEAR (2u << HIST_SUB_BITS) /* below this a bucket holds one value */
#define HIST_BUCKETS (HIST_LINEAR + ((HIST_LIMIT_BITS - HIST_SUB_BITS - 1) << HIST_SUB_BITS) + 1) /* last: beyond */

struct hist {
	uint64_t n, sum, min, max; /* min and max are 0 while n is 0 */
	uint64_t bucket[HIST_BUCKETS];
};

_Static_assert(HIST_BUCKETS == 1217, "the comment above states the size");

/* Which bucket a value falls into, and what a bucket holds: [low, high], both inclusive. For those who fill the
 * buckets elsewhere (the kernel side) and for exporters. */
unsigned hist_bucket(uint64_t value);
uint64_t hist_bucket_low(unsigned bucket);
uint64_t hist_bucket_high(unsigned bucket);

void hist_reset(struct hist *h);
void hist_add(struct hist *h, uint64_t value);
void hist_add_n(struct hist *h, uint64_t value, uint64_t n);
/* a += b. As good as if every value had been added to a. */
void hist_merge(struct hist *a, const struct hist *b);

/* The q-quantile, 0 <= q <= 1: the smallest value that at least q*n of the values do not exceed, within the error
 * above; never below min or above max; the maximum where it lies in the last bucket. 0 while the histogram is empty. */
uint64_t hist_quantile(const struct hist *h, double q);
double hist_mean(const struct hist *h); /* exact; NAN while empty */

#endif
