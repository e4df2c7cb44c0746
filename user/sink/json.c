/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json.c - the NDJSON sink: a line per loop, task and source, then a line for the interval, then a flush.
 */
#include <errno.h>
#include <stdlib.h>

#include "sink/json_record.h"
#include "sink/json_value.h"
#include "sink/output.h"
#include "sink/sink.h"

struct json_sink {
	struct sink sink; /* first: the ops get this */
	FILE *out;        /* the caller's */
	struct json_writer line;
};

static int json_sink_interval(struct sink *s, const struct interval *iv, struct fault *f)
{
	struct json_sink *js = (struct json_sink *)s;
	int err = 0;

	for (size_t i = 0; i < iv->n_loops && !err; i++) {
		json_loop(&js->line, &iv->loops[i]);
		err = json_line_end(&js->line, js->out, f);
	}
	for (size_t i = 0; i < iv->n_tasks && !err; i++) {
		json_task(&js->line, &iv->tasks[i]);
		err = json_line_end(&js->line, js->out, f);
	}
	for (size_t i = 0; i < iv->n_sources && !err; i++) {
		json_source(&js->line, &iv->sources[i]);
		err = json_line_end(&js->line, js->out, f);
	}
	if (err)
		return err;
	json_interval(&js->line, iv);
	err = json_line_end(&js->line, js->out, f);
	return err ? err : output_flush(js->out, f);
}

/* At once: a stall is told while it lasts. */
static int json_sink_slow_tick(struct sink *s, const struct slow_tick *t, struct fault *f)
{
	struct json_sink *js = (struct json_sink *)s;
	int err;

	json_slow_tick(&js->line, t);
	err = json_line_end(&js->line, js->out, f);
	return err ? err : output_flush(js->out, f);
}

/* Flushed by whoever knows where a batch ends: there may be 100,000 a second. */
static int json_sink_event(struct sink *s, const struct loop_event *e, struct fault *f)
{
	struct json_sink *js = (struct json_sink *)s;

	json_event(&js->line, e);
	return json_line_end(&js->line, js->out, f);
}

static int json_sink_flush(struct sink *s, struct fault *f)
{
	return output_flush(((struct json_sink *)s)->out, f);
}

static int json_sink_slow_summary(struct sink *s, const struct slow_summary *sum, struct fault *f)
{
	struct json_sink *js = (struct json_sink *)s;
	int err;

	json_slow_summary(&js->line, sum);
	err = json_line_end(&js->line, js->out, f);
	return err ? err : output_flush(js->out, f);
}

static void json_sink_free(struct sink *s)
{
	json_writer_free(&((struct json_sink *)s)->line);
	free(s);
}

static const struct sink_ops json_sink_ops = {
	.name = "json",
	.interval = json_sink_interval,
	.slow_tick = json_sink_slow_tick,
	.event = json_sink_event,
	.flush = json_sink_flush,
	.slow_summary = json_sink_slow_summary,
	.free = json_sink_free,
};

int sink_json_new(FILE *out, struct sink **ret, struct fault *f)
{
	struct json_sink *s = calloc(1, sizeof(*s));

	if (!s)
		return fault(f, -ENOMEM, EXIT_FAILED, "no memory for the JSON output");
	*s = (struct json_sink){ .sink = { .ops = &json_sink_ops }, .out = out };
	*ret = &s->sink;
	return 0;
}
