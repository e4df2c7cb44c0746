/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * serial_systemview.h - one SystemView packet, and where packets begin in a stream that has no frames. Private to
 * source/serial_systemview*. Pure functions, no state.
 */
#ifndef LOOPSCOPE_SOURCE_SERIAL_SYSTEMVIEW_H
#define LOOPSCOPE_SOURCE_SERIAL_SYSTEMVIEW_H

#include "source/serial_decoder.h"

#define SYSTEMVIEW_PACKET_MAX 768u /* of what is believed: the target's default buffer is 1024 */
#define SYSTEMVIEW_STRING_MAX 512u
#define SYSTEMVIEW_ARGS 4
#define SYSTEMVIEW_LOOK (2 * SYSTEMVIEW_PACKET_MAX) /* bytes that show whether packets begin at a place */

enum systemview_id {
	SYSTEMVIEW_NOP = 0, /* ten of them are a sync */
	SYSTEMVIEW_OVERFLOW = 1,
	SYSTEMVIEW_ISR_ENTER = 2,
	SYSTEMVIEW_ISR_EXIT = 3,
	SYSTEMVIEW_TASK_START_EXEC = 4,
	SYSTEMVIEW_TASK_STOP_EXEC = 5,
	SYSTEMVIEW_TASK_START_READY = 6,
	SYSTEMVIEW_TASK_STOP_READY = 7,
	SYSTEMVIEW_TASK_CREATE = 8,
	SYSTEMVIEW_TASK_INFO = 9,
	SYSTEMVIEW_TRACE_START = 10,
	SYSTEMVIEW_TRACE_STOP = 11,
	SYSTEMVIEW_SYSTIME_CYCLES = 12,
	SYSTEMVIEW_SYSTIME_US = 13,
	SYSTEMVIEW_SYSDESC = 14,
	SYSTEMVIEW_MARK_START = 15,
	SYSTEMVIEW_MARK_STOP = 16,
	SYSTEMVIEW_IDLE = 17,
	SYSTEMVIEW_ISR_TO_SCHEDULER = 18,
	SYSTEMVIEW_TIMER_ENTER = 19,
	SYSTEMVIEW_TIMER_EXIT = 20,
	SYSTEMVIEW_STACK_INFO = 21,
	SYSTEMVIEW_MODULEDESC = 22,
	SYSTEMVIEW_DATA_SAMPLE = 23,
	SYSTEMVIEW_INIT = 24, /* from here on packets carry their length */
	SYSTEMVIEW_NAME_RESOURCE = 25,
	SYSTEMVIEW_PRINT_FORMATTED = 26,
	SYSTEMVIEW_NUMMODULES = 27,
	SYSTEMVIEW_END_CALL = 28,
	SYSTEMVIEW_TASK_TERMINATE = 29,
	SYSTEMVIEW_EX = 31,
};

enum systemview_ex {
	SYSTEMVIEW_EX_MARK = 0,
	SYSTEMVIEW_EX_NAME_MARKER = 1,
};

struct systemview_packet {
	uint32_t id;
	uint32_t delta;
	uint32_t arg[SYSTEMVIEW_ARGS]; /* the first numbers; 0 where there are less */
	uint8_t n_args;
	bool has_text;
	char text[SYSTEMVIEW_STRING_MAX + 1]; /* NUL-terminated, cut at an inner NUL, hostile otherwise; "" */
};

/* The packet at p: its bytes; 0: it goes on behind n; -1: none can begin with these bytes. */
int systemview_packet(const uint8_t *p, size_t n, struct systemview_packet *ret_p);

/*
 * Looks for a place from which packets follow each other without a contradiction long enough not to be chance. True:
 * *ret_skip is the place. False: not found yet; *ret_skip bytes can be given up, none of them begins such a chain.
 * eager: decides as soon as it can, not with as much evidence as it might get. final: no more bytes will come.
 */
bool systemview_find(const uint8_t *p, size_t n, bool eager, bool final, size_t *ret_skip);

#endif
