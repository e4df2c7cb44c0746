/* SPDX-License-Identifier: BSD-2-Clause */
/* slow_tick.c - names of what slow_tick.h declares. */
#include "model/slow_tick.h"

#include "lib/cleanup.h"

const char *cause_kind_name(enum cause_kind k)
{
	static const char *const names[] = {
		[CAUSE_CPU] = "cpu",   [CAUSE_SYSCALL] = "syscall",   [CAUSE_PAGE_FAULT] = "page_fault",
		[CAUSE_WAIT] = "wait", [CAUSE_THROTTLE] = "throttle", [CAUSE_OTHER] = "other",
	};

	return (size_t)k < ARRAY_SIZE(names) ? names[k] : "unknown";
}

const char *loop_event_name(enum loop_event_kind k)
{
	static const char *const names[] = {
		[EVENT_LOOP_START] = "loop_start", [EVENT_TICK_START] = "tick_start", [EVENT_IO_START] = "io_start",
		[EVENT_IO_END] = "io_end",	   [EVENT_TICK_END] = "tick_end",     [EVENT_LOOP_STOP] = "loop_stop",
		[EVENT_GAP] = "gap",
	};

	return (size_t)k < ARRAY_SIZE(names) ? names[k] : "unknown";
}
