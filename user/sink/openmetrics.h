/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * openmetrics.h - metrics as Prometheus and its kin read them.
 *
 * Three formats: Prometheus' own text (text/plain; version=0.0.4); OpenMetrics 1.0.0, which also tells units and says where it ends;
 * and Prometheus' protobuf messages, which alone have native histograms, and are for those only who name them. The sources of fact are
 * Prometheus' "Exposition formats", its client_model, and the OpenMetrics 1.0.0 specification. `_created` series are left out, as a
 * Prometheus of today stores them as series like any other.
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
	METRICS_PROTOBUF = 2,
	METRICS_FORMATS,
};

/* Bytes, in protobuf's case. Owned by the caller: free(p). Give it zeroed, or again what it was to use its room anew. */
struct metrics_text {
	char *p;
	size_t len, cap;
};

int openmetrics_render(struct metrics *m, uint64_t now_ns, enum metrics_format format, struct metrics_text *ret);

/* What a client's Accept header likes best; Prometheus' format where it has none (NULL) or likes neither. */
enum metrics_format openmetrics_negotiate(const char *accept);
const char *openmetrics_content_type(enum metrics_format f);

#endif
