/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slow_sums.h - where slow time went over a whole run: causes summed by kind, what and stack. For the summary at the end and for
 * folded stacks. Copies what it keeps. Bounded: beyond SLOW_SUMS_MAX different causes the rest is summed as "other".
 */
#ifndef LOOPSCOPE_MODEL_SLOW_SUMS_H
#define LOOPSCOPE_MODEL_SLOW_SUMS_H

#include "model/slow_tick.h"

#define SLOW_SUMS_MAX 4096

struct slow_sums;

int slow_sums_new(struct slow_sums **ret);
void slow_sums_free(struct slow_sums *s);
/* A tick in progress is not counted: it comes again when it ends. */
int slow_sums_add(struct slow_sums *s, const struct slow_tick *t);

/* Largest first; valid until the next call of this or of slow_sums_add(). */
const struct slow_sum *slow_sums_list(struct slow_sums *s, size_t *ret_n);
/* Slow ticks counted, their whole time, and those held back by the rate limits (which are not in the sums). */
uint64_t slow_sums_ticks(const struct slow_sums *s);
double slow_sums_us(const struct slow_sums *s);
uint64_t slow_sums_held_back(const struct slow_sums *s);

#endif
