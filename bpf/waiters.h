/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * waiters.h - which CPUs' switches are worth noting: those that an observed thread waits for.
 */
#ifndef LOOPSCOPE_BPF_WAITERS_H
#define LOOPSCOPE_BPF_WAITERS_H

#include "bpf/account.h"
#include "bpf/core_fixes.h"
#include "bpf/maps.h"

static __always_inline struct ls_cpu *cpu_ring(__u32 cpu)
{
	return bpf_map_lookup_elem(&ls_cpus, &cpu);
}

/* Switches of a CPU are noted only while an observed thread waits for it: so these are counted, by comparing the thread before
 * and after an event, which is right whatever the state machine makes of the event. Atomic: a waiter may come to run
 * elsewhere. A waiter is added with the lock of that CPU's run queue held, so no switch falls in between. */
static __always_inline void wait_left(__u32 cpu)
{
	struct ls_cpu *c = cpu_ring(cpu);

	if (c)
		__sync_fetch_and_add(&c->waiters, -1);
}

static __always_inline void wait_entered(struct task_struct *p, __u32 cpu)
{
	struct ls_cpu *c = cpu_ring(cpu);
	struct task_struct *who;

	if (!c || __sync_fetch_and_add(&c->waiters, 1) > 0)
		return;
	who = core_current_there(p);
	if (who)
		acct_cpu_had_by(c, who->pid, who->tgid, who->comm);
}

#endif
