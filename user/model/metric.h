/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * metric.h - a metric, whatever format it is written in: families of samples, as metrics_visit() hands them out.
 *
 * Names follow what Prometheus, OpenMetrics and OpenTelemetry have in common: snake case, base units, the unit as the name's
 * end. A counter's name is without "_total" and an info's without "_info": a format adds what it wants. Samples of a family come
 * together, right after it. What is unknown has no sample: a value is never 0 for want of knowledge.
 *
 * Label values are safe to print: valid UTF-8 without control characters, at most METRIC_LABEL_MAX bytes. Quotes and
 * backslashes are in them, for a format to escape. Label names are identifiers of ours, none begins with "__".
 */
#ifndef LOOPSCOPE_MODEL_METRIC_H
#define LOOPSCOPE_MODEL_METRIC_H

#include <stddef.h>
#include <stdint.h>

#define METRIC_LABEL_MAX 256 /* of a value, with its NUL */
#define METRIC_LABELS_MAX 12 /* of a sample, all counted */

enum metric_type {
	METRIC_COUNTER = 0,   /* never shrinks while it is exposed */
	METRIC_GAUGE = 1,
	METRIC_HISTOGRAM = 2, /* cumulative, as a counter */
	METRIC_INFO = 3,      /* 1; what it says is in its labels */
};

struct metric_label {
	const char *name, *value; /* the value is never "" */
};

struct metric_family {
	const char *name;
	const char *unit; /* "seconds", "bytes", "ratio", "" for a count */
	enum metric_type type;
	const char *help; /* one sentence; no newline */
};

/* Of the same values, the buckets of Prometheus' native histograms: bucket i holds what is above b^(i-1) and at most b^i, with
 * b = 2^(2^-schema). */
struct metric_native {
	int schema;
	double zero_threshold; /* above 0: what is at most so large is in no bucket, but counted here: */
	uint64_t zero_count;
	size_t n;
	const struct metric_native_bucket {
		int index; /* ascending */
		uint64_t n; /* never 0 */
	} *bucket;
};

struct metric_histogram {
	size_t n_bounds;
	const double *bound;   /* upper bounds, inclusive, ascending; without infinity */
	const uint64_t *count; /* n_bounds + 1: of each bucket alone, the last is all above */
	uint64_t n;            /* what the counts sum to */
	double sum;
	const struct metric_native *native; /* NULL: none */
};

struct metric_sample {
	const struct metric_label *labels; /* in one visit, the same pointer and number: the same labels */
	size_t n_labels;
	struct metric_label extra; /* one more; name NULL: none */
	double value;              /* of a histogram: unused */
	const struct metric_histogram *histogram;
	double start_s; /* unix seconds since when a counter or histogram counts; for a gauge unused */
};

/* A negative return ends the visit with that value. */
struct metrics_visitor {
	int (*family)(void *arg, const struct metric_family *f);
	int (*sample)(void *arg, const struct metric_family *f, const struct metric_sample *s);
};

#endif
