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

struct range {
	struct span type;
	bool other_version; /* one that we don't write */
	double q;
};

static struct range parse_range(struct span whole, const char *our_version)
{
	char text[256];
	const char *at = text;
	struct range r = { .q = 1 };

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
		if (is(name, "q"))
			r.q = weight(value);
		else if (is(name, "version"))
			r.other_version = !is(value, our_version);
	}
	return r;
}

/* How much `type/subtype` of that version is liked: the weight of the most specific range. */
static double liking(const char *accept, const char *type, const char *any_subtype, const char *version)
{
	double q = 0;
	int best = 0;

	while (*accept) {
		struct range r = parse_range(next_part(&accept, ','), version);
		int specific = is(r.type, type) ? 3 : is(r.type, any_subtype) ? 2 : is(r.type, "*/*") ? 1 : 0;

		if (r.other_version || specific < best || !specific)
			continue;
		if (specific > best || r.q > q)
			q = r.q;
		best = specific;
	}
	return q;
}

enum metrics_format openmetrics_negotiate(const char *accept)
{
	double open, plain;

	if (!accept)
		return METRICS_PROMETHEUS;
	open = liking(accept, "application/openmetrics-text", "application/*", "1.0.0");
	plain = liking(accept, "text/plain", "text/*", "0.0.4");
	return open > plain ? METRICS_OPENMETRICS : METRICS_PROMETHEUS;
}
