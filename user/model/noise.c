/* SPDX-License-Identifier: BSD-2-Clause */
/* noise.c - see noise.h. B. L. Welch, "The generalization of 'Student's' problem", Biometrika 34 (1947). */
#include "model/noise.h"

#include <math.h>

#include "lib/cleanup.h"

#define SHARE_OF_MEAN 0.1

/* Student's t, two-sided 99.9 %, by degrees of freedom; in between the smaller ones count. */
static double critical(double degrees)
{
	static const struct {
		double degrees, t;
	} table[] = {
		{ 1, 636.62 }, { 2, 31.599 }, { 3, 12.924 }, { 4, 8.610 },  { 5, 6.869 },  { 6, 5.959 },  { 7, 5.408 },	 { 8, 5.041 },
		{ 9, 4.781 },  { 10, 4.587 }, { 12, 4.318 }, { 15, 4.073 }, { 20, 3.850 }, { 30, 3.646 }, { 60, 3.460 }, { 120, 3.373 },
	};
	double t = table[0].t;

	for (size_t i = 0; i < ARRAY_SIZE(table) && table[i].degrees <= degrees; i++)
		t = table[i].t;
	return t;
}

void series_add(struct series *s, double value)
{
	double from;

	if (isnan(value))
		return;
	from = value - s->mean;
	s->n++;
	s->mean += from / (double)s->n;
	s->squares += from * (value - s->mean);
}

void series_add_zeros(struct series *s, size_t n)
{
	double all = (double)(s->n + n), share;

	if (!n)
		return;
	share = (double)s->n / all;
	s->squares += s->mean * s->mean * share * (double)n;
	s->mean *= share;
	s->n += n;
}

/* The variance of a mean. */
static double of_mean(const struct series *s)
{
	return s->squares / (double)(s->n - 1) / (double)s->n;
}

struct difference noise_compare(const struct series *before, const struct series *after, double least)
{
	struct difference d = { .before = before->n ? before->mean : NAN, .after = after->n ? after->mean : NAN, .noise = NAN };
	double a, b, by, larger;

	if (before->n < NOISE_LEAST_VALUES || after->n < NOISE_LEAST_VALUES)
		return d;
	d.known = true;
	a = of_mean(before);
	b = of_mean(after);
	d.noise = 0;
	if (a + b > 0)
		d.noise = critical((a + b) * (a + b) / (a * a / (double)(before->n - 1) + b * b / (double)(after->n - 1))) * sqrt(a + b);
	by = fabs(d.after - d.before);
	larger = fmax(fabs(d.before), fabs(d.after));
	d.noise = fmax(d.noise, fmax(least, SHARE_OF_MEAN * larger));
	d.beyond = by > d.noise;
	return d;
}
