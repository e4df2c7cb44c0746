/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel_cost.h - what one event of an observed thread costs, from the kernel's BPF run-time statistics.
 *
 * The statistics themselves cost two clock reads a run of any BPF program of the machine (about 50 ns), so unless the administrator
 * keeps them on (kernel.bpf_stats_enabled) they are switched on only for a calibration at the start, for a second or so.
 *
 * The run time of all programs is split into a base, paid on every switch of the machine, and what observed threads add:
 * cost of an event = base + (total - base x runs) / observed events.
 */
#ifndef LOOPSCOPE_SOURCE_KERNEL_COST_H
#define LOOPSCOPE_SOURCE_KERNEL_COST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/record.h"

#define KERNEL_COST_PROGRAMS 4

struct kernel_cost {
	int stats_fd; /* 0 or -1: none */
	bool always_on;
	int prog_fds[KERNEL_COST_PROGRAMS];
	size_t n_progs;
	uint64_t events_live, events_ended; /* program runs that found an observed thread, ever */
	double events_before, ns_before, runs_before; /* of no concern: from before the calibration */
	double per_event_ns;
	enum cost_kind kind;
	unsigned rounds;
	bool idle; /* the calibration ended without an event to share the cost out over */
};

void kernel_cost_start(struct kernel_cost *c); /* before attaching */
void kernel_cost_programs(struct kernel_cost *c, const int *fds, size_t n); /* negative fds are left out */
/* After each walk that has counted events_live. */
double kernel_cost_per_event(struct kernel_cost *c, enum cost_kind *ret_kind);
bool kernel_cost_calibrates(const struct kernel_cost *c);
void kernel_cost_stop(struct kernel_cost *c);
/* A calibration begins anew, after a stop: not before events_live has been counted. */
void kernel_cost_again(struct kernel_cost *c);

/* What one call takes by the clock, ns: the least of several batches of so many. For what is measured with and without a probe. */
double kernel_cost_least_ns(void (*call)(void *arg), void *arg, unsigned calls);

#endif
