/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json_source.c - the "source" line: where a loop's records come from, its headroom, its clock against ours, and every
 * loss on the way.
 */
#include <math.h>

#include "sink/json_record.h"

static void margin(struct json_writer *w, const struct margin *m)
{
	if (m->windows <= 0 && isnan(m->mean)) {
		json_put_null(w, "margin");
		return;
	}
	json_object_begin(w, "margin");
	json_put_share(w, "mean", m->mean);
	json_put_share(w, "worst", m->worst);
	json_put_decimal(w, "worst_ago_s", m->worst_ago_s, 3);
	json_put_decimal(w, "window_s", m->window_s, 3);
	json_put_count(w, "windows", m->windows);
	json_put_share(w, "beyond", m->beyond);
	json_object_end(w);
}

static void clock_stands(struct json_writer *w, const struct clock_fit *c)
{
	if (!clock_fit_compares(c)) {
		json_put_null(w, "clock");
		return;
	}
	json_object_begin(w, "clock");
	json_put_text(w, "method", clock_method_name(c->method), SIZE_MAX);
	json_put_decimal(w, "offset_s", (double)c->offset_ns / 1e9, 6);
	json_put_micros(w, "error_us", c->error_ns < 0 ? NAN : (double)c->error_ns / 1e3);
	json_put_decimal(w, "drift_ppm", c->drift_ppm, 2);
	json_put_decimal(w, "drift_error_ppm", c->drift_error_ppm, 2);
	json_put_integer(w, "samples", (int64_t)c->samples);
	json_object_end(w);
}

static void lost(struct json_writer *w, const struct source_record *s)
{
	json_object_begin(w, "lost");
	json_put_count(w, "frames", s->lost_frames);
	json_put_count(w, "events", s->lost_events);
	json_put_count(w, "bytes", s->lost_bytes);
	json_object_end(w);
}

void json_source(struct json_writer *w, const struct source_record *s)
{
	json_line_begin(w, "source");
	json_source_fields(w, s);
}

void json_source_fields(struct json_writer *w, const struct source_record *s)
{
	json_put_decimal(w, "ts", s->ts, 3);
	json_put_decimal(w, "interval_s", s->interval_s, 6);
	json_put_text(w, "source", record_source_name(s->source), SIZE_MAX);
	json_put_text(w, "loop", s->loop, SIZE_MAX);
	json_put_text(w, "name", s->name, SIZE_MAX);
	json_put_text(w, "where", s->where, SIZE_MAX);
	json_put_text(w, "protocol", s->protocol, SIZE_MAX);
	json_put_boolean(w, "present", s->present);
	margin(w, &s->margin);
	json_span_stats(w, "sleep_us", &s->sleep_us);
	json_span_stats(w, "pass_us", &s->pass_us);
	clock_stands(w, &s->clock);
	json_put_count(w, "hz", s->hz ? (int64_t)s->hz : -1);
	json_put_boolean(w, "hz_measured", s->hz_measured);
	lost(w, s);
	json_put_count(w, "gaps", s->gaps);
	json_put_count(w, "gaps_uncounted", s->gaps_uncounted);
	json_put_count(w, "resets", s->resets);
	json_put_count(w, "orphans", s->orphans);
	json_put_count(w, "untracked", s->untracked);
	json_put_integer(w, "bytes", (int64_t)s->bytes);
	json_put_integer(w, "events", (int64_t)s->events);
	json_put_integer(w, "garbage", (int64_t)s->garbage);
	json_put_integer(w, "resyncs", (int64_t)s->resyncs);
	json_put_integer(w, "console", (int64_t)s->console);
	json_put_decimal(w, "silent_s", s->silent_s, 3);
	json_put_micros(w, "uncertainty_us", s->uncertainty_us);
	json_put_boolean(w, "from_sums", s->from_sums);
}
