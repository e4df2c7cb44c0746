/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * openmetrics_accept.c - what a client's Accept header likes best (RFC 9110, 12.5.1): media ranges with parameters, each with a
 * weight q; the most specific range that fits a type gives its weight. What can't be read counts as not said.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/cleanup.h"
#include "sink/openmetrics.h"

/* A stretch of the header. */
struct span {
	const char *p;
	size_t len;
};

static struct span trimmed(const char *p, const char *end)
{
	while (p < end && isspace((unsigned char)*p))
		p++;
	while (end > p && isspace((unsigned char)end[-1]))
		end--;
	return (struct span){ p, (size_t)(end - p) };
}

static bool is(struct span s, const char *word)
{
	return s.len == strlen(word) && !strncasecmp(s.p, word, s.len);
}

/* Up to the next `separator` outside of quotes. */
static struct span next_part(const char **at, char separator)
{
	const char *begin = *at, *p = begin;
	bool quoted = false;

	for (; *p && (quoted || *p != separator); p++)
		if (*p == '"')
			quoted = !quoted;
	*at = *p ? p + 1 : p;
	return trimmed(begin, p);
}

static double weight(struct span value)
{
	char digits[8] = "";
	char *end;
	double q;

	if (!value.len || value.len >= sizeof(digits) || !isdigit((unsigned char)value.p[0]))
		return 0;
	memcpy(digits, value.p, value.len);
	q = strtod(digits, &end);
	return *end || q > 1 ? 0 : q;
}

/* What we can write, as a media type has it. */
struct offer {
	const char *type, *any_subtype; /* any_subtype NULL: only for those who name the type, with all its parameters */
	struct {
		const char *name, *value;
	} parameters[2];
};

static const struct offer offers[METRICS_FORMATS] = {
	[METRICS_PROMETHEUS] = { "text/plain", "text/*", { { "version", "0.0.4" } } },
	[METRICS_OPENMETRICS] = { "application/openmetrics-text", "application/*", { { "version", "1.0.0" } } },
	[METRICS_PROTOBUF] = { "application/vnd.google.protobuf", NULL,
			       { { "proto", "io.prometheus.client.MetricFamily" }, { "encoding", "delimited" } } },
};

struct range {
	struct span type;
	bool other; /* a parameter has another value than we write */
	unsigned same; /* a bit for each that has ours */
	double q;
};

static void take_parameter(struct range *r, const struct offer *o, struct span name, struct span value)
{
	if (is(name, "q"))
		r->q = weight(value);
	for (size_t i = 0; i < ARRAY_SIZE(o->parameters) && o->parameters[i].name; i++) {
		if (!is(name, o->parameters[i].name))
			continue;
		if (is(value, o->parameters[i].value))
			r->same |= 1u << i;
		else
			r->other = true;
	}
}

static struct range parse_range(struct span whole, const struct offer *o)
{
	char text[256];
	const char *at = text;
	struct range r = { .type = { "", 0 }, .q = 1 };

	if (whole.len >= sizeof(text))
		return r; /* no type: fits nothing */
	memcpy(text, whole.p, whole.len);
	text[whole.len] = '\0';
	r.type = (struct span){ whole.p, next_part(&at, ';').len };
	while (*at) {
		struct span parameter = next_part(&at, ';');
		const char *equals = memchr(parameter.p, '=', parameter.len);
		struct span name, value;

		if (!equals)
			continue;
		name = trimmed(parameter.p, equals);
		value = trimmed(equals + 1, parameter.p + parameter.len);
		take_parameter(&r, o, name, value);
	}
	return r;
}

static int specificity(const struct range *r, const struct offer *o)
{
	if (!o->any_subtype)
		return is(r->type, o->type) && r->same == (1u << ARRAY_SIZE(o->parameters)) - 1 ? 3 : 0;
	return is(r->type, o->type) ? 3 : is(r->type, o->any_subtype) ? 2 : is(r->type, "*/*") ? 1 : 0;
}

/* How much it is liked: the weight of the most specific range. */
static double liking(const char *accept, enum metrics_format format)
{
	const struct offer *o = &offers[format];
	double q = 0;
	int best = 0;

	while (*accept) {
		struct range r = parse_range(next_part(&accept, ','), o);
		int specific = specificity(&r, o);

		if (r.other || specific < best || !specific)
			continue;
		if (specific > best || r.q > q)
			q = r.q;
		best = specific;
	}
	return q;
}

enum metrics_format openmetrics_negotiate(const char *accept)
{
	double open, plain, protobuf;

	if (!accept)
		return METRICS_PROMETHEUS;
	open = liking(accept, METRICS_OPENMETRICS);
	plain = liking(accept, METRICS_PROMETHEUS);
	protobuf = liking(accept, METRICS_PROTOBUF);
	if (protobuf > 0 && protobuf >= open && protobuf >= plain) /* who names it wants what only it has */
		return METRICS_PROTOBUF;
	return open > plain ? METRICS_OPENMETRICS : METRICS_PROMETHEUS;
}
