/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * turn.h - one turn of a loop, as a live source tells it: an IO wait and the tick that it led to, up to where the next wait begins;
 * and the events of the stream that it stands for.
 *
 * Times are nanoseconds of the source's monotonic clock; 0 is an edge that nobody saw. Turns of one thread come in their order.
 */
#ifndef LOOPSCOPE_MODEL_TURN_H
#define LOOPSCOPE_MODEL_TURN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/slow_tick.h"

#define TURN_NO_TIMEOUT UINT64_MAX
#define TURN_EVENTS_MAX 6

enum turn_kind {
	TURN_LOOP_START = 0, /* the loop's first wait begins at end_ns: nothing is known of before */
	TURN_WHOLE = 1,
	TURN_TICK_START = 2, /* of a tick that goes on: io_end_ns; the whole turn follows when it ends */
	TURN_AGAIN = 3,      /* edges had been let go and are back: a wait begins at end_ns */
	TURN_LOOP_STOP = 4,  /* at end_ns, in the tick that began at io_end_ns or in a wait */
	TURN_GAP = 5,        /* nothing but `lost` */
};

struct loop_turn {
	enum turn_kind kind;
	uint32_t pid, tid; /* 0: not known whose (TURN_GAP) */
	bool begun;        /* TURN_TICK_START has told its io_end_ns already */
	int64_t lost;      /* events of the stream lost just before; -1: some, nobody knows how many */
	uint64_t io_start_ns, io_end_ns, end_ns;
	uint64_t timeout_ns;      /* of the wait that ended; of a row of polls that counts as one wait, the last one's */
	uint64_t next_timeout_ns; /* of the one that begins at end_ns */
	int64_t count;            /* events that the wait returned; -1: an error, or unknown */
};

struct turn_event {
	enum loop_event_kind kind;
	uint64_t ns;
	uint64_t timeout_ns; /* EVENT_IO_START */
	int64_t count;       /* EVENT_IO_END; EVENT_GAP: -1 unknown */
};

/* In their order; returns how many. */
size_t turn_events(const struct loop_turn *t, struct turn_event ret[static TURN_EVENTS_MAX]);

#endif
