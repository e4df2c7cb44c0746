/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * phases.h - a loop's ticks split by what its runtime does in them: timers, polling, callbacks. Plain C on top of account.h,
 * natively compiled by the unit tests as well.
 *
 *   enter A        enter B                                   enter A
 *     |-- A ---------|-- B --+  own IO wait  +-- still B ------|-- A ...
 *
 * A phase lasts until another is entered; the same entered again goes on, and is counted again. Its time is the thread's time in
 * ticks: on a CPU, blocked or waiting for a CPU, never in the loop's own IO wait, which lies within a phase mostly. Where the edges of
 * IO waits are not measured, what the thread computes within them is tick time here as it is in account.h.
 *
 * Conservation: the sums over all phases == the thread's time in ticks since the first entry, but for what account.h takes back later
 * (a wait point found to be another one).
 */
#ifndef LOOPSCOPE_BPF_PHASES_H
#define LOOPSCOPE_BPF_PHASES_H

#include "bpf/account.h"

/* The thread's time in ticks up to now, with the state in progress. */
static __always_inline __u64 phases_tick_ns(const struct ls_thread *t, __u64 now)
{
	__u64 ns = t->sum_ns[LS_TICK_CPU] + t->sum_ns[LS_TICK_BLOCKED] + t->sum_ns[LS_WAIT_TICK];
	int in_tick = t->state == LS_TICK_CPU || t->state == LS_TICK_BLOCKED || t->state == LS_WAIT_TICK;

	return in_tick && now > t->last_ns ? ns + (now - t->last_ns) : ns;
}

/* Adds to the phase in progress what the thread has spent in ticks since; settling twice counts nothing twice. */
static __always_inline void phases_settle(struct ls_phases *p, __u64 tick_ns)
{
	__u32 i = p->current - 1;

	ACCT_OPAQUE(i);
	if (i < LS_PHASES && tick_ns > p->base_ns)
		p->sum_ns[i] += tick_ns - p->base_ns;
	p->base_ns = tick_ns;
}

/* The function is entered that begins phase `which`. `attached` changes whenever the probes do, `generation` with an exec:
 * what was in progress before is not known to have lasted. */
static __always_inline void phases_enter(struct ls_phases *p, __u64 tick_ns, __u32 which, __u32 attached,
						 __u32 generation)
{
	ACCT_OPAQUE(which);
	if (which >= LS_PHASES)
		return;
	if (p->attached != attached || p->generation != generation)
		p->current = 0;
	p->attached = attached;
	p->generation = generation;
	phases_settle(p, tick_ns);
	p->entries[which]++;
	p->current = which + 1;
}

#endif
