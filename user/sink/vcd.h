/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vcd.h - a recording as a value change dump, for viewers of logic analysers and simulators (GTKWave, PulseView): a wire of one bit
 * for each loop, task and interrupt.
 *
 * A loop's wire is 1 in a tick and 0 in an IO wait, a task's is 1 while it runs, a mark's turns over at each mark. NAME:slow is 1 in
 * slow ticks or steps, NAME:ready while a task could run but does not, NAME:alive from its begin to its end. x is "nothing is
 * known": in gaps, before a loop's or board's first and after its last record, and between two ticks of which not all were recorded.
 *
 * Times are nanoseconds from the beginning of the recording, or of what was asked for of it; a comment at its head says when that
 * was. They never go back. Memory is bounded by the number of lanes and of spans that are open at one time.
 *
 * Facts: IEEE 1364-2005, section 18 (value change dump). -EINTR as in perfetto.h; other errors as in sink.h.
 */
#ifndef LOOPSCOPE_SINK_VCD_H
#define LOOPSCOPE_SINK_VCD_H

#include <stdio.h>

#include "lib/fault.h"
#include "model/recording.h"

int vcd_write(struct recording_view *v, const struct recording_select *s, FILE *out, struct fault *f);

#endif
