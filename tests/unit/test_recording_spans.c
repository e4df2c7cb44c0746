/* SPDX-License-Identifier: BSD-2-Clause */
/* test_recording_spans.c - every turn and span that was told is in the recording, at its place on the time line and in order. */
#include <math.h>
#include <stdlib.h>

#include "model/span_chunk.h"
#include "test_recording_file.h"

TestSuite(recording_spans, .timeout = 120);

#define LINE(mono) (FIXTURE_START_NS + (int64_t)(mono) - (int64_t)FILE_MONO)

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* What should be found, and what is. */
struct spans {
	struct timeline_span *v;
	size_t n, cap;
};

static void put(struct spans *l, const struct timeline_span *s)
{
	if (l->n == l->cap) {
		l->cap = l->cap ? 2 * l->cap : 1024;
		l->v = reallocarray(l->v, l->cap, sizeof(*l->v));
		cr_assert_not_null(l->v);
	}
	l->v[l->n++] = *s;
}

static int take(void *arg, const struct timeline_span *s)
{
	struct spans *l = arg;

	cr_assert_leq(s->start_ns, s->end_ns);
	if (l->n)
		cr_assert_leq(l->v[l->n - 1].start_ns, s->start_ns);
	put(l, s);
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct timeline_span *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	return x->kind < y->kind ? -1 : x->kind > y->kind;
}

static void check_same(struct spans *want, struct spans *got)
{
	qsort(want->v, want->n, sizeof(*want->v), by_start);
	qsort(got->v, got->n, sizeof(*got->v), by_start);
	cr_assert_eq(want->n, got->n);
	for (size_t i = 0; i < want->n; i++) {
		const struct timeline_span *a = &want->v[i], *b = &got->v[i];

		cr_assert(a->lane == b->lane && a->kind == b->kind && a->start_ns == b->start_ns && a->end_ns == b->end_ns &&
				  a->slow == b->slow && a->value == b->value && a->timeout_ns == b->timeout_ns && a->net_ns == b->net_ns &&
				  a->open == b->open && a->unsure == b->unsure,
			  "%zu: lane %u kind %d, %lld to %lld, not lane %u kind %d, %lld to %lld", i, b->lane, b->kind, (long long)b->start_ns,
			  (long long)b->end_ns, a->lane, a->kind, (long long)a->start_ns, (long long)a->end_ns);
	}
	free(want->v);
	free(got->v);
}

/* Some threads' turns, written as they end. Their edges are multiples of what any of them may be rounded to. */
#define GRID SPAN_CHUNK_GRID_MAX
#define THREADS 5

struct thread {
	uint64_t io_start;
};

static void tell_turn(struct recording_file *rf, struct sink *sink, struct thread *t, uint32_t i, uint64_t *seed, struct spans *want)
{
	struct loop_turn turn = { .pid = 100, .tid = 100 + i, .io_start_ns = t->io_start, .kind = TURN_WHOLE, .count = (int64_t)(next_random(seed) % 5) - 1,
				    .timeout_ns = next_random(seed) % 2 ? UINT64_MAX : next_random(seed) % 100 * 1000000 };
	/* Now and then one that is long, and far longer than a chunk reaches. */
	uint64_t scale = next_random(seed) % 1000 ? 1000000 : next_random(seed) % 2 ? 300000000 : 30000000000;
	struct timeline_span wait = { .lane = i, .kind = SPAN_IO_WAIT, .net_ns = -1, .value = turn.count,
				      .timeout_ns = turn.timeout_ns == UINT64_MAX ? -1 : (int64_t)turn.timeout_ns };
	struct timeline_span tick = { .lane = i, .kind = SPAN_TICK, .net_ns = -1, .value = -1, .timeout_ns = -1 };

	turn.io_end_ns = turn.io_start_ns + next_random(seed) % scale / GRID * GRID;
	turn.end_ns = turn.io_end_ns + next_random(seed) % scale / GRID * GRID;
	t->io_start = turn.end_ns;
	wait.start_ns = LINE(turn.io_start_ns);
	wait.end_ns = tick.start_ns = LINE(turn.io_end_ns);
	tick.end_ns = LINE(turn.end_ns);
	tick.slow = tick.end_ns - tick.start_ns >= 50000000;
	put(want, &wait);
	put(want, &tick);
	cr_assert_eq(sink_turn(sink, &turn, &rf->f), 0, "%s", rf->f.text);
}

Test(recording_spans, every_turn_is_there_and_in_order)
{
	struct recording_file rf = { 0 };
	const struct recording_select all = RECORDING_ALL;
	struct thread threads[THREADS];
	struct spans want = { 0 }, got = { 0 };
	struct recording_view *view;
	struct recording *r;
	struct sink *sink;
	uint64_t seed = 42, committed = 0;
	size_t n_lanes;

	file_open_as(&rf, true, 0);
	sink = file_source(&rf, SOURCE_KERNEL);
	for (uint32_t i = 0; i < THREADS; i++)
		threads[i].io_start = FILE_MONO + i;
	for (unsigned n = 0; n < 120000; n++) {
		uint32_t least = 0;

		for (uint32_t i = 0; i < THREADS; i++)
			if (n < THREADS ? i == n : threads[i].io_start < threads[least].io_start)
				least = i;
		if (threads[least].io_start > committed + 1000000000) {
			committed = threads[least].io_start;
			cr_assert_eq(database_commit(rf.db, committed, &rf.f), 0, "%s", rf.f.text);
		}
		tell_turn(&rf, sink, &threads[least], least, &seed, &want);
	}
	file_close(&rf, FILE_MONO);
	r = file_read(&rf);
	cr_assert_eq(recording_look(r, &view, &rf.f), 0, "%s", rf.f.text);
	cr_assert_eq(recording_lanes(view, &n_lanes)->kind, LANE_LOOP);
	cr_assert_eq(n_lanes, THREADS);
	cr_assert_eq(recording_spans(view, &all, take, &got, &rf.f), 0, "%s", rf.f.text);
	for (size_t i = 0, total = 0; i < n_lanes; i++) {
		total += recording_lanes(view, &n_lanes)[i].spans;
		if (i == n_lanes - 1)
			cr_assert_eq(total, got.n);
	}
	check_same(&want, &got);
	recording_close(r);
	file_remove(&rf);
}

struct joined {
	int64_t last;
	size_t n;
};

static int no_hole(void *arg, const struct timeline_span *s)
{
	struct joined *p = arg;

	if (p->n++)
		cr_assert_eq(s->start_ns, p->last, "%lld ns after the end before", (long long)(s->start_ns - p->last));
	p->last = s->end_ns;
	return 0;
}

/* Chunks end and long waits come between them: what is kept of the edges leaves no hole there. */
Test(recording_spans, turns_that_follow_each_other_leave_no_hole)
{
	struct recording_file rf = { 0 };
	const struct recording_select all = RECORDING_ALL;
	struct loop_turn turn = { .pid = 100, .tid = 100, .kind = TURN_WHOLE, .io_start_ns = FILE_MONO + 1, .timeout_ns = UINT64_MAX };
	struct recording_view *view;
	struct joined p = { 0 };
	struct recording *r;
	struct sink *sink;

	file_open_as(&rf, true, 0);
	sink = file_source(&rf, SOURCE_KERNEL);
	for (uint64_t i = 0; i < 1000; i++) {
		turn.io_end_ns = turn.io_start_ns + (i % 300 == 7 ? 30000000000 : 5000000) + i * 7919 % 1000003;
		turn.end_ns = turn.io_end_ns + 100000 + i * 104729 % 1000003;
		cr_assert_eq(sink_turn(sink, &turn, &rf.f), 0, "%s", rf.f.text);
		turn.io_start_ns = turn.end_ns;
		if (i % 97 == 0)
			cr_assert_eq(database_commit(rf.db, turn.end_ns, &rf.f), 0);
	}
	file_close(&rf, turn.end_ns);
	r = file_read(&rf);
	cr_assert_eq(recording_look(r, &view, &rf.f), 0, "%s", rf.f.text);
	cr_assert_eq(recording_spans(view, &all, no_hole, &p, &rf.f), 0, "%s", rf.f.text);
	cr_assert_eq(p.n, 2000);
	recording_close(r);
	file_remove(&rf);
}

Test(recording_spans, a_stretch_of_time_and_some_lanes_are_what_was_asked_for)
{
	struct recording_file rf = { 0 };
	struct thread threads[THREADS];
	struct spans all_spans = { 0 }, want = { 0 }, got = { 0 };
	const bool lanes[THREADS] = { true, false, false, true, false };
	struct recording_select sel = { .lanes = lanes };
	struct recording_view *view;
	struct recording *r;
	struct sink *sink;
	uint64_t seed = 3;

	file_open_as(&rf, true, 0);
	sink = file_source(&rf, SOURCE_KERNEL);
	for (uint32_t i = 0; i < THREADS; i++)
		threads[i].io_start = FILE_MONO + i;
	for (unsigned n = 0; n < 20000; n++) {
		tell_turn(&rf, sink, &threads[n % THREADS], n % THREADS, &seed, &all_spans);
		if (n % 1000 == 0)
			cr_assert_eq(database_commit(rf.db, threads[0].io_start, &rf.f), 0);
	}
	file_close(&rf, FILE_MONO);
	sel.from_ns = all_spans.v[10000].start_ns;
	sel.to_ns = all_spans.v[12000].start_ns;
	for (size_t i = 0; i < all_spans.n; i++)
		if (lanes[all_spans.v[i].lane] && all_spans.v[i].end_ns > sel.from_ns && all_spans.v[i].start_ns <= sel.to_ns)
			put(&want, &all_spans.v[i]);
	r = file_read(&rf);
	cr_assert_eq(recording_look(r, &view, &rf.f), 0);
	cr_assert_eq(recording_spans(view, &sel, take, &got, &rf.f), 0);
	cr_assert_gt(got.n, 100);
	check_same(&want, &got);
	free(all_spans.v);
	recording_close(r);
	file_remove(&rf);
}

/* A board whose clock is 100 ppm fast and began 3 s before the recording: steps of 1 ms each 10 ms. */
#define BOARD_HZ 1000000ull

static uint64_t board_ticks(uint64_t mono)
{
	return (uint64_t)((double)(mono - FILE_MONO) * (1 + 100e-6) / 1000) + 3 * BOARD_HZ;
}

static void tell_step(struct recording_file *rf, struct sink *sink, uint64_t mono, const struct clock_fit *clock, bool new_session)
{
	struct source_span s = { .kind = SPAN_RUN, .lane = LANE_TASK, .number = 3, .name = "blink", .start = board_ticks(mono),
				 .end = board_ticks(mono) + 1000, .net = 800, .hz = BOARD_HZ, .value = -1, .new_session = new_session,
				 .clock = clock, .arrival_ns = mono + 5000000 };

	cr_assert_eq(sink_span(sink, &s, &rf->f), 0, "%s", rf->f.text);
}

struct placed {
	size_t n;
	int64_t first, worst;
};

static int check_place(void *arg, const struct timeline_span *s)
{
	struct placed *p = arg;
	int64_t off;

	if (s->kind != SPAN_RUN)
		return 0;
	if (!p->n)
		p->first = LINE(FILE_MONO);
	off = llabs(s->start_ns - (p->first + (int64_t)p->n * 10000000));
	if (off > p->worst)
		p->worst = off;
	cr_assert_leq(llabs(s->end_ns - s->start_ns - 1000000), 2000);
	cr_assert_leq(llabs(s->net_ns - 800000), 2000);
	p->n++;
	return 0;
}

Test(recording_spans, a_boards_steps_are_where_its_clock_says_once_that_is_known)
{
	struct recording_file rf = { 0 };
	const struct recording_select all = RECORDING_ALL;
	struct placed p = { 0 };
	struct recording_view *view;
	struct recording *r;
	struct sink *sink;

	file_open_as(&rf, true, 0);
	sink = file_source(&rf, SOURCE_SERIAL);
	for (unsigned n = 0; n < 2000; n++) {
		uint64_t mono = FILE_MONO + n * 10000000ull;
		int64_t board_ns = (int64_t)board_ticks(mono) * 1000;
		/* Wrong by 20 ms to begin with, as long as only a few have been seen. */
		struct clock_fit fit = { .method = n < 100 ? CLOCK_NONE : CLOCK_PINGS, .board_ns = board_ns, .drift_ppm = 100,
					 .offset_ns = (int64_t)mono - board_ns + (n < 300 ? 20000000 : 0) };

		tell_step(&rf, sink, mono, &fit, false);
		if (n % 100 == 99)
			cr_assert_eq(database_commit(rf.db, mono, &rf.f), 0);
	}
	file_close(&rf, FILE_MONO + 21000000000);
	r = file_read(&rf);
	cr_assert_eq(recording_look(r, &view, &rf.f), 0, "%s", rf.f.text);
	cr_assert_eq(recording_spans(view, &all, check_place, &p, &rf.f), 0);
	cr_assert_eq(p.n, 2000);
	cr_assert_lt(p.worst, 20000, "%lld ns off", (long long)p.worst);
	recording_close(r);
	file_remove(&rf);
}

/* Two moments that were told late are enough for a fit to find a clock that stands still, or runs backwards. */
Test(recording_spans, a_rate_that_no_clock_has_is_not_believed)
{
	static const double drifts[] = { 1e6, 2e6, -1e9, NAN, INFINITY };

	for (size_t i = 0; i < ARRAY_SIZE(drifts); i++) {
		struct recording_file rf = { 0 };
		const struct recording_select all = RECORDING_ALL;
		struct clock_fit fit = { .method = CLOCK_ONE_WAY, .board_ns = (int64_t)board_ticks(FILE_MONO) * 1000, .drift_ppm = drifts[i] };
		struct placed p = { 0 };
		struct recording_view *view;
		struct recording *r;

		fit.offset_ns = (int64_t)FILE_MONO - fit.board_ns;
		file_open_as(&rf, true, 0);
		tell_step(&rf, file_source(&rf, SOURCE_SERIAL), FILE_MONO, &fit, false);
		file_close(&rf, FILE_MONO + 1000000000);
		r = file_read(&rf);
		cr_assert_eq(recording_look(r, &view, &rf.f), 0, "%s", rf.f.text);
		cr_assert_eq(recording_spans(view, &all, check_place, &p, &rf.f), 0);
		cr_assert_eq(p.n, 1);
		recording_close(r);
		file_remove(&rf);
	}
}

static int order_of_sessions(void *arg, const struct timeline_span *s)
{
	struct placed *p = arg;

	cr_assert_geq(s->start_ns, p->first);
	p->first = s->start_ns;
	p->n++;
	return 0;
}

Test(recording_spans, a_reset_board_goes_on_where_it_was)
{
	struct recording_file rf = { 0 };
	const struct recording_select all = RECORDING_ALL;
	struct placed p = { .first = INT64_MIN };
	struct recording_view *view;
	struct recording *r;
	struct sink *sink;
	size_t n_lanes;

	file_open_as(&rf, true, 0);
	sink = file_source(&rf, SOURCE_SERIAL);
	for (unsigned n = 0; n < 300; n++) {
		uint64_t mono = FILE_MONO + n * 10000000ull;
		struct source_span s = { .kind = SPAN_RUN, .lane = LANE_TASK, .number = 3, .name = "blink", .start = n % 100 * 10000,
					 .end = n % 100 * 10000 + 1000, .net = 1000, .hz = BOARD_HZ, .value = -1, .new_session = n % 100 == 0,
					 .arrival_ns = mono + 1000000 };

		cr_assert_eq(sink_span(sink, &s, &rf.f), 0);
		if (n % 30 == 0)
			cr_assert_eq(database_commit(rf.db, mono, &rf.f), 0);
	}
	file_close(&rf, FILE_MONO + 4000000000);
	r = file_read(&rf);
	cr_assert_eq(recording_look(r, &view, &rf.f), 0, "%s", rf.f.text);
	recording_lanes(view, &n_lanes);
	cr_assert_eq(n_lanes, 2); /* the board and its task */
	cr_assert_eq(recording_spans(view, &all, order_of_sessions, &p, &rf.f), 0);
	cr_assert_eq(p.n, 300);
	cr_assert_leq(p.first, LINE(FILE_MONO + 3001000000));
	recording_close(r);
	file_remove(&rf);
}

/* A thread is met by its turns first; the record says later when it began. Another thread of its number is another loop. */
Test(recording_spans, turns_belong_to_the_loop_that_has_the_thread)
{
	struct recording_file rf = { 0 };
	const struct recording_select all = RECORDING_ALL;
	struct loop_record loop = fixture_node();
	struct interval iv = fixture_interval(&loop, 1);
	struct loop_turn turn = { .pid = loop.id.pid, .tid = loop.id.tid, .io_start_ns = FILE_MONO, .io_end_ns = FILE_MONO + 10,
				    .end_ns = FILE_MONO + 20, .timeout_ns = UINT64_MAX, .kind = TURN_WHOLE };
	struct recording_view *view;
	struct spans got = { 0 };
	const struct lane *lanes;
	struct recording *r;
	struct sink *sink;
	size_t n_lanes;

	file_open_as(&rf, true, 0);
	sink = file_source(&rf, SOURCE_KERNEL);
	for (unsigned n = 0; n < 3; n++) {
		cr_assert_eq(sink_turn(sink, &turn, &rf.f), 0);
		turn.io_start_ns += 100;
		turn.io_end_ns += 100;
		turn.end_ns += 100;
		loop.id.generation = n == 2;
		cr_assert_eq(sink_interval(sink, &iv, &rf.f), 0);
	}
	cr_assert_eq(sink_turn(sink, &turn, &rf.f), 0);
	file_close(&rf, FILE_MONO);
	r = file_read(&rf);
	cr_assert_eq(recording_look(r, &view, &rf.f), 0, "%s", rf.f.text);
	lanes = recording_lanes(view, &n_lanes);
	cr_assert_eq(n_lanes, 2);
	cr_assert(lanes[0].id.start_ns == loop.id.start_ns && lanes[0].id.generation == 0 && lanes[0].spans == 6);
	cr_assert(lanes[1].id.start_ns == loop.id.start_ns && lanes[1].id.generation == 1 && lanes[1].spans == 2);
	cr_assert_str_eq(lanes[0].process, "node");
	cr_assert_eq(recording_spans(view, &all, take, &got, &rf.f), 0);
	cr_assert_eq(got.v[got.n - 1].lane, 1);
	free(got.v);
	recording_close(r);
	file_remove(&rf);
}

/* Without --ticks: the slow ones, and those that still last. */
Test(recording_spans, slow_ticks_are_the_spans_where_there_are_no_others)
{
	struct recording_file rf = { 0 };
	const struct recording_select all = RECORDING_ALL;
	struct slow_tick t = { .source = SOURCE_KERNEL, .id = fixture_node().id, .runtime = "libuv", .ts = FIXTURE_TS,
			       .start_ns = FILE_MONO + 1000, .duration_us = 60000, .events = -1, .in_progress = true };
	struct recording_view *view;
	struct spans got = { 0 };
	struct recording *r;
	struct sink *sink;

	file_open_as(&rf, false, 0);
	sink = file_source(&rf, SOURCE_KERNEL);
	cr_assert_eq(sink_slow_tick(sink, &t, &rf.f), 0);
	t.in_progress = false;
	t.duration_us = 90000;
	cr_assert_eq(sink_slow_tick(sink, &t, &rf.f), 0);
	t.in_progress = true;
	t.start_ns += 200000000;
	cr_assert_eq(sink_slow_tick(sink, &t, &rf.f), 0);
	file_close(&rf, FILE_MONO + 1000000000);
	r = file_read(&rf);
	cr_assert_eq(recording_look(r, &view, &rf.f), 0, "%s", rf.f.text);
	cr_assert_eq(recording_spans(view, &all, take, &got, &rf.f), 0);
	cr_assert_eq(got.n, 2);
	cr_assert(got.v[0].slow && !got.v[0].open && got.v[0].start_ns == LINE(FILE_MONO + 1000) && got.v[0].end_ns == LINE(FILE_MONO + 90001000));
	cr_assert(got.v[1].slow && got.v[1].open && got.v[1].start_ns == LINE(FILE_MONO + 200001000));
	free(got.v);
	recording_close(r);
	file_remove(&rf);
}
