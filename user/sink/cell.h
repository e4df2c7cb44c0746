/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cell.h - the text of one table cell: made safe, measured and cut.
 *
 * Widths are columns of a terminal, not bytes. They follow the program's LC_CTYPE (main calls setlocale()): in a UTF-8
 * locale names show as they are, elsewhere every byte above 0x7f shows as "\xff", and a cell is ASCII.
 */
#ifndef LOOPSCOPE_SINK_CELL_H
#define LOOPSCOPE_SINK_CELL_H

#include <stddef.h>

/* Longer values end here: bytes, with the NUL. Enough for a cgroup path with two container ids in it. */
#define CELL_SIZE 1024

#define CELL_UNKNOWN "-"

enum cell_end {
	CELL_KEEP_HEAD, /* "redis-ser+" */
	CELL_KEEP_TAIL, /* "+a1b2.scope": paths, whose end tells more */
};

/* Hostile bytes up to max or a NUL. NULL and "" are CELL_UNKNOWN. */
void cell_set_bytes(char dst[CELL_SIZE], const char *bytes, size_t max);
size_t cell_width(const char *text);
/* Leaves at most width columns (at least 1), with a '+' where something was cut off. */
void cell_cut(char *text, size_t width, enum cell_end end);

#endif
