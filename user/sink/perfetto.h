/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perfetto.h - a recording as a Perfetto trace (ui.perfetto.dev, trace_processor): a track for each process, thread, board and
 * task, slices on them, counters of load.
 *
 * Written as it is read: memory is bounded by the number of lanes and of spans that are open at one time. Time is the recording's,
 * nanoseconds since the unix epoch (CLOCK_REALTIME), for all sources.
 *
 * -EINTR from the recording (the user has had enough) leaves a whole file of what came before, and is returned. Other errors as
 * in sink.h.
 */
#ifndef LOOPSCOPE_SINK_PERFETTO_H
#define LOOPSCOPE_SINK_PERFETTO_H

#include <stdio.h>

#include "lib/fault.h"
#include "model/recording.h"

int perfetto_write(struct recording_view *v, const struct recording_select *s, FILE *out, struct fault *f);

#endif
