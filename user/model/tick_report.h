/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tick_report.h - a slow tick as a source knows it: addresses and arguments, no names yet. Whoever can read the process turns it
 * into a struct slow_tick at once, while fds and mappings are what they were.
 */
#ifndef LOOPSCOPE_MODEL_TICK_REPORT_H
#define LOOPSCOPE_MODEL_TICK_REPORT_H

#include "model/slow_tick.h"

struct raw_cause {
	enum cause_kind kind;
	uint64_t ns;
	const char *call;   /* CAUSE_SYSCALL: its name; static */
	uint64_t args[4];   /* of the call; CAUSE_PAGE_FAULT: args[0] is the address, 0 unknown */
	char comm[LOOP_COMM_LEN]; /* CAUSE_WAIT: who had the CPU; hostile */
	int64_t pid;              /* CAUSE_WAIT: 0 the CPU was idle, -1 unknown */
	uint64_t frame[STACK_FRAMES_MAX]; /* innermost first */
	size_t n_frames;
	int64_t samples; /* CAUSE_CPU */
};

struct tick_report {
	struct loop_id id;
	char thread[LOOP_COMM_LEN];
	uint64_t start_ns, now_ns;
	uint64_t cpu_ns, blocked_ns, wait_ns, throttled_ns;
	bool in_progress;
	bool told; /* in progress, and no news: only what it is held up by now, whose name may be gone at its end */
	const char *wait_syscall; /* in which the loop waits for IO; "" unknown; static */
	int64_t events;
	int64_t suppressed;
	struct raw_cause cause[SLOW_CAUSES_MAX + 8];
	size_t n_causes;
};

#endif
