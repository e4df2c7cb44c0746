/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json_value.c - see json_value.h. The grammar is RFC 8259's.
 */
#include "sink/json_value.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/text.h"
#include "sink/output.h"

/* The longest text shown: no path of the kernel's is longer, and a hostile one ends here. */
#define JSON_TEXT_MAX ((size_t)PATH_MAX)
/* No share, time or count that we know of reaches this; what does is rubbish, and llround() would be undefined. */
#define JSON_NUMBER_MAX 1e15
/* As many decimal digits as a double holds whatever they are. */
#define JSON_DIGITS_MAX 1000000000000000ll
#define JSON_DECIMALS_MAX 9
/* Room for any number: sign, 20 digits, point, exponent. */
#define JSON_NUMBER_SIZE 40

void json_writer_free(struct json_writer *w)
{
	free(w->text);
	*w = (struct json_writer){ 0 };
}

/* --- bytes ---------------------------------------------------------------------------------------------------------- */

/* Room for n more bytes, to be filled by the caller; NULL without memory. */
static char *room(struct json_writer *w, size_t n)
{
	if (w->failed)
		return NULL;
	if (n > w->cap - w->len) {
		size_t cap = 2 * w->cap + n + 512;
		char *p = realloc(w->text, cap);

		if (!p) {
			w->failed = true;
			return NULL;
		}
		w->text = p;
		w->cap = cap;
	}
	return w->text + w->len;
}

static void put(struct json_writer *w, const char *bytes, size_t n)
{
	char *p = room(w, n);

	if (!p)
		return;
	memcpy(p, bytes, n);
	w->len += n;
}

static void put_char(struct json_writer *w, char c)
{
	char *p = room(w, 1);

	if (!p)
		return;
	*p = c;
	w->len++;
}

/* What stands before a value: a comma, its name. */
static void lead(struct json_writer *w, const char *key)
{
	size_t n = key ? strlen(key) : 0;
	char *p = room(w, n + 4);

	if (!p)
		return;
	if (w->comma)
		*p++ = ',';
	if (key) {
		*p++ = '"';
		memcpy(p, key, n);
		p += n;
		*p++ = '"';
		*p++ = ':';
	}
	w->len = (size_t)(p - w->text);
	w->comma = true;
}

static void begin(struct json_writer *w, const char *key, char bracket)
{
	lead(w, key);
	put_char(w, bracket);
	w->comma = false;
}

static void end(struct json_writer *w, char bracket)
{
	put_char(w, bracket);
	w->comma = true;
}

void json_object_begin(struct json_writer *w, const char *key)
{
	begin(w, key, '{');
}

void json_object_end(struct json_writer *w)
{
	end(w, '}');
}

void json_array_begin(struct json_writer *w, const char *key)
{
	begin(w, key, '[');
}

void json_array_end(struct json_writer *w)
{
	end(w, ']');
}

static void literal(struct json_writer *w, const char *key, const char *text)
{
	lead(w, key);
	put(w, text, strlen(text));
}

void json_put_null(struct json_writer *w, const char *key)
{
	literal(w, key, "null");
}

void json_put_boolean(struct json_writer *w, const char *key, bool v)
{
	literal(w, key, v ? "true" : "false");
}

/* --- numbers -------------------------------------------------------------------------------------------------------- */

/* Digits of n, ending before `to`. Returns where they begin. */
static char *digits_before(char *to, uint64_t n)
{
	do
		*--to = (char)('0' + n % 10);
	while (n /= 10);
	return to;
}

void json_put_integer(struct json_writer *w, const char *key, int64_t v)
{
	char text[JSON_NUMBER_SIZE], *stop = text + sizeof(text), *p;

	p = digits_before(stop, v < 0 ? -(uint64_t)v : (uint64_t)v);
	if (v < 0)
		*--p = '-';
	lead(w, key);
	put(w, p, (size_t)(stop - p));
}

void json_put_count(struct json_writer *w, const char *key, int64_t v)
{
	if (v < 0)
		json_put_null(w, key);
	else
		json_put_integer(w, key, v);
}

/* n / 10^decimals, below 1e-4 with an exponent as printf's %g has it: 1.2e-5. n is not 0. */
static char *small_before(char *to, uint64_t n, int decimals)
{
	char *first;
	int count;

	while (n % 10 == 0) {
		n /= 10;
		decimals--;
	}
	/* The exponent, filled in once the digits are counted: it has one digit, as there are at most 9 decimals. */
	to -= 3;
	first = digits_before(to, n);
	count = (int)(to - first);
	if (count > 1) {
		first--;
		first[0] = first[1];
		first[1] = '.';
	}
	memcpy(to, "e-", 2);
	to[2] = (char)('0' + decimals - (count - 1));
	return first;
}

/* n / 10^decimals without trailing zeros, but for one. */
static char *fraction_before(char *to, uint64_t n, int decimals)
{
	while (decimals > 1 && n % 10 == 0) {
		n /= 10;
		decimals--;
	}
	for (int i = 0; i < decimals; i++, n /= 10)
		*--to = (char)('0' + n % 10);
	*--to = '.';
	return digits_before(to, n);
}

/* scaled: the number in units of 10^-decimals, of at most 15 digits. */
static void put_scaled(struct json_writer *w, const char *key, long long scaled, int decimals)
{
	char text[JSON_NUMBER_SIZE], *stop = text + sizeof(text), *p;
	uint64_t n = scaled < 0 ? -(uint64_t)scaled : (uint64_t)scaled;
	uint64_t least = 1; /* 1e-4 */

	for (int i = 4; i < decimals; i++)
		least *= 10;
	p = n && decimals > 4 && n < least ? small_before(stop, n, decimals) : fraction_before(stop, n, decimals ? decimals : 0);
	if (scaled < 0)
		*--p = '-';
	lead(w, key);
	put(w, p, (size_t)(stop - p));
	if (!decimals)
		put(w, "0", 1);
}

static bool is_known(double v)
{
	return isfinite(v) && fabs(v) < JSON_NUMBER_MAX;
}

void json_put_decimal(struct json_writer *w, const char *key, double v, int decimals)
{
	double scale = 1, scaled;

	for (int i = 0; i < decimals; i++)
		scale *= 10;
	scaled = v * scale;
	/* No more digits than a double tells. */
	for (; decimals > 0 && fabs(scaled) >= (double)JSON_DIGITS_MAX; decimals--)
		scaled /= 10;
	if (!is_known(v) || decimals > JSON_DECIMALS_MAX)
		json_put_null(w, key);
	else if (fabs(scaled) < (double)JSON_DIGITS_MAX)
		put_scaled(w, key, llround(scaled), decimals);
	else /* beyond what a double tells: whole numbers will do */
		put_scaled(w, key, llround(v) * 10, 1);
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

void json_put_share(struct json_writer *w, const char *key, double v)
{
	if (is_known_share(v))
		put_scaled(w, key, to_millionths(v), 6);
	else
		json_put_null(w, key);
}

void json_put_share_next(struct json_writer *w, const char *key, struct share_rounder *r, double share)
{
	long long before = to_millionths(r->sum);

	if (!is_known_share(share) || !is_known_share(r->sum + share)) {
		json_put_null(w, key);
		return;
	}
	r->sum += share;
	put_scaled(w, key, to_millionths(r->sum) - before, 6);
}

void json_put_micros(struct json_writer *w, const char *key, double v)
{
	json_put_decimal(w, key, v, 3);
}

/* --- text ----------------------------------------------------------------------------------------------------------- */

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

static void put_u(struct json_writer *w, unsigned unit)
{
	static const char hex[] = "0123456789ABCDEF";
	char text[6] = { '\\', 'u', hex[unit >> 12 & 15], hex[unit >> 8 & 15], hex[unit >> 4 & 15], hex[unit & 15] };

	put(w, text, sizeof(text));
}

static void put_escaped(struct json_writer *w, unsigned code)
{
	static const char short_for[] = "\"\\\b\f\n\r\t", shorts[] = "\"\\bfnrt";
	const char *s = code && code < 0x80 ? strchr(short_for, (int)code) : NULL;

	if (s) {
		put(w, (char[2]){ '\\', shorts[s - short_for] }, 2);
	} else if (code < 0x10000) {
		put_u(w, code);
	} else { /* as UTF-16 would have it */
		put_u(w, 0xd800 + ((code - 0x10000) >> 10));
		put_u(w, 0xdc00 + ((code - 0x10000) & 0x3ff));
	}
}

/* Of valid UTF-8. */
static unsigned next_code(const char **at)
{
	const unsigned char *p = (const unsigned char *)*at;
	unsigned more = p[0] < 0x80 ? 0 : p[0] < 0xe0 ? 1 : p[0] < 0xf0 ? 2 : 3;
	unsigned code = more ? p[0] & (0x3fu >> more) : p[0];

	for (unsigned i = 1; i <= more; i++)
		code = code << 6 | (p[i] & 0x3f);
	*at += more + 1;
	return code;
}

static void put_any(struct json_writer *w, const char *bytes, size_t max)
{
	char text[TEXT_UTF8_SIZE(JSON_TEXT_MAX)];
	const char *p = text, *stop = text + text_to_utf8(text, sizeof(text), bytes, max);

	while (p < stop) {
		unsigned code = next_code(&p);

		if (code < 0x80 && is_plain((unsigned char)code))
			put_char(w, (char)code);
		else
			put_escaped(w, code);
	}
}

void json_put_text(struct json_writer *w, const char *key, const char *bytes, size_t max)
{
	size_t n = 0;

	if (!bytes || max == 0 || bytes[0] == '\0') {
		json_put_null(w, key);
		return;
	}
	if (max > JSON_TEXT_MAX)
		max = JSON_TEXT_MAX;
	while (n < max && is_plain((unsigned char)bytes[n]))
		n++;
	lead(w, key);
	put_char(w, '"');
	/* Nearly all are plain as they are. */
	if (n == max || bytes[n] == '\0')
		put(w, bytes, n);
	else
		put_any(w, bytes, max);
	put_char(w, '"');
}

/* --- lines ---------------------------------------------------------------------------------------------------------- */

void json_line_begin(struct json_writer *w, const char *type)
{
	w->len = 0;
	w->failed = false;
	w->comma = false;
	json_object_begin(w, NULL);
	json_put_integer(w, "v", 1);
	json_put_text(w, "type", type, SIZE_MAX);
}

int json_line_end(struct json_writer *w, FILE *out, struct fault *f)
{
	json_object_end(w);
	put_char(w, '\n');
	if (w->failed)
		return fault(f, -ENOMEM, EXIT_FAILED, "no memory for a line of JSON; watch fewer loops, or free some");
	return output_write(out, w->text, w->len, f);
}
