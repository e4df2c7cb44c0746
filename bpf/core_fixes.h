/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * core_fixes.h - all that differs between kernel versions, each case with the commit that changed it. Nothing else in
 * bpf/ asks for a version or for the existence of a field.
 */
#ifndef LOOPSCOPE_BPF_CORE_FIXES_H
#define LOOPSCOPE_BPF_CORE_FIXES_H

#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* sched_switch tells prev_state as its fourth argument since fa2c3254d7cf (5.18), because a waker may have overwritten
 * prev->__state by then. Older kernels get the second entry point in sched.bpf.c, which reads __state: TASK_WAKING there means
 * "was asleep". */
#define CORE_TASK_INTERRUPTIBLE 0x1
#define CORE_TASK_STOPPED_TRACED 0xc
#define CORE_TASK_WAKING 0x200
#define CORE_TASK_FROZEN 0x8000 /* since f5d39b020809 (6.1); before, the freezer's sleep is told from no other */

static __always_inline unsigned int core_old_prev_state(struct task_struct *prev)
{
	unsigned int state = prev->__state;

	return state & CORE_TASK_WAKING ? CORE_TASK_INTERRUPTIBLE : state;
}

/* Throttle fields of struct cfs_rq before 677ea015f231 (6.6), which brought throttled_clock_self*. Until then the time
 * stopped for PELT tells the same, hierarchically: throttled_clock_pelt* since 64eaf50731ac (5.19), throttled_clock_task*
 * before it. */
struct cfs_rq___pelt {
	__u64 throttled_clock_pelt;
	__u64 throttled_clock_pelt_time;
} __attribute__((preserve_access_index));

struct cfs_rq___task {
	__u64 throttled_clock_task;
	__u64 throttled_clock_task_time;
} __attribute__((preserve_access_index));

/* Kernels without group scheduling have no se.cfs_rq; with bandwidth control off, no throttle fields. */
static __always_inline bool core_can_throttle(void)
{
	return bpf_core_field_exists(struct sched_entity, cfs_rq) && bpf_core_field_exists(struct cfs_rq, throttle_count);
}

/* For how long the queue's tasks have been held back by CFS bandwidth control, ever, in the run queue's own clock: only
 * differences mean anything. q: a struct cfs_rq, perhaps no longer one (its cgroup may be gone): every read may fail, and
 * the caller bounds the result. */
static __always_inline __u64 core_throttle_clock(__u64 ref)
{
	struct cfs_rq *q = (struct cfs_rq *)ref;
	__u64 total = 0, since = 0, now;

	if (bpf_core_field_exists(q->throttled_clock_self_time)) {
		/* 677ea015f231 (6.6); since 7fc2d1439247 and e1fad12dcb66 (6.18) tasks are dequeued one by one on their way to user
		 * space, and the clock starts with the first of them. */
		total = BPF_CORE_READ(q, throttled_clock_self_time);
		since = BPF_CORE_READ(q, throttled_clock_self);
	} else if (bpf_core_field_exists(((struct cfs_rq___pelt *)q)->throttled_clock_pelt_time)) {
		if (BPF_CORE_READ(q, throttle_count))
			since = BPF_CORE_READ((struct cfs_rq___pelt *)q, throttled_clock_pelt);
		total = BPF_CORE_READ((struct cfs_rq___pelt *)q, throttled_clock_pelt_time);
	} else if (bpf_core_field_exists(((struct cfs_rq___task *)q)->throttled_clock_task_time)) {
		if (BPF_CORE_READ(q, throttle_count))
			since = BPF_CORE_READ((struct cfs_rq___task *)q, throttled_clock_task);
		total = BPF_CORE_READ((struct cfs_rq___task *)q, throttled_clock_task_time);
	}
	if (!since)
		return total;
	now = BPF_CORE_READ(q, rq, clock);
	return now > since ? total + (now - since) : total;
}

/* Most queues: core_throttle_clock() would be 0. Plain loads, where that takes two or three calls; q must be one that the
 * verifier follows, hence live. Kernels before 6.6 are not asked. */
static __always_inline bool core_never_throttled(struct cfs_rq *q)
{
	return bpf_core_field_exists(q->throttled_clock_self_time) && !q->throttled_clock_self_time && !q->throttled_clock_self;
}

/* For how long a moment of the bookkeeping behind /proc/PID/schedstat (CONFIG_SCHED_INFO) has passed, in the clock of the task's run
 * queue; 0 where there is none. */
static __always_inline __u64 core_since(struct task_struct *p, __u64 then)
{
	__u64 now = BPF_CORE_READ(p, se.cfs_rq, rq, clock);

	return then && now > then ? now - then : 0;
}

/* The clock of that bookkeeping. The kernel brings it up to date at each switch and tick: on a CPU that goes on running it is up to a
 * tick old. 0 where it can't be told. */
static __always_inline __u64 core_queue_clock(struct task_struct *p)
{
	struct cfs_rq *q;

	if (!core_can_throttle())
		return 0;
	q = p->se.cfs_rq;
	return q && q->rq ? q->rq->clock : 0;
}

/* When a task last came to a CPU, by the same clock. */
static __always_inline __u64 core_arrival(struct task_struct *p)
{
	return bpf_core_field_exists(p->sched_info.last_arrival) ? p->sched_info.last_arrival : 0;
}

/* For how long a task that is on a CPU, and is just leaving it, has been there. */
static __always_inline __u64 core_ran_ns(struct task_struct *p)
{
	if (!core_can_throttle() || !bpf_core_field_exists(p->sched_info.last_arrival))
		return 0;
	return core_since(p, BPF_CORE_READ(p, sched_info.last_arrival));
}

/* For how long a task has waited for a CPU, ever, without the wait in progress: the same bookkeeping. A plain load, as it is read
 * at each switch. 0 where that is off. */
static __always_inline __u64 core_run_delay(struct task_struct *p)
{
	return bpf_core_field_exists(p->sched_info.run_delay) ? p->sched_info.run_delay : 0;
}

/* For how long a task that is being switched in, or waits for it, has been on its run queue: the switch's tracepoint comes before the
 * bookkeeping. */
static __always_inline __u64 core_queued_ns(struct task_struct *p)
{
	if (!core_can_throttle() || !bpf_core_field_exists(p->sched_info.last_queued))
		return 0;
	return core_since(p, BPF_CORE_READ(p, sched_info.last_queued));
}

/* The CPU on whose run queue the task is: in thread_info since bcf9033e5449 (5.16) on x86, before in the task itself. */
struct thread_info___cpu {
	__u32 cpu;
} __attribute__((preserve_access_index));

struct task_struct___cpu {
	unsigned int cpu;
	struct thread_info___cpu thread_info;
} __attribute__((preserve_access_index));

static __always_inline __u32 core_task_cpu(struct task_struct *p)
{
	struct task_struct___cpu *q = (void *)p;

	if (bpf_core_field_exists(q->cpu))
		return BPF_CORE_READ(q, cpu);
	return BPF_CORE_READ(q, thread_info.cpu);
}

/* Who runs on the CPU to which the task belongs: asked with that run queue's lock held. NULL where kernels without group
 * scheduling don't lead there from a task. */
static __always_inline bool core_knows_current(void)
{
	return bpf_core_field_exists(struct sched_entity, cfs_rq);
}

static __always_inline struct task_struct *core_current_there(struct task_struct *p)
{
	struct cfs_rq *q;

	if (!core_knows_current())
		return NULL;
	q = p->se.cfs_rq;
	return q && q->rq ? q->rq->curr : NULL;
}

/* When a poll that is to be taken up again will be over: tv_sec and tv_nsec in older kernels, end_time in newer ones. */
struct restart_block___apart {
	struct {
		unsigned long tv_sec;
		unsigned long tv_nsec;
	} poll;
} __attribute__((preserve_access_index));

struct restart_block___time {
	struct {
		struct {
			__s64 tv_sec;
			long tv_nsec;
		} end_time;
	} poll;
} __attribute__((preserve_access_index));

#define CORE_CLOCKS_MAX 4096

/* The system call that takes up an interrupted one again does not say which. That it was poll(fds, nfds, ...) shows in what the
 * kernel has kept of it: no other call keeps its first two arguments in these places, with 0 or 1 after them, but for a sleep by a
 * numbered clock, whose number is no address. *ret_end_ns: monotonic, ~0 where it has no end. */
static __always_inline bool core_was_poll(struct task_struct *p, __u64 fds, __u32 nfds, __u64 *ret_end_ns)
{
	struct restart_block___apart *apart = (void *)&p->restart_block;
	struct restart_block___time *time = (void *)&p->restart_block;
	__u32 has_timeout = BPF_CORE_READ(p, restart_block.poll.has_timeout);

	if (fds < CORE_CLOCKS_MAX || (__u64)BPF_CORE_READ(p, restart_block.poll.ufds) != fds || (__u32)BPF_CORE_READ(p, restart_block.poll.nfds) != nfds ||
	    has_timeout > 1)
		return false;
	*ret_end_ns = ~0ULL;
	if (has_timeout && bpf_core_field_exists(apart->poll.tv_sec))
		*ret_end_ns = BPF_CORE_READ(apart, poll.tv_sec) * 1000000000ULL + BPF_CORE_READ(apart, poll.tv_nsec);
	else if (has_timeout && bpf_core_field_exists(time->poll.end_time))
		*ret_end_ns = BPF_CORE_READ(time, poll.end_time.tv_sec) * 1000000000ULL + BPF_CORE_READ(time, poll.end_time.tv_nsec);
	return true;
}

/* Nobody's task storage hangs on most tasks: one load tells, where a look-up would cost a call. */
static __always_inline bool core_has_storage(struct task_struct *p)
{
	return !bpf_core_field_exists(p->bpf_storage) || p->bpf_storage;
}

/* A task that went to sleep may stay on its run queue until it is picked again: 152e11f6df29 (6.12, delayed dequeue). */
static __always_inline bool core_on_queue_runnable(struct task_struct *p)
{
	if (!p->on_rq)
		return false;
	if (bpf_core_field_exists(p->se.sched_delayed) && p->se.sched_delayed)
		return false;
	return true;
}

#endif
