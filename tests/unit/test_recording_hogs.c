/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_recording_hogs.c - a board's slow steps stand on the time line where its steps do: what told of them came late, and was placed
 * by what was known of the clock at that moment.
 */
#include <math.h>
#include <stdlib.h>

#include "test_recording_file.h"

TestSuite(recording_hogs, .timeout = 60);

#define HZ	 32768ull /* a tick is no whole number of nanoseconds */
#define HOGS	 60u
#define RESET_AT 25u /* the board begins anew before that one, and counts from 0 */
#define PERIOD	 500000000ull
#define DRIFT	 100e-6

static uint64_t mono_of(unsigned n)
{
	return FILE_MONO + 100000000 + n * PERIOD;
}

/* Its clock is fast; the first session began 3 s before the recording. */
static uint64_t ticks_of(unsigned n)
{
	uint64_t since = n < RESET_AT ? FILE_MONO - 3000000000 : mono_of(RESET_AT) - 20000000;

	return (uint64_t)((double)(mono_of(n) - since) * (1 + DRIFT) * HZ / 1e9);
}

static uint64_t length_of(unsigned n)
{
	return HZ / 10 + n;
}

static void tell_hog(struct recording_file *rf, struct sink *sink, unsigned n)
{
	uint64_t start = ticks_of(n), length = length_of(n), late = 3000000 + n % 7 * 11000000;
	uint64_t end_mono = mono_of(n) + (uint64_t)((double)length * 1e9 / HZ), told = end_mono + late;
	int64_t board_ns = ticks_to_ns(start + length, HZ);
	/* Wrong by 40 ms to begin with. */
	struct clock_fit fit = { .method = CLOCK_PINGS, .board_ns = board_ns, .drift_ppm = DRIFT * 1e6,
				 .offset_ns = (int64_t)end_mono - board_ns + (n < 4 ? 40000000 : 0) };
	struct source_span step = { .kind = SPAN_RUN, .lane = LANE_TASK, .number = 3, .name = "crunch", .start = start, .end = start + length,
				    .net = length, .hz = HZ, .value = -1, .new_session = n == RESET_AT, .clock = &fit, .arrival_ns = told };
	struct slow_cause cause = { .kind = CAUSE_CPU, .us = (double)length * 1e6 / HZ, .what = "crunch", .samples = -1 };
	struct slow_tick hog = { .ts = (double)(told - FILE_MONO) / 1e9 + (double)FIXTURE_START_NS / 1e9, .source = SOURCE_SERIAL,
				 .comm = "board0", .thread = "board0", .runtime = "", .start_ns = (uint64_t)ticks_to_ns(start, HZ),
				 .duration_us = cause.us, .cpu_us = cause.us, .blocked_us = NAN, .wait_us = NAN, .throttled_us = NAN,
				 .events = -1, .causes = &cause, .n_causes = 1 };

	cr_assert_eq(sink_span(sink, &step, &rf->f), 0, "%s", rf->f.text);
	cr_assert_eq(sink_slow_tick(sink, &hog, &rf->f), 0, "%s", rf->f.text);
}

struct found {
	struct {
		int64_t start_ns, end_ns;
	} step[HOGS], hog[HOGS];
	size_t n_steps, n_hogs;
};

static int take_step(void *arg, const struct timeline_span *s)
{
	struct found *g = arg;

	if (s->kind != SPAN_RUN)
		return 0;
	cr_assert_lt(g->n_steps, HOGS);
	cr_assert(s->slow);
	g->step[g->n_steps].start_ns = s->start_ns;
	g->step[g->n_steps++].end_ns = s->end_ns;
	return 0;
}

static int take_hog(void *arg, const struct recording_slow *s)
{
	struct found *g = arg;

	cr_assert_lt(g->n_hogs, HOGS);
	g->hog[g->n_hogs].start_ns = s->start_ns;
	g->hog[g->n_hogs++].end_ns = s->end_ns;
	return 0;
}

static struct recording *recorded(struct recording_file *rf, bool ticks)
{
	struct sink *sink;

	file_open_as(rf, ticks, 0);
	sink = file_source(rf, SOURCE_SERIAL);
	for (unsigned n = 0; n < HOGS; n++) {
		tell_hog(rf, sink, n);
		cr_assert_eq(database_commit(rf->db, mono_of(n) + 200000000, &rf->f), 0);
	}
	file_close(rf, mono_of(HOGS));
	return file_read(rf);
}

Test(recording_hogs, they_stand_where_the_steps_do)
{
	struct recording_file rf = { 0 };
	const struct recording_select all = RECORDING_ALL;
	struct recording *r = recorded(&rf, true);
	struct found g = { 0 };
	struct recording_view *view;

	cr_assert_eq(recording_look(r, &view, &rf.f), 0, "%s", rf.f.text);
	cr_assert_eq(recording_spans(view, &all, take_step, &g, &rf.f), 0);
	cr_assert_eq(recording_slow_ticks(view, &all, take_hog, &g, &rf.f), 0);
	cr_assert_eq(g.n_steps, HOGS);
	cr_assert_eq(g.n_hogs, HOGS);
	for (unsigned n = 0; n < HOGS; n++) {
		cr_assert_eq(g.hog[n].start_ns, g.step[n].start_ns, "%u: off by %lld", n, (long long)(g.hog[n].start_ns - g.step[n].start_ns));
		cr_assert_eq(g.hog[n].end_ns, g.step[n].end_ns, "%u: off by %lld", n, (long long)(g.hog[n].end_ns - g.step[n].end_ns));
	}
	recording_close(r);
	file_remove(&rf);
}

static int count_hog(void *arg, uint32_t source, const struct slow_tick *t)
{
	(*(unsigned *)arg)++;
	return 0;
}

static int no_interval(void *arg, uint32_t source, const struct interval *iv)
{
	return 0;
}

static int no_event(void *arg, uint32_t source, const struct loop_event *e)
{
	return 0;
}

/* A stretch of time holds the same ones whichever way it is asked for. */
Test(recording_hogs, a_part_has_the_same_ones_in_each_report)
{
	struct recording_file rf = { 0 };
	struct recording *r = recorded(&rf, true);
	const struct recording_select all = RECORDING_ALL;
	struct found g = { 0 }, part = { 0 };
	unsigned replayed = 0;
	const struct recording_replay to = { no_interval, count_hog, no_event, &replayed };
	struct recording_select sel = RECORDING_ALL;

	cr_assert_eq(recording_slow_ticks(recording_view(r), &all, take_hog, &g, &rf.f), 0);
	sel.from_ns = g.hog[9].end_ns;
	sel.to_ns = g.hog[39].end_ns;
	cr_assert_eq(recording_slow_ticks(recording_view(r), &sel, take_hog, &part, &rf.f), 0);
	cr_assert_eq(recording_replay(r, &sel, &to, &rf.f), 0);
	cr_assert_eq(part.n_hogs, 30);
	cr_assert_eq(replayed, 30);
	recording_close(r);
	file_remove(&rf);
}

/* Where no step is kept nothing tells of the clock: they stand where they were told. */
Test(recording_hogs, without_steps_they_stand_where_they_were_told)
{
	struct recording_file rf = { 0 };
	const struct recording_select all = RECORDING_ALL;
	struct recording *r = recorded(&rf, false);
	struct found g = { 0 };

	cr_assert_eq(recording_slow_ticks(recording_view(r), &all, take_hog, &g, &rf.f), 0);
	cr_assert_eq(g.n_hogs, HOGS);
	for (unsigned n = 0; n < HOGS; n++) {
		int64_t true_ns = FIXTURE_START_NS + (int64_t)(mono_of(n) - FILE_MONO);

		cr_assert_gt(g.hog[n].start_ns, true_ns);
		cr_assert_lt(g.hog[n].start_ns, true_ns + 70000000);
	}
	recording_close(r);
	file_remove(&rf);
}

/* A board's sums come when it sends them: what a record tells of reaches back into the time of the one before. */
struct stretches {
	size_t n;
	int64_t end_ns;
};

static int take_loop(void *arg, const struct recording_loop *l)
{
	struct stretches *s = arg;

	if (isnan(l->record->load))
		return 0;
	cr_assert_geq(l->start_ns, s->end_ns);
	cr_assert_geq(l->end_ns, l->start_ns);
	s->end_ns = l->end_ns;
	s->n++;
	return 0;
}

Test(recording_hogs, stretches_that_records_tell_of_do_not_overlap)
{
	static const double lengths[] = { 0.5, 0.2, NAN, 1.1, 0.9, 0.0, 3 };
	struct recording_file rf = { 0 };
	const struct recording_select all = RECORDING_ALL;
	struct stretches s = { .end_ns = INT64_MIN };
	struct recording *r;
	struct sink *sink;

	file_open_as(&rf, true, 0);
	sink = file_source(&rf, SOURCE_SERIAL);
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		struct loop_record loop = fixture_unknown();
		struct interval iv = fixture_interval(&loop, 1);

		loop.id = (struct loop_id){ 0 };
		loop.load = loop.busy = isnan(lengths[i]) ? NAN : 0.25;
		loop.interval_s = isnan(lengths[i]) ? 0.5 : lengths[i];
		iv.mono_ns = FILE_MONO + (i + 1) * 500000000;
		cr_assert_eq(sink_interval(sink, &iv, &rf.f), 0, "%s", rf.f.text);
	}
	file_close(&rf, FILE_MONO + 4000000000);
	r = file_read(&rf);
	cr_assert_eq(recording_loops(recording_view(r), &all, take_loop, &s, &rf.f), 0);
	cr_assert_eq(s.n, ARRAY_SIZE(lengths) - 1);
	recording_close(r);
	file_remove(&rf);
}
