/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel_budget.h - the governor: measuring edges may take at most a share of an observed loop's time. Pure arithmetic.
 *
 * What a loop pays is its waits x the measured cost of one. One that pays more than the budget for two looks in a row has the
 * edges let go: for all loops, because the kernel's way to the programs cannot be had for some threads only, and with tracepoints is
 * two fifths of the whole (make bench): a program that leaves at once for a loop that is over the budget would bring it back below
 * only where it exceeds it by less than two and a half times. They are tried again after 5 s, and after twice as long each time
 * that it was too much again, up to 5 min.
 */
#ifndef LOOPSCOPE_SOURCE_KERNEL_BUDGET_H
#define LOOPSCOPE_SOURCE_KERNEL_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/wire.h"

struct paying;

struct kernel_budget {
	struct paying *loops;
	double budget; /* share; 0: no limit */
	unsigned round;
	uint64_t now_ns; /* of this look */
	bool exceeded;
	uint64_t paused_at_ns, pause_ns, resumed_at_ns;
};

enum budget_verdict {
	BUDGET_GO_ON,
	BUDGET_LET_GO,
	BUDGET_TRY_AGAIN,
};

/* now_ns: monotonic. Time goes on also where no loop is left to look at. */
void kernel_budget_begin(struct kernel_budget *b, double budget, uint64_t now_ns);
void kernel_budget_pulse(struct kernel_budget *b, const struct ls_pulse *p, double wait_cost_ns);
enum budget_verdict kernel_budget_end(struct kernel_budget *b, bool attached);
void kernel_budget_free(struct kernel_budget *b);

#endif
