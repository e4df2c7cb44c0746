/* SPDX-License-Identifier: 0BSD */
/* console.c - text and numbers, without a libc. */
#include "console.h"
#include "board.h"

void console_text(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	board_write(CONSOLE_UART, (const uint8_t *)s, n);
}

void console_number(uint64_t n)
{
	char digits[21];
	char *p = digits + sizeof(digits) - 1;

	*p = 0;
	do {
		*--p = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	console_text(p);
}
