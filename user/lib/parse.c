/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * parse.c - see parse.h. Integers throughout, so that "0.1s" is exactly 100000000 ns.
 */
#include "lib/parse.h"

#include <errno.h>
#include <locale.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"

#define PID_MAX_LIMIT   (1 << 22) /* linux/threads.h, 64 bit */
#define NS_PER_S        UINT64_C(1000000000)
#define FRACTION_DIGITS 9

/* isdigit() depends on the locale and on the sign of char. */
static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static size_t digits(const char *s)
{
	size_t n = 0;

	while (is_digit(s[n]))
		n++;
	return n;
}

/* n digits; -ERANGE if they need more than 64 bits. */
static int read_digits(const char *s, size_t n, uint64_t *ret)
{
	uint64_t v = 0;

	for (size_t i = 0; i < n; i++) {
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, (uint64_t)(s[i] - '0'), &v))
			return -ERANGE;
	}
	*ret = v;
	return 0;
}

int parse_u64(const char *s, uint64_t lo, uint64_t hi, uint64_t *ret)
{
	size_t n = digits(s);
	uint64_t v;
	int err;

	if (n == 0 || s[n])
		return -EINVAL;
	err = read_digits(s, n, &v);
	if (err)
		return err;
	if (v < lo || v > hi)
		return -ERANGE;
	*ret = v;
	return 0;
}

int parse_pid(const char *s, pid_t *ret)
{
	uint64_t v;
	int err = parse_u64(s, 1, PID_MAX_LIMIT, &v);

	if (err)
		return err;
	*ret = (pid_t)v;
	return 0;
}

/* 0 if there is no such unit. */
static uint64_t unit_ns(const char *name)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{"", NS_PER_S},         {"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", NS_PER_S}, {"m", 60 * NS_PER_S},
		{"h", 3600 * NS_PER_S},
	};

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(units[i].name, name) == 0)
			return units[i].ns;
	}
	return 0;
}

/* The n digits after the point, of a unit; -EINVAL where they are no whole number of nanoseconds. */
static int fraction_ns(const char *s, size_t n, uint64_t unit, uint64_t *ret)
{
	uint64_t billionths = 0;

	if (n > FRACTION_DIGITS)
		return -EINVAL;
	for (size_t i = 0; i < FRACTION_DIGITS; i++)
		billionths = billionths * 10 + (i < n ? (uint64_t)(s[i] - '0') : 0);

	/* From a second on, a billionth of the unit is a whole number of ns; below, the product cannot overflow. */
	if (unit >= NS_PER_S) {
		*ret = billionths * (unit / NS_PER_S);
		return 0;
	}
	if (billionths * unit % NS_PER_S)
		return -EINVAL;
	*ret = billionths * unit / NS_PER_S;
	return 0;
}

int parse_duration(const char *s, uint64_t *ret_ns)
{
	size_t n_whole = digits(s), n_fraction = 0;
	const char *fraction = "", *name = s + n_whole;
	uint64_t unit, whole, ns, part;
	int err;

	if (n_whole == 0)
		return -EINVAL;
	if (*name == '.') {
		fraction = name + 1;
		n_fraction = digits(fraction);
		if (n_fraction == 0)
			return -EINVAL;
		name = fraction + n_fraction;
	}

	unit = unit_ns(name);
	if (!unit)
		return -EINVAL;
	err = fraction_ns(fraction, n_fraction, unit, &part);
	if (err)
		return err;
	err = read_digits(s, n_whole, &whole);
	if (err)
		return err;
	if (__builtin_mul_overflow(whole, unit, &ns) || __builtin_add_overflow(ns, part, &ns) || ns == 0)
		return -ERANGE;
	*ret_ns = ns;
	return 0;
}

/* 0 if there is no such unit. */
static uint64_t unit_bytes(const char *name)
{
	static const char letters[] = "KMGT";
	const char *at;

	if (!*name)
		return 1;
	at = name[1] ? NULL : strchr(letters, *name);
	return at ? 1024ull << 10 * (at - letters) : 0;
}

int parse_size(const char *s, uint64_t *ret)
{
	size_t n_whole = digits(s), n_fraction = 0;
	const char *name = s + n_whole;
	uint64_t unit, whole, part = 0, scale = 1, size;
	int err;

	if (!n_whole)
		return -EINVAL;
	if (*name == '.') {
		n_fraction = digits(name + 1);
		if (!n_fraction || n_fraction > FRACTION_DIGITS)
			return -EINVAL;
		for (size_t i = 1; i <= n_fraction; i++) {
			part = part * 10 + (uint64_t)(name[i] - '0');
			scale *= 10;
		}
		name += 1 + n_fraction;
	}
	unit = unit_bytes(name);
	if (!unit)
		return -EINVAL;
	err = read_digits(s, n_whole, &whole);
	if (err)
		return err;
	if (unit == 1 && part)
		return -EINVAL;
	if (__builtin_mul_overflow(whole, unit, &size) || __builtin_add_overflow(size, (uint64_t)((double)part / (double)scale * (double)unit), &size))
		return -ERANGE;
	if (!size)
		return -ERANGE;
	*ret = size; /* of a fraction, the whole bytes */
	return 0;
}

/* strtod() reads the decimal point of the user's locale; a script's "0.02" must mean the same in all of them. */
static double read_decimal(const char *s)
{
	locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* static in glibc: cannot fail there */
	double v;

	if (c_locale == (locale_t)0)
		return strtod(s, NULL);
	v = strtod_l(s, NULL, c_locale);
	freelocale(c_locale);
	return v;
}

int parse_share(const char *s, double *ret)
{
	size_t n = digits(s);
	bool percent;
	double v;

	if (n == 0)
		return -EINVAL;
	if (s[n] == '.') {
		size_t n_fraction = digits(s + n + 1);

		if (n_fraction == 0)
			return -EINVAL;
		n += 1 + n_fraction;
	}
	percent = s[n] == '%';
	if (s[n + percent])
		return -EINVAL;

	v = read_decimal(s);
	if (percent)
		v /= 100;
	if (!(v >= 0 && v <= 1))
		return -ERANGE;
	*ret = v;
	return 0;
}
