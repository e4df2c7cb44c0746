/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * export_records.h - an export's records as NDJSON, in a file that can be rotated, or for a reader: on stdout, a pipe, a terminal.
 *
 * Each record, an interval or a slow tick, is in it whole or not at all. Neither a full disk nor a reader that is slow or stuck ends or
 * holds up the export: what waits for a reader is bounded, what is lost is counted, and the first that finds room again is written.
 */
#ifndef LOOPSCOPE_CMD_EXPORT_RECORDS_H
#define LOOPSCOPE_CMD_EXPORT_RECORDS_H

#include "lib/evloop.h"
#include "model/metrics.h"
#include "sink/sink.h"

/* To nowhere at first. The event loop, or the sink, ends with -EPIPE where stdout's reader is gone. sink_free() frees it, before the
 * loop is. */
int export_records_new(struct evloop *loop, struct sink **ret, struct fault *f);

/* path: "-" is stdout, NULL is nowhere. The path that it had: goes on in the file that now has the name. On failure all stays as it
 * was. */
int export_records_configure(struct sink *s, const char *path, struct fault *f);

/* Runs the event loop until the reader has all, or for at most wait_ns; what it has not taken then is said. */
int export_records_last(struct sink *s, uint64_t wait_ns);

void export_records_count(const struct sink *s, struct metrics *m);

#endif
