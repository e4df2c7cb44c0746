/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * export_push.h - an export's metrics, sent of its own accord each `push_ns`: to a text file for node_exporter, to an
 * OpenTelemetry receiver. Neither ends the export by failing: it is said once, and counted.
 */
#ifndef LOOPSCOPE_CMD_EXPORT_PUSH_H
#define LOOPSCOPE_CMD_EXPORT_PUSH_H

#include "cmd/export.h"
#include "lib/evloop.h"
#include "model/metrics.h"

struct export_push;

struct export_push_options {
	struct metrics *metrics;
	void (*refresh)(void *arg); /* brings the metrics up to date, if that is due */
	void *arg;
};

/* Borrows c until export_push_configure() has been given another. *ret is there also where nothing is to be pushed. A folder that
 * can't be written is an error here, as nothing has been promised yet. */
int export_push_new(const struct export_push_options *o, const struct export_config *c, struct evloop *loop, struct export_push **ret,
		    struct fault *f);
void export_push_free(struct export_push *p); /* accepts NULL */

/* What has changed in the config is done from now on. On failure all stays as it was. */
int export_push_configure(struct export_push *p, const struct export_config *c, struct fault *f);

/* Pushes what is known now, and runs the event loop until the receiver has it, or for at most wait_ns. */
void export_push_last(struct export_push *p, uint64_t wait_ns);

void export_push_count(struct export_push *p);

#endif
