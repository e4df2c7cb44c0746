/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * begin.h - which threads are observed, and how observation of one begins: at its first sleep in an IO wait.
 */
#ifndef LOOPSCOPE_BPF_BEGIN_H
#define LOOPSCOPE_BPF_BEGIN_H

#include "bpf/account.h"
#include "bpf/maps.h"

#define PF_EXITING 0x00000004
#define PF_KTHREAD 0x00200000

#ifdef LS_DEFINE_MAPS
/* Set by the loader. */
const volatile bool ls_only_targets = false; /* attach, run: only processes in ls_targets */
const volatile __u32 ls_self_tgid = 0;       /* our own process is not observed */
const volatile __u64 ls_max_threads = 65536; /* storage is never given to more at a time: bounded kernel memory */
const volatile bool ls_measure = false;      /* edges may be measured: the parts that single ticks need are in use */
const volatile bool ls_stream = false;       /* every turn goes to ls_events */
const volatile __u64 ls_stream_mark = 0;     /* so many bytes waiting there are too many */
const volatile __u64 ls_slow_ns = 0;         /* ticks at least so long are sent; 0: none */
const volatile bool ls_phases_wanted = false; /* ticks may be split by phase */

__u64 ls_n_threads = 0; /* that have storage now */
__u32 ls_edges = 0;     /* changes whenever the edges are attached or detached; 0: not measured */
__u32 ls_epoch = 1;     /* counts the intervals that user space reads */
__u32 ls_phases_attached = 0; /* as ls_edges, for the probes on phases */
#else
extern const volatile bool ls_only_targets;
extern const volatile __u32 ls_self_tgid;
extern const volatile __u64 ls_max_threads;
extern const volatile bool ls_measure;
extern const volatile bool ls_stream;
extern const volatile __u64 ls_stream_mark;
extern const volatile __u64 ls_slow_ns;
extern const volatile bool ls_phases_wanted;
extern __u64 ls_n_threads;
extern __u32 ls_edges;
extern __u32 ls_epoch;
extern __u32 ls_phases_attached;
#endif

static __always_inline bool may_begin(struct task_struct *p)
{
	__u32 tgid = p->tgid;

	if (p->flags & (PF_KTHREAD | PF_EXITING)) /* whose end has been told: nobody would count it out again */
		return false;
	if (ls_only_targets)
		return bpf_map_lookup_elem(&ls_targets, &tgid) != NULL;
	return tgid != ls_self_tgid;
}

static __always_inline bool any_room(void)
{
	if (ls_n_threads < ls_max_threads)
		return true;
	count(LS_C_NO_STORAGE);
	return false;
}

/* An empty state to be filled and handed to publish(). NULL where no more threads may be observed. */
static __always_inline struct ls_thread *begin_room(__u32 scratch)
{
	struct ls_snap *room = bpf_map_lookup_elem(&ls_scratch, &scratch);

	if (!room || !any_room())
		return NULL;
	__builtin_memset(&room->t, 0, sizeof(room->t));
	return &room->t;
}

/* The state is complete before another CPU can see it; NULL: an empty one, which says nothing until it is filled. */
static __always_inline struct ls_thread *publish(struct task_struct *p, struct ls_thread *filled)
{
	struct ls_thread *t;

	if (filled)
		filled->start_boottime_ns = p->start_boottime;
	t = bpf_task_storage_get(&ls_threads, p, filled, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!t) {
		count(LS_C_NO_STORAGE);
		return NULL;
	}
	__sync_fetch_and_add(&ls_n_threads, 1);
	return t;
}

/* preempted: NULL where the thread falls (or is) asleep. */
static __always_inline bool begin(struct task_struct *p, __u64 now, const struct acct_place *place,
				  const struct acct_throttle *preempted, __u32 cpu, __u32 scratch, __u8 flags)
{
	struct ls_thread *t = begin_room(scratch);

	if (!t)
		return false;
	if (preempted)
		acct_begin_preempted(t, now, place, cpu, preempted);
	else
		acct_begin_asleep(t, now, place);
	t->flags = flags;
	return publish(p, t) != NULL;
}

#endif
