/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * source_span.h - single stretches of time as a board's source tells them, in its own clock; timeline.h is what becomes of them. What a
 * loop of this host tells is in turn.h.
 *
 * Times are ticks of the source's clock, hz of them a second. What places them on the host's clock comes with them. Names are
 * raw bytes, hostile, and borrowed.
 */
#ifndef LOOPSCOPE_MODEL_SOURCE_SPAN_H
#define LOOPSCOPE_MODEL_SOURCE_SPAN_H

#include "model/board.h"
#include "model/timeline.h"

struct source_span {
	enum span_kind kind;
	enum lane_kind lane; /* LANE_LOOP: the source's loop itself, the rest below counts for nothing */
	uint32_t number, instance;
	const char *name;
	uint64_t start, end, net;
	uint64_t hz;         /* 0 unknown */
	int64_t value;
	bool open, unsure;
	bool new_session;    /* the clock begins anew with this one */
	const struct clock_fit *clock; /* CLOCK_NONE: not known (yet) */
	uint64_t arrival_ns;           /* host, monotonic, when it was told; CLOCK_UNKNOWN */
};

/* From what the board model tells. False where it is nothing for a time line: a hog, which is told as a step as well. */
bool source_span_of_board(const struct board_stretch *b, struct source_span *ret);

#endif
