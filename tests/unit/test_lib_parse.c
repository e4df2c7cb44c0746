/* SPDX-License-Identifier: BSD-2-Clause */
/* test_lib_parse.c - the strict readers: what they take, what they refuse and with which error. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>

#include "lib/cleanup.h"
#include "lib/parse.h"

#define S UINT64_C(1000000000)

TestSuite(lib_parse, .timeout = 30);

static const struct {
	const char *text;
	int err;
	uint64_t ns;
} durations[] = {
	{"250us", 0, 250000},
	{"50ms", 0, 50000000},
	{"5s", 0, 5 * S},
	{"1.5s", 0, 3 * S / 2},
	{"2m", 0, 120 * S},
	{"1h", 0, 3600 * S},
	{"100ns", 0, 100},
	{"1ns", 0, 1},
	{"5", 0, 5 * S},
	{"0.1", 0, S / 10},
	{"0.000000001", 0, 1},
	{"0.001us", 0, 1},
	{"0.25h", 0, 900 * S},
	{"1.999999999h", 0, 7200 * S - 3600},
	{"007s", 0, 7 * S},
	{"18446744073709551615ns", 0, UINT64_MAX},
	{"18446744073.709551615s", 0, UINT64_MAX},
	{"0", -ERANGE, 0},
	{"0s", -ERANGE, 0},
	{"0.000h", -ERANGE, 0},
	{"18446744073709551616ns", -ERANGE, 0},
	{"18446744073.709551616s", -ERANGE, 0},
	{"18446744074s", -ERANGE, 0},
	{"99999999999999999999999h", -ERANGE, 0},
	{"", -EINVAL, 0},
	{"s", -EINVAL, 0},
	{"5x", -EINVAL, 0},
	{"5 s", -EINVAL, 0},
	{" 5s", -EINVAL, 0},
	{"5s ", -EINVAL, 0},
	{"5s\n", -EINVAL, 0},
	{"-5s", -EINVAL, 0},
	{"+5s", -EINVAL, 0},
	{"5S", -EINVAL, 0},
	{"5d", -EINVAL, 0},
	{"5ss", -EINVAL, 0},
	{".5s", -EINVAL, 0},
	{"5.s", -EINVAL, 0},
	{"5.", -EINVAL, 0},
	{"1.2.3s", -EINVAL, 0},
	{"1,5s", -EINVAL, 0},
	{"1e3s", -EINVAL, 0},
	{"0x10s", -EINVAL, 0},
	{"inf", -EINVAL, 0},
	{"1.5ns", -EINVAL, 0},
	{"0.0001us", -EINVAL, 0},
	{"0.0000000001s", -EINVAL, 0},
	{"\xd9\xa5s", -EINVAL, 0}, /* an Arabic-Indic five */
};

ParameterizedTestParameters(lib_parse, duration)
{
	static size_t index[ARRAY_SIZE(durations)];

	for (size_t i = 0; i < ARRAY_SIZE(index); i++)
		index[i] = i;
	return cr_make_param_array(size_t, index, ARRAY_SIZE(index));
}

ParameterizedTest(const size_t *i, lib_parse, duration)
{
	const char *text = durations[*i].text;
	uint64_t ns = 42;

	cr_assert_eq(parse_duration(text, &ns), durations[*i].err, "'%s'", text);
	cr_assert_eq(ns, durations[*i].err ? 42 : durations[*i].ns, "'%s' gave %" PRIu64, text, ns);
}

static const struct {
	const char *text;
	int err;
	double share;
} shares[] = {
	{"0", 0, 0},
	{"1", 0, 1},
	{"0.02", 0, 0.02},
	{"2%", 0, 0.02},
	{"2.5%", 0, 0.025},
	{"100%", 0, 1},
	{"0%", 0, 0},
	{"1.000", 0, 1},
	{"0.3333333333333333", 0, 1.0 / 3},
	{"1.01", -ERANGE, 0},
	{"101%", -ERANGE, 0},
	{"2", -ERANGE, 0},
	{"1.0000000000000003", -ERANGE, 0},
	{"99999999999999999999999999999999999", -ERANGE, 0},
	{"", -EINVAL, 0},
	{"%", -EINVAL, 0},
	{"2%%", -EINVAL, 0},
	{"2 %", -EINVAL, 0},
	{"-0", -EINVAL, 0},
	{"-0.1", -EINVAL, 0},
	{".5", -EINVAL, 0},
	{"0.", -EINVAL, 0},
	{"0,5", -EINVAL, 0},
	{"nan", -EINVAL, 0},
	{"1e-2", -EINVAL, 0},
	{"0x0.8", -EINVAL, 0},
};

ParameterizedTestParameters(lib_parse, share)
{
	static size_t index[ARRAY_SIZE(shares)];

	for (size_t i = 0; i < ARRAY_SIZE(index); i++)
		index[i] = i;
	return cr_make_param_array(size_t, index, ARRAY_SIZE(index));
}

ParameterizedTest(const size_t *i, lib_parse, share)
{
	const char *text = shares[*i].text;
	double share = 42;

	cr_assert_eq(parse_share(text, &share), shares[*i].err, "'%s'", text);
	cr_assert_eq(share, shares[*i].err ? 42 : shares[*i].share, "'%s' gave %.17g", text, share);
}

Test(lib_parse, share_has_a_point_in_every_locale)
{
	double share = 42;

	if (!setlocale(LC_NUMERIC, "de_DE.UTF-8"))
		cr_skip_test("no locale with a decimal comma here");
	cr_assert_eq(parse_share("0.25", &share), 0);
	cr_assert_eq(share, 0.25);
}

Test(lib_parse, u64)
{
	uint64_t v = 42;

	cr_assert_eq(parse_u64("18446744073709551615", 0, UINT64_MAX, &v), 0);
	cr_assert_eq(v, UINT64_MAX);
	cr_assert_eq(parse_u64("7", 7, 7, &v), 0);
	cr_assert_eq(v, 7);
	cr_assert_eq(parse_u64("6", 7, 7, &v), -ERANGE);
	cr_assert_eq(parse_u64("8", 7, 7, &v), -ERANGE);
	cr_assert_eq(parse_u64("18446744073709551616", 0, UINT64_MAX, &v), -ERANGE);
	cr_assert_eq(parse_u64("99999999999999999999x", 0, UINT64_MAX, &v), -EINVAL,
		     "malformed comes before too large");
	cr_assert_eq(parse_u64("", 0, UINT64_MAX, &v), -EINVAL);
	cr_assert_eq(parse_u64("-1", 0, UINT64_MAX, &v), -EINVAL);
	cr_assert_eq(parse_u64("+1", 0, UINT64_MAX, &v), -EINVAL);
	cr_assert_eq(parse_u64(" 1", 0, UINT64_MAX, &v), -EINVAL);
	cr_assert_eq(parse_u64("1\n", 0, UINT64_MAX, &v), -EINVAL);
	cr_assert_eq(parse_u64("0x1", 0, UINT64_MAX, &v), -EINVAL);
	cr_assert_eq(v, 7, "untouched by failures");
}

Test(lib_parse, pid)
{
	pid_t pid = 42;

	cr_assert_eq(parse_pid("1", &pid), 0);
	cr_assert_eq(pid, 1);
	cr_assert_eq(parse_pid("4194304", &pid), 0);
	cr_assert_eq(pid, 4194304);
	cr_assert_eq(parse_pid("4194305", &pid), -ERANGE);
	cr_assert_eq(parse_pid("0", &pid), -ERANGE);
	cr_assert_eq(parse_pid("-1", &pid), -EINVAL);
	cr_assert_eq(parse_pid("12a", &pid), -EINVAL);
	cr_assert_eq(pid, 4194304, "untouched by failures");
}

Test(parse, sizes)
{
	static const struct {
		const char *text;
		uint64_t want;
	} good[] = { { "1", 1 }, { "65536", 65536 }, { "64M", 64ull << 20 }, { "1.5G", 3ull << 29 }, { "2K", 2048 }, { "1T", 1ull << 40 } };
	static const char *const bad[] = { "", "M", "1.", "1.5", "-1", "1 M", "1MB", "1m", "0", "0.0M", "99999999999T", "1.M", " 1" };
	uint64_t v;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		cr_assert_eq(parse_size(good[i].text, &v), 0, "%s", good[i].text);
		cr_assert_eq(v, good[i].want, "%s", good[i].text);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		v = 7;
		cr_assert(parse_size(bad[i], &v) < 0, "'%s'", bad[i]);
		cr_assert_eq(v, 7);
	}
}
