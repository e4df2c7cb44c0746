/* SPDX-License-Identifier: BSD-2-Clause */
/* json_tick.c - single ticks as JSON lines: "slow_tick", "slow_summary", and the event stream. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lib/text.h"
#include "sink/json_record.h"
#include "sink/json_value.h"
#include "sink/output.h"

static json_t *stack(const struct stack_names *s)
{
	json_t *a;

	if (!s->n)
		return json_null();
	a = json_array();
	for (size_t i = 0; i < s->n; i++)
		if (json_array_append_new(a, json_text(s->frame[i], SIZE_MAX))) {
			json_decref(a);
			return NULL;
		}
	return a;
}

static json_t *cause(const struct slow_cause *c)
{
	struct json_object o = json_object_new();

	json_put(&o, "kind", json_string(cause_kind_name(c->kind)));
	json_put(&o, "us", json_micros(c->us));
	json_put(&o, "what", json_text(c->what, SIZE_MAX));
	json_put(&o, "stack", stack(&c->stack));
	json_put(&o, "stack_incomplete", c->stack.n ? json_boolean(c->stack.incomplete) : json_null());
	json_put(&o, "samples", json_count(c->samples));
	return json_object_take(&o);
}

static json_t *causes(const struct slow_cause *c, size_t n)
{
	json_t *a = json_array();

	for (size_t i = 0; i < n; i++)
		if (json_array_append_new(a, cause(&c[i]))) {
			json_decref(a);
			return NULL;
		}
	return a;
}

static json_t *parts_us(const struct slow_tick *t)
{
	struct json_object o = json_object_new();

	json_put(&o, "cpu", json_micros(t->cpu_us));
	json_put(&o, "blocked", json_micros(t->blocked_us));
	json_put(&o, "wait", json_micros(t->wait_us));
	json_put(&o, "throttled", json_micros(t->throttled_us));
	return json_object_take(&o);
}

json_t *json_slow_tick(const struct slow_tick *t)
{
	struct json_object o = json_line_new("slow_tick");

	json_put(&o, "ts", json_decimal(t->ts, 6));
	json_put(&o, "source", json_string(record_source_name(t->source)));
	json_put(&o, "pid", json_integer(t->id.pid));
	json_put(&o, "tid", json_integer(t->id.tid));
	json_put(&o, "comm", json_text(t->comm, sizeof(t->comm)));
	json_put(&o, "runtime", json_text(t->runtime, SIZE_MAX));
	json_put(&o, "start_ns", json_integer((json_int_t)t->start_ns));
	json_put(&o, "duration_us", json_micros(t->duration_us));
	json_put(&o, "in_progress", json_boolean(t->in_progress));
	json_put(&o, "parts_us", parts_us(t));
	json_put(&o, "events", json_count(t->events));
	json_put(&o, "causes", causes(t->causes, t->n_causes));
	json_put(&o, "thread", json_text(t->thread, sizeof(t->thread)));
	json_put(&o, "suppressed", json_count(t->suppressed));
	return json_object_take(&o);
}

static json_t *sums(const struct slow_summary *s)
{
	json_t *a = json_array();

	for (size_t i = 0; i < s->n_causes; i++) {
		const struct slow_sum *c = &s->causes[i];
		struct json_object o = json_object_new();
		static const struct stack_names none;

		json_put(&o, "kind", json_string(cause_kind_name(c->kind)));
		json_put(&o, "us", json_micros(c->us));
		json_put(&o, "times", json_integer((json_int_t)c->ticks));
		json_put(&o, "what", json_text(c->what, SIZE_MAX));
		json_put(&o, "stack", stack(c->stack ? c->stack : &none));
		if (json_array_append_new(a, json_object_take(&o))) {
			json_decref(a);
			return NULL;
		}
	}
	return a;
}

json_t *json_slow_summary(const struct slow_summary *s)
{
	struct json_object o = json_line_new("slow_summary");

	json_put(&o, "ticks", json_integer((json_int_t)s->ticks));
	json_put(&o, "us", json_micros(s->us));
	json_put(&o, "suppressed", json_integer((json_int_t)s->held_back));
	json_put(&o, "causes", sums(s));
	return json_object_take(&o);
}

/* --- the event stream: a line in about a microsecond, since there may be 100,000 a second ---------------------------------------- */

static void quoted(FILE *out, const char *bytes, size_t max)
{
	char utf8[4 * LOOP_COMM_LEN + 1];

	text_to_utf8(utf8, sizeof(utf8), bytes, strnlen(bytes, max));
	putc('"', out);
	for (const unsigned char *p = (const unsigned char *)utf8; *p; p++) {
		if (*p == '"' || *p == '\\')
			fprintf(out, "\\%c", *p);
		else if (*p < 0x20 || *p == 0x7f)
			fprintf(out, "\\u%04x", *p);
		else
			putc(*p, out);
	}
	putc('"', out);
}

int json_event_write(FILE *out, const struct loop_event *e, struct fault *f)
{
	fprintf(out, "{\"v\":1,\"type\":\"%s\",\"ts\":%.6f,\"ns\":%" PRIu64 ",\"source\":\"%s\",\"pid\":%u,\"tid\":%u,\"comm\":",
		loop_event_name(e->kind), e->ts, e->mono_ns, record_source_name(e->source), e->id.pid, e->id.tid);
	quoted(out, e->comm, sizeof(e->comm));
	fprintf(out, ",\"runtime\":");
	quoted(out, e->runtime, LOOP_COMM_LEN);
	if (e->kind == EVENT_IO_START && isnan(e->timeout_us))
		fprintf(out, ",\"timeout_us\":null");
	else if (e->kind == EVENT_IO_START)
		fprintf(out, ",\"timeout_us\":%.3f", e->timeout_us);
	if (e->kind == EVENT_IO_END && e->count < 0)
		fprintf(out, ",\"events\":null");
	else if (e->kind == EVENT_IO_END)
		fprintf(out, ",\"events\":%" PRId64, e->count);
	if (e->kind == EVENT_GAP)
		fprintf(out, ",\"lost\":%" PRId64, e->count);
	/* Flushed with the interval: each line on its own would cost a system call. */
	return output_write(out, "}\n", 2, f);
}
