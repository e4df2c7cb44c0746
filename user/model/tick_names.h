/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tick_names.h - what causes were called while their tick ran, for the record at its end: by then a socket may be closed and its
 * number another's.
 *
 * Copies what it keeps. Bounded: TICK_NAMES_CAUSES of each of TICK_NAMES_LOOPS loops, the oldest are given up.
 */
#ifndef LOOPSCOPE_MODEL_TICK_NAMES_H
#define LOOPSCOPE_MODEL_TICK_NAMES_H

#include "model/tick_report.h"

#define TICK_NAME_LEN 256 /* longer ones are cut */
#define TICK_NAMES_CAUSES 16
#define TICK_NAMES_LOOPS 64

struct tick_names;

int tick_names_new(struct tick_names **ret);
void tick_names_free(struct tick_names *n);

/* c: one of r's. What it was called earlier in the same tick, valid until the next call; NULL: nothing is known. */
const char *tick_names_find(const struct tick_names *n, const struct tick_report *r, const struct raw_cause *c);
/* In the place of what it was called before. */
int tick_names_keep(struct tick_names *n, const struct tick_report *r, const struct raw_cause *c, const char *name);
/* The tick is over. */
void tick_names_forget(struct tick_names *n, const struct tick_report *r);

#endif
