/* SPDX-License-Identifier: BSD-2-Clause */
/* openmetrics.c - see openmetrics.h. */
#include "sink/openmetrics_internal.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Labels that a group's samples have in common are escaped once; the rest of a line is short. */
#define COMMON_MAX (METRIC_LABELS_MAX * (2 * METRIC_LABEL_MAX + 32))
#define LINE_ROOM (COMMON_MAX + 2 * METRIC_LABEL_MAX + 256)
/* Seconds below this are printed with all their nanoseconds, above with 15 digits: neither ever steps back, nor does the change. */
#define EXACT_BELOW_S 8e6

struct writer {
	struct metrics_text *out;
	enum metrics_format format;
	const struct metric_label *labels; /* whose text is in common[] */
	size_t n_labels;
	char common[COMMON_MAX];
	size_t common_len;
};

/* --- text --------------------------------------------------------------------------------------------------------------------- */

int metrics_text_room(struct metrics_text *t, size_t n)
{
	size_t cap = t->cap ? t->cap : 64 * 1024;
	char *p;

	while (cap - t->len < n)
		cap *= 2;
	if (cap == t->cap)
		return 0;
	p = realloc(t->p, cap);
	if (!p)
		return -ENOMEM;
	t->p = p;
	t->cap = cap;
	return 0;
}

static void put(struct metrics_text *t, const char *s, size_t n)
{
	memcpy(t->p + t->len, s, n);
	t->len += n;
}

static void put_str(struct metrics_text *t, const char *s)
{
	put(t, s, strlen(s));
}

static char *escape(char *to, const char *from, bool quotes)
{
	for (; *from; from++) {
		if (*from == '\\' || (quotes && *from == '"'))
			*to++ = '\\';
		if (*from == '\n') {
			*to++ = '\\';
			*to++ = 'n';
		} else {
			*to++ = *from;
		}
	}
	return to;
}

static char *put_label(char *to, const struct metric_label *l)
{
	to = stpcpy(to, l->name);
	*to++ = '=';
	*to++ = '"';
	to = escape(to, l->value, true);
	*to++ = '"';
	return to;
}

/* --- numbers ------------------------------------------------------------------------------------------------------------------- */

static size_t put_integer(char *to, uint64_t n)
{
	char digits[20];
	size_t len = 0;

	do
		digits[len++] = (char)('0' + n % 10);
	while (n /= 10);
	for (size_t i = 0; i < len; i++)
		to[i] = digits[len - 1 - i];
	return len;
}

/* Nine decimals without the zeros at their end. */
static size_t put_nanos(char *to, uint64_t ns)
{
	size_t len = put_integer(to, ns / 1000000000u), decimals = 9;
	uint64_t rest = ns % 1000000000u;

	if (!rest)
		return len;
	to[len++] = '.';
	for (; rest % 10 == 0; rest /= 10)
		decimals--;
	for (size_t i = decimals; i-- > 0; rest /= 10)
		to[len + i] = (char)('0' + rest % 10);
	return len + decimals;
}

static size_t put_number(char *to, double v)
{
	if (isnan(v))
		return (size_t)(stpcpy(to, "NaN") - to);
	if (isinf(v))
		return (size_t)(stpcpy(to, v > 0 ? "+Inf" : "-Inf") - to);
	if (v >= 0 && v < 9e15 && v == floor(v))
		return put_integer(to, (uint64_t)v);
	if (v > 0 && v < EXACT_BELOW_S && (double)llround(v * 1e9) / 1e9 == v)
		return put_nanos(to, (uint64_t)llround(v * 1e9));
	return (size_t)snprintf(to, 32, "%.15g", v);
}

/* --- samples ------------------------------------------------------------------------------------------------------------------- */

static void use_labels(struct writer *w, const struct metric_sample *s)
{
	char *to = w->common;

	if (s->labels && s->labels == w->labels && s->n_labels == w->n_labels)
		return;
	for (size_t i = 0; s->labels && i < s->n_labels && i < METRIC_LABELS_MAX; i++) {
		if (i)
			*to++ = ',';
		to = put_label(to, &s->labels[i]);
	}
	w->common_len = (size_t)(to - w->common);
	w->labels = s->labels;
	w->n_labels = s->n_labels;
}

static int put_line(struct writer *w, const char *name, const char *suffix, const struct metric_label *extra, double value)
{
	struct metrics_text *t = w->out;
	int err = metrics_text_room(t, LINE_ROOM);

	if (err)
		return err;
	put_str(t, name);
	put_str(t, suffix);
	if (w->common_len || extra->name) {
		put(t, "{", 1);
		put(t, w->common, w->common_len);
		if (extra->name) {
			if (w->common_len)
				put(t, ",", 1);
			t->len = (size_t)(put_label(t->p + t->len, extra) - t->p);
		}
		put(t, "}", 1);
	}
	put(t, " ", 1);
	t->len += put_number(t->p + t->len, value);
	put(t, "\n", 1);
	return 0;
}

static int put_histogram(struct writer *w, const char *name, const struct metric_histogram *h)
{
	const struct metric_label none = { NULL, NULL };
	uint64_t n = 0;
	int err = 0;

	for (size_t i = 0; i <= h->n_bounds && !err; i++) {
		char text[32];
		const struct metric_label le = { "le", text };

		text[i < h->n_bounds ? put_number(text, h->bound[i]) : put_number(text, INFINITY)] = '\0';
		n += h->count[i];
		err = put_line(w, name, "_bucket", &le, (double)n);
	}
	if (!err)
		err = put_line(w, name, "_sum", &none, h->sum);
	return err ? err : put_line(w, name, "_count", &none, (double)h->n);
}

const char *openmetrics_suffix(enum metric_type t)
{
	return t == METRIC_COUNTER ? "_total" : t == METRIC_INFO ? "_info" : "";
}

static int on_sample(void *arg, const struct metric_family *f, const struct metric_sample *s)
{
	struct writer *w = arg;

	use_labels(w, s);
	if (s->histogram)
		return put_histogram(w, f->name, s->histogram);
	return put_line(w, f->name, openmetrics_suffix(f->type), &s->extra, s->value);
}

/* --- families ------------------------------------------------------------------------------------------------------------------ */

static const char *type_name(enum metric_type t, enum metrics_format format)
{
	switch (t) {
	case METRIC_COUNTER:
		return "counter";
	case METRIC_HISTOGRAM:
		return "histogram";
	case METRIC_INFO:
		return format == METRICS_OPENMETRICS ? "info" : "gauge";
	default:
		return "gauge";
	}
}

/* A help text's quotes are escaped in OpenMetrics only. */
static void put_meta(struct writer *w, const char *what, const struct metric_family *f, const char *suffix, const char *text)
{
	struct metrics_text *t = w->out;

	put_str(t, "# ");
	put_str(t, what);
	put(t, " ", 1);
	put_str(t, f->name);
	put_str(t, suffix);
	put(t, " ", 1);
	t->len = (size_t)(escape(t->p + t->len, text, w->format == METRICS_OPENMETRICS) - t->p);
	put(t, "\n", 1);
}

/* OpenMetrics names the family, Prometheus' format the series. */
static int on_family(void *arg, const struct metric_family *f)
{
	struct writer *w = arg;
	const char *suffix = w->format == METRICS_OPENMETRICS ? "" : openmetrics_suffix(f->type);
	int err = metrics_text_room(w->out, 4 * strlen(f->name) + 2 * strlen(f->help) + 256);

	if (err)
		return err;
	put_meta(w, "HELP", f, suffix, f->help);
	put_meta(w, "TYPE", f, suffix, type_name(f->type, w->format));
	if (w->format == METRICS_OPENMETRICS && f->unit[0])
		put_meta(w, "UNIT", f, suffix, f->unit);
	return 0;
}

int openmetrics_render(struct metrics *m, uint64_t now_ns, enum metrics_format format, struct metrics_text *ret)
{
	static const struct metrics_visitor visitor = { on_family, on_sample };
	struct writer w = { .out = ret, .format = format };
	int err;

	ret->len = 0;
	err = format == METRICS_PROTOBUF ? openmetrics_protobuf(m, now_ns, ret) : metrics_visit(m, now_ns, &visitor, &w);
	if (!err)
		err = metrics_text_room(ret, 16);
	if (err) {
		ret->len = 0;
		return err;
	}
	if (format == METRICS_OPENMETRICS)
		put_str(ret, "# EOF\n");
	return 0;
}

const char *openmetrics_content_type(enum metrics_format f)
{
	switch (f) {
	case METRICS_OPENMETRICS:
		return "application/openmetrics-text; version=1.0.0; charset=utf-8";
	case METRICS_PROTOBUF:
		return "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";
	default:
		return "text/plain; version=0.0.4; charset=utf-8";
	}
}
