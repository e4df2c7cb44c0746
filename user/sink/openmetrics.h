/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * openmetrics.h - metrics as text that Prometheus and its kin read.
 *
 * Two formats: Prometheus' own (text/plain; version=0.0.4) and OpenMetrics 1.0.0, of which the second tells units and says where
 * it ends. The sources of fact are Prometheus' "Exposition formats" and the OpenMetrics 1.0.0 specification. Native
 * histograms exist in neither; `_created` series are left out, as a Prometheus of today stores them as series like any other.
 *
 * The text is whole or it is not there: -ENOMEM leaves it empty.
 */
#ifndef LOOPSCOPE_SINK_OPENMETRICS_H
#define LOOPSCOPE_SINK_OPENMETRICS_H

#include <stddef.h>
#include <stdint.h>

#include "model/metrics.h"

enum metrics_format {
	METRICS_PROMETHEUS = 0,
	METRICS_OPENMETRICS = 1,
	METRICS_FORMATS,
};

/* Owned by the caller: free(p). Give it zeroed, or again what it was to use its room anew. */
struct metrics_text {
	char *p;
	size_t len, cap;
};

int openmetrics_render(struct metrics *m, uint64_t now_ns, enum metrics_format format, struct metrics_text *ret);

/* What a client's Accept header likes best; Prometheus' format where it has none (NULL) or likes neither. */
enum metrics_format openmetrics_negotiate(const char *accept);
const char *openmetrics_content_type(enum metrics_format f);

#endif
