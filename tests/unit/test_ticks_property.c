/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_ticks_property.c - invented rows of IO waits, and what they amount to by a computation of the test's own: every wait and tick
 * is counted once and in the right bucket, and between the first edge and the last no nanosecond is missing.
 */
#include "lib/cleanup.h"
#include "model/hist.h"
#include "test_account_random.h"
#include "test_ticks_fixture.h"

TestSuite(ticks_property, .timeout = 60);

#define CALLS 3000

struct call {
	uint64_t enter, leave, timeout;
	int64_t ret;
};

struct expected {
	uint64_t ticks, waits, tick_ns, io_ns, spin_ns, events, empty, tick_max, io_max;
	uint32_t tick_hist[LS_HIST_BUCKETS], io_hist[LS_HIST_BUCKETS];
};

static uint64_t some_time(uint64_t *seed)
{
	static const uint64_t up_to[] = { 10, 2 * TICKS_BARE_NS, 100 * US, 20 * MS };

	return next_random(seed) % up_to[next_random(seed) % 4];
}

static void invent(struct call *calls, uint64_t seed)
{
	uint64_t now = 100 * MS;

	for (int i = 0; i < CALLS; i++) {
		struct call *c = &calls[i];

		c->enter = now += some_time(&seed);
		c->leave = now += some_time(&seed);
		c->timeout = next_random(&seed) % 2 ? 0 : next_random(&seed) % 2 ? LS_NO_TIMEOUT : 5 * MS;
		c->ret = next_random(&seed) % 2 ? 0 : (int64_t)(next_random(&seed) % 20) - 4;
	}
}

static bool is_empty(const struct call *c)
{
	return c->timeout == 0 && c->ret == 0;
}

/* Whether the wait goes on with the next call. */
static bool goes_on(const struct call *c, int i)
{
	return i + 1 < CALLS && is_empty(&c[i]) && c[i + 1].enter - c[i].leave < TICKS_BARE_NS;
}

static void expect(const struct call *c, struct expected *e)
{
	for (int i = 0; i < CALLS;) {
		int last = i;
		uint64_t io, tick;

		while (goes_on(c, last))
			last++;
		for (int j = i; j <= last; j++) {
			e->events += c[j].ret > 0 ? (uint64_t)c[j].ret : 0;
			e->empty += is_empty(&c[j]);
			e->spin_ns += is_empty(&c[j]) ? c[j].leave - c[j].enter : 0;
			e->spin_ns += j < last ? c[j + 1].enter - c[j].leave : 0;
		}
		e->waits++;
		/* An empty poll at the very end may yet go on. */
		if (last + 1 < CALLS || !is_empty(&c[last])) {
			io = c[last].leave - c[i].enter;
			e->io_ns += io;
			e->io_hist[hist_bucket(io)]++;
			e->io_max = io > e->io_max ? io : e->io_max;
		}
		if (last + 1 < CALLS) {
			tick = c[last + 1].enter - c[last].leave;
			e->ticks++;
			e->tick_ns += tick;
			e->tick_hist[hist_bucket(tick)]++;
			e->tick_max = tick > e->tick_max ? tick : e->tick_max;
		}
		i = last + 1;
	}
}

Test(ticks_property, every_wait_and_tick_is_counted_once)
{
	_cleanup_free_ struct call *calls = calloc(CALLS, sizeof(*calls));

	for (uint64_t seed = 1; seed <= 40; seed++) {
		_cleanup_free_ struct measured_loop *l = loop_new(1 * MS);
		_cleanup_free_ struct expected *e = calloc(1, sizeof(*e));

		cr_assert(calls && e);
		invent(calls, seed);
		expect(calls, e);
		for (int i = 0; i < CALLS; i++) {
			enter(l, calls[i].enter, calls[i].timeout);
			leave(l, calls[i].leave, calls[i].ret);
		}
		cr_assert_eq(l->k.ticks, e->ticks);
		cr_assert_eq(l->k.io_waits, e->waits);
		cr_assert_eq(l->k.empty_polls, e->empty);
		cr_assert_eq(l->k.io_events, e->events);
		assert_ns(l->k.tick_sum_ns, e->tick_ns);
		assert_ns(l->k.io_sum_ns, e->io_ns);
		assert_ns(l->k.spin_ns, e->spin_ns);
		assert_ns(l->k.tick_max_ns, e->tick_max);
		assert_ns(l->k.io_max_ns, e->io_max);
		cr_assert_arr_eq(l->tick_hist.bucket, e->tick_hist, sizeof(e->tick_hist));
		cr_assert_arr_eq(l->k.io_hist, e->io_hist, sizeof(e->io_hist));
	}
}

Test(ticks_property, no_nanosecond_is_missing)
{
	_cleanup_free_ struct call *calls = calloc(CALLS, sizeof(*calls));

	for (uint64_t seed = 100; seed <= 110; seed++) {
		_cleanup_free_ struct measured_loop *l = loop_new(1 * MS);

		cr_assert_not_null(calls);
		invent(calls, seed);
		for (int i = 0; i < CALLS; i++) {
			uint64_t open;

			enter(l, calls[i].enter, calls[i].timeout);
			assert_ns(l->k.tick_sum_ns + l->k.io_sum_ns + (calls[i].enter - l->k.io_ns), calls[i].enter - calls[0].enter);
			cr_assert(l->k.ticks + 1 == l->k.io_waits);
			leave(l, calls[i].leave, calls[i].ret);
			open = l->k.empty ? calls[i].leave - l->k.io_ns : 0;
			assert_ns(l->k.tick_sum_ns + l->k.io_sum_ns + open, calls[i].leave - calls[0].enter);
		}
	}
}
