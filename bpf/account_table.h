/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * account_table.h - what account.h is built on: a place where a thread left the CPU, questions to its state, and the bounded tables
 * of one thread: what it was blocked in, whom it waited for, who had a CPU. Plain C, times and invariants as there.
 */
#ifndef LOOPSCOPE_BPF_ACCOUNT_TABLE_H
#define LOOPSCOPE_BPF_ACCOUNT_TABLE_H

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
#define ACCT_NEVER (~0ULL >> 1) /* more than any sum */

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

/* Without a branch, as what follows: in a loop over a table each branch doubles what the verifier looks at, and it looks at this in
 * each program that gets here. 1 where x is not 0, else 0. */
static __always_inline __u64 acct_any(__u64 x)
{
	__u64 minus = -x;

	ACCT_OPAQUE(minus);
	return (x | minus) >> 63;
}

/* The less of two numbers below 2^63. */
static __always_inline __u64 acct_less(__u64 x, __u64 y)
{
	__u64 apart = x - y;

	ACCT_OPAQUE(apart);
	return y + (apart & -(apart >> 63));
}

/* 1 where their names differ, else 0. */
static __always_inline __u64 acct_other_name(const struct ls_culprit *c, const struct ls_cpu_slot *who)
{
	const __u64 *x = (const __u64 *)c->comm, *y = (const __u64 *)who->comm;

	return acct_any((x[0] ^ y[0]) | (x[1] ^ y[1]));
}

/* 1 for nobody (an idle CPU) and for the quota. */
static __always_inline __u64 acct_no_process(__u32 tgid)
{
	__u32 from_one = tgid - 1;

	return ((__u64)from_one + 2) >> 32;
}

/* Each CPU's idle task has a name of its own; they are one culprit: nobody. */
static __always_inline int acct_same_culprit(const struct ls_culprit *c, const struct ls_cpu_slot *who)
{
	return c->tgid == who->tgid && (!c->tgid || !acct_other_name(c, who));
}

/* What a row has had lately: its sum, halved for each second since. */
static __always_inline __u64 acct_recent(const struct ls_culprit *c, __u64 now)
{
	__u64 age = now - c->last_ns;

	age &= (age >> 63) - 1; /* not before */
	age /= ACCT_SEC;
	return c->recent_ns >> ((age | -acct_any(age >> 6)) & 63);
}

static __always_inline void acct_add_to_culprit(struct ls_culprit *c, __u64 recent, __u64 ns, __u64 now)
{
	c->ns += ns;
	c->recent_ns = recent + ns;
	c->last_ns = now;
}

static __always_inline void acct_set_culprit(struct ls_culprit *c, const struct ls_cpu_slot *who, __u32 tgid, __u64 ns, __u64 now)
{
	c->used = 1;
	c->tgid = tgid;
	c->ns = ns;
	c->recent_ns = ns;
	c->last_ns = now;
	((__u64 *)c->comm)[0] = ((const __u64 *)who->comm)[0];
	((__u64 *)c->comm)[1] = ((const __u64 *)who->comm)[1];
}

/* Processes of one name that come and go, each for a moment, had the CPU together: in a full table with several rows of the newcomer's
 * name the one that has had least lately stands for several from then on (LS_TGID_SEVERAL): for the newcomer, those that follow, and
 * those whose rows are given up. Returns 1 where the newcomer is counted there. */
ACCT_FN int acct_put_together(struct ls_thread *t, const struct ls_cpu_slot *who, __u64 ns, __u64 now)
{
	__u64 least = ACCT_NEVER, rows = 0, full = 1, recent, other;
	struct ls_culprit *c;

	if (!t || !who || acct_no_process(who->tgid))
		return 0;
	for (int i = 0; i < LS_CULPRITS; i++) {
		c = &t->culprits[i];
		other = acct_other_name(c, who) | acct_no_process(c->tgid);
		recent = acct_recent(c, now);
		if (c->tgid == LS_TGID_SEVERAL && !other) {
			acct_add_to_culprit(c, recent, ns, now);
			return 1;
		}
		full &= c->used;
		rows += 1 - other;
		least = acct_less(recent | (-other & ACCT_NEVER), least);
	}
	if (!full || rows < 2)
		return 0;
	for (int i = 0; i < LS_CULPRITS; i++) {
		c = &t->culprits[i];
		if ((acct_recent(c, now) ^ least) | acct_other_name(c, who) | acct_no_process(c->tgid))
			continue;
		c->tgid = LS_TGID_SEVERAL;
		acct_add_to_culprit(c, least, ns, now);
		return 1;
	}
	return 0;
}

/* What a row held that is given up: several of its name may have one, else it is "other". */
ACCT_FN int acct_give_up(struct ls_thread *t, __u64 name0, __u64 name1, __u64 ns)
{
	if (!t)
		return 0;
	for (int i = 0; i < LS_CULPRITS; i++) {
		struct ls_culprit *c = &t->culprits[i];

		if (!c->used || c->tgid != LS_TGID_SEVERAL || ((__u64 *)c->comm)[0] != name0 || ((__u64 *)c->comm)[1] != name1)
			continue;
		c->ns += ns;
		return 0;
	}
	t->culprit_other_ns += ns;
	return 0;
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
			acct_add_to_culprit(c, acct_recent(c, now), ns, now);
			return 0;
		}
	}
	if (acct_put_together(t, who, ns, now))
		return 0;
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
		if (c->used && !acct_no_process(c->tgid) && c->tgid != LS_TGID_SEVERAL)
			acct_give_up(t, ((__u64 *)c->comm)[0], ((__u64 *)c->comm)[1], c->ns);
		else if (c->used)
			t->culprit_other_ns += c->ns;
		acct_set_culprit(c, who, who->tgid, ns, now);
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

#endif
