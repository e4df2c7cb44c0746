/* SPDX-License-Identifier: BSD-2-Clause */
/* html_base64.c - see html_base64.h. */
#include "sink/html_base64.h"

#include "sink/output.h"

#define PIECE 3072 /* bytes at a time; a multiple of three */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void put_four(char to[4], const unsigned char *from, size_t n)
{
	unsigned b = (unsigned)from[0] << 16 | (n > 1 ? (unsigned)from[1] << 8 : 0) | (n > 2 ? from[2] : 0);

	to[0] = digits[b >> 18];
	to[1] = digits[b >> 12 & 63];
	to[2] = n > 1 ? digits[b >> 6 & 63] : '=';
	to[3] = n > 2 ? digits[b & 63] : '=';
}

int html_base64_write(FILE *out, const unsigned char *bytes, size_t n, struct fault *f)
{
	char text[PIECE / 3 * 4];
	int err = 0;

	while (n && !err) {
		size_t part = n < PIECE ? n : PIECE, len = 0;

		for (size_t i = 0; i < part; i += 3, len += 4)
			put_four(text + len, bytes + i, part - i);
		err = output_write(out, text, len, f);
		bytes += part;
		n -= part;
	}
	return err;
}
