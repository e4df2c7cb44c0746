/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * text.c - see text.h. Which bytes are UTF-8: Unicode 15, table 3-7 (the same as RFC 3629, section 4).
 */
#include "lib/text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/cleanup.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

struct utf8_char {
	size_t len; /* bytes used, at least 1; for an invalid one, those of its maximal ill-formed part */
	bool valid;
	uint32_t code; /* where valid */
};

/* Output that fills up between pieces, never inside one. */
struct out {
	char *p;
	size_t size; /* with the NUL */
	size_t len;
};

static bool out_add(struct out *o, const char *piece, size_t n)
{
	if (o->size == 0 || n > o->size - 1 - o->len)
		return false;
	memcpy(o->p + o->len, piece, n);
	o->len += n;
	return true;
}

static size_t out_end(struct out *o)
{
	if (o->size > 0)
		o->p[o->len] = '\0';
	return o->len;
}

static struct utf8_char utf8_next(const unsigned char *s, size_t n)
{
	struct utf8_char c = {.len = 1};
	unsigned char lo = 0x80, hi = 0xbf; /* of the second byte; those after it always 80..bf */
	size_t want;

	if (s[0] < 0x80)
		return (struct utf8_char){.len = 1, .valid = true, .code = s[0]};

	if (s[0] >= 0xc2 && s[0] <= 0xdf) {
		want = 2;
		c.code = s[0] & 0x1f;
	} else if (s[0] >= 0xe0 && s[0] <= 0xef) {
		want = 3;
		c.code = s[0] & 0x0f;
		if (s[0] == 0xe0)
			lo = 0xa0; /* below: overlong */
		else if (s[0] == 0xed)
			hi = 0x9f; /* above: surrogates */
	} else if (s[0] >= 0xf0 && s[0] <= 0xf4) {
		want = 4;
		c.code = s[0] & 0x07;
		if (s[0] == 0xf0)
			lo = 0x90; /* below: overlong */
		else if (s[0] == 0xf4)
			hi = 0x8f; /* above: beyond U+10FFFF */
	} else {
		return c;
	}

	for (; c.len < want; c.len++) {
		if (c.len >= n || s[c.len] < lo || s[c.len] > hi)
			return c;
		c.code = c.code << 6 | (s[c.len] & 0x3f);
		lo = 0x80;
		hi = 0xbf;
	}
	c.valid = true;
	return c;
}

static bool is_control(uint32_t code)
{
	return code < 0x20 || code == 0x7f;
}

/* C1 controls (terminals obey U+009B as they do ESC [), and what can hide or reorder the text around it. */
static bool is_unseen(uint32_t code)
{
	return (code >= 0x80 && code <= 0x9f) || code == 0xad || code == 0x61c || (code >= 0x200b && code <= 0x200f) ||
	       (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) || code == 0xfeff ||
	       (code >= 0xfff9 && code <= 0xfffb);
}

static bool add_hex_bytes(struct out *o, const unsigned char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char hex[sizeof("\\xff")];

		snprintf(hex, sizeof(hex), "\\x%02x", s[i]);
		if (!out_add(o, hex, strlen(hex)))
			return false;
	}
	return true;
}

static bool add_escaped(struct out *o, const unsigned char *s, const struct utf8_char *c)
{
	if (!c->valid || is_control(c->code))
		return add_hex_bytes(o, s, c->len);
	if (is_unseen(c->code)) {
		char hex[sizeof("\\uffff")];

		snprintf(hex, sizeof(hex), "\\u%04x", (unsigned)c->code & 0xffff);
		return out_add(o, hex, strlen(hex));
	}
	return out_add(o, (const char *)s, c->len);
}

/* False if not all of it fits. *ret_cut: the longest output that leaves reserve bytes (with the NUL) after it. */
static bool escape(struct out *o, const char *src, size_t max, size_t reserve, size_t *ret_cut)
{
	const unsigned char *s = (const unsigned char *)src;
	size_t left = strnlen(src, max);

	*ret_cut = 0;
	while (left > 0) {
		struct utf8_char c = utf8_next(s, left);

		if (!add_escaped(o, s, &c))
			return false;
		if (o->len + reserve <= o->size)
			*ret_cut = o->len;
		s += c.len;
		left -= c.len;
	}
	return true;
}

size_t text_escape_control(char *dst, size_t size, const char *src, size_t max)
{
	struct out o = {.p = dst, .size = size};
	size_t cut;

	escape(&o, src, max, 0, &cut);
	return out_end(&o);
}

size_t text_quote(char *dst, size_t size, const char *src, size_t max)
{
	static const char mark[] = "...";
	struct out o = {.p = dst, .size = size};
	size_t cut;

	if (!escape(&o, src, max, sizeof(mark), &cut) && size >= sizeof(mark)) {
		o.len = cut;
		out_add(&o, mark, sizeof(mark) - 1);
	}
	return out_end(&o);
}

size_t text_to_utf8(char *dst, size_t size, const char *src, size_t max)
{
	const unsigned char *s = (const unsigned char *)src;
	struct out o = {.p = dst, .size = size};
	size_t left = strnlen(src, max);

	while (left > 0) {
		struct utf8_char c = utf8_next(s, left);
		bool fits = c.valid ? out_add(&o, (const char *)s, c.len)
				    : out_add(&o, REPLACEMENT, sizeof(REPLACEMENT) - 1);

		if (!fits)
			break;
		s += c.len;
		left -= c.len;
	}
	return out_end(&o);
}

/* n/d rounded half up; no overflow for any n. */
static uint64_t div_round(uint64_t n, uint64_t d)
{
	uint64_t rest = n % d;

	return n / d + (rest >= d - rest);
}

static const struct {
	const char *name;
	uint64_t ns;
	uint64_t below; /* in this unit: from here on, the next unit suits better */
} units[] = {
	{"ns", 1, 1000},       {"us", 1000, 1000},     {"ms", 1000000, 1000},
	{"s", 1000000000, 60}, {"m", 60000000000, 60}, {"h", 3600000000000, UINT64_MAX},
};

char *text_duration(char *dst, size_t size, uint64_t ns)
{
	if (ns < 1000) {
		snprintf(dst, size, "%" PRIu64 "ns", ns);
		return dst;
	}
	/* The rounded value chooses unit and digits: 999.6 us is 1.00ms and not 1000us; 9.996 ms is 10.0ms. */
	for (size_t i = 1; i < ARRAY_SIZE(units); i++) {
		uint64_t hundredths = div_round(ns, units[i].ns / 100);
		uint64_t tenths = div_round(ns, units[i].ns / 10);
		uint64_t whole = div_round(ns, units[i].ns);
		const char *name = units[i].name;

		if (hundredths < 1000)
			snprintf(dst, size, "%" PRIu64 ".%02" PRIu64 "%s", hundredths / 100, hundredths % 100, name);
		else if (tenths < 1000 && tenths / 10 < units[i].below)
			snprintf(dst, size, "%" PRIu64 ".%" PRIu64 "%s", tenths / 10, tenths % 10, name);
		else if (tenths >= 1000 && whole < units[i].below)
			snprintf(dst, size, "%" PRIu64 "%s", whole, name);
		else
			continue;
		break;
	}
	return dst;
}

char *text_duration_exact(char *dst, size_t size, uint64_t ns)
{
	size_t i = ARRAY_SIZE(units) - 1;

	if (ns == 0) {
		snprintf(dst, size, "0s");
		return dst;
	}
	while (ns % units[i].ns)
		i--; /* ends at 1 ns */
	snprintf(dst, size, "%" PRIu64 "%s", ns / units[i].ns, units[i].name);
	return dst;
}
