/* SPDX-License-Identifier: BSD-2-Clause */
/* openmetrics_internal.h - what the formats of openmetrics.h share. */
#ifndef LOOPSCOPE_SINK_OPENMETRICS_INTERNAL_H
#define LOOPSCOPE_SINK_OPENMETRICS_INTERNAL_H

#include "sink/openmetrics.h"

/* n more bytes behind t->len. -ENOMEM. */
int metrics_text_room(struct metrics_text *t, size_t n);

/* What Prometheus appends to a family's name, by its type. */
const char *openmetrics_suffix(enum metric_type t);

/* Appends to ret. On failure it may have appended some. */
int openmetrics_protobuf(struct metrics *m, uint64_t now_ns, struct metrics_text *ret);

#endif
