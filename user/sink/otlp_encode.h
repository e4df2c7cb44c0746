/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * otlp_encode.h - metrics as the bodies of OTLP requests: ExportMetricsServiceRequest in protobuf's encoding.
 *
 * Of the two encodings that OTLP has, protobuf is the one that every receiver takes, and a tenth of JSON's size before compression.
 * A body holds at most OTLP_POINTS_MAX points: so it stays below the 4 MiB that servers take without being asked, whatever the
 * labels are. Counters and histograms are cumulative.
 *
 * Ownership: the options' strings are borrowed for the encoder's life.
 */
#ifndef LOOPSCOPE_SINK_OTLP_ENCODE_H
#define LOOPSCOPE_SINK_OTLP_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include "model/metrics.h"

#define OTLP_POINTS_MAX     1024
#define OTLP_ATTRIBUTES_MAX 32

struct otlp_attribute {
	const char *key, *value;
};

struct otlp_encode_options {
	const char *version;                 /* of this program */
	const struct otlp_attribute *resource; /* of what sends: "service.name", ... */
	size_t n_resource;                   /* at most OTLP_ATTRIBUTES_MAX */
};

struct otlp_encoder;

int otlp_encoder_new(const struct otlp_encode_options *o, struct otlp_encoder **ret);
void otlp_encoder_free(struct otlp_encoder *e); /* accepts NULL */

/* bytes: handed over, to be freed. A negative return ends the encoding. */
typedef int (*otlp_body_fn)(void *arg, void *bytes, size_t n, size_t points);

/* wall_ns: unix time of all points; now_ns: see metrics_visit(). -ENOMEM, or what fn returned; bodies that fn has got until then are
 * whole. */
int otlp_encode(struct otlp_encoder *e, struct metrics *m, uint64_t now_ns, uint64_t wall_ns, otlp_body_fn fn, void *arg);

#endif
