/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * unseen.h - what the scheduler's own record tells of switches that were missed, in our clock.
 */
#ifndef LOOPSCOPE_BPF_UNSEEN_H
#define LOOPSCOPE_BPF_UNSEEN_H

#include "bpf/core_fixes.h"
#include "bpf/wire.h"

/* The thread is being switched in, so its run queue's clock tells this moment, too: or one a little earlier, and much earlier where a
 * hypervisor took the CPU in between. So a smaller distance is believed at once, a larger one by and by. */
static __always_inline void unseen_set_clock(struct ls_thread *t, struct task_struct *p, __u64 now)
{
	__u64 clock = core_queue_clock(p);
	__s64 ahead = now - clock;

	if (!clock)
		return;
	if (t->ahead_ns && ahead > t->ahead_ns)
		ahead = t->ahead_ns + ((ahead - t->ahead_ns) >> 6);
	t->ahead_ns = ahead;
}

/* For how long a thread that is on a CPU has been there; 0: not told. A run queue's clock is up to a tick old in the middle of a run, so
 * ours is asked, and the difference of the two remembered. */
static __always_inline __u64 unseen_ran_ns(const struct ls_thread *t, struct task_struct *p, __u64 now)
{
	__u64 came = core_arrival(p);

	if (!came || !t->ahead_ns)
		return core_ran_ns(p);
	came += t->ahead_ns;
	return now > came ? now - came : 0;
}

#endif
