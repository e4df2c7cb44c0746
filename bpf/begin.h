/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * begin.h - which threads are observed, and how observation of one begins: at its first sleep in an IO wait.
 */
#ifndef LOOPSCOPE_BPF_BEGIN_H
#define LOOPSCOPE_BPF_BEGIN_H

#include "bpf/account.h"
#include "bpf/maps.h"

#define PF_KTHREAD 0x00200000

#ifdef LS_DEFINE_MAPS
/* Set by the loader. */
const volatile bool ls_only_targets = false; /* attach, run: only processes in ls_targets */
const volatile __u32 ls_self_tgid = 0;       /* our own process is not observed */
const volatile __u64 ls_max_threads = 65536; /* storage is never given to more at a time: bounded kernel memory */

__u64 ls_n_threads = 0; /* that have storage now */
#else
extern const volatile bool ls_only_targets;
extern const volatile __u32 ls_self_tgid;
extern const volatile __u64 ls_max_threads;
extern __u64 ls_n_threads;
#endif

static __always_inline bool may_begin(struct task_struct *p)
{
	__u32 tgid = p->tgid;

	if (p->flags & PF_KTHREAD)
		return false;
	if (ls_only_targets)
		return bpf_map_lookup_elem(&ls_targets, &tgid) != NULL;
	return tgid != ls_self_tgid;
}

/* preempted: NULL where the thread falls (or is) asleep. The state is complete before another CPU can see it. */
static __always_inline bool begin(struct task_struct *p, __u64 now, const struct acct_place *place,
				  const struct acct_throttle *preempted, __u32 cpu, __u32 scratch, __u8 flags)
{
	struct ls_snap *room = bpf_map_lookup_elem(&ls_scratch, &scratch);
	struct ls_thread *t;

	if (!room)
		return false;
	if (ls_n_threads >= ls_max_threads) {
		count(LS_C_NO_STORAGE);
		return false;
	}
	t = &room->t;
	__builtin_memset(t, 0, sizeof(*t));
	if (preempted)
		acct_begin_preempted(t, now, place, cpu, preempted);
	else
		acct_begin_asleep(t, now, place);
	t->flags = flags;
	if (!bpf_task_storage_get(&ls_threads, p, t, BPF_LOCAL_STORAGE_GET_F_CREATE)) {
		count(LS_C_NO_STORAGE);
		return false;
	}
	__sync_fetch_and_add(&ls_n_threads, 1);
	count(LS_C_THREADS);
	return true;
}

#endif
