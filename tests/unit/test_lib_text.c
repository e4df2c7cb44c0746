/* SPDX-License-Identifier: BSD-2-Clause */
/* test_lib_text.c - hostile bytes made visible or valid, in bounded space; durations with three digits. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <jansson.h>

#include "lib/cleanup.h"
#include "lib/parse.h"
#include "lib/text.h"

#define FFFD "\xef\xbf\xbd"

TestSuite(lib_text, .timeout = 60);

/* Expected UTF-8: as the Unicode standard's tables 3-8 to 3-11 and Python's bytes.decode(errors="replace") have it. */
static const struct {
	const char *bytes, *escaped, *utf8;
} strings[] = {
	{"", "", ""},
	{"redis-server", "redis-server", "redis-server"},
	{"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80", "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80",
	 "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"},
	{"a\x1b[2Jb", "a\\x1b[2Jb", "a\x1b[2Jb"},
	{"a\nb\tc\rd\x7f", "a\\x0ab\\x09c\\x0dd\\x7f", "a\nb\tc\rd\x7f"},
	{"back\\slash", "back\\slash", "back\\slash"},
	{"\xc2\x9b"
	 "2J",
	 "\\u009b2J",
	 "\xc2\x9b"
	 "2J"}, /* CSI as one C1 character */
	{"\x9b"
	 "2J",
	 "\\x9b2J", FFFD "2J"},
	{"a\xe2\x80\xae"
	 "b",
	 "a\\u202eb",
	 "a\xe2\x80\xae"
	 "b"}, /* right-to-left override */
	{"\xef\xbb\xbfx", "\\ufeffx", "\xef\xbb\xbfx"},
	{"cut\xe2\x82", "cut\\xe2\\x82", "cut" FFFD},
	{"cut\xf0\x9f\x98", "cut\\xf0\\x9f\\x98", "cut" FFFD},
	{"\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41",
	 "\\xc0\\xaf\\xe0\\x80\\xbf\\xf0\\x81\\x82"
	 "A",
	 FFFD FFFD FFFD FFFD FFFD FFFD FFFD FFFD "A"}, /* table 3-8: overlong */
	{"\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41",
	 "\\xed\\xa0\\x80\\xed\\xbf\\xbf\\xed\\xaf"
	 "A",
	 FFFD FFFD FFFD FFFD FFFD FFFD FFFD FFFD "A"}, /* table 3-9: surrogates */
	{"\xf4\x91\x92\x93\xff\x41\x80\xbf\x42",
	 "\\xf4\\x91\\x92\\x93\\xff"
	 "A"
	 "\\x80\\xbf"
	 "B",
	 FFFD FFFD FFFD FFFD FFFD "A" FFFD FFFD "B"}, /* table 3-10 */
	{"\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41",
	 "\\xe1\\x80\\xe2\\xf0\\x91\\x92\\xf1\\xbf"
	 "A",
	 FFFD FFFD FFFD FFFD "A"}, /* table 3-11: truncated */
	{"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
	{"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80", FFFD FFFD FFFD FFFD},
};

ParameterizedTestParameters(lib_text, known_strings)
{
	static size_t index[ARRAY_SIZE(strings)];

	for (size_t i = 0; i < ARRAY_SIZE(index); i++)
		index[i] = i;
	return cr_make_param_array(size_t, index, ARRAY_SIZE(index));
}

ParameterizedTest(const size_t *i, lib_text, known_strings)
{
	const char *bytes = strings[*i].bytes;
	char out[256];

	cr_assert_eq(text_escape_control(out, sizeof(out), bytes, SIZE_MAX), strlen(strings[*i].escaped));
	cr_assert_str_eq(out, strings[*i].escaped);
	cr_assert_eq(text_to_utf8(out, sizeof(out), bytes, SIZE_MAX), strlen(strings[*i].utf8));
	cr_assert_str_eq(out, strings[*i].utf8);
}

Test(lib_text, array_without_nul_is_read_to_its_end)
{
	const char comm[4] = {'a', 'b', 'c', 'd'};
	char out[32];

	text_escape_control(out, sizeof(out), comm, sizeof(comm));
	cr_assert_str_eq(out, "abcd");
	text_to_utf8(out, sizeof(out), comm, sizeof(comm));
	cr_assert_str_eq(out, "abcd");
	text_quote(out, sizeof(out), comm, 2);
	cr_assert_str_eq(out, "ab");
}

Test(lib_text, quote_marks_a_cut)
{
	char out[8];

	cr_assert_eq(text_quote(out, sizeof(out), "1234567", SIZE_MAX), 7);
	cr_assert_str_eq(out, "1234567", "fits");
	cr_assert_eq(text_quote(out, sizeof(out), "12345678", SIZE_MAX), 7);
	cr_assert_str_eq(out, "1234...");
	text_quote(out, sizeof(out), "123\xc3\xbc\xc3\xbc\xc3\xbc", SIZE_MAX);
	cr_assert_str_eq(out, "123...", "cut between characters");
	text_quote(out, 3, "12345", SIZE_MAX);
	cr_assert_str_eq(out, "12", "no room for the mark");
}

/* All one- and two-byte strings, and many longer ones: whatever comes, at every buffer size. */
static void check_bytes(const char *bytes, size_t n)
{
	char whole[TEXT_ESCAPED_SIZE(8)], again[4 * sizeof(whole)], out[sizeof(whole) + 1];
	size_t len = text_escape_control(whole, sizeof(whole), bytes, n);
	json_t *json;

	for (size_t i = 0; i < len; i++)
		cr_assert((unsigned char)whole[i] >= 0x20 && whole[i] != 0x7f);
	cr_assert_eq(text_escape_control(again, sizeof(again), whole, sizeof(whole)), len,
		     "a second pass changes nothing");
	cr_assert_str_eq(again, whole);

	for (size_t size = 0; size <= sizeof(whole); size++) {
		memset(out, '#', sizeof(out));
		len = text_escape_control(out, size, bytes, n);
		cr_assert(size == 0 ? len == 0 : len < size && out[len] == '\0');
		cr_assert_eq(out[size], '#', "nothing behind the buffer is touched");
		cr_assert(strncmp(out, whole, len) == 0);
	}
	for (size_t size = 1; size <= TEXT_UTF8_SIZE(8); size++) {
		memset(out, '#', sizeof(out));
		len = text_to_utf8(out, size, bytes, n);
		cr_assert(len < size && out[len] == '\0' && out[size] == '#');
		json = json_string(out); /* NULL for what is not UTF-8 */
		cr_assert_not_null(json);
		json_decref(json);
	}
}

Test(lib_text, any_bytes_at_any_size)
{
	char bytes[8];
	uint64_t x = 88172645463325252; /* xorshift64: the same bytes in every run */

	for (int i = 0; i < 256; i++) {
		bytes[0] = (char)i;
		check_bytes(bytes, 1);
	}
	for (int i = 0; i < 5000; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		memcpy(bytes, &x, sizeof(bytes));
		if (i % 2) /* mostly lead and continuation bytes */
			for (size_t k = 0; k < sizeof(bytes); k++)
				bytes[k] = (char)(bytes[k] | 0x80);
		check_bytes(bytes, sizeof(bytes));
	}
}

Test(lib_text, every_code_point_survives)
{
	for (uint32_t c = 0x20; c <= 0x10ffff; c++) {
		char in[5] = "", out[TEXT_UTF8_SIZE(4)];

		if (c < 0x80)
			in[0] = (char)c;
		else if (c < 0x800)
			in[0] = (char)(0xc0 | c >> 6), in[1] = (char)(0x80 | (c & 0x3f));
		else if (c < 0x10000)
			in[0] = (char)(0xe0 | c >> 12), in[1] = (char)(0x80 | (c >> 6 & 0x3f)),
			in[2] = (char)(0x80 | (c & 0x3f));
		else
			in[0] = (char)(0xf0 | c >> 18), in[1] = (char)(0x80 | (c >> 12 & 0x3f)),
			in[2] = (char)(0x80 | (c >> 6 & 0x3f)), in[3] = (char)(0x80 | (c & 0x3f));
		text_to_utf8(out, sizeof(out), in, sizeof(in));
		if (c >= 0xd800 && c <= 0xdfff)
			cr_assert_str_eq(out, FFFD FFFD FFFD, "U+%04X", c);
		else
			cr_assert(strcmp(out, in) == 0, "U+%04X", c);
	}
}

static const struct {
	uint64_t ns;
	const char *rounded, *exact;
} durations[] = {
	{0, "0ns", "0s"},
	{1, "1ns", "1ns"},
	{999, "999ns", "999ns"},
	{1000, "1.00us", "1us"},
	{1234, "1.23us", "1234ns"},
	{1235, "1.24us", "1235ns"},
	{9994, "9.99us", "9994ns"},
	{9995, "10.0us", "9995ns"},
	{99949, "99.9us", "99949ns"},
	{99950, "100us", "99950ns"},
	{250000, "250us", "250us"},
	{999499, "999us", "999499ns"},
	{999500, "1.00ms", "999500ns"},
	{83000000, "83.0ms", "83ms"},
	{50000000, "50.0ms", "50ms"},
	{1000000000, "1.00s", "1s"},
	{1500000000, "1.50s", "1500ms"},
	{59940000000, "59.9s", "59940ms"},
	{59960000000, "1.00m", "59960ms"},
	{90000000000, "1.50m", "90s"},
	{3600000000000, "1.00h", "1h"},
	{7200000000000, "2.00h", "2h"},
	{86400000000000, "24.0h", "24h"},
	{UINT64_MAX, "5124096h", "18446744073709551615ns"},
};

ParameterizedTestParameters(lib_text, durations)
{
	static size_t index[ARRAY_SIZE(durations)];

	for (size_t i = 0; i < ARRAY_SIZE(index); i++)
		index[i] = i;
	return cr_make_param_array(size_t, index, ARRAY_SIZE(index));
}

ParameterizedTest(const size_t *i, lib_text, durations)
{
	char out[TEXT_DURATION_SIZE];

	cr_assert_str_eq(text_duration(out, sizeof(out), durations[*i].ns), durations[*i].rounded);
	cr_assert_str_eq(text_duration_exact(out, sizeof(out), durations[*i].ns), durations[*i].exact);
}

/* Rounded to three digits is within 0.5 % (and exact is exact), over the whole range that parse_duration() can read. */
Test(lib_text, durations_are_read_back)
{
	for (uint64_t ns = 1; ns < UINT64_MAX / 2; ns += ns / 37 + 1) {
		char out[TEXT_DURATION_SIZE];
		uint64_t back;

		cr_assert_eq(parse_duration(text_duration(out, sizeof(out), ns), &back), 0, "%s", out);
		cr_assert_leq((back > ns ? back - ns : ns - back) * 2.0, ns / 100.0, "%s for %" PRIu64, out, ns);
		cr_assert_eq(parse_duration(text_duration_exact(out, sizeof(out), ns), &back), 0, "%s", out);
		cr_assert_eq(back, ns, "%s", out);
	}
}
