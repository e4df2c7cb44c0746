/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * export_records.h - an export's records as NDJSON, in a file that can be rotated, or on stdout.
 *
 * Each interval is in it whole or not at all. A full disk does not end the export: the intervals lost are counted, and the first
 * that finds room again is written.
 */
#ifndef LOOPSCOPE_CMD_EXPORT_RECORDS_H
#define LOOPSCOPE_CMD_EXPORT_RECORDS_H

#include "model/metrics.h"
#include "sink/sink.h"

/* To nowhere at first. The sink fails only with -EPIPE: stdout's reader is gone. sink_free() frees it. */
int export_records_new(struct sink **ret, struct fault *f);

/* path: "-" is stdout, NULL is nowhere. The path that it had: goes on in the file that now has the name. On failure all stays as it
 * was. */
int export_records_configure(struct sink *s, const char *path, struct fault *f);
void export_records_count(const struct sink *s, struct metrics *m);

#endif
