/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json_task.c - the "task" line. Names and order up to "hogs" are the design's; what we add comes after.
 */
#include "sink/json_record.h"

void json_span_stats(struct json_writer *w, const char *key, const struct span_stats *s)
{
	if (s->n <= 0) {
		json_put_null(w, key);
		return;
	}
	json_object_begin(w, key);
	json_put_micros(w, "min", s->min);
	json_put_micros(w, "p50", s->p50);
	json_put_micros(w, "p99", s->p99);
	json_put_micros(w, "max", s->max);
	json_put_micros(w, "p90", s->p90);
	json_put_micros(w, "total", s->total);
	json_put_integer(w, "n", s->n);
	json_object_end(w);
}

void json_task(struct json_writer *w, const struct task_record *t)
{
	json_line_begin(w, "task");
	json_put_decimal(w, "ts", t->ts, 3);
	json_put_decimal(w, "interval_s", t->interval_s, 6);
	json_put_text(w, "source", record_source_name(t->source), SIZE_MAX);
	json_put_text(w, "loop", t->loop, SIZE_MAX);
	json_put_text(w, "task", t->task, sizeof(t->task));
	json_put_integer(w, "instance", t->instance);
	json_put_count(w, "runs", t->runs);
	json_put_share(w, "busy", t->busy);
	json_span_stats(w, "run_us", &t->run_us);
	json_put_count(w, "hogs", t->hogs);
	json_put_text(w, "kind", task_kind_name(t->kind), SIZE_MAX);
	json_put_integer(w, "id", t->id);
	json_put_count(w, "instances", t->instances);
	json_put_share(w, "wait", t->wait);
	json_put_share(w, "alive", t->alive);
	json_span_stats(w, "ready_us", &t->ready_us);
	json_put_count(w, "left_out", t->left_out);
	json_put_micros(w, "hog_open_us", t->hog_open_us);
	json_put_decimal(w, "last_seen_s", t->last_seen_s, 6);
	json_put_micros(w, "uncertainty_us", t->uncertainty_us);
	json_put_boolean(w, "ended", t->ended);
}
