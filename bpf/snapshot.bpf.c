// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * snapshot.bpf.c - two walks over all threads: `seed` finds those asleep in an IO wait when observation begins, `snapshot`
 * emits the sums of every observed one with its state in progress, so that a loop asleep for an hour reads right now.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf/core_fixes.h"
#include "bpf/maps.h"
#include "bpf/place.h"
#include "bpf/begin.h"
#include "bpf/edges.h"
#include "bpf/phases.h"
#include "bpf/unseen.h"

#define SNAPSHOT_TRIES 4

/* A thread that is asleep stays so while we look, or its wake-up finds complete state: begin() publishes at once. One that
 * woke in between is marked so that its first event sets it right. */
SEC("iter/task")
int ls_seed(struct bpf_iter__task *ctx)
{
	struct task_struct *p = ctx->task;
	struct acct_place place = {};
	struct pt_regs *regs;

	if (!p || !may_begin(p))
		return 0;
	if (!(p->__state & CORE_TASK_INTERRUPTIBLE) || p->on_cpu || core_on_queue_runnable(p))
		return 0;
	if (bpf_task_storage_get(&ls_threads, p, NULL, 0))
		return 0;
	place_read(p, &place, false);
	regs = (struct pt_regs *)bpf_task_pt_regs(p);
	if (!place.io_wait || !regs || place_is_over(regs))
		return 0;
	begin(p, bpf_ktime_get_ns(), &place, NULL, 0, LS_SCRATCH_ITER, LS_F_SEEDED);
	return 0;
}

/* Copies t whole; false while an event is writing it. */
static __always_inline bool copy_whole(struct ls_thread *to, struct ls_thread *t)
{
	__u32 seq = seq_read(&t->seq);

	if (seq & 1 || bpf_probe_read_kernel(to, sizeof(*to), t))
		return false;
	return seq_read(&t->seq) == seq;
}

enum { PHASES_NONE, PHASES_COPIED, PHASES_TORN };

static __always_inline int copy_phases(struct ls_phases *to, struct task_struct *p)
{
	struct ls_phases *from = bpf_task_storage_get(&ls_phases_of, p, NULL, 0);

	if (!from)
		return PHASES_NONE;
	for (int i = 0; i < SNAPSHOT_TRIES; i++) {
		__u32 seq = seq_read(&from->seq);

		if (!(seq & 1) && !bpf_probe_read_kernel(to, sizeof(*to), from) && seq_read(&from->seq) == seq)
			return PHASES_COPIED;
	}
	return PHASES_TORN;
}

SEC("iter/task")
int ls_snapshot(struct bpf_iter__task *ctx)
{
	struct task_struct *p = ctx->task;
	__u32 room = LS_SCRATCH_ITER;
	struct ls_cpu *ring = NULL;
	struct ls_phases phases;
	struct ls_thread *t;
	struct ls_snap *s;
	__u64 clock = 0, delay = 0;
	int tries, split = PHASES_NONE;

	if (!p || p->tgid == (int)ls_self_tgid) /* observed for a moment, to measure what an edge costs */
		return 0;
	t = bpf_task_storage_get(&ls_threads, p, NULL, 0);
	s = bpf_map_lookup_elem(&ls_scratch, &room);
	if (!t || !s)
		return 0;
	if (ls_phases_wanted) /* before the sums, too */
		split = copy_phases(&phases, p);
	if (acct_on_cpu(t)) /* before the sums, which must know of all of it; most threads are asleep, and not asked */
		delay = core_run_delay(p) + (p->on_cpu ? 0 : core_queued_ns(p));
	for (tries = 0; tries < SNAPSHOT_TRIES; tries++)
		if (copy_whole(&s->t, t))
			break;
	if (tries == SNAPSHOT_TRIES || split == PHASES_TORN) {
		count(LS_C_TORN);
		return 0;
	}
	if (s->t.flags & LS_F_DEAD || s->t.state == LS_NONE)
		return 0;
	s->now_ns = bpf_ktime_get_ns();
	if (acct_waiting(&s->t)) {
		ring = bpf_map_lookup_elem(&ls_cpus, &s->t.wait_cpu);
		if (s->t.throttle_ref)
			clock = core_throttle_clock(s->t.throttle_ref);
	}
	/* A missed switch-in must not show a loop that computes as one that waits or sleeps. One that falls asleep is on its CPU for a
	 * moment more, but not runnable. */
	if (!acct_on_cpu(&s->t) && p->on_cpu && (acct_waiting(&s->t) || !p->__state))
		acct_missed_run(&s->t, s->now_ns, ring, unseen_ran_ns(&s->t, p, s->now_ns), core_run_delay(p));
	acct_settle(&s->t, s->now_ns, ring, clock);
	acct_unseen_wait(&s->t, delay);
	s->start_boottime_ns = p->start_boottime;
	s->tid = p->pid;
	s->tgid = p->tgid;
	s->reason = LS_SNAP_LIVE;
	s->phases = split == PHASES_COPIED && phases.generation == s->t.generation;
	__builtin_memcpy(s->comm, p->comm, LS_COMM_LEN);
	bpf_seq_write(ctx->meta->seq, s, sizeof(*s));
	if (!s->phases)
		return 0;
	if (phases.attached == ls_phases_attached) /* else nobody would have seen the next one */
		phases_settle(&phases, phases_tick_ns(&s->t, s->now_ns));
	bpf_seq_write(ctx->meta->seq, &phases, sizeof(phases));
	return 0;
}

/* The measured ticks of each thread: durations and counts, not the tick in progress. */
SEC("iter/task")
int ls_tick_walk(struct bpf_iter__task *ctx)
{
	struct task_struct *p = ctx->task;
	struct ls_tick_hist *h;
	struct ls_tick_snap *s;
	struct ls_ticks *k;
	__u32 zero = 0;

	if (!p)
		return 0;
	k = bpf_task_storage_get(&ls_ticks_of, p, NULL, 0);
	h = bpf_task_storage_get(&ls_tick_hist_of, p, NULL, 0);
	s = bpf_map_lookup_elem(&ls_tick_scratch, &zero);
	if (!k || !h || !s)
		return 0;
	for (int i = 0; i < SNAPSHOT_TRIES; i++) {
		__u32 seq = seq_read(&k->seq);

		if (seq & 1 || bpf_probe_read_kernel(&s->k, sizeof(s->k), k) ||
		    bpf_probe_read_kernel(&s->tick_hist, sizeof(s->tick_hist), h) || seq_read(&k->seq) != seq)
			continue;
		s->now_ns = bpf_ktime_get_ns();
		s->start_boottime_ns = p->start_boottime;
		s->tid = p->pid;
		s->tgid = p->tgid;
		s->generation = 0;
		s->pad = 0;
		bpf_seq_write(ctx->meta->seq, s, sizeof(*s));
		return 0;
	}
	count(LS_C_TORN);
	return 0;
}

/* A tick is running and has been for so long that it is worth telling before it ends. */
static __always_inline bool stalled(const struct ls_ticks *k, const struct ls_thread *t, __u64 now)
{
	/* Where edges were let go, the last tick that they began is not in progress: its end goes unseen. */
	if (!ls_slow_ns || !k->tick.start_ns || !ls_edges || t->edges != ls_edges || k->call == LS_CALL_OWN)
		return false;
	if (t->state == LS_IDLE || t->state == LS_WAIT_IO)
		return false;
	return now > k->tick.start_ns && now - k->tick.start_ns >= ls_slow_ns;
}

/* For the event stream. An edge that comes while this is read shows as no tick. */
static __always_inline void tell_turn(struct ls_turn *turn, struct task_struct *p, const struct ls_thread *t, struct ls_ticks *k)
{
	__u32 seq = seq_read(&k->seq);

	turn->seq = k->event_seq;
	turn->tid = p->pid;
	turn->tgid = p->tgid;
	stream_turn(turn, k);
	if (seq & 1 || seq_read(&k->seq) != seq || !k->started || k->empty || (ls_edges && t->edges != ls_edges))
		turn->io_end_ns = 0;
}

/* k and t are read one after the other: a tick that ends in between shows as one that is about to end. */
SEC("iter/task")
int ls_pulse_walk(struct bpf_iter__task *ctx)
{
	struct task_struct *p = ctx->task;
	__u32 zero = 0, room = LS_SCRATCH_ITER;
	struct ls_pulse pulse = {};
	struct ls_tick_snap *ks;
	struct ls_cpu *ring = NULL;
	struct ls_thread *t;
	struct ls_slow *slow;
	struct ls_ticks *k;
	struct ls_snap *s;
	__u64 clock = 0, since = 0;

	if (!p)
		return 0;
	k = bpf_task_storage_get(&ls_ticks_of, p, NULL, 0);
	t = bpf_task_storage_get(&ls_threads, p, NULL, 0);
	ks = bpf_map_lookup_elem(&ls_tick_scratch, &zero);
	s = bpf_map_lookup_elem(&ls_scratch, &room);
	if (!k || !t || !ks || !s || t->flags & LS_F_DEAD)
		return 0;
	pulse.now_ns = bpf_ktime_get_ns();
	pulse.start_boottime_ns = p->start_boottime;
	pulse.tid = p->pid;
	pulse.tgid = p->tgid;
	pulse.generation = t->generation;
	pulse.waits = k->io_waits + k->empty_polls;
	if (ls_stream)
		tell_turn(&pulse.turn, p, t, k);
	if (stalled(k, t, pulse.now_ns) && copy_whole(&s->t, t)) {
		if (acct_waiting(&s->t)) {
			ring = bpf_map_lookup_elem(&ls_cpus, &s->t.wait_cpu);
			if (s->t.throttle_ref)
				clock = core_throttle_clock(s->t.throttle_ref);
		}
		since = s->t.last_ns;
		acct_settle(&s->t, pulse.now_ns, ring, clock);
		pulse.stalled = 1;
	}
	bpf_seq_write(ctx->meta->seq, &pulse, sizeof(pulse));
	if (!pulse.stalled)
		return 0;
	slow = (struct ls_slow *)&ks->k; /* room enough: asserted in wire.h */
	fill_slow(slow, p, &s->t, k);
	slow->held = 0;
	slow->in_progress = 1;
	slow->state_ns = pulse.now_ns > since ? pulse.now_ns - since : 0;
	if (bpf_probe_read_kernel(&slow->tick, sizeof(slow->tick), &k->tick))
		slow->tick.start_ns = 0;
	bpf_seq_write(ctx->meta->seq, slow, sizeof(*slow));
	return 0;
}
