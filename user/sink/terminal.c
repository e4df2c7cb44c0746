/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * terminal.c - see terminal.h.
 */
#include "sink/terminal.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/parse.h"

/* Wider is a mistake, or somebody's way to say "without limit". */
#define WIDTH_MAX 10000

size_t terminal_width(FILE *out)
{
	const char *columns = getenv("COLUMNS");
	struct winsize ws;
	uint64_t width;

	if (columns && parse_u64(columns, 1, WIDTH_MAX, &width) == 0)
		return width;
	if (ioctl(fileno(out), TIOCGWINSZ, &ws) == 0 && ws.ws_col > 0)
		return ws.ws_col;
	return TERMINAL_DEFAULT_WIDTH;
}

bool terminal_wants_colour(FILE *out)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	if (no_color && *no_color)
		return false;
	return isatty(fileno(out)) && term && strcmp(term, "dumb") != 0;
}
