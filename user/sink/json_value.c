/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json_value.c - see json_value.h.
 */
#include "sink/json_value.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/text.h"
#include "sink/output.h"

/* The longest text shown: no path of the kernel's is longer, and a hostile one ends here. */
#define JSON_TEXT_MAX ((size_t)PATH_MAX)
/* No share, time or count that we know of reaches this; what does is rubbish, and llround() would be undefined. */
#define JSON_NUMBER_MAX 1e15

struct json_object json_object_new(void)
{
	json_t *json = json_object();

	return (struct json_object){ .json = json, .failed = !json };
}

struct json_object json_line_new(const char *type)
{
	struct json_object o = json_object_new();

	json_put(&o, "v", json_integer(1));
	json_put(&o, "type", json_string(type));
	return o;
}

void json_put(struct json_object *o, const char *key, json_t *value)
{
	/* Refuses NULL for either, and frees the value. */
	if (json_object_set_new(o->json, key, value) < 0)
		o->failed = true;
}

json_t *json_object_take(struct json_object *o)
{
	json_t *json = TAKE_PTR(o->json);

	if (!o->failed)
		return json;
	json_decref(json);
	return NULL;
}

static bool is_known(double v)
{
	return isfinite(v) && fabs(v) < JSON_NUMBER_MAX;
}

json_t *json_decimal(double v, int decimals)
{
	double scale = pow(10, decimals);

	if (!is_known(v))
		return json_null();
	/* + 0.0: a tiny negative rounds to -0, which would print as such. */
	return json_real(round(v * scale) / scale + 0.0);
}

/* By way of whole billionths: a sum that misses a tie by its last bits must round as its parts do. */
static long long to_millionths(double v)
{
	long long billionths = llround(v * 1e9);

	return (billionths + (billionths < 0 ? -500 : 500)) / 1000;
}

static bool is_known_share(double v)
{
	return is_known(v) && fabs(v) < 1e6;
}

json_t *json_share(double v)
{
	return is_known_share(v) ? json_real((double)to_millionths(v) / 1e6) : json_null();
}

json_t *share_rounder_next(struct share_rounder *r, double share)
{
	long long before = to_millionths(r->sum);

	if (!is_known_share(share) || !is_known_share(r->sum + share))
		return json_null();
	r->sum += share;
	return json_real((double)(to_millionths(r->sum) - before) / 1e6);
}

json_t *json_micros(double v)
{
	return json_decimal(v, 3);
}

json_t *json_count(int64_t v)
{
	return v < 0 ? json_null() : json_integer(v);
}

json_t *json_text(const char *bytes, size_t max)
{
	char text[TEXT_UTF8_SIZE(JSON_TEXT_MAX)];
	size_t n;

	if (!bytes || max == 0 || bytes[0] == '\0')
		return json_null();
	n = text_to_utf8(text, sizeof(text), bytes, max < JSON_TEXT_MAX ? max : JSON_TEXT_MAX);
	return json_stringn(text, n);
}

int json_line_write(FILE *out, json_t *line, struct fault *f)
{
	_cleanup_free_ char *text = line ? json_dumps(line, JSON_LINE_FLAGS) : NULL;
	int err;

	json_decref(line);
	if (!text)
		return fault(f, -ENOMEM, EXIT_FAILED, "no memory for a line of JSON; watch fewer loops, or free some");

	err = output_write(out, text, strlen(text), f);
	return err ? err : output_write(out, "\n", 1, f);
}
