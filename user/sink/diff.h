/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * diff.h - two recordings of a program, before and after a change: what differs by more than each varies in itself.
 *
 * Loops are the same if process, thread and runtime have the same names; several of a name count together. Of each the shares of
 * load, busy and wait, the quantiles of its ticks, and where its slow ticks spent their time: by cause, and by function, each with
 * all that it called. Interval by interval, as model/noise.h takes it. Digits in causes don't count, nor do addresses, so that
 * another PID is not another cause. A function whose change is that of one which it called is left out.
 *
 * The first line of what differs is the loop whose load changed most; below it its figures, then what in it changed most. Where
 * nothing differs, the one line "no difference beyond noise".
 */
#ifndef LOOPSCOPE_SINK_DIFF_H
#define LOOPSCOPE_SINK_DIFF_H

#include <stdio.h>

#include "lib/fault.h"
#include "model/recording.h"

/* Errors: as in output.h and recording.h. */
int diff_write(struct recording_view *before, const struct recording_select *sel_before, struct recording_view *after,
	       const struct recording_select *sel_after, FILE *out, struct fault *f);

#endif
