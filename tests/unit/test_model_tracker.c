/* SPDX-License-Identifier: BSD-2-Clause */
/* test_model_tracker.c - rounds, loops that begin, end and are not seen, facts read again, and memory that stays bounded. */
#include <malloc.h>

#include "model/tracker.h"
#include "test_model_fixture.h"

TestSuite(model_tracker, .timeout = 120);

static void tracker_freep(struct tracker **t)
{
	tracker_free(*t);
}

#define _cleanup_tracker_ __attribute__((cleanup(tracker_freep)))

/* Counts how often facts were asked for; the cgroup tells which time it was. */
static void count_facts(void *arg, const struct loop_sample *s, struct loop_facts *ret)
{
	unsigned *n = arg;
	char text[32];

	(*n)++;
	snprintf(text, sizeof(text), "/read/%u", *n);
	ret->cgroup = strdup(text);
	ret->nspid = s->id.pid;
	ret->runtime = "libx";
}

static struct tracker *new_tracker(struct tracker_options o, unsigned *n_facts)
{
	struct tracker *t;

	o.facts = count_facts;
	o.arg = n_facts;
	cr_assert_eq(tracker_new(&o, &t), 0);
	return t;
}

/* A loop that is idle 60 %, on the CPU 40 % of its life; born at 0. */
static struct loop_sample sample_at(uint32_t tid, uint64_t ms)
{
	struct loop_sample s = sample_ms(ms * 6 / 10, ms * 4 / 10, 0, 0, 0);

	s.now_ns = ms * MODEL_MS;
	s.state_ns[LOOP_IDLE] = s.now_ns - s.state_ns[LOOP_TICK_CPU];
	s.id = (struct loop_id){ .pid = tid, .tid = tid, .start_ns = 1 };
	s.events = ms;
	return s;
}

/* One round in which these loops are seen. */
static struct interval round_of(struct tracker *t, uint64_t ms, const struct loop_sample *s, size_t n)
{
	struct interval i;

	tracker_begin(t, 1000 + (double)ms / 1e3, ms * MODEL_MS);
	for (size_t k = 0; k < n; k++)
		cr_assert_eq(tracker_sample(t, &s[k]), 0);
	cr_assert_eq(tracker_end(t, &i), 0);
	return i;
}

static struct interval round_with(struct tracker *t, uint64_t ms, uint32_t tid)
{
	struct loop_sample s = sample_at(tid, ms);

	return round_of(t, ms, &s, 1);
}

Test(model_tracker, the_first_round_sets_the_start)
{
	unsigned n = 0;
	_cleanup_tracker_ struct tracker *t = new_tracker((struct tracker_options){ 0 }, &n);
	struct interval i = round_with(t, 1000, 5);

	cr_assert_eq(i.n_loops, 0u);
	assert_near(i.interval_s, 0);
	i = round_with(t, 3000, 5);
	cr_assert_eq(i.seq, 0u);
	cr_assert_eq(i.n_loops, 1u);
	assert_near(i.interval_s, 2.0);
	assert_near(i.ts, 1003.0);
	assert_near(i.loops[0].ts, 1003.0);
	assert_near(i.loops[0].interval_s, 2.0);
	assert_near(i.loops[0].load, 0.4);
	assert_conserves(&i.loops[0]);
	cr_assert(isnan(i.loops[0].observer_cost) && isnan(i.steal));
	cr_assert_eq(i.lost, -1);
	i = round_with(t, 3500, 5);
	cr_assert_eq(i.seq, 1u);
	assert_near(i.loops[0].interval_s, 0.5);
}

Test(model_tracker, a_round_without_samples_is_an_empty_interval)
{
	unsigned n = 0;
	_cleanup_tracker_ struct tracker *t = new_tracker((struct tracker_options){ 0 }, &n);
	struct interval i = round_of(t, 1000, NULL, 0);

	i = round_of(t, 2000, NULL, 0);
	cr_assert_eq(i.n_loops, 0u);
	assert_near(i.interval_s, 1.0);
	cr_assert_eq(n, 0u);
}

Test(model_tracker, a_loop_that_appears_later_spans_its_life)
{
	unsigned n = 0;
	_cleanup_tracker_ struct tracker *t = new_tracker((struct tracker_options){ 0 }, &n);
	struct loop_sample s = sample_at(6, 400);
	struct interval i;

	round_with(t, 1000, 5);
	s.birth_ns += 1500 * MODEL_MS;
	s.now_ns += 1500 * MODEL_MS;
	i = round_of(t, 2000, &s, 1);
	cr_assert_eq(i.n_loops, 1u);
	assert_near(i.loops[0].interval_s, 0.4);
	assert_near(i.loops[0].load, 0.4);
}

/* A snapshot may be torn: the loop is missing in a round, and its next record spans two. */
Test(model_tracker, a_loop_missed_for_a_round_or_two_goes_on)
{
	unsigned n = 0;
	_cleanup_tracker_ struct tracker *t = new_tracker((struct tracker_options){ 0 }, &n);
	struct interval i;

	round_with(t, 1000, 5);
	round_with(t, 2000, 5);
	i = round_of(t, 3000, NULL, 0);
	cr_assert_eq(i.n_loops, 0u);
	round_of(t, 4000, NULL, 0);
	i = round_with(t, 5000, 5);
	cr_assert_eq(i.n_loops, 1u);
	assert_near(i.loops[0].interval_s, 3.0);
}

Test(model_tracker, a_loop_missed_for_three_rounds_is_forgotten)
{
	unsigned n = 0;
	_cleanup_tracker_ struct tracker *t = new_tracker((struct tracker_options){ .max_loops = 1 }, &n);
	struct interval i;

	round_with(t, 1000, 5);
	round_with(t, 2000, 5);
	cr_assert_eq(round_with(t, 3000, 6).n_beyond, 1u);
	cr_assert_eq(round_with(t, 4000, 6).n_beyond, 1u);
	cr_assert_eq(round_with(t, 5000, 6).n_beyond, 1u);
	i = round_with(t, 6000, 6);
	cr_assert_eq(i.n_beyond, 0u);
	cr_assert_eq(i.n_loops, 1u);
	cr_assert_eq(i.loops[0].id.tid, 6u);
}

Test(model_tracker, an_end_is_reported_and_then_forgotten)
{
	unsigned n = 0;
	_cleanup_tracker_ struct tracker *t = new_tracker((struct tracker_options){ .max_loops = 1 }, &n);
	struct loop_sample s = sample_at(5, 1400);
	struct interval i;

	round_with(t, 1000, 5);
	s.ended = true;
	i = round_of(t, 2000, &s, 1);
	cr_assert_eq(i.n_loops, 1u);
	cr_assert(i.loops[0].ended);
	assert_near(i.loops[0].interval_s, 0.4);
	cr_assert_str_eq(i.loops[0].cgroup, "/read/1", "valid until the next round");
	i = round_with(t, 3000, 6);
	cr_assert_eq(i.n_beyond, 0u, "the one that ended makes room at once");
	cr_assert_eq(i.n_loops, 1u);
}

/* From the walk and from its end, in any order: the later one holds. */
Test(model_tracker, two_samples_in_a_round_are_one_record)
{
	for (int order = 0; order < 2; order++) {
		unsigned n = 0;
		_cleanup_tracker_ struct tracker *t = new_tracker((struct tracker_options){ 0 }, &n);
		struct loop_sample s[2] = { sample_at(5, 1500), sample_at(5, 1900) };
		struct interval i;

		s[1].ended = true;
		if (order) {
			struct loop_sample first = s[0];

			s[0] = s[1];
			s[1] = first;
		}
		round_with(t, 1000, 5);
		i = round_of(t, 2000, s, 2);
		cr_assert_eq(i.n_loops, 1u);
		assert_near(i.loops[0].interval_s, 0.9);
		cr_assert(i.loops[0].ended);
	}
}

Test(model_tracker, a_reused_pid_and_an_exec_are_other_loops)
{
	unsigned n = 0;
	_cleanup_tracker_ struct tracker *t = new_tracker((struct tracker_options){ 0 }, &n);
	struct loop_sample s[3] = { sample_at(5, 1000), sample_at(5, 1000), sample_at(5, 1000) };
	struct interval i;

	s[1].id.start_ns = 2;
	s[2].id.generation = 1;
	round_of(t, 1000, s, 3);
	cr_assert_eq(n, 3u);
	for (int k = 0; k < 3; k++) {
		s[k].now_ns += MODEL_SEC;
		s[k].state_ns[k == 1 ? LOOP_IDLE : LOOP_TICK_CPU] += MODEL_SEC;
	}
	i = round_of(t, 2000, s, 3);
	cr_assert_eq(i.n_loops, 3u);
	for (size_t k = 0; k < 3; k++)
		assert_near(i.loops[k].load, i.loops[k].id.start_ns == 2 ? 0.0 : 1.0);
}

/* Padding in the key must not make one loop two. */
Test(model_tracker, an_identity_is_its_values)
{
	unsigned n = 0;
	_cleanup_tracker_ struct tracker *t = new_tracker((struct tracker_options){ 0 }, &n);
	struct loop_sample s = sample_at(5, 1000);

	memset(&s.id, 0xff, sizeof(s.id));
	s.id.pid = s.id.tid = 5;
	s.id.start_ns = 1;
	s.id.generation = 0;
	round_with(t, 1000, 5);
	round_of(t, 1000, &s, 1);
	cr_assert_eq(n, 2u, "new, and once after a round: not new again");
	cr_assert_eq(round_with(t, 2000, 5).n_loops, 1u);
}

Test(model_tracker, facts_are_read_again_after_1_2_4_8_rounds)
{
	unsigned n = 0, reads = 0;
	_cleanup_tracker_ struct tracker *t = new_tracker((struct tracker_options){ 0 }, &n);

	for (unsigned age = 0; age <= 70; age++) {
		struct interval i = round_with(t, 1000 + age * 100, 5);
		char want[32];

		if (!age || !(age & (age - 1)))
			reads++;
		cr_assert_eq(n, reads, "age %u: read %u times, not %u", age, n, reads);
		snprintf(want, sizeof(want), "/read/%u", reads);
		if (age)
			cr_assert_str_eq(i.loops[0].cgroup, want);
	}
	cr_assert_eq(n, 8u);
}

Test(model_tracker, facts_of_one_that_ended_are_not_read_again)
{
	unsigned n = 0;
	_cleanup_tracker_ struct tracker *t = new_tracker((struct tracker_options){ 0 }, &n);
	struct loop_sample s = sample_at(5, 2000);

	round_with(t, 1000, 5);
	s.ended = true;
	round_of(t, 2000, &s, 1);
	cr_assert_eq(n, 1u, "/proc has nothing of it any more");
}

/* A process that is ending: nothing is mapped, nothing can be told. */
static void nothing_after_the_first(void *arg, const struct loop_sample *s, struct loop_facts *ret)
{
	if ((*(unsigned *)arg)++)
		return;
	ret->runtime = "libx";
	ret->runtime_known = true;
	ret->nspid = 7;
	ret->cgroup = strdup("/first");
}

Test(model_tracker, what_was_known_outlasts_a_reading_that_finds_nothing)
{
	unsigned n = 0;
	_cleanup_tracker_ struct tracker *t = NULL;
	struct interval i;

	cr_assert_eq(tracker_new(&(struct tracker_options){ .facts = nothing_after_the_first, .arg = &n }, &t), 0);
	for (unsigned age = 0; age <= 4; age++)
		i = round_with(t, 1000 + age * 100, 5);
	cr_assert_eq(n, 4u, "at 0, 1, 2 and 4 rounds");
	cr_assert_str_eq(i.loops[0].runtime, "libx");
	cr_assert_str_eq(i.loops[0].cgroup, "/first");
	cr_assert_eq(i.loops[0].nspid, 7);
}

Test(model_tracker, who_lived_between_two_rounds_only_is_known_by_what_was_learnt)
{
	unsigned n = 0;
	_cleanup_tracker_ struct tracker *t = NULL;
	struct loop_sample s = sample_at(5, 2000);
	struct interval i;

	cr_assert_eq(tracker_new(&(struct tracker_options){ .facts = nothing_after_the_first, .arg = &n }, &t), 0);
	round_of(t, 1000, NULL, 0);
	cr_assert_eq(tracker_learn(t, &s), 0);
	cr_assert_eq(tracker_learn(t, &s), 0);
	cr_assert_eq(n, 1u, "once known, not asked again");
	s.ended = true;
	i = round_of(t, 2000, &s, 1);
	cr_assert_eq(i.n_loops, 1u);
	cr_assert_str_eq(i.loops[0].runtime, "libx");
	cr_assert(i.loops[0].ended);
	cr_assert_eq(n, 1u);
}

Test(model_tracker, who_asks_gets_the_facts_of_the_last_reading)
{
	unsigned n = 0;
	_cleanup_tracker_ struct tracker *t = new_tracker((struct tracker_options){ .show_all = true }, &n);
	struct loop_sample s = sample_at(5, 1000);
	struct loop_id other = s.id;

	cr_assert_null(tracker_facts(t, &s.id));
	round_of(t, 1000, &s, 1);
	cr_assert_str_eq(tracker_facts(t, &s.id)->runtime, "libx");
	cr_assert_eq(n, 1, "asking reads nothing");
	other.generation++;
	cr_assert_null(tracker_facts(t, &other), "another program");
	s.ended = true;
	round_of(t, 2000, &s, 1);
	cr_assert_not_null(tracker_facts(t, &s.id), "until the next round begins");
	round_of(t, 3000, NULL, 0);
	cr_assert_null(tracker_facts(t, &s.id));
}

Test(model_tracker, what_is_no_loop_is_shown_on_demand)
{
	for (int mode = 0; mode < 3; mode++) {
		unsigned n = 0;
		struct tracker_options o = { .show_asleep = mode == 1, .show_all = mode == 2 };
		_cleanup_tracker_ struct tracker *t = new_tracker(o, &n);
		struct loop_sample s[3] = { sample_at(5, 1000), sample_at(6, 1000), sample_at(7, 1000) };
		struct interval i;

		s[1].in_progress_only = true;
		s[2].wait_repeats = 1;
		round_of(t, 1000, s, 3);
		for (int k = 0; k < 3; k++) {
			s[k].now_ns += MODEL_SEC;
			s[k].state_ns[LOOP_IDLE] += MODEL_SEC;
		}
		i = round_of(t, 2000, s, 3);
		cr_assert_eq(i.n_loops, (size_t)mode + 1);
		cr_assert_eq(i.n_asleep, mode ? 0u : 1u);
	}
}

Test(model_tracker, observer_cost_is_this_intervals_events)
{
	unsigned n = 0;
	_cleanup_tracker_ struct tracker *t = new_tracker((struct tracker_options){ 0 }, &n);
	struct loop_sample s = sample_at(5, 3000);
	struct interval i;

	tracker_set_event_cost(t, 200, COST_KERNEL);
	round_with(t, 1000, 5);
	i = round_with(t, 2000, 5); /* 1000 events in 1 s */
	assert_near(i.loops[0].observer_cost, 1000 * 200 / 1e9);
	cr_assert_eq(i.loops[0].cost_from, COST_KERNEL);
	s.events = 0; /* a broken recording: no negative cost, nor a huge one */
	i = round_of(t, 3000, &s, 1);
	assert_near(i.loops[0].observer_cost, 0);
	tracker_set_event_cost(t, NAN, COST_UNKNOWN);
	i = round_with(t, 4000, 5);
	cr_assert(isnan(i.loops[0].observer_cost));
}

Test(model_tracker, no_more_than_max_loops_and_the_rest_counted)
{
	unsigned n = 0;
	_cleanup_tracker_ struct tracker *t = new_tracker((struct tracker_options){ .max_loops = 10 }, &n);
	struct interval i;

	for (unsigned k = 1; k <= 3; k++) {
		tracker_begin(t, k, k * MODEL_SEC);
		for (uint32_t tid = 1; tid <= 25; tid++) {
			struct loop_sample s = sample_at(tid, k * 1000);

			cr_assert_eq(tracker_sample(t, &s), 0);
		}
		cr_assert_eq(tracker_end(t, &i), 0);
		cr_assert_eq(i.n_beyond, 15u);
		cr_assert_eq(i.n_loops, k == 1 ? 0u : 10u);
	}
	cr_assert_lt(n, 10u * 3 + 1);
}

static size_t heap_used(void)
{
	return mallinfo2().uordblks;
}

/* 100,000 loops pass through, 500 in a round; a quarter of them vanish without a last word. Ten stay. */
Test(model_tracker, memory_is_bounded_under_churn)
{
	unsigned n = 0;
	_cleanup_tracker_ struct tracker *t = new_tracker((struct tracker_options){ 0 }, &n);
	size_t after_10 = 0;
	uint32_t tid = 100;
	struct interval i;

	for (unsigned k = 1; k <= 200; k++) {
		tracker_begin(t, k, k * MODEL_SEC);
		for (uint32_t stays = 1; stays <= 10; stays++) {
			struct loop_sample s = sample_at(stays, k * 1000);

			cr_assert_eq(tracker_sample(t, &s), 0);
		}
		for (unsigned j = 0; j < 500; j++) {
			struct loop_sample s = sample_at(tid++, k * 1000);

			s.ended = j % 4;
			cr_assert_eq(tracker_sample(t, &s), 0);
		}
		cr_assert_eq(tracker_end(t, &i), 0);
		cr_assert_eq(i.n_beyond, 0u);
		if (k > 1)
			cr_assert_eq(i.n_loops, 510u);
		if (k == 10)
			after_10 = heap_used();
	}
	cr_assert_geq(tid, 100000u);
	/* malloc keeps some; what it holds for us must be as it was. Sanitizers answer 0 to both. */
	cr_assert_leq(heap_used(), after_10 + after_10 / 10, "%zu bytes after 10 rounds, %zu after 200", after_10, heap_used());
}

Test(model_tracker, freeing_nothing_is_allowed)
{
	tracker_free(NULL);
}
