/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * edge_visit.h - the begins and ends of a recording's spans, all of them in the order of time.
 *
 * What began is ended, also where the visit was interrupted (-EINTR, which is returned all the same). Errors: those of the
 * recording and of fn, and -ENOMEM or -EINVAL (spans out of order) with a sentence in *f.
 */
#ifndef LOOPSCOPE_SINK_EDGE_VISIT_H
#define LOOPSCOPE_SINK_EDGE_VISIT_H

#include "lib/fault.h"
#include "model/recording.h"

int edge_visit(struct recording_view *v, const struct recording_select *s, timeline_edge_fn fn, void *arg, struct fault *f);

#endif
