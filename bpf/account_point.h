/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * account_point.h - which IO wait is the loop's own. Plain C, times and invariants as in account.h.
 *
 * A wait point is (system call, user stack pointer); the loop's own, its home, is the outermost one that comes back. A thread
 * remembers LS_POINTS of them; old ones age out.
 */
#ifndef LOOPSCOPE_BPF_ACCOUNT_POINT_H
#define LOOPSCOPE_BPF_ACCOUNT_POINT_H

#include "bpf/account_table.h"

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

static __always_inline int acct_is_at(const struct ls_point *q, const struct acct_place *p)
{
	return q->count && q->sp == p->sp && q->nr == p->nr && q->abi == p->abi;
}

static __always_inline void acct_visit(struct ls_thread *t, int row, const struct acct_place *p, __u64 now)
{
	struct ls_point *q = &t->points[row & (LS_POINTS - 1)];

	q->fd = p->fd;
	q->nfds = p->nfds;
	q->last_ns = now;
	if (q->count != ~0U)
		q->count++;
	t->last_point = row;
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
		if (acct_is_at(q, p))
			q->count = 0; /* one and the same */
		row = t->home & (LS_POINTS - 1);
		q = &t->points[row];
		q->sp = p->sp;
	}
	if (!acct_is_at(q, p) || (row != t->home && now - q->last_ns > 60 * ACCT_SEC)) {
		q->count = 0;
		q->asleep_ns = 0;
		q->first_ns = now;
		q->sp = p->sp;
		q->nr = p->nr;
		q->abi = p->abi;
	}
	acct_visit(t, row, p, now);
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

/* The same, where nearly every wait is at the loop's own point, and each counts: it is found without a search. */
static __always_inline int acct_note_edge(struct ls_thread *t, const struct acct_place *p, __u64 now)
{
	if (t->home < 0 || !acct_is_at(&t->points[t->home & (LS_POINTS - 1)], p))
		return acct_note_point(t, p, now);
	acct_visit(t, t->home, p, now);
	return 1;
}

/* A sleep well outside the frames of the wait point is not a callback's: a pool's worker that parks on a futex and now and
 * then polls inside a job (a resolver does) looks like this. The host uses the sum to tell workers from loops. 512 bytes
 * are more than the wrappers of two calls made by the same function differ by. */
static __always_inline int acct_outer(const struct ls_thread *t, const struct acct_place *p)
{
	return t->home >= 0 && p->sp > t->points[t->home & (LS_POINTS - 1)].sp + 512;
}

#endif
