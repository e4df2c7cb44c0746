/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * noise.h - two series of the same figure, and whether they differ by more than each varies in itself.
 *
 * Welch's test of two means, two-sided, at 99.9 %: a report compares many figures, and few of them may be wrong by chance. The noise
 * is the half-width of the interval around the difference. Intervals that follow each other are alike, which the test does not
 * know, and two runs of one program are not the same even where each is steady: so a difference also has to be a tenth of the
 * larger mean, and `least`, which is the caller's.
 */
#ifndef LOOPSCOPE_MODEL_NOISE_H
#define LOOPSCOPE_MODEL_NOISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NOISE_LEAST_VALUES 3 /* of either series: with fewer nothing can be said */

/* Sums over the values so far; zeroed to begin with. */
struct series {
	size_t n;
	double mean, squares; /* Welford: sum of squared distances from the mean */
};

struct difference {
	bool known;    /* both have enough values */
	bool beyond;   /* the difference is more than noise */
	double before, after, noise; /* means; NAN where a series is empty */
};

/* NAN is no value. */
void series_add(struct series *s, double value);
/* n times nothing: for figures that are only told where they are not 0. */
void series_add_zeros(struct series *s, size_t n);

struct difference noise_compare(const struct series *before, const struct series *after, double least);

#endif
