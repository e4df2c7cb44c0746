/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * otlp.h - metrics pushed to an OpenTelemetry receiver over HTTP, on the program's own event loop.
 *
 * What is pushed goes into a queue of whole, compressed requests, bounded in bytes; one at a time is under way. The receiver's answer
 * decides: what it says to try again later (429, 502, 503, 504, no answer at all) is tried again after the time that it asks for, or
 * after one that doubles with each failure and is partly chance; what it refuses is lost, as trying again would not help. When the
 * queue is full the oldest requests are lost: counters are cumulative, so the newest says most. Every loss is counted, in points.
 *
 * Sources of fact: the OpenTelemetry protocol's specification ("OTLP/HTTP"), RFC 9110 for Retry-After.
 */
#ifndef LOOPSCOPE_SINK_OTLP_H
#define LOOPSCOPE_SINK_OTLP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/evloop.h"
#include "lib/fault.h"
#include "model/metrics.h"

struct otlp_options {
	const char *url; /* as otlp_check_url() takes it; "/v1/metrics" is put where it has no path */
	const char *const *headers; /* "Name: value", as otlp_check_header() takes them */
	size_t n_headers;
	const char *const *resource; /* "KEY=VALUE", as otlp_check_resource() takes them: of what sends; they win over ours */
	size_t n_resource;
	const char *version, *host_name;
	uint64_t timeout_ns;      /* of a request */
	uint64_t retry_first_ns, retry_max_ns;
	size_t queue_max;         /* bytes */
	uint64_t seed;            /* for chance */
	/* Delivery begins to fail, or fails in another way: f says how. NULL: it works again. Each is told once. */
	void (*trouble)(void *arg, const struct fault *f);
	void *arg;
};

/* Checks, as struct opt_spec wants them. */
int otlp_check_url(const char *value, char *sentence, size_t size);
int otlp_check_header(const char *value, char *sentence, size_t size);
int otlp_check_resource(const char *value, char *sentence, size_t size);

struct otlp_stats {
	uint64_t sent_points;
	uint64_t lost_full, lost_refused, lost_memory; /* points */
	uint64_t requests, failures; /* answered well; not answered, or with an error */
	size_t queued_points, queued_bytes;
};

struct otlp;

/* Options are borrowed for the call; trouble and arg for the whole life. */
int otlp_new(const struct otlp_options *o, struct evloop *loop, struct otlp **ret, struct fault *f);
/* What is queued is gone. Before its event loop is freed. Accepts NULL. */
void otlp_free(struct otlp *s);

/* Takes what is known now. Never waits; never fails: what can't be had is counted as lost. now_ns: CLOCK_MONOTONIC. wall_ns: unix. */
void otlp_push(struct otlp *s, struct metrics *m, uint64_t now_ns, uint64_t wall_ns);

/* Nothing is queued any more. */
bool otlp_idle(const struct otlp *s);
void otlp_stats(const struct otlp *s, struct otlp_stats *ret);

#endif
