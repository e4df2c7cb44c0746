/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cell.c - see cell.h. libsmartcols aligns by the same wcwidth() of the same locale, so that both agree on widths.
 */
#include "sink/cell.h"

#include <langinfo.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "lib/text.h"

static bool locale_is_utf8(void)
{
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* Bytes of the character at s and the columns it takes. Never 0 bytes, so that every caller's loop ends. */
static size_t next_char(const char *s, size_t *ret_width)
{
	mbstate_t state = { 0 };
	wchar_t wc;
	size_t n;
	int width;

	/* Nearly always, and many times faster; cells hold no control characters. */
	if ((unsigned char)*s < 0x80) {
		*ret_width = 1;
		return 1;
	}
	n = mbrtowc(&wc, s, strnlen(s, MB_LEN_MAX), &state);
	if (n == 0 || n == (size_t)-1 || n == (size_t)-2) {
		*ret_width = 1;
		return 1;
	}
	width = wcwidth(wc);
	*ret_width = width < 0 ? 1 : (size_t)width;
	return n;
}

static void escape_non_ascii(char dst[CELL_SIZE], const char *src)
{
	size_t len = 0;

	for (; *src; src++) {
		char piece[sizeof("\\xff")];
		int n = (unsigned char)*src < 0x80 ? snprintf(piece, sizeof(piece), "%c", *src)
						   : snprintf(piece, sizeof(piece), "\\x%02x", (unsigned char)*src);

		if (len + (size_t)n >= CELL_SIZE)
			break;
		memcpy(dst + len, piece, (size_t)n);
		len += (size_t)n;
	}
	dst[len] = '\0';
}

void cell_set_bytes(char dst[CELL_SIZE], const char *bytes, size_t max)
{
	char safe[CELL_SIZE];

	if (!bytes || max == 0 || bytes[0] == '\0') {
		strcpy(dst, CELL_UNKNOWN);
		return;
	}
	text_escape_control(safe, sizeof(safe), bytes, max);
	if (locale_is_utf8())
		strcpy(dst, safe);
	else
		escape_non_ascii(dst, safe);
}

size_t cell_width(const char *text)
{
	size_t sum = 0, width;

	for (; *text; sum += width)
		text += next_char(text, &width);
	return sum;
}

static void keep_head(char *text, size_t width)
{
	size_t used = 0, w;
	char *p = text;

	for (size_t n; *p; p += n, used += w) {
		n = next_char(p, &w);
		if (used + w > width - 1)
			break;
	}
	strcpy(p, "+");
}

static void keep_tail(char *text, size_t width)
{
	size_t left = cell_width(text), w;
	const char *p = text;

	/* Whole characters go until what is left fits beside the '+'; at least one goes, which makes room for it. */
	for (; *p && left > width - 1; left -= w)
		p += next_char(p, &w);
	memmove(text + 1, p, strlen(p) + 1);
	text[0] = '+';
}

void cell_cut(char *text, size_t width, enum cell_end end)
{
	if (cell_width(text) <= width)
		return;
	if (end == CELL_KEEP_TAIL)
		keep_tail(text, width);
	else
		keep_head(text, width);
}
