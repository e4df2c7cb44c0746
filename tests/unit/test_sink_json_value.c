/* SPDX-License-Identifier: BSD-2-Clause */
/* test_sink_json_value.c - numbers and text as written by hand, held against what a JSON library makes of the same. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sink/json_value.h"

TestSuite(sink_json_value, .timeout = 30);

/* One value in the writer, as a string. */
static void assert_written(struct json_writer *w, json_t *expected)
{
	char *text = json_dumps(expected, JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(15));

	cr_assert_not_null(text);
	cr_assert(!w->failed);
	cr_assert_eq(w->len, strlen(text), "%.*s, not %s", (int)w->len, w->text, text);
	cr_assert_eq(memcmp(w->text, text, w->len), 0, "%.*s, not %s", (int)w->len, w->text, text);
	free(text);
	json_decref(expected);
	json_writer_free(w);
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 11;
}

static void decimal_like_the_library(double v, int decimals)
{
	double scale = pow(10, decimals);
	struct json_writer w = { 0 };

	json_put_decimal(&w, NULL, v, decimals);
	assert_written(&w, json_real(round(v * scale) / scale + 0.0));
}

Test(sink_json_value, small_decimals)
{
	for (int i = -20000; i <= 20000; i++)
		decimal_like_the_library(i / 1e6, 6);
}

Test(sink_json_value, decimals_of_any_size)
{
	uint64_t seed = 1;

	for (int i = 0; i < 200000; i++) {
		double v = (double)next_random(&seed) / 9007199254740992.0 * pow(10, (double)(i % 17) - 8);

		decimal_like_the_library(i & 1 ? -v : v, 6);
		decimal_like_the_library(v, 3);
	}
}

Test(sink_json_value, unknown_numbers_are_null)
{
	static const double unknown[] = { NAN, INFINITY, -INFINITY, 1e15, -1e300 };

	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		struct json_writer w = { 0 };

		json_put_decimal(&w, NULL, unknown[i], 3);
		assert_written(&w, json_null());
		json_put_share(&w, NULL, unknown[i]);
		assert_written(&w, json_null());
	}
}

Test(sink_json_value, integers)
{
	static const int64_t v[] = { 0, 1, -1, 9, 10, INT64_MAX, INT64_MIN };

	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct json_writer w = { 0 };

		json_put_integer(&w, NULL, v[i]);
		assert_written(&w, json_integer(v[i]));
	}
}

Test(sink_json_value, every_character)
{
	for (unsigned code = 1; code < 0x110000; code += code < 0x3000 ? 1 : 37) {
		char utf8[5] = { 0 };
		struct json_writer w = { 0 };

		if (code >= 0xd800 && code < 0xe000)
			continue;
		if (code < 0x80) {
			utf8[0] = (char)code;
		} else if (code < 0x800) {
			utf8[0] = (char)(0xc0 | code >> 6);
			utf8[1] = (char)(0x80 | (code & 63));
		} else if (code < 0x10000) {
			utf8[0] = (char)(0xe0 | code >> 12);
			utf8[1] = (char)(0x80 | (code >> 6 & 63));
			utf8[2] = (char)(0x80 | (code & 63));
		} else {
			utf8[0] = (char)(0xf0 | code >> 18);
			utf8[1] = (char)(0x80 | (code >> 12 & 63));
			utf8[2] = (char)(0x80 | (code >> 6 & 63));
			utf8[3] = (char)(0x80 | (code & 63));
		}
		json_put_text(&w, NULL, utf8, sizeof(utf8));
		assert_written(&w, json_string(utf8));
	}
}

Test(sink_json_value, random_bytes_are_always_a_string)
{
	uint64_t seed = 7;

	for (int i = 0; i < 20000; i++) {
		struct json_writer w = { 0 };
		char bytes[24];
		json_t *parsed;

		for (size_t n = 0; n < sizeof(bytes); n++)
			bytes[n] = (char)next_random(&seed);
		bytes[0] |= 1;
		json_put_text(&w, NULL, bytes, sizeof(bytes));
		parsed = json_loadb(w.text, w.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
		cr_assert(json_is_string(parsed), "%.*s", (int)w.len, w.text);
		json_decref(parsed);
		json_writer_free(&w);
	}
}
