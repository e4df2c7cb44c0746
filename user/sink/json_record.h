/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json_record.h - records as JSON lines: one function and one file a record type, so that a new type is a new file.
 *
 * Field names and their order are what users parse: fields are only ever added, at the end. Each begins a
 * line; the caller ends it with json_line_end().
 */
#ifndef LOOPSCOPE_SINK_JSON_RECORD_H
#define LOOPSCOPE_SINK_JSON_RECORD_H

#include "model/record.h"
#include "model/slow_tick.h"
#include "model/source_record.h"
#include "model/task.h"
#include "sink/json_value.h"

/* "type":"loop": one loop in one interval. */
void json_loop(struct json_writer *w, const struct loop_record *r);
/* "type":"task": one named unit of a loop in one interval. */
void json_task(struct json_writer *w, const struct task_record *t);
/* "type":"source": what a source says of itself and of a loop's headroom. */
void json_source(struct json_writer *w, const struct source_record *s);
void json_source_fields(struct json_writer *w, const struct source_record *s); /* into an object that is open */
void json_span_stats(struct json_writer *w, const char *key, const struct span_stats *s); /* null while it is empty */
/* "type":"interval": what concerns the source as a whole; ends each interval, so that a reader knows it is complete. */
void json_interval(struct json_writer *w, const struct interval *iv);
/* "type":"slow_tick": one tick over the threshold; "slow_summary": where slow time went, once at the end. */
void json_slow_tick(struct json_writer *w, const struct slow_tick *t);
void json_slow_summary(struct json_writer *w, const struct slow_summary *s);
/* "type":"io_start" and so on, or "gap". */
void json_event(struct json_writer *w, const struct loop_event *e);

#endif
