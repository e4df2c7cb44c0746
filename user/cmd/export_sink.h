/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * export_sink.h - the sinks of an export's sources: what the kernel and each board report is counted in the metrics, each as an
 * origin of its own, and handed on as it is to one more sink, where there is one.
 *
 * Ownership: metrics and `also` are borrowed, and outlive the sinks.
 */
#ifndef LOOPSCOPE_CMD_EXPORT_SINK_H
#define LOOPSCOPE_CMD_EXPORT_SINK_H

#include "model/metrics.h"
#include "sink/sink.h"

/* origin: METRICS_KERNEL, or 1 and up for boards. also: NULL for none. */
int export_sink_new(struct metrics *m, unsigned origin, struct sink *also, struct sink **ret, struct fault *f);

#endif
