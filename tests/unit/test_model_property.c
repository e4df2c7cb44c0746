/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_model_property.c - from the state machine to the record, with events that make no sense: shares sum to 1 in every
 * interval, and what a loop was blocked in and waited for adds up to it.
 */
#include "model/tracker.h"
#include "source/kernel_sample.h"
#include "test_account_random.h"
#include "test_model_fixture.h"

TestSuite(model_property, .timeout = 300);

static struct loop_sample snapshot(const struct world *w, uint64_t at)
{
	struct ls_snap s = { .tid = 1, .tgid = 1, .comm = "random", .t = w->t };
	struct loop_sample r;

	acct_settle(&s.t, at, world_ring(w), at / 3);
	kernel_sample(&s, &r);
	return r;
}

static uint64_t state_total(const struct loop_sample *s)
{
	uint64_t sum = 0;

	for (int i = 0; i < LOOP_NR_STATES; i++)
		sum += s->state_ns[i];
	return sum;
}

/* An event that the state machine has not seen when a snapshot is taken is not older than that snapshot. */
static struct event event_since(uint64_t *seed, uint64_t time, uint64_t snapshot_at)
{
	struct event e = random_event(seed, time);

	if (e.at < snapshot_at)
		e.at = snapshot_at;
	return e;
}

/* repaired: that does not hold, and events tell when missed runs began: time which a sample has counted moves to another
 * state. Returns how many intervals there were. */
static unsigned expect_conserved(uint64_t seed, bool repaired)
{
	struct loop_facts facts = { .runtime = "unknown" };
	struct loop_sample before = { 0 }, now;
	struct world w = { .t.home = -1 };
	uint64_t s = seed, time = SEC, looked = 0;
	unsigned n = 0;

	for (int i = 0; i < 2000; i++) {
		struct event e = event_since(&s, time, repaired ? 0 : looked);
		struct loop_record r;

		if (!repaired)
			e.place.ran_ns = 0;
		if (e.kind == EV_EXEC || (e.kind == EV_MISSED && !repaired))
			continue;
		world_event(&w, &e);
		time = e.at > time ? e.at : time;
		if (w.t.state == LS_NONE || !chance(&s, 10))
			continue;
		time += random_ns(&s, SEC);
		looked = time;
		now = snapshot(&w, time);
		cr_assert_eq(state_total(&now), now.now_ns - now.birth_ns);
		if (loop_delta(n ? &before : NULL, &now, &facts, &r)) {
			assert_conserves(&r);
			cr_assert(repaired || fabs(blocked_total(&r) - r.tick_blocked) <= 1e-9, "seed %llu: %f of %f blocked",
				  (unsigned long long)seed, blocked_total(&r), r.tick_blocked);
			cr_assert(repaired || fabs(waited_total(&r) - r.wait) <= 1e-9, "seed %llu: %f of %f waited",
				  (unsigned long long)seed, waited_total(&r), r.wait);
			n++;
			before = now;
		}
	}
	return n;
}

Test(model_property, shares_sum_and_their_causes_add_up)
{
	unsigned n = 0;

	for (uint64_t seed = 1; seed <= 100; seed++)
		n += expect_conserved(seed, false);
	cr_assert_gt(n, 5000u);
}

Test(model_property, shares_sum_also_when_repairs_move_time_that_was_reported)
{
	unsigned n = 0;

	for (uint64_t seed = 1; seed <= 100; seed++)
		n += expect_conserved(seed, true);
	cr_assert_gt(n, 5000u);
}

static void no_facts(void *arg, const struct loop_sample *s, struct loop_facts *ret)
{
}

/* Shares of consecutive intervals, weighted by their lengths, are the shares of the life. */
Test(model_property, intervals_add_up_to_the_life)
{
	struct tracker_options o = { .facts = no_facts, .show_all = true };
	struct tracker *t;

	cr_assert_eq(tracker_new(&o, &t), 0);
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct loop_sample first = { 0 }, now = { 0 };
		struct world w = { .t.home = -1 };
		double idle = 0, cpu = 0, life = 0;
		uint64_t s = seed, time = SEC, looked = 0;

		io_sleep(&w.t, time, HOME_SP);
		for (int i = 0; i < 500; i++) {
			struct interval in;

			for (int k = 0; k < 20; k++) {
				struct event e = event_since(&s, time, looked);

				if (e.kind == EV_EXEC || e.kind == EV_MISSED)
					continue;
				e.place.ran_ns = e.place.delay_ns = e.queued_ns = 0;
				world_event(&w, &e);
				time = e.at > time ? e.at : time;
			}
			time += 1 + random_ns(&s, SEC);
			looked = time;
			now = snapshot(&w, time);
			now.id.tid = (uint32_t)seed;
			/* Until then the loop's wait point is in doubt, and what was said of earlier intervals may prove wrong. */
			if (!first.now_ns && time - SEC > ACCT_DOUBT_NS)
				first = now;
			tracker_begin(t, 0, time);
			cr_assert_eq(tracker_sample(t, &now), 0);
			cr_assert_eq(tracker_end(t, &in), 0);
			if (!first.now_ns || first.now_ns == now.now_ns)
				continue;
			cr_assert_eq(in.n_loops, 1u);
			idle += in.loops[0].idle * in.loops[0].interval_s;
			cpu += in.loops[0].tick_cpu * in.loops[0].interval_s;
			life += in.loops[0].interval_s;
		}
		cr_assert_float_eq(life, (double)(now.now_ns - first.now_ns) / 1e9, 1e-6);
		cr_assert_float_eq(idle, (double)(now.state_ns[LOOP_IDLE] - first.state_ns[LOOP_IDLE]) / 1e9, 1e-6);
		cr_assert_float_eq(cpu, (double)(now.state_ns[LOOP_TICK_CPU] - first.state_ns[LOOP_TICK_CPU]) / 1e9, 1e-6);
	}
	tracker_free(t);
}
