/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * export_http.h - what an export serves: /metrics, /healthz and a page that names them.
 *
 * A scrape disturbs nothing: the loops are read anew at most once in `fresh_ns`, and rendered at most once a reading and format,
 * however many ask.
 */
#ifndef LOOPSCOPE_CMD_EXPORT_HTTP_H
#define LOOPSCOPE_CMD_EXPORT_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/evloop.h"
#include "lib/fault.h"
#include "model/metrics.h"

struct export_http;

struct export_http_options {
	const char *listen; /* as in lib/listen.h */
	struct metrics *metrics;
	/* Called before /metrics is rendered: brings the metrics up to date, if that is due. */
	void (*refresh)(void *arg);
	bool (*healthy)(void *arg);
	void *arg;
};

int export_http_new(const struct export_http_options *o, struct evloop *loop, struct export_http **ret, struct fault *f);
void export_http_free(struct export_http *h); /* accepts NULL */
const char *export_http_address(const struct export_http *h);
/* The server's own numbers, into the metrics. */
void export_http_count(struct export_http *h);

#endif
