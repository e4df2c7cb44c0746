/* SPDX-License-Identifier: BSD-2-Clause */
/* json_tick.c - single ticks as JSON lines: "slow_tick", "slow_summary", and the event stream. */
#include "sink/json_record.h"

static void put_stack(struct json_writer *w, const struct stack_names *s)
{
	if (!s || !s->n) {
		json_put_null(w, "stack");
		return;
	}
	json_array_begin(w, "stack");
	for (size_t i = 0; i < s->n; i++)
		json_put_text(w, NULL, s->frame[i], SIZE_MAX);
	json_array_end(w);
}

static void put_cause(struct json_writer *w, const struct slow_cause *c)
{
	json_object_begin(w, NULL);
	json_put_text(w, "kind", cause_kind_name(c->kind), SIZE_MAX);
	json_put_micros(w, "us", c->us);
	json_put_text(w, "what", c->what, SIZE_MAX);
	put_stack(w, &c->stack);
	if (c->stack.n)
		json_put_boolean(w, "stack_incomplete", c->stack.incomplete);
	else
		json_put_null(w, "stack_incomplete");
	json_put_count(w, "samples", c->samples);
	json_object_end(w);
}

static void put_parts(struct json_writer *w, const struct slow_tick *t)
{
	json_object_begin(w, "parts_us");
	json_put_micros(w, "cpu", t->cpu_us);
	json_put_micros(w, "blocked", t->blocked_us);
	json_put_micros(w, "wait", t->wait_us);
	json_put_micros(w, "throttled", t->throttled_us);
	json_object_end(w);
}

void json_slow_tick(struct json_writer *w, const struct slow_tick *t)
{
	json_line_begin(w, "slow_tick");
	json_put_decimal(w, "ts", t->ts, 6);
	json_put_text(w, "source", record_source_name(t->source), SIZE_MAX);
	json_put_count(w, "pid", t->id.pid ? (int64_t)t->id.pid : -1);
	json_put_count(w, "tid", t->id.tid ? (int64_t)t->id.tid : -1);
	json_put_text(w, "comm", t->comm, sizeof(t->comm));
	json_put_text(w, "runtime", t->runtime, SIZE_MAX);
	json_put_integer(w, "start_ns", (int64_t)t->start_ns);
	json_put_micros(w, "duration_us", t->duration_us);
	json_put_boolean(w, "in_progress", t->in_progress);
	put_parts(w, t);
	json_put_count(w, "events", t->events);
	json_array_begin(w, "causes");
	for (size_t i = 0; i < t->n_causes; i++)
		put_cause(w, &t->causes[i]);
	json_array_end(w);
	json_put_text(w, "thread", t->thread, sizeof(t->thread));
	json_put_count(w, "suppressed", t->suppressed);
}

void json_slow_summary(struct json_writer *w, const struct slow_summary *s)
{
	json_line_begin(w, "slow_summary");
	json_put_integer(w, "ticks", (int64_t)s->ticks);
	json_put_micros(w, "us", s->us);
	json_put_integer(w, "suppressed", (int64_t)s->held_back);
	json_array_begin(w, "causes");
	for (size_t i = 0; i < s->n_causes; i++) {
		const struct slow_sum *c = &s->causes[i];

		json_object_begin(w, NULL);
		json_put_text(w, "kind", cause_kind_name(c->kind), SIZE_MAX);
		json_put_micros(w, "us", c->us);
		json_put_integer(w, "times", (int64_t)c->ticks);
		json_put_text(w, "what", c->what, SIZE_MAX);
		put_stack(w, c->stack);
		json_object_end(w);
	}
	json_array_end(w);
}

void json_event(struct json_writer *w, const struct loop_event *e)
{
	json_line_begin(w, loop_event_name(e->kind));
	json_put_decimal(w, "ts", e->ts, 6);
	json_put_integer(w, "ns", (int64_t)e->mono_ns);
	json_put_text(w, "source", record_source_name(e->source), SIZE_MAX);
	json_put_count(w, "pid", e->id.pid ? (int64_t)e->id.pid : -1);
	json_put_count(w, "tid", e->id.tid ? (int64_t)e->id.tid : -1);
	json_put_text(w, "comm", e->comm, sizeof(e->comm));
	json_put_text(w, "runtime", e->runtime, SIZE_MAX);
	if (e->kind == EVENT_IO_START)
		json_put_micros(w, "timeout_us", e->timeout_us);
	if (e->kind == EVENT_IO_END)
		json_put_count(w, "events", e->count);
	if (e->kind == EVENT_GAP)
		json_put_count(w, "lost", e->count);
	if (e->kind == EVENT_GAP && e->what)
		json_put_text(w, "what", e->what, SIZE_MAX);
}
