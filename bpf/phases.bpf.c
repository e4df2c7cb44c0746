// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * phases.bpf.c - entries of the functions that begin a phase of a loop: uprobes of the observed processes only; the cookie is the
 * phase's number. And a walk that tells how many entries each thread has had, as each costs it a breakpoint.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf/maps.h"
#include "bpf/core_fixes.h"
#include "bpf/begin.h"
#include "bpf/phases.h"
#include "bpf/unseen.h"
#include "bpf/waiters.h"

#define TRIES 4

/* A scheduler's event may come between any two instructions here, and changes what is read. */
static __always_inline bool tick_ns_of(struct ls_thread *t, __u64 *ret_ns)
{
	for (int i = 0; i < TRIES; i++) {
		__u32 seq = seq_read(&t->seq);

		*ret_ns = phases_tick_ns(t, bpf_ktime_get_ns());
		if (!(seq & 1) && seq_read(&t->seq) == seq)
			return true;
	}
	return false;
}

/* It runs, or it would not be here: where its state says otherwise, a switch was missed, and its time would go to no phase. */
static __always_inline void note_running(struct task_struct *task, struct ls_thread *t)
{
	bool waits = acct_waiting(t);
	__u64 now;

	if (acct_on_cpu(t))
		return;
	now = bpf_ktime_get_ns();
	seq_step(&t->seq);
	acct_missed_run(t, now, NULL, unseen_ran_ns(t, task, now), core_run_delay(task));
	seq_step(&t->seq);
	if (waits)
		wait_left(t->wait_cpu);
}

SEC("uprobe")
int ls_up_phase(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct ls_thread *t = bpf_task_storage_get(&ls_threads, task, NULL, 0);
	struct ls_phases *p;
	__u64 ns;

	if (!t || t->flags & LS_F_DEAD || t->state == LS_NONE || !ls_phases_attached)
		return 0;
	p = bpf_task_storage_get(&ls_phases_of, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!p) {
		count(LS_C_NO_STORAGE);
		return 0;
	}
	note_running(task, t);
	if (!tick_ns_of(t, &ns))
		ns = p->base_ns; /* the entry is counted; its time stays with the phase before until the next one */
	seq_step(&p->seq);
	phases_enter(p, ns, bpf_get_attach_cookie(ctx), ls_phases_attached, t->generation);
	seq_step(&p->seq);
	return 0;
}

SEC("iter/task")
int ls_phase_walk(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct ls_pulse pulse = {};
	struct ls_phases *p;

	p = task ? bpf_task_storage_get(&ls_phases_of, task, NULL, 0) : NULL;
	if (!p)
		return 0;
	pulse.now_ns = bpf_ktime_get_ns();
	pulse.start_boottime_ns = task->start_boottime;
	pulse.tid = task->pid;
	pulse.tgid = task->tgid;
	for (int i = 0; i < LS_PHASES; i++)
		pulse.waits += p->entries[i];
	bpf_seq_write(ctx->meta->seq, &pulse, sizeof(pulse));
	return 0;
}
