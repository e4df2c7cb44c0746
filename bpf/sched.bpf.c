// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * sched.bpf.c - the scheduler's events: switch and wake-up feed account.h; fork, exec and exit keep the set of threads right.
 *
 * Runs on every context switch and wake-up of the machine, so what it does for a thread that nobody observes is kept to
 * two storage look-ups; the CPU's ring is written, and the clock read, only while a loop is concerned (figures: make bench).
 * The tracepoints fire with the run-queue lock held and interrupts off; the events of one thread never overlap.
 */
#define LS_DEFINE_MAPS
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf/core_fixes.h"
#include "bpf/maps.h"
#include "bpf/place.h"
#include "bpf/begin.h"
#include "bpf/edges.h"
#include "bpf/unseen.h"
#include "bpf/waiters.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define TASK_STOPPED_OR_TRACED CORE_TASK_STOPPED_TRACED
#define TASK_DEAD_OR_ZOMBIE 0xb0 /* EXIT_DEAD | EXIT_ZOMBIE | TASK_DEAD */

static __always_inline struct ls_thread *observed(struct task_struct *p)
{
	struct ls_thread *t;

	if (!core_has_storage(p))
		return NULL;
	t = bpf_task_storage_get(&ls_threads, p, NULL, 0);
	return t && !(t->flags & LS_F_DEAD) ? t : NULL;
}

/* A writer holds seq odd: a snapshot taken meanwhile tries again. */
static __always_inline void write_begin(struct ls_thread *t)
{
	seq_step(&t->seq);
}

static __always_inline void write_end(struct ls_thread *t)
{
	seq_step(&t->seq);
}

/* The thread was preempted while a program of its own wrote its state, and that program goes on when it is back: a uprobe's, or none. */
static __always_inline bool in_the_middle(const struct ls_thread *t)
{
	return t->seq & 1;
}

/* Can a CFS quota hold this thread back? Only below the root group; then its run queue's throttle clock is read. */
static __always_inline void throttle_now(struct task_struct *p, struct acct_throttle *thr)
{
	struct cfs_rq *q;

	thr->ref = 0;
	thr->clock = 0;
	if (!core_can_throttle())
		return;
	q = p->se.cfs_rq;
	if (!q || !q->tg || !q->tg->parent)
		return;
	thr->ref = (__u64)q;
	thr->clock = core_never_throttled(q) ? 0 : core_throttle_clock((__u64)q);
}

static __always_inline __u64 throttle_end(struct task_struct *p, const struct ls_thread *t)
{
	struct cfs_rq *q;

	if (!core_can_throttle() || !t->throttle_ref)
		return 0;
	q = p->se.cfs_rq;
	if (q && (__u64)q == t->throttle_ref && core_never_throttled(q))
		return 0;
	return core_throttle_clock(t->throttle_ref);
}

/* A thread that nobody observes yet: may it be leaving the CPU in an IO wait, with which observation begins? From the cheapest
 * question to the dearest: nearly every switch of the machine ends at one of these. */
static __always_inline bool may_be_first_wait(struct task_struct *p, bool asleep, unsigned int state)
{
	struct pt_regs *regs;

	if ((asleep && !(state & CORE_TASK_INTERRUPTIBLE)) || p->flags & PF_KTHREAD)
		return false;
	regs = (struct pt_regs *)bpf_task_pt_regs(p);
	return regs && place_may_wait(p, regs) && may_begin(p);
}

/* Where a thread left: in a map rather than on the stack, because there the verifier would follow each system call's constants
 * through all that comes after, and take four times as long. One a CPU: a switch runs with interrupts off. */
struct left {
	struct acct_place place;
	struct place_args args;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct left);
} ls_left SEC(".maps");

/* In an IO wait's system call, but not for fds: a lock, a page of the events' buffer, a debugger; or the call is over, and the thread
 * is frozen before it gets back to user space (cgroup v2 lets it sleep as an IO wait does). */
static __always_inline void not_for_fds(struct task_struct *p, struct acct_place *place, unsigned int state)
{
	struct pt_regs *regs;
	bool over = false;

	if (state & TASK_STOPPED_OR_TRACED) {
		place->io_wait = 0;
		place->nr = LS_NR_STOPPED;
		return;
	}
	regs = (struct pt_regs *)bpf_task_pt_regs(p);
	if (regs && place->nr != LS_NR_PAGE_FAULT)
		over = place_is_over(regs);
	if (!over && state & CORE_TASK_INTERRUPTIBLE)
		return;
	place->io_wait = 0;
	if (over && state & (CORE_TASK_INTERRUPTIBLE | CORE_TASK_FROZEN))
		place->nr = LS_NR_STOPPED;
}

/* t: NULL where it is not observed yet. */
static __always_inline void switched_out(void *ctx, struct task_struct *p, struct ls_thread *t, __u64 now, bool asleep,
					 unsigned int state)
{
	struct acct_throttle thr = {};
	struct ls_ticks *k;
	struct left *left;
	__u64 since, slept;
	__u32 zero = 0;
	__u32 cpu = bpf_get_smp_processor_id();
	__u8 was;

	if (asleep && (state & TASK_DEAD_OR_ZOMBIE))
		return;
	left = bpf_map_lookup_elem(&ls_left, &zero);
	if (!left)
		return;
	left->place.ran_ns = 0;
	left->place.delay_ns = core_run_delay(p);
	place_read_args(p, &left->place, &left->args, true);
	if (asleep)
		not_for_fds(p, &left->place, state);
	else
		throttle_now(p, &thr);
	if (!t) {
		if (left->place.io_wait && begin(p, now, &left->place, asleep ? NULL : &thr, cpu, LS_SCRATCH_EVENT, 0) && !asleep)
			wait_entered(p, cpu);
		return;
	}
	if (t->edges && t->edges != ls_edges)
		acct_drop_edges(t);
	if (!acct_on_cpu(t))
		left->place.ran_ns = core_ran_ns(p);
	if (acct_waiting(t))
		wait_left(t->wait_cpu);
	was = t->state;
	since = t->last_ns;
	slept = t->sum_ns[LS_TICK_BLOCKED];
	write_begin(t);
	if (asleep)
		acct_sleep(t, now, &left->place);
	else
		acct_preempt(t, now, &left->place, cpu, &thr);
	write_end(t);
	if (acct_waiting(t))
		wait_entered(p, t->wait_cpu);
	if (!ls_measure || !ls_slow_ns || (t->state != LS_TICK_BLOCKED && was != LS_TICK_BLOCKED && was != LS_WAIT_TICK))
		return;
	k = ticks_of(p);
	if (!k)
		return;
	note_awake(k, was, since, t->sum_ns[LS_TICK_BLOCKED] - slept);
	if (t->state == LS_TICK_BLOCKED)
		note_block(ctx, k, now, &left->place, &left->args);
}

/* What a measured tick was held up by is remembered, in case it gets slow. */
static __always_inline void note_back(struct task_struct *p, struct ls_thread *t, __u8 was, __u64 since, __u64 slept_ns, __u64 now,
				      const struct ls_cpu *ring)
{
	struct ls_ticks *k = ticks_of(p);

	if (!k)
		return;
	if ((t->flags & LS_F_ENTRY_ONLY) && (was == LS_WAIT_IO || was == LS_IDLE)) {
		ticks_slept(k);
		end_io(p, t, k, now, LS_RET_UNKNOWN);
		return;
	}
	if (!ls_slow_ns)
		return;
	note_awake(k, was, since, slept_ns);
	if (was == LS_WAIT_TICK)
		note_wait(k, ring, since, now);
}

static __always_inline void switched_in(struct task_struct *p, struct ls_thread *t, __u64 now)
{
	__u64 clock = throttle_end(p, t), queued_ns, slept_ns, since;
	struct ls_cpu *ring = NULL;
	__u8 was;

	if (t->edges && t->edges != ls_edges)
		acct_drop_edges(t);
	if (acct_waiting(t))
		ring = cpu_ring(t->wait_cpu);
	unseen_set_clock(t, p, now);
	was = t->state;
	since = t->last_ns;
	slept_ns = t->sum_ns[LS_TICK_BLOCKED];
	queued_ns = acct_asleep(t) ? acct_queued(t, core_queued_ns(p), core_run_delay(p)) : 0; /* its wake-up was missed */
	write_begin(t);
	acct_run(t, now, ring, clock, queued_ns);
	write_end(t);
	/* Running now, whatever it was: the wait, and with it the need for the ring, is over. */
	if (ring)
		__sync_fetch_and_add(&ring->waiters, -1);
	if (ls_measure && t->edges)
		note_back(p, t, was, since, t->sum_ns[LS_TICK_BLOCKED] - slept_ns, now, ring);
}

static __always_inline int on_switch(void *ctx, bool preempt, struct task_struct *prev, struct task_struct *next,
				     unsigned int state)
{
	struct ls_thread *out = observed(prev), *in = observed(next);
	/* A thread with a signal pending does not get to sleep: its state is back at 0 (running) although it asked to. */
	bool asleep = !preempt && state && prev->__state;
	struct ls_cpu *ring;
	__u64 now = 0;

	if (out || may_be_first_wait(prev, asleep, state)) {
		now = bpf_ktime_get_ns();
		if (out && !asleep && in_the_middle(out))
			acct_hold(out, now);
		else
			switched_out(ctx, prev, out, now, asleep, state);
	}
	if (in) {
		now = now ? now : bpf_ktime_get_ns();
		if (in->held_from_ns)
			acct_go_on(in, now);
		else
			switched_in(next, in, now);
	}
	ring = cpu_ring(bpf_get_smp_processor_id());
	if (ring && (ring->waiters > 0 || !core_knows_current()))
		acct_cpu_switch(ring, now ? now : bpf_ktime_get_ns(), next->pid, next->tgid, next->comm);
	return 0;
}

/* One of the two is loaded: see core_fixes.h. */
SEC("tp_btf/sched_switch")
int BPF_PROG(ls_sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int prev_state)
{
	return on_switch(ctx, preempt, prev, next, prev_state);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(ls_sched_switch_5_15, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	return on_switch(ctx, preempt, prev, next, core_old_prev_state(prev));
}

/* sched_wakeup, not sched_waking: it fires when the thread is on a run queue, with the lock held that serialises it with
 * sched_switch, and it is where the kernel's own run_delay begins. */
SEC("tp_btf/sched_wakeup")
int BPF_PROG(ls_sched_wakeup, struct task_struct *p)
{
	struct ls_thread *t = observed(p);
	struct acct_throttle thr = {};

	/* Waking is not switching: a thread that is on its CPU may be in the middle of an edge. */
	if (!t || !acct_asleep(t) || in_the_middle(t))
		return 0;
	throttle_now(p, &thr);
	write_begin(t);
	acct_wakeup(t, bpf_ktime_get_ns(), core_task_cpu(p), &thr);
	write_end(t);
	wait_entered(p, t->wait_cpu);
	return 0;
}

/* The thread's last sums, so that no interval loses its end. tid and start: those that it had until then. */
static __always_inline void send_ended(struct task_struct *p, struct ls_thread *t, __u32 tid, __u32 reason)
{
	struct ls_snap *s = bpf_ringbuf_reserve(&ls_ended, sizeof(*s), 0);

	if (!s) {
		count(LS_C_RING_FULL);
		return;
	}
	s->now_ns = t->last_ns;
	s->start_boottime_ns = t->start_boottime_ns;
	s->tid = tid;
	s->tgid = p->tgid;
	s->reason = reason;
	s->phases = 0;
	__builtin_memcpy(s->comm, p->comm, LS_COMM_LEN);
	if (bpf_probe_read_kernel(&s->t, sizeof(s->t), t)) {
		bpf_ringbuf_discard(s, 0);
		count(LS_C_RING_FULL);
		return;
	}
	bpf_ringbuf_submit(s, 0);
}

static __always_inline void stop_measured(struct task_struct *p, __u64 now)
{
	struct ls_ticks *k = ticks_of(p);

	if (k)
		stop_loop(p, k, now);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(ls_sched_process_exit, struct task_struct *p)
{
	struct ls_thread *t = observed(p);

	if (t) {
		write_begin(t);
		acct_settle(t, bpf_ktime_get_ns(), NULL, 0);
		t->flags |= LS_F_DEAD;
		write_end(t);
		if (acct_waiting(t))
			wait_left(t->wait_cpu);
		send_ended(p, t, p->pid, LS_SNAP_EXIT);
		if (ls_measure)
			stop_measured(p, t->last_ns);
		__sync_fetch_and_sub(&ls_n_threads, 1);
	}
	if (ls_only_targets && p->signal->live.counter == 0) {
		__u32 tgid = p->tgid;

		/* At once, so that a reused PID is not taken for it. */
		bpf_map_delete_elem(&ls_targets, &tgid);
	}
	return 0;
}

/* Another program from here on: its loops are new ones. A thread that was not its process's first has become that, with the first
 * one's PID and start. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(ls_sched_process_exec, struct task_struct *p, int old_pid)
{
	struct ls_thread *t = observed(p);

	if (!t)
		return 0;
	write_begin(t);
	acct_settle(t, bpf_ktime_get_ns(), NULL, 0);
	write_end(t);
	send_ended(p, t, old_pid, LS_SNAP_EXEC);
	if (ls_measure)
		stop_measured(p, t->last_ns);
	if (acct_waiting(t))
		wait_left(t->wait_cpu);
	write_begin(t);
	acct_restart(t);
	t->start_boottime_ns = p->start_boottime;
	write_end(t);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(ls_sched_process_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 tgid = parent->tgid, child_tgid = child->tgid;
	__u8 *follow;

	if (!ls_only_targets || tgid == child_tgid)
		return 0;
	follow = bpf_map_lookup_elem(&ls_targets, &tgid);
	if (follow && *follow && bpf_map_update_elem(&ls_targets, &child_tgid, follow, BPF_ANY))
		count(LS_C_NO_STORAGE);
	return 0;
}

/* A loop that is never out of work never sleeps, and unless it happens to be preempted in its IO wait no switch tells it
 * from any program that computes. A look at each CPU now and then finds it there. */
SEC("perf_event")
int ls_look(void *ctx)
{
	struct task_struct *p = bpf_get_current_task_btf();
	struct acct_place place = {};
	struct ls_thread *t;
	struct pt_regs *regs;
	__u64 now;

	if (!p->pid || p->flags & PF_KTHREAD)
		return 0;
	regs = (struct pt_regs *)bpf_task_pt_regs(p);
	if (!regs || !place_may_wait(p, regs))
		return 0;
	t = bpf_task_storage_get(&ls_threads, p, NULL, 0);
	if (t ? t->edges || t->state != LS_TICK_CPU || in_the_middle(t) : !may_begin(p))
		return 0;
	place_read(p, &place, false);
	if (!place.io_wait)
		return 0;
	now = bpf_ktime_get_ns();
	if (!t) {
		t = begin_room(LS_SCRATCH_LOOK);
		if (!t)
			return 0;
		acct_begin_running(t, now, core_run_delay(p));
		acct_note_point(t, &place, now);
		publish(p, t);
		return 0;
	}
	write_begin(t);
	acct_advance(t, now);
	acct_note_point(t, &place, t->last_ns);
	write_end(t);
	return 0;
}
