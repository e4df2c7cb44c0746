/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * table_task.h - what stands below the loops' rows: a table of each loop's tasks, and what sources say of themselves.
 */
#ifndef LOOPSCOPE_SINK_TABLE_TASK_H
#define LOOPSCOPE_SINK_TABLE_TASK_H

#include <stdbool.h>
#include <stdio.h>

#include "model/record.h"

/* Nothing where there are no tasks; -ENOMEM. */
int table_tasks(FILE *mem, const struct interval *iv, bool colour);
/* Headroom, sleep, clock, losses: lines that start with "# ". Returns their number. */
unsigned table_sources(FILE *mem, const struct interval *iv);

#endif
