/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_ticks_fixture.h - a loop whose edges are measured, driven by hand: bpf/account.h and bpf/ticks.h called in the order in
 * which bpf/edges.bpf.c calls them.
 */
#ifndef TEST_TICKS_FIXTURE_H
#define TEST_TICKS_FIXTURE_H

#include "bpf/ticks.h"
#include "test_account_fixture.h"

#define US 1000ULL
#define EDGES 1
#define NESTED_SP (HOME_SP - 4096)

struct measured_loop {
	struct ls_thread t;
	struct ls_ticks k;
	struct ls_tick_hist tick_hist;
	uint32_t epoch;
	bool entry_only;
};

/* On its CPU in its first tick; no edge seen yet. On the heap: the histograms are large. */
static inline struct measured_loop *loop_new(uint64_t now)
{
	struct measured_loop *l = calloc(1, sizeof(*l));

	cr_assert_not_null(l);
	acct_begin_running(&l->t, now, 0);
	l->epoch = 1;
	return l;
}

static inline int enter_at(struct measured_loop *l, uint64_t now, uint64_t sp, uint64_t timeout_ns)
{
	struct acct_place p = place_io(sp, NR_EPOLL);
	uint64_t start = l->k.tick.start_ns;
	int own, was;

	p.timeout_ns = timeout_ns;
	own = acct_io_enter(&l->t, now, &p, EDGES, l->entry_only);
	was = ticks_enter(&l->k, &l->t, p.fd, (uint32_t)own, l->epoch);
	if (was == TICKS_ENDED)
		ticks_count(l->tick_hist.bucket, l->t.last_ns - start);
	if (l->entry_only)
		ticks_entered(&l->k, &l->t);
	return was;
}

static inline int enter(struct measured_loop *l, uint64_t now, uint64_t timeout_ns)
{
	return enter_at(l, now, HOME_SP, timeout_ns);
}

static inline void leave(struct measured_loop *l, uint64_t now, int64_t ret)
{
	if (l->k.call != LS_CALL_OWN && l->k.call != LS_CALL_ENTERED) {
		l->k.call = LS_CALL_NONE;
		return;
	}
	acct_io_exit(&l->t, now, 0, 0);
	ticks_exit(&l->k, &l->t, ret, l->epoch);
}

/* In its first measured tick, which began at now: the wait before it took 1 ms. */
static inline struct measured_loop *loop_in_tick(uint64_t now)
{
	struct measured_loop *l = loop_new(now - 2 * MS);

	cr_assert_eq(enter(l, now - 1 * MS, LS_NO_TIMEOUT), TICKS_FIRST);
	leave(l, now, 1);
	return l;
}

static inline uint64_t hist_n(const uint32_t *hist)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < LS_HIST_BUCKETS; i++)
		n += hist[i];
	return n;
}

#endif
