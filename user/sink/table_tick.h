/* SPDX-License-Identifier: BSD-2-Clause */
/* table_tick.h - slow ticks and their summary, as lines between the rows of the table. */
#ifndef LOOPSCOPE_SINK_TABLE_TICK_H
#define LOOPSCOPE_SINK_TABLE_TICK_H

#include <stdio.h>

#include "model/slow_tick.h"

/* Returns the number of lines written. */
size_t table_slow_tick(FILE *out, const struct slow_tick *t);
void table_slow_summary(FILE *out, const struct slow_summary *s);

#endif
