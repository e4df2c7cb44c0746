/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * serial_rtos.h - what decoders of an RTOS's events have in common: the moment that they have come to, which task has the CPU, how
 * much the board says it lost, and the events that they give on. Private to source/serial*.
 */
#ifndef LOOPSCOPE_SOURCE_SERIAL_RTOS_H
#define LOOPSCOPE_SOURCE_SERIAL_RTOS_H

#include "source/serial_decoder.h"

struct serial_rtos {
	struct serial_decoder d; /* first: the ops get this */
	uint64_t t, arrival_ns;  /* of what is being read: the board's ticks, and our time */
	bool any;                /* the session has begun */
	bool has_current;
	uint32_t current;        /* the task that has the CPU, as on the wire */
	bool from_start;         /* the stream's own beginning was seen: its counts start at 0 */
	bool lost_known;
	uint32_t lost;           /* the board's count of what it lost; never falls, may wrap */
};

void serial_rtos_emit(struct serial_rtos *s, struct board_event *ev); /* with the moment */
void serial_rtos_simple(struct serial_rtos *s, enum board_event_kind kind, uint32_t id);
void serial_rtos_begin(struct serial_rtos *s, bool from_zero); /* the session, once */
void serial_rtos_counter(struct serial_rtos *s, uint64_t hz, unsigned bits);
void serial_rtos_switch(struct serial_rtos *s, uint32_t id);
void serial_rtos_current_blocks(struct serial_rtos *s); /* if it is known which that is */
void serial_rtos_gap(struct serial_rtos *s, int64_t count, enum board_loss what);
void serial_rtos_mark(struct serial_rtos *s, uint32_t id, int64_t value);

/* Takes the board's count; how much it grew. What was lost before our time is not counted. */
uint32_t serial_rtos_lost(struct serial_rtos *s, uint32_t count);

/* At the end of what arrived: this moment of the board was now. */
void serial_rtos_stamp(struct serial_rtos *s);

#endif
