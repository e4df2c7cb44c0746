/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json_value.h - the model's values as JSON values, and a line of them written out.
 *
 * One rule everywhere: what cannot be known (NAN, a negative count, "") is null, never 0. Every constructor returns a
 * new reference, or NULL without memory; json_put() steals it and remembers a NULL, so that a record is built without
 * a check at each field and checked once at its end.
 *
 * Numbers are rounded to what was measured: shares to 1e-6, microseconds to 1e-3 (a nanosecond). A double holds 15
 * decimal digits; JSON_LINE_FLAGS prints no more than those, and so 0.331 does not read 0.33100000000000002.
 */
#ifndef LOOPSCOPE_SINK_JSON_VALUE_H
#define LOOPSCOPE_SINK_JSON_VALUE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/fault.h"

/* ASCII only: U+2028, U+0085 and C1 controls in a hostile name would break lines, or a terminal, as plain UTF-8. */
#define JSON_LINE_FLAGS (JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(15))

struct json_object {
	json_t *json;
	bool failed; /* memory ran out somewhere on the way */
};

/* An object that starts with "v" and "type", as every line does. */
struct json_object json_line_new(const char *type);
struct json_object json_object_new(void);
void json_put(struct json_object *o, const char *key, json_t *value);
/* The finished object, or NULL if anything failed: a record with a hole is never shown. */
json_t *json_object_take(struct json_object *o);

json_t *json_decimal(double v, int decimals);
json_t *json_share(double v);
json_t *json_micros(double v);
json_t *json_count(int64_t v);
/* Hostile bytes, up to max or a NUL: invalid UTF-8 becomes U+FFFD. NULL and "" are null. */
json_t *json_text(const char *bytes, size_t max);

/*
 * Shares that belong together (busy, wait, idle) still sum to their whole after rounding: it is the running sum that is
 * rounded, and each share is the step between two sums. Off by at most one unit each, exact in sum.
 */
struct share_rounder {
	double sum;
};

json_t *share_rounder_next(struct share_rounder *r, double share);

/* Writes one line and lets go of it; NULL (no memory) is -ENOMEM with a sentence. Errors as in output.h. */
int json_line_write(FILE *out, json_t *line, struct fault *f);

#endif
