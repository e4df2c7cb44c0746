/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ticks.h - single ticks of a thread whose IO waits' edges are measured: durations, causes, spin, lateness. Plain C on top of
 * account.h, natively compiled by the unit tests as well.
 *
 *   enter        return                         enter        return   enter            return
 *     |  IO wait   |            tick              |  empty poll |bare|    IO wait        |  tick ...
 *     +------------+------------------------------+-------------+----+-------------------+------
 *                                                 |<---- one IO wait: the empty poll belongs to it ---->|
 *
 * An empty poll (timeout 0, nothing returned) that is followed by the next wait within BARE_NS has had no work after it: it and
 * the bare step count as spin and belong to the wait that follows. libuv polls twice in this way; a polling loop does
 * nothing else. BARE_NS: libuv's step between its two polls takes below 1 us, an empty callback queue of redis above 5.
 *
 * Conservation: ticks <= io_waits <= ticks + 1 (+ 1 per loop_start); tick_sum + io_sum == time since the first edge, but for the
 * wait or tick in progress.
 */
#ifndef LOOPSCOPE_BPF_TICKS_H
#define LOOPSCOPE_BPF_TICKS_H

#include "bpf/account.h"

#define TICKS_BARE_NS 3000
#define TICKS_CAUSE_MIN_NS 200000 /* shorter sleeps and waits are summed, not remembered one by one */

/* user/model/hist.h's buckets: below 64 one a value, above 32 an octave. */
static __always_inline __u32 ticks_bucket(__u64 v)
{
	__u32 log = 0;
	__u64 x = v;

	if (v >> LS_HIST_LIMIT_BITS)
		return LS_HIST_BUCKETS - 1;
	if (v < (2u << LS_HIST_SUB_BITS))
		return v;
	if (x >> 32) {
		log += 32;
		x >>= 32;
	}
	if (x >> 16) {
		log += 16;
		x >>= 16;
	}
	if (x >> 8) {
		log += 8;
		x >>= 8;
	}
	if (x >> 4) {
		log += 4;
		x >>= 4;
	}
	if (x >> 2) {
		log += 2;
		x >>= 2;
	}
	log += x >> 1;
	/* v has its highest bit at `log`, at least 6 */
	return ((log - LS_HIST_SUB_BITS) << LS_HIST_SUB_BITS) + (v >> (log - LS_HIST_SUB_BITS));
}

static __always_inline void ticks_epoch(struct ls_ticks *k, __u32 epoch)
{
	if (k->epoch == epoch)
		return;
	k->tick_max_before_ns = k->epoch + 1 == epoch ? k->tick_max_ns : 0;
	k->io_max_before_ns = k->epoch + 1 == epoch ? k->io_max_ns : 0;
	k->tick_max_ns = 0;
	k->io_max_ns = 0;
	k->epoch = epoch;
}

static __always_inline void ticks_count(__u32 *hist, __u64 ns)
{
	__u32 b = ticks_bucket(ns);

	ACCT_OPAQUE(b);
	if (b < LS_HIST_BUCKETS)
		hist[b]++;
}

static __always_inline void ticks_sum(__u64 *sum, __u64 *max, __u64 ns)
{
	*sum += ns;
	if (ns > *max)
		*max = ns;
}

static __always_inline void ticks_io_took(struct ls_ticks *k, __u64 ns)
{
	ticks_count(k->io_hist, ns);
	ticks_sum(&k->io_sum_ns, &k->io_max_ns, ns);
}

/* A tick begins where the thread's sums stand now. */
static __always_inline void ticks_open(struct ls_ticks *k, const struct ls_thread *t, __s64 events)
{
	struct ls_tick *i = &k->tick;

	i->start_ns = t->last_ns;
	i->base_cpu_ns = t->sum_ns[LS_TICK_CPU];
	i->base_blocked_ns = t->sum_ns[LS_TICK_BLOCKED];
	i->base_wait_ns = t->sum_ns[LS_WAIT_TICK];
	i->base_throttled_ns = t->throttled_ns;
	i->events = events;
	i->cause_other_ns = 0;
	i->causes[0].kind = 0; /* the first free slot ends the list */
	i->n_samples = 0;
	i->samples[0].count = 0;
}

/* What the last enter did. */
enum ticks_result {
	TICKS_NESTED = 0,  /* a wait inside a callback */
	TICKS_FIRST = 1,   /* the first wait: nothing is known of the tick before it */
	TICKS_MERGED = 2,  /* the wait goes on: an empty poll came before */
	TICKS_ENDED = 3,   /* a tick ended, to be counted in its histogram; k->tick is its own until the wait returns */
};

/* The thread enters an IO wait. t has been through acct_io_enter(), which said `own`. */
static __always_inline int ticks_enter(struct ls_ticks *k, const struct ls_thread *t, __s32 fd, __u32 own, __u32 epoch)
{
	__u64 now;

	if (!own) {
		k->call = LS_CALL_NESTED;
		return TICKS_NESTED;
	}
	now = t->last_ns;
	if (k->call == LS_CALL_OWN) /* the return from the wait before was not seen: nobody knows when the tick began */
		k->tick.start_ns = 0;
	if (k->call == LS_CALL_ENTERED) /* the wait before did not sleep: nothing told its end, and it took no time worth telling */
		ticks_io_took(k, 0);
	k->call = LS_CALL_OWN;
	k->call_ns = now;
	k->call_wait_ns = t->sum_ns[LS_WAIT_IO];
	k->timeout_ns = t->io_timeout_ns;
	k->home_fd = fd;
	ticks_epoch(k, epoch);
	if (!k->tick.start_ns) {
		k->io_ns = now;
		k->io_waits++;
		return TICKS_FIRST;
	}
	if (k->empty) {
		if (now - k->exit_ns < TICKS_BARE_NS) {
			k->spin_ns += now - k->exit_ns;
			return TICKS_MERGED;
		}
		ticks_io_took(k, k->exit_ns - k->io_ns);
	}
	ticks_sum(&k->tick_sum_ns, &k->tick_max_ns, now - k->tick.start_ns);
	k->ticks++;
	k->io_waits++;
	k->io_ns = now;
	return TICKS_ENDED;
}

/* After ticks_enter(), where only entries are seen: the tick is taken to begin at once, unless a sleep follows. */
ACCT_FN int ticks_entered(struct ls_ticks *k, const struct ls_thread *t)
{
	if (!k || !t || k->call != LS_CALL_OWN)
		return 0;
	k->call = LS_CALL_ENTERED;
	k->exit_ns = t->last_ns;
	k->ret = LS_RET_UNKNOWN;
	ticks_open(k, t, -1);
	return 0;
}

/* Where only entries are seen: it has slept at its own wait point, so the wait that it entered there had not been over. */
static __always_inline void ticks_slept(struct ls_ticks *k)
{
	if (k->call != LS_CALL_OWN)
		k->call = LS_CALL_ENTERED;
}

/* The thread has slept at its own wait point although its entry was not seen: the tick before has ended at a time that nobody
 * knows, so it is not counted. */
ACCT_FN int ticks_entry_missed(struct ls_ticks *k, const struct ls_thread *t)
{
	if (!k || !t)
		return 0;
	k->call = LS_CALL_OWN;
	k->empty = 0;
	k->io_ns = k->call_ns = t->io_start_ns;
	k->call_wait_ns = t->sum_ns[LS_WAIT_IO];
	k->timeout_ns = t->io_timeout_ns;
	k->tick.start_ns = 0;
	k->io_waits++;
	return 0;
}

/* The call returns ret: the number of events, 0 on timeout, or a negative errno. t has been through acct_io_exit(). */
static __always_inline int ticks_exit(struct ls_ticks *k, const struct ls_thread *t, __s64 ret, __u32 epoch)
{
	__u64 now, call;

	if (k->call != LS_CALL_OWN && k->call != LS_CALL_ENTERED)
		return 0;
	now = t->last_ns;
	call = now - k->call_ns;
	k->call = LS_CALL_NONE;
	k->exit_ns = now;
	k->ret = ret;
	k->empty = ret == 0 && k->timeout_ns == 0;
	ticks_epoch(k, epoch);
	if (ret > 0)
		k->io_events += ret;
	if (k->empty) {
		k->empty_polls++;
		k->spin_ns += call;
	} else {
		ticks_io_took(k, now - k->io_ns);
	}
	if (ret == 0 && k->timeout_ns && k->timeout_ns != LS_NO_TIMEOUT && call > k->timeout_ns) {
		__u64 late = call - k->timeout_ns, wait = t->sum_ns[LS_WAIT_IO] - k->call_wait_ns;

		k->late_n++;
		k->late_ns += late;
		k->late_wait_ns += wait < late ? wait : late;
	}
	ticks_open(k, t, ret >= 0 || ret < -4095 ? ret : 0);
	return 1;
}

/* --- causes ------------------------------------------------------------------------------------------------------------- */

static __always_inline int ticks_same_comm(const char *a, const char *b)
{
	const __u64 *x = (const __u64 *)a, *y = (const __u64 *)b;

	return x[0] == y[0] && x[1] == y[1];
}

static __always_inline int ticks_same_cause(const struct ls_cause *a, const struct ls_cause *b)
{
	return a->kind == b->kind && a->nr == b->nr && a->abi == b->abi && a->stack == b->stack && a->args[0] == b->args[0] &&
	       a->args[3] == b->args[3] && ticks_same_comm(a->comm, b->comm);
}

/* Remembers a sleep or a wait of the tick in progress. A full list gives up its smallest entry to a larger one; what is given
 * up stays in cause_other_ns, so that causes + other == blocked + waited. */
ACCT_FN int ticks_cause(struct ls_ticks *k, const struct ls_cause *c, __u64 ns)
{
	__u64 least_ns = ~0ULL;
	struct ls_cause *q;

	if (!k || !c || !k->tick.start_ns || k->call == LS_CALL_OWN)
		return 0;
	if (ns < TICKS_CAUSE_MIN_NS) {
		k->tick.cause_other_ns += ns;
		return 0;
	}
	for (int i = 0; i < LS_CAUSES; i++) {
		q = &k->tick.causes[i];
		if (!q->kind) {
			*q = *c;
			q->ns = ns;
			q->count = 1;
			if (i + 1 < LS_CAUSES)
				k->tick.causes[i + 1].kind = 0;
			return 0;
		}
		if (ticks_same_cause(q, c)) {
			q->ns += ns;
			q->count++;
			return 0;
		}
	}
	/* The least first, its slot afterwards, as in acct_culprit(). */
	for (int i = 0; i < LS_CAUSES; i++)
		if (k->tick.causes[i].ns < least_ns)
			least_ns = k->tick.causes[i].ns;
	for (int i = 0; i < LS_CAUSES && least_ns < ns; i++) {
		q = &k->tick.causes[i];
		if (q->ns != least_ns)
			continue;
		k->tick.cause_other_ns += least_ns;
		*q = *c;
		q->ns = ns;
		q->count = 1;
		return 0;
	}
	k->tick.cause_other_ns += ns;
	return 0;
}

/* A stack sampled while the tick computes. Returns whether there was room to remember it; its time is told without a stack if not. */
ACCT_FN int ticks_sample(struct ls_ticks *k, __s32 stack)
{
	if (!k)
		return 0;
	k->tick.n_samples++;
	for (int i = 0; i < LS_SAMPLES; i++) {
		struct ls_sample *q = &k->tick.samples[i];

		if (!q->count) {
			q->stack = stack;
			q->count = 1;
			if (i + 1 < LS_SAMPLES)
				k->tick.samples[i + 1].count = 0;
			return 1;
		}
		if (q->stack == stack) {
			q->count++;
			return 1;
		}
	}
	return 0;
}

/* At most `most` a second; returns whether this one may go. */
static __always_inline int ticks_within_rate(__u64 *window_ns, __u32 *in_window, __u64 now, __u32 most)
{
	if (now - *window_ns >= ACCT_SEC) {
		*window_ns = now;
		*in_window = 0;
	}
	if (*in_window >= most)
		return 0;
	(*in_window)++;
	return 1;
}

#endif
