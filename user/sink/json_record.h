/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json_record.h - records as JSON lines: one function and one file a record type, so that a new type is a new file.
 *
 * Field names and their order are what users parse: fields are only ever added, at the end. A new reference is
 * returned, or NULL without memory.
 */
#ifndef LOOPSCOPE_SINK_JSON_RECORD_H
#define LOOPSCOPE_SINK_JSON_RECORD_H

#include <jansson.h>

#include <stdio.h>

#include "lib/fault.h"
#include "model/record.h"
#include "model/slow_tick.h"

/* "type":"loop": one loop in one interval. */
json_t *json_loop(const struct loop_record *r);
/* "type":"interval": what concerns the source as a whole; ends each interval, so that a reader knows it is complete. */
json_t *json_interval(const struct interval *iv);
/* "type":"slow_tick": one tick over the threshold; "slow_summary": where slow time went, once at the end. */
json_t *json_slow_tick(const struct slow_tick *t);
json_t *json_slow_summary(const struct slow_summary *s);
/* "type":"io_start" and so on. Written, not built: there may be 100,000 a second. */
int json_event_write(FILE *out, const struct loop_event *e, struct fault *f);

#endif
