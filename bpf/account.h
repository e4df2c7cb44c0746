/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * account.h - the state machine of one observed thread: plain C, no kernel, no clock, no map. The BPF programs feed it
 * from the scheduler's tracepoints; the unit tests feed it invented sequences, natively compiled.
 *
 *          sleep at the wait point      wake-up       switch-in                        sleep elsewhere
 *   TICK_CPU ----------------------> IDLE ------> WAIT_IO ------> TICK_CPU ---------------------------> TICK_BLOCKED
 *      ^  \                                                          ^                                       |
 *      |   \ preempted                                               | switch-in                     wake-up |
 *      |    +-------------------------------------------------> WAIT_TICK <----------------------------------+
 *      +-------------------------------------------------------------+
 *
 * What always holds, whatever events are lost or come twice (tests/unit/test_account.c):
 *   sum over states of sum_ns == last_ns - birth_ns
 *   blocked[] + blocked_other == sum_ns[TICK_BLOCKED]    culprits[] + culprit_other == sum_ns[WAIT_*] (in progress: after
 *   acct_settle)                                         throttled <= sum_ns[WAIT_*]
 * An event that contradicts the state means that one before it was missed. Where the scheduler's own record tells when, the
 * stretch is split there (`repaired`); else the time up to now stays with the state that was believed (`lost`). The machine
 * goes on from what the event says.
 *
 * Times: nanoseconds, one clock. A time before the last one is taken as the last one.
 */
#ifndef LOOPSCOPE_BPF_ACCOUNT_H
#define LOOPSCOPE_BPF_ACCOUNT_H

#include "bpf/account_point.h"
#include "bpf/account_table.h"
#include "bpf/wire.h"

/* --- time ---------------------------------------------------------------------------------------------------------- */

/* A program that writes here may be preempted in the middle. What it was doing then is whole only when it is done, so the wait is kept
 * apart until the thread's next event: acct_hold() as it leaves the CPU, acct_go_on() when it is back. */
static __always_inline void acct_hold(struct ls_thread *t, __u64 now)
{
	t->held_from_ns = now;
}

static __always_inline void acct_go_on(struct ls_thread *t, __u64 now)
{
	if (now > t->held_from_ns)
		t->held_ns += now - t->held_from_ns;
	t->held_from_ns = 0;
}

/* Of the time since the last transition, on a CPU by all that was written: what it was held for was a wait. */
ACCT_FN int acct_held(struct ls_thread *t, __u64 now)
{
	__u64 ns;

	if (!t || now <= t->last_ns || (t->state != LS_TICK_CPU && t->state != LS_IO_CPU))
		return 0;
	ns = t->held_ns;
	if (ns > now - t->last_ns)
		ns = now - t->last_ns;
	__sync_fetch_and_add(&t->held_ns, -ns); /* it may be held again meanwhile */
	t->last_ns += ns;
	t->sum_ns[t->state == LS_IO_CPU ? LS_WAIT_IO : LS_WAIT_TICK] += ns;
	t->culprit_other_ns += ns;
	return 0;
}

/* Adds the time since the last transition to the state in progress. */
static __always_inline void acct_advance(struct ls_thread *t, __u64 now)
{
	__u32 state = t->state;
	__u64 dt;

	if (t->held_ns)
		acct_held(t, now);
	if (now <= t->last_ns)
		return;
	dt = now - t->last_ns;
	t->last_ns = now;
	ACCT_OPAQUE(state);
	if (state >= LS_NR_STATES)
		state = LS_NONE;
	t->sum_ns[state] += dt;
	if (state == LS_IDLE && t->home >= 0)
		t->points[t->home & (LS_POINTS - 1)].asleep_ns += dt;
	if (state != LS_TICK_BLOCKED)
		return;
	if (t->blocked_point)
		t->points[(t->blocked_point - 1) & (LS_POINTS - 1)].asleep_ns += dt;
	acct_blocked(t, t->blocked_nr, t->blocked_abi, dt);
	if (t->blocked_outer)
		t->outer_ns += dt;
}

/* In steps, so that settling twice counts nothing twice. */
static __always_inline void acct_naive(struct ls_thread *t, __u64 now)
{
	__u64 dt;

	if (now <= t->io_start_ns)
		return;
	dt = now - t->io_start_ns;
	t->io_start_ns = now;
	if (t->io_timeout_ns != LS_NO_TIMEOUT) {
		if (dt > t->io_timeout_ns)
			dt = t->io_timeout_ns;
		t->io_timeout_ns -= dt;
	}
	t->naive_idle_ns += dt;
}

static __always_inline void acct_wait_begin(struct ls_thread *t, __u64 now, __u32 cpu, const struct acct_throttle *thr)
{
	t->wait_start_ns = t->last_ns > now ? t->last_ns : now;
	t->wait_cpu = cpu;
	t->throttle_ref = thr->ref;
	t->throttle_base = thr->clock;
}

/* waited: length of the wait since this was last called for it; clock: of t->throttle_ref, now. What the quota took is nobody's
 * who ran meanwhile; it is taken to be the beginning of the wait, as where a quota is used up it is. */
static __always_inline void acct_throttled(struct ls_thread *t, __u64 waited, __u64 clock)
{
	struct ls_cpu_slot quota = { .tgid = LS_TGID_QUOTA, .comm = "(quota)" };
	__u64 ns;

	if (!t->throttle_ref || clock <= t->throttle_base)
		return;
	ns = clock - t->throttle_base;
	if (ns > waited)
		ns = waited;
	t->throttle_base += ns;
	t->throttled_ns += ns;
	acct_culprit(t, &quota, ns, t->last_ns);
	t->wait_start_ns += ns;
}

/* --- what the scheduler itself says of waits --------------------------------------------------------------------------- */

static __always_inline __u64 acct_waits(const struct ls_thread *t)
{
	return t->sum_ns[LS_WAIT_IO] + t->sum_ns[LS_WAIT_TICK];
}

static __always_inline void acct_mark_delay(struct ls_thread *t, __u64 delay_ns)
{
	t->delay_known = delay_ns != 0;
	t->delay_ns = delay_ns;
	t->delay_waits_ns = acct_waits(t);
	t->delay_cpu_ns = t->sum_ns[LS_TICK_CPU];
}

/* --- beginning ------------------------------------------------------------------------------------------------------ */

/* The thread runs another program from here on (exec): everything but its count of execs is forgotten, and accounting begins
 * again at its next sleep in an IO wait. */
static __always_inline void acct_restart(struct ls_thread *t)
{
	__u32 seq = t->seq, generation = t->generation + 1;

	__builtin_memset(t, 0, sizeof(*t));
	t->seq = seq;
	t->generation = generation;
	t->home = -1;
}

/* Accounting begins at now, with the thread falling asleep (or found asleep) in an IO wait at p. */
static __always_inline void acct_begin_asleep(struct ls_thread *t, __u64 now, const struct acct_place *p)
{
	t->birth_ns = t->last_ns = now;
	t->home = -1;
	acct_note_point(t, p, now);
	t->state = LS_IDLE;
	t->io_start_ns = now;
	t->io_timeout_ns = p->timeout_ns;
	t->io_sleeps = 1;
	acct_mark_delay(t, p->delay_ns);
}

/* Accounting begins at now, with the thread preempted inside an IO wait at p. */
static __always_inline void acct_begin_preempted(struct ls_thread *t, __u64 now, const struct acct_place *p, __u32 cpu,
						 const struct acct_throttle *thr)
{
	t->birth_ns = t->last_ns = now;
	t->home = -1;
	acct_note_point(t, p, now);
	t->state = LS_WAIT_TICK;
	acct_wait_begin(t, now, cpu, thr);
	acct_mark_delay(t, p->delay_ns);
}

/* --- events -------------------------------------------------------------------------------------------------------- */

/* The wait in progress ends: its culprits and its throttled part are charged. */
static __always_inline void acct_wait_end(struct ls_thread *t, const struct ls_cpu *c, __u64 clock, __u64 waited)
{
	acct_throttled(t, waited, clock);
	acct_charge(t, c, t->last_ns);
	t->throttle_ref = 0;
}

/* Where edges are measured, the call's return ends the IO wait, and with it what a loop that times its own call would see;
 * else coming back to a CPU has to do for it. Where only entries are, a wait that did not sleep is not known to be over: who comes
 * back from anything else is in its tick. */
static __always_inline void acct_enter_cpu(struct ls_thread *t)
{
	int in_tick = t->flags & LS_F_ENTRY_ONLY && (t->state == LS_WAIT_TICK || t->state == LS_TICK_BLOCKED);

	if (t->flags & LS_F_IN_IO && !in_tick) {
		t->state = LS_IO_CPU;
		return;
	}
	if (t->state == LS_WAIT_IO || t->state == LS_IDLE)
		acct_naive(t, t->last_ns);
	t->state = LS_TICK_CPU;
}

/* Its wake-up was missed, and it has been on a run queue for queued_ns: whose, and who had that CPU, nobody noted. */
static __always_inline void acct_missed_wakeup(struct ls_thread *t, __u64 now, __u64 queued_ns)
{
	struct acct_throttle unknown = {};

	acct_advance(t, now > queued_ns ? now - queued_ns : 0);
	t->state = t->state == LS_IDLE ? LS_WAIT_IO : LS_WAIT_TICK;
	acct_wait_begin(t, t->last_ns, 0, &unknown);
	t->repaired++;
}

/* What the scheduler's record of its waits has grown by since it last left a CPU, beyond what was seen of them. */
static __always_inline __u64 acct_unseen_delay(const struct ls_thread *t, __u64 delay_ns)
{
	__u64 told, seen;

	if (!t->delay_known || delay_ns <= t->delay_ns)
		return 0;
	told = delay_ns - t->delay_ns;
	seen = acct_waits(t) - t->delay_waits_ns;
	return told > seen ? told - seen : 0;
}

/* For how long it has been on run queues without its wake-up having been seen: queued_ns on this one. The scheduler's record of a wait
 * begins anew where the thread is moved to another CPU; what it waited before that is in the sum of its waits, delay_ns. */
static __always_inline __u64 acct_queued(const struct ls_thread *t, __u64 queued_ns, __u64 delay_ns)
{
	return queued_ns ? queued_ns + acct_unseen_delay(t, delay_ns) : 0;
}

/* Its switch-in was missed, perhaps its wake-up too. There are kernels that skip tracepoints, for perf and BPF alike: seen on a 6.18
 * guest that runs none while a thread of its PID 1 is current, so that whoever comes next on that CPU, or is woken by an interrupt
 * meanwhile, does so unseen. The scheduler's own record says when it came to run, ran_ns ago, and how long it has waited for a CPU,
 * ever (delay_ns): the stretch is split there and nothing is lost. 0: not known; after a sleep, the wake-up's delay is lost then. */
static __always_inline void acct_missed_run(struct ls_thread *t, __u64 now, const struct ls_cpu *c, __u64 ran_ns, __u64 delay_ns)
{
	__u64 at = now > ran_ns ? now - ran_ns : 0;

	if (at < t->last_ns)
		at = t->last_ns;
	if (acct_asleep(t) && ran_ns && t->delay_known && delay_ns)
		acct_missed_wakeup(t, at, acct_unseen_delay(t, delay_ns));
	if (acct_waiting(t) && ran_ns)
		t->repaired++;
	else
		t->lost++;
	t->delay_known = 0;
	acct_advance(t, at);
	if (acct_waiting(t))
		acct_wait_end(t, c, 0, 0);
	acct_enter_cpu(t);
}

/* Less is what the two clocks differ by, and what the scheduler calls waiting a little earlier than its tracepoint comes. */
#define ACCT_DELAY_SLACK_NS 100000

/* It was preempted and came back since it last left a CPU, and both switches were missed: the scheduler's record of its waits has
 * grown by more than what was seen, and it was no time on the CPU. */
ACCT_FN int acct_unseen_wait(struct ls_thread *t, __u64 delay_ns)
{
	__u64 told, cpu;

	if (!t || !acct_on_cpu(t))
		return 0;
	told = acct_unseen_delay(t, delay_ns);
	if (told <= ACCT_DELAY_SLACK_NS)
		return 0;
	cpu = t->sum_ns[LS_TICK_CPU] > t->delay_cpu_ns ? t->sum_ns[LS_TICK_CPU] - t->delay_cpu_ns : 0;
	if (told > cpu)
		told = cpu;
	t->sum_ns[LS_TICK_CPU] -= told;
	t->sum_ns[LS_WAIT_TICK] += told;
	t->culprit_other_ns += told;
	t->repaired++;
	return 0;
}

/* The thread is switched out, so it was on a CPU. */
static __always_inline void acct_leave_cpu(struct ls_thread *t, __u64 now, const struct acct_place *p)
{
	t->events++;
	t->flags &= ~LS_F_SEEDED;
	if (!acct_on_cpu(t))
		acct_missed_run(t, now, (const struct ls_cpu *)0, p->ran_ns, p->delay_ns);
	acct_advance(t, now);
	acct_unseen_wait(t, p->delay_ns);
	acct_mark_delay(t, p->delay_ns);
}

/* A wrapper's frame is smaller than this: a sleep further down, after an entry-only edge, is a callback's. */
#define ACCT_WRAPPER_BYTES 512

static __always_inline int acct_in_wrapper(const struct ls_point *home, const struct acct_place *p)
{
	return p->nr == home->nr && p->abi == home->abi && p->sp <= home->sp && home->sp - p->sp < ACCT_WRAPPER_BYTES;
}

/* It has entered its own wait: has it not left it since, where only entries are seen? */
static __always_inline int acct_still_in_io(const struct ls_thread *t, const struct acct_place *p)
{
	if (!(t->flags & LS_F_IN_IO))
		return 0;
	if (!(t->flags & LS_F_ENTRY_ONLY))
		return 1;
	return p->io_wait && acct_in_wrapper(&t->points[t->home & (LS_POINTS - 1)], p);
}

/* Only entries are seen, and the loop's wait seemed to be over: its thread had been woken, for nothing as it proves now, or a signal's
 * handler came in between and waited itself, deeper. */
static __always_inline int acct_goes_on(const struct ls_thread *t, const struct acct_place *p)
{
	const struct ls_point *last = &t->points[t->last_point & (LS_POINTS - 1)];

	return acct_in_wrapper(&t->points[t->home & (LS_POINTS - 1)], p) && (t->last_point == t->home || p->sp > last->sp);
}

static __always_inline int acct_sleeps_at_home(struct ls_thread *t, const struct acct_place *p)
{
	const struct ls_point *home;

	if (!p->io_wait)
		return 0;
	if (!t->edges)
		return acct_note_point(t, p, t->last_ns);
	if (t->home < 0)
		return 0;
	home = &t->points[t->home & (LS_POINTS - 1)];
	if ((t->flags & (LS_F_IN_IO | LS_F_ENTRY_ONLY)) == LS_F_ENTRY_ONLY) {
		if (!acct_goes_on(t, p))
			return 0;
		t->flags |= LS_F_IN_IO;
		t->io_start_ns = t->last_ns;
		return 1;
	}
	if (!(t->flags & LS_F_IN_IO)) {
		/* In its own wait, whose entry was not seen: the kernel skips a program of this kind while another one runs, or a map is
		 * read, on the same CPU. */
		if (p->sp != home->sp || p->nr != home->nr || p->abi != home->abi)
			return 0;
		t->lost++;
		t->flags |= LS_F_IN_IO;
		t->io_start_ns = t->last_ns;
		t->io_timeout_ns = p->timeout_ns;
		return 1;
	}
	return acct_still_in_io(t, p);
}

/* Switched out asleep. */
ACCT_FN int acct_sleep(struct ls_thread *t, __u64 now, const struct acct_place *p)
{
	if (!t || !p)
		return 0;
	if (t->state == LS_NONE) {
		if (p->io_wait)
			acct_begin_asleep(t, now, p);
		return 0;
	}
	acct_leave_cpu(t, now, p);
	if (acct_sleeps_at_home(t, p)) {
		t->state = LS_IDLE;
		if (!t->edges) {
			t->io_start_ns = t->last_ns;
			t->io_timeout_ns = p->timeout_ns;
		}
		t->io_sleeps++;
		return 0;
	}
	t->state = LS_TICK_BLOCKED;
	t->blocked_nr = p->nr;
	t->blocked_abi = p->abi;
	t->blocked_outer = acct_outer(t, p);
	t->blocked_point = 0;
	if (p->io_wait) {
		const struct ls_point *q = &t->points[t->last_point & (LS_POINTS - 1)];

		if (q->sp == p->sp && q->nr == p->nr && q->abi == p->abi)
			t->blocked_point = t->last_point + 1;
	}
	return 0;
}

/* Switched out although runnable: preempted, or its quota is used up. p->io_wait: inside an IO wait; a loop that never sleeps
 * is recognised by this alone. */
ACCT_FN int acct_preempt(struct ls_thread *t, __u64 now, const struct acct_place *p, __u32 cpu,
			 const struct acct_throttle *thr)
{
	if (!t || !p || !thr || t->state == LS_NONE)
		return 0;
	acct_leave_cpu(t, now, p);
	if (p->io_wait && !t->edges)
		acct_note_point(t, p, t->last_ns);
	t->state = acct_still_in_io(t, p) ? LS_WAIT_IO : LS_WAIT_TICK;
	acct_wait_begin(t, now, cpu, thr);
	return 0;
}

/* Woken. A wake-up of a thread that is not asleep changes nothing: waking is not switching. */
ACCT_FN int acct_wakeup(struct ls_thread *t, __u64 now, __u32 cpu, const struct acct_throttle *thr)
{
	if (!t || !thr)
		return 0;
	t->events++;
	if (!acct_asleep(t))
		return 0;
	t->flags &= ~LS_F_SEEDED;
	acct_advance(t, now);
	t->state = t->state == LS_IDLE ? LS_WAIT_IO : LS_WAIT_TICK;
	acct_wait_begin(t, now, cpu, thr);
	return 0;
}

/* Switched in. c: the CPU on which it waited; clock: of t->throttle_ref; queued_ns: for how long it has been on a run queue, by the
 * scheduler's own record, 0 where nobody asked. */
ACCT_FN int acct_run(struct ls_thread *t, __u64 now, const struct ls_cpu *c, __u64 clock, __u64 queued_ns)
{
	__u64 began;
	__u8 was;

	if (!t || t->state == LS_NONE)
		return 0;
	if (acct_asleep(t) && queued_ns)
		acct_missed_wakeup(t, now, queued_ns);
	began = t->last_ns;
	was = t->state;
	t->events++;
	t->flags &= ~LS_F_SEEDED;
	acct_advance(t, now);
	if (was == LS_WAIT_IO || was == LS_WAIT_TICK)
		acct_wait_end(t, c, clock, t->last_ns - began);
	else {
		t->delay_known = 0;
		t->lost++;
	}
	acct_enter_cpu(t);
	return 0;
}

/* Folds the state in progress into the sums, up to now, without leaving it: what a snapshot shows, and what an exit sends. A
 * thread that ran another program and has not waited for IO since has no sums. */
ACCT_FN int acct_settle(struct ls_thread *t, __u64 now, const struct ls_cpu *c, __u64 clock)
{
	__u64 began;

	if (!t || t->state == LS_NONE)
		return 0;
	began = t->last_ns;
	acct_advance(t, now);
	if (acct_waiting(t)) {
		acct_throttled(t, t->last_ns - began, clock);
		acct_charge(t, c, t->last_ns);
	}
	if (t->state == LS_IDLE || t->state == LS_WAIT_IO || (t->flags & (LS_F_IN_IO | LS_F_ENTRY_ONLY)) == LS_F_IN_IO)
		acct_naive(t, t->last_ns);
	return 0;
}

/* --- measured edges ----------------------------------------------------------------------------------------------------
 * A measured loop pays for them at each wait: no functions of their own in the BPF programs. */

/* It is on its CPU although no switch-in was seen: see acct_missed_run(). */
ACCT_FN int acct_runs_unseen(struct ls_thread *t, __u64 now, __u64 ran_ns, __u64 delay_ns)
{
	if (t)
		acct_missed_run(t, now, (const struct ls_cpu *)0, ran_ns, delay_ns);
	return 0;
}

/* acct_advance() of a thread on a CPU. */
static __always_inline void acct_ran(struct ls_thread *t, __u64 now)
{
	__u64 dt;

	if (t->held_ns)
		acct_held(t, now);
	if (now <= t->last_ns)
		return;
	dt = now - t->last_ns;
	t->last_ns = now;
	if (t->state == LS_IO_CPU)
		t->sum_ns[LS_IO_CPU] += dt;
	else
		t->sum_ns[LS_TICK_CPU] += dt;
}

/* The thread, on its CPU, enters an IO wait. Returns 1 where it is the loop's own. */
static __always_inline int acct_io_enter(struct ls_thread *t, __u64 now, const struct acct_place *p, __u32 edges, __u32 entry_only)
{
	t->edges = edges;
	t->flags &= ~(LS_F_SEEDED | LS_F_IN_IO | LS_F_ENTRY_ONLY);
	if (!acct_on_cpu(t)) /* the first edge of a thread that was found asleep, or a missed switch */
		acct_runs_unseen(t, now, p->ran_ns, p->delay_ns);
	acct_ran(t, now);
	t->state = LS_TICK_CPU;
	if (entry_only)
		t->flags |= LS_F_ENTRY_ONLY;
	if (!acct_note_edge(t, p, t->last_ns))
		return 0;
	t->flags |= LS_F_IN_IO;
	if (!entry_only)
		t->state = LS_IO_CPU;
	t->io_start_ns = t->last_ns;
	t->io_timeout_ns = p->timeout_ns;
	return 1;
}

/* The loop's own IO wait returns. ran_ns, delay_ns: as of acct_missed_run(), where the thread was not seen to come to a CPU. */
static __always_inline int acct_io_exit(struct ls_thread *t, __u64 now, __u64 ran_ns, __u64 delay_ns)
{
	if (!(t->flags & LS_F_IN_IO))
		return 0;
	if (!acct_on_cpu(t)) /* its switch-in was missed */
		acct_runs_unseen(t, now, ran_ns, delay_ns);
	acct_ran(t, now);
	acct_naive(t, t->last_ns);
	t->flags &= ~LS_F_IN_IO;
	t->state = LS_TICK_CPU;
	return 0;
}

/* Edges are measured no more: from here on by the scheduler alone. */
static __always_inline void acct_drop_edges(struct ls_thread *t)
{
	t->edges = 0;
	t->flags &= ~(LS_F_IN_IO | LS_F_ENTRY_ONLY);
	if (t->state == LS_IO_CPU)
		t->state = LS_TICK_CPU;
}

/* Accounting begins at now, with the thread on its CPU. */
static __always_inline void acct_begin_running(struct ls_thread *t, __u64 now, __u64 delay_ns)
{
	t->birth_ns = t->last_ns = now;
	t->home = -1;
	t->state = LS_TICK_CPU;
	acct_mark_delay(t, delay_ns);
}

#endif
