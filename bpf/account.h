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

#include "bpf/wire.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((__always_inline__))
#endif

/* Functions that change a thread's state are functions of their own in the BPF programs, too: the verifier then looks at each
 * once and not again for every path that leads to it. It wants pointers tested and an int returned. */
#ifdef __bpf__
#define ACCT_FN __attribute__((weak, noinline))
#else
#define ACCT_FN static inline __attribute__((unused))
#endif

/* Keeps the compiler from proving a bounds check away that the verifier needs to see. */
#define ACCT_OPAQUE(x) asm volatile("" : "+r"(x))

#define ACCT_SEC 1000000000ULL

/* Where a thread left the CPU, read from its saved user registers. */
struct acct_place {
	__u64 sp;
	__u64 timeout_ns; /* of an IO wait; LS_NO_TIMEOUT where it has none or none can be read */
	__u32 nr;         /* syscall or enum ls_pseudo_nr */
	__s32 fd, nfds;   /* as in struct ls_point */
	__u8 abi;
	__u8 io_wait; /* nr is an IO wait that asks for fds or a timer */
	__u8 pad[2];
	__u64 ran_ns; /* for how long it had been on the CPU, by the scheduler's own record; 0 where nobody asked */
	__u64 delay_ns; /* for how long it had waited for one, ever, by the same record; 0 where there is none */
};

/* What the scheduler knows of the run queue at this moment: see throttle_*() in sched.bpf.c. */
struct acct_throttle {
	__u64 ref;   /* 0: throttling can't happen here */
	__u64 clock; /* ns for which the queue of `ref` has been throttled, ever */
};

static __always_inline int acct_on_cpu(const struct ls_thread *t)
{
	return t->state == LS_TICK_CPU || t->state == LS_IO_CPU;
}

static __always_inline int acct_waiting(const struct ls_thread *t)
{
	return t->state == LS_WAIT_IO || t->state == LS_WAIT_TICK;
}

static __always_inline int acct_asleep(const struct ls_thread *t)
{
	return t->state == LS_IDLE || t->state == LS_TICK_BLOCKED;
}

/* --- bounded tables ------------------------------------------------------------------------------------------------ */

ACCT_FN int acct_blocked(struct ls_thread *t, __u32 nr, __u32 abi, __u64 ns)
{
	if (!t || !ns)
		return 0;
	for (int i = 0; i < LS_BLOCKED; i++) {
		struct ls_blocked *b = &t->blocked[i];

		if (!b->used) {
			b->used = 1;
			b->nr = nr;
			b->abi = abi;
			b->ns = ns;
			return 0;
		}
		if (b->nr == nr && b->abi == abi) {
			b->ns += ns;
			return 0;
		}
	}
	t->blocked_other_ns += ns;
	return 0;
}

/* Each CPU's idle task has a name of its own; they are one culprit: nobody. */
static __always_inline int acct_same_culprit(const struct ls_culprit *c, const struct ls_cpu_slot *who)
{
	const __u64 *x = (const __u64 *)c->comm, *y = (const __u64 *)who->comm;

	return c->tgid == who->tgid && (!c->tgid || (x[0] == y[0] && x[1] == y[1]));
}

/* What a row has had lately: its sum, halved for each second since. */
static __always_inline __u64 acct_recent(const struct ls_culprit *c, __u64 now)
{
	__u64 age = now > c->last_ns ? (now - c->last_ns) / ACCT_SEC : 0;

	return age < 64 ? c->recent_ns >> age : 0;
}

/* A full table gives up the row that has had least lately, if that is no more than the newcomer brings: so a new hog is named
 * within a slice or two, in a process watched for days and on a machine where many run a little, and those do not push out the
 * ones that matter. What the row held moves to "other", keeping the sum. */
ACCT_FN int acct_culprit(struct ls_thread *t, const struct ls_cpu_slot *who, __u64 ns, __u64 now)
{
	__u64 least_ns = ~0ULL, recent;
	struct ls_culprit *c;

	if (!t || !who || !ns)
		return 0;
	for (int i = 0; i < LS_CULPRITS; i++) {
		c = &t->culprits[i];
		if (c->used && acct_same_culprit(c, who)) {
			c->ns += ns;
			c->recent_ns = acct_recent(c, now) + ns;
			c->last_ns = now;
			return 0;
		}
	}
	/* The least first, its row afterwards: an index carried through the loop costs the verifier the square of it. */
	for (int i = 0; i < LS_CULPRITS; i++) {
		recent = acct_recent(&t->culprits[i], now);
		if (recent < least_ns)
			least_ns = recent;
	}
	if (least_ns > ns) {
		t->culprit_other_ns += ns;
		return 0;
	}
	for (int i = 0; i < LS_CULPRITS; i++) {
		c = &t->culprits[i];
		if (acct_recent(c, now) != least_ns)
			continue;
		if (c->used)
			t->culprit_other_ns += c->ns;
		c->used = 1;
		c->tgid = who->tgid;
		c->ns = ns;
		c->recent_ns = ns;
		c->last_ns = now;
		((__u64 *)c->comm)[0] = ((const __u64 *)who->comm)[0];
		((__u64 *)c->comm)[1] = ((const __u64 *)who->comm)[1];
		return 0;
	}
	t->culprit_other_ns += ns;
	return 0;
}

/* --- who had the CPU ----------------------------------------------------------------------------------------------- */

static __always_inline void acct_cpu_switch(struct ls_cpu *c, __u64 now, __u32 tid, __u32 tgid, const char *comm)
{
	__u32 pos = (c->pos + 1) & (LS_CPU_RING - 1);
	struct ls_cpu_slot *s = &c->ring[pos];

	s->start_ns = now;
	s->tid = tid;
	s->tgid = tgid;
	((__u64 *)s->comm)[0] = ((const __u64 *)comm)[0];
	((__u64 *)s->comm)[1] = ((const __u64 *)comm)[1];
	c->pos = pos;
}

/* Who has the CPU at the moment in which its first observed waiter begins to wait. Since when does not matter. */
static __always_inline void acct_cpu_had_by(struct ls_cpu *c, __u32 tid, __u32 tgid, const char *comm)
{
	struct ls_cpu_slot *s = &c->ring[c->pos & (LS_CPU_RING - 1)];

	s->start_ns = 1;
	s->tid = tid;
	s->tgid = tgid;
	((__u64 *)s->comm)[0] = ((const __u64 *)comm)[0];
	((__u64 *)s->comm)[1] = ((const __u64 *)comm)[1];
}

/* Charges [t->wait_start_ns, now) to whoever ran on the CPU where the thread waited. The ring may be another CPU's and may
 * move while it is read: that can misname a stretch, never lose or invent one. What is older than the ring is "other". */
ACCT_FN int acct_charge(struct ls_thread *t, const struct ls_cpu *c, __u64 now)
{
	__u64 from, end = now;
	__u32 pos;

	if (!t)
		return 0;
	from = t->wait_start_ns;
	if (now <= from)
		return 0;
	t->wait_start_ns = now;
	if (!c) {
		t->culprit_other_ns += now - from;
		return 0;
	}
	pos = c->pos;
	for (int i = 0; i < LS_CPU_RING; i++) {
		const struct ls_cpu_slot *s = &c->ring[(pos - i) & (LS_CPU_RING - 1)];
		__u64 start = s->start_ns;

		if (start >= end)
			continue;
		if (!start)
			break;
		if (start <= from) {
			acct_culprit(t, s, end - from, now);
			return 0;
		}
		acct_culprit(t, s, end - start, now);
		end = start;
	}
	t->culprit_other_ns += end - from;
	return 0;
}

/* --- time ---------------------------------------------------------------------------------------------------------- */

/* Adds the time since the last transition to the state in progress. */
static __always_inline void acct_advance(struct ls_thread *t, __u64 now)
{
	__u32 state = t->state;
	__u64 dt;

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

/* --- the wait point ------------------------------------------------------------------------------------------------ */

/* How long the loop's own wait point may stay unvisited before a deeper one takes its place: long enough for a callback
 * that polls a database for a minute, short for a wait seen only while the program started up. */
static __always_inline __u64 acct_patience(const struct ls_point *home)
{
	__u64 age = 2 * (home->last_ns - home->first_ns);

	return age < ACCT_SEC ? ACCT_SEC : age > 60 * ACCT_SEC ? 60 * ACCT_SEC : age;
}

/* Finds or makes the row of this place. The one that gives way is never the loop's own; it is one that has been silent for
 * 10 s or, among those in use, the deepest: a tick with more nested waits than there are rows must not push out the place
 * that they are nested in before that has come back once. */
static __always_inline int acct_point_row(const struct ls_thread *t, const struct acct_place *p, __u64 now)
{
	__u64 oldest_ns = ~0ULL, deepest_sp = ~0ULL;
	int oldest = 0, deepest = 0, unused = -1;

	for (int i = 0; i < LS_POINTS; i++) {
		const struct ls_point *q = &t->points[i];

		if (!q->count) {
			unused = i;
			continue;
		}
		if (q->sp == p->sp && q->nr == p->nr && q->abi == p->abi)
			return i;
		if (i == t->home)
			continue;
		if (q->last_ns < oldest_ns) {
			oldest_ns = q->last_ns;
			oldest = i;
		}
		if (q->sp <= deepest_sp) {
			deepest_sp = q->sp;
			deepest = i;
		}
	}
	if (unused >= 0)
		return unused;
	return now - oldest_ns > 10 * ACCT_SEC ? oldest : deepest;
}

/* For so long after its beginning, what is learned of a loop's wait point holds for the time before, too. */
#define ACCT_DOUBT_NS (10 * ACCT_SEC)

/* Takes up to ns out of a row of blocked[] and returns how much there was. */
ACCT_FN __u64 acct_unblocked(struct ls_thread *t, __u32 nr, __u32 abi, __u64 ns)
{
	if (!t)
		return 0;
	for (int i = 0; i < LS_BLOCKED; i++) {
		struct ls_blocked *b = &t->blocked[i];

		if (!b->used || b->nr != nr || b->abi != abi)
			continue;
		if (ns > b->ns)
			ns = b->ns;
		b->ns -= ns;
		return ns;
	}
	return 0;
}

/* Observation began inside a callback, and its nested wait was taken for the loop's own until the outer one had come back: what
 * was slept in each changes places. */
static __always_inline void acct_swap_points(struct ls_thread *t, const struct ls_point *inner, const struct ls_point *outer)
{
	__u64 nested = inner->asleep_ns < t->sum_ns[LS_IDLE] ? inner->asleep_ns : t->sum_ns[LS_IDLE];
	__u64 own = acct_unblocked(t, outer->nr, outer->abi, outer->asleep_ns);

	t->sum_ns[LS_IDLE] = t->sum_ns[LS_IDLE] - nested + own;
	t->sum_ns[LS_TICK_BLOCKED] = t->sum_ns[LS_TICK_BLOCKED] - own + nested;
	t->outer_ns -= own < t->outer_ns ? own : t->outer_ns; /* far out it was, seen from inside */
	acct_blocked(t, inner->nr, inner->abi, nested);
	t->naive_idle_ns = t->naive_idle_ns > nested ? t->naive_idle_ns - nested + own : own;
}

/* The same epoll instance or ring is the same loop, from wherever it is entered: an interpreter that optimises its calls while the
 * loop runs moves the stack pointer. */
static __always_inline int acct_same_queue(const struct ls_thread *t, const struct acct_place *p)
{
	const struct ls_point *home = &t->points[t->home & (LS_POINTS - 1)];

	return t->home >= 0 && p->fd >= 0 && home->fd == p->fd && home->nr == p->nr && home->abi == p->abi;
}

/* Notes an IO wait entered at p and says whether it is the loop's own (1) or one inside a callback (0). Stacks grow
 * down: the outermost wait point has the highest stack pointer. It must have come back to count as a loop's.
 * now: t->last_ns, which never goes back. */
ACCT_FN int acct_note_point(struct ls_thread *t, const struct acct_place *p, __u64 now)
{
	const struct ls_point *home;
	struct ls_point *q;
	int row;

	if (!t || !p)
		return 0;
	row = acct_point_row(t, p, now) & (LS_POINTS - 1);
	q = &t->points[row];
	if (acct_same_queue(t, p) && row != t->home) {
		if (q->sp == p->sp && q->nr == p->nr && q->abi == p->abi)
			q->count = 0; /* one and the same */
		row = t->home & (LS_POINTS - 1);
		q = &t->points[row];
		q->sp = p->sp;
	}
	if (!q->count || q->sp != p->sp || q->nr != p->nr || q->abi != p->abi ||
	    (row != t->home && now - q->last_ns > 60 * ACCT_SEC)) {
		q->count = 0;
		q->asleep_ns = 0;
		q->first_ns = now;
		q->sp = p->sp;
		q->nr = p->nr;
		q->abi = p->abi;
	}
	q->fd = p->fd;
	q->nfds = p->nfds;
	q->last_ns = now;
	if (q->count != ~0U)
		q->count++;
	t->last_point = row;
	if (t->home < 0) {
		t->home = row;
		return 1;
	}
	if (row == t->home)
		return 1;
	home = &t->points[t->home & (LS_POINTS - 1)];
	if (q->count < 2)
		return 0;
	if (p->sp > home->sp) {
		if (now - t->birth_ns < ACCT_DOUBT_NS)
			acct_swap_points(t, home, q);
		t->home = row;
		return 1;
	}
	if (now - home->last_ns > acct_patience(home)) {
		t->home = row;
		return 1;
	}
	return 0;
}

/* A sleep well outside the frames of the wait point is not a callback's: a pool's worker that parks on a futex and now and
 * then polls inside a job (a resolver does) looks like this. The host uses the sum to tell workers from loops. 512 bytes
 * are more than the wrappers of two calls made by the same function differ by. */
static __always_inline int acct_outer(const struct ls_thread *t, const struct acct_place *p)
{
	return t->home >= 0 && p->sp > t->points[t->home & (LS_POINTS - 1)].sp + 512;
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
 * else coming back to a CPU has to do for it. */
static __always_inline void acct_enter_cpu(struct ls_thread *t)
{
	if (t->flags & LS_F_IN_IO) {
		t->state = LS_IO_CPU;
		return;
	}
	if (t->state == LS_WAIT_IO || t->state == LS_IDLE)
		acct_naive(t, t->last_ns);
	t->state = LS_TICK_CPU;
}

/* Its switch-in was missed: some kernels skip the tracepoint now and then (seen on a 6.18 guest, for perf and BPF alike: the
 * successor of a switch is not the predecessor of the CPU's next one). The scheduler's own record says when it came to
 * run, so the stretch is split there and nothing is lost but, after a sleep, the wake-up's delay. */
static __always_inline void acct_missed_run(struct ls_thread *t, __u64 now, const struct ls_cpu *c, __u64 ran_ns)
{
	__u64 at = now > ran_ns ? now - ran_ns : 0;

	if (at < t->last_ns)
		at = t->last_ns;
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
	__u64 told, seen, cpu;

	if (!t || !t->delay_known || delay_ns <= t->delay_ns || !acct_on_cpu(t))
		return 0;
	told = delay_ns - t->delay_ns;
	seen = acct_waits(t) - t->delay_waits_ns;
	if (told <= seen + ACCT_DELAY_SLACK_NS)
		return 0;
	told -= seen;
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
		acct_missed_run(t, now, (const struct ls_cpu *)0, p->ran_ns);
	acct_advance(t, now);
	acct_unseen_wait(t, p->delay_ns);
	acct_mark_delay(t, p->delay_ns);
}

/* A wrapper's frame is smaller than this: a sleep further down, after an entry-only edge, is a callback's. */
#define ACCT_WRAPPER_BYTES 512

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
	if (!(t->flags & LS_F_IN_IO)) {
		/* In its own wait, whose entry was not seen: the kernel skips a program of this kind while another one runs, or a map is
		 * read, on the same CPU. */
		if (t->flags & LS_F_ENTRY_ONLY || p->sp != home->sp || p->nr != home->nr || p->abi != home->abi)
			return 0;
		t->lost++;
		t->flags |= LS_F_IN_IO;
		t->io_start_ns = t->last_ns;
		t->io_timeout_ns = p->timeout_ns;
		return 1;
	}
	if (!(t->flags & LS_F_ENTRY_ONLY))
		return 1;
	return p->nr == home->nr && p->sp <= home->sp && home->sp - p->sp < ACCT_WRAPPER_BYTES;
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
	t->state = t->flags & LS_F_IN_IO ? LS_WAIT_IO : LS_WAIT_TICK;
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

/* Its wake-up was missed, and it has been on a run queue for queued_ns: whose, and who had that CPU, nobody noted. */
static __always_inline void acct_missed_wakeup(struct ls_thread *t, __u64 now, __u64 queued_ns)
{
	struct acct_throttle unknown = {};

	acct_advance(t, now > queued_ns ? now - queued_ns : 0);
	t->state = t->state == LS_IDLE ? LS_WAIT_IO : LS_WAIT_TICK;
	acct_wait_begin(t, t->last_ns, 0, &unknown);
	t->repaired++;
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

/* --- measured edges ---------------------------------------------------------------------------------------------------- */

/* The thread, on its CPU, enters an IO wait. Returns 1 where it is the loop's own. */
ACCT_FN int acct_io_enter(struct ls_thread *t, __u64 now, const struct acct_place *p, __u32 edges, __u32 entry_only)
{
	if (!t || !p)
		return 0;
	t->edges = edges;
	t->flags &= ~(LS_F_SEEDED | LS_F_IN_IO | LS_F_ENTRY_ONLY);
	if (!acct_on_cpu(t)) /* the first edge of a thread that was found asleep, or a missed switch */
		acct_missed_run(t, now, (const struct ls_cpu *)0, p->ran_ns);
	acct_advance(t, now);
	t->state = LS_TICK_CPU;
	if (!acct_note_point(t, p, t->last_ns))
		return 0;
	t->flags |= entry_only ? LS_F_IN_IO | LS_F_ENTRY_ONLY : LS_F_IN_IO;
	if (!entry_only)
		t->state = LS_IO_CPU;
	t->io_start_ns = t->last_ns;
	t->io_timeout_ns = p->timeout_ns;
	return 1;
}

/* The loop's own IO wait returns. */
ACCT_FN int acct_io_exit(struct ls_thread *t, __u64 now)
{
	if (!t || !(t->flags & LS_F_IN_IO))
		return 0;
	if (!acct_on_cpu(t)) /* its switch-in was missed: it came to run at the latest now, a few microseconds late */
		acct_missed_run(t, now, (const struct ls_cpu *)0, 0);
	acct_advance(t, now);
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
