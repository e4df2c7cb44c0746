/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json_value.h - the model's values as JSON, written straight into a line of text.
 *
 * One rule everywhere: what cannot be known (NAN, a negative count, "") is null, never 0. Without memory a writer remembers
 * that it failed and goes on doing nothing, so that a record is written without a check at each field and checked once, at
 * its end: a record with a hole is never shown.
 *
 * Numbers are rounded to what was measured: shares to 1e-6, microseconds to 1e-3 (a nanosecond), and show no digit beyond:
 * 0.331 does not read 0.33100000000000002. A number with a fraction always has a point or an exponent. Text is ASCII:
 * U+2028, U+0085 and C1 controls in a hostile name would break lines, or a terminal, as plain UTF-8.
 *
 * Why not a library's tree of values: 1,000 loops each second are 50,000 values, and building, printing and freeing the tree
 * took 24 us a record, more than a per cent of a CPU on its own (make bench). What is written is held against a parser in
 * tests/unit/test_sink_json*.c.
 */
#ifndef LOOPSCOPE_SINK_JSON_VALUE_H
#define LOOPSCOPE_SINK_JSON_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/fault.h"

/* One line at a time; zeroed to begin with. Keeps its memory from line to line. */
struct json_writer {
	char *text; /* owned; not terminated */
	size_t len, cap;
	bool failed;
	bool comma; /* something stands before, in the same object or array */
};

void json_writer_free(struct json_writer *w); /* what it holds, not w itself */

/* A line is an object that starts with "v" and "type". It is written out at its end; -ENOMEM with a sentence if anything
 * failed on the way. Other errors as in output.h. */
void json_line_begin(struct json_writer *w, const char *type);
int json_line_end(struct json_writer *w, FILE *out, struct fault *f);

/* key: NULL inside an array. Keys are ours: printable ASCII without quotes, not escaped. */
void json_object_begin(struct json_writer *w, const char *key);
void json_object_end(struct json_writer *w);
void json_array_begin(struct json_writer *w, const char *key);
void json_array_end(struct json_writer *w);

void json_put_null(struct json_writer *w, const char *key);
void json_put_boolean(struct json_writer *w, const char *key, bool v);
void json_put_integer(struct json_writer *w, const char *key, int64_t v);
void json_put_count(struct json_writer *w, const char *key, int64_t v);               /* negative: null */
void json_put_decimal(struct json_writer *w, const char *key, double v, int decimals); /* 0 to 9 */
void json_put_share(struct json_writer *w, const char *key, double v);
void json_put_micros(struct json_writer *w, const char *key, double v);
/* Hostile bytes, up to max or a NUL: invalid UTF-8 becomes U+FFFD. NULL and "" are null. */
void json_put_text(struct json_writer *w, const char *key, const char *bytes, size_t max);

/*
 * Shares that belong together (busy, wait, idle) still sum to their whole after rounding: it is the running sum that is
 * rounded, and each share is the step between two sums. Off by at most one unit each, exact in sum.
 */
struct share_rounder {
	double sum;
};

void json_put_share_next(struct json_writer *w, const char *key, struct share_rounder *r, double share);

#endif
