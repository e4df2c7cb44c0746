/* SPDX-License-Identifier: BSD-2-Clause */
/* span_columns.h - what packing and unpacking agree on, besides what span_chunk.h tells. Reaches disk: append only. */
#ifndef LOOPSCOPE_MODEL_SPAN_COLUMNS_H
#define LOOPSCOPE_MODEL_SPAN_COLUMNS_H

#include "lib/varint.h"
#include "model/span_chunk.h"

enum span_column {
	SPAN_COLUMN_GAP,
	SPAN_COLUMN_LENGTH,
	SPAN_COLUMN_THEN,
	SPAN_COLUMN_APART,
	SPAN_COLUMN_VALUE,
	SPAN_COLUMN_TIMEOUT,
	SPAN_COLUMN_FLAGS,
	SPAN_COLUMNS,
};

/* Of the byte at the head of a column. */
#define SPAN_COLUMN_SHIFT_AT 4
#define SPAN_COLUMN_SHIFT_MAX 15

/* A section's head: lane, kind, entries, start. A column: its width and planes. */
#define SPAN_RAW_MAX(entries, sections) \
	(VARINT_MAX + (sections) * (3 * VARINT_MAX + 1) + SPAN_COLUMNS * (1 + 8 * (size_t)(entries)))

/* Timeouts are whole milliseconds nearly always, and then in the two lowest bytes: 0 none, else the unit in two bits. */
static inline uint64_t span_timeout_fold(uint64_t ns)
{
	if (ns >= SPAN_CHUNK_TIME_MAX)
		return 0;
	if (ns % 1000000 == 0)
		return ns / 1000000 << 2 | 1;
	return ns % 1000 == 0 ? ns / 1000 << 2 | 2 : ns << 2 | 3;
}

static inline uint64_t span_timeout_unfold(uint64_t v)
{
	static const uint64_t unit[] = { 0, 1000000, 1000, 1 };
	uint64_t ns;

	if (!(v & 3) || __builtin_mul_overflow(v >> 2, unit[v & 3], &ns))
		return SPAN_TIMEOUT_NONE;
	return ns;
}

#endif
