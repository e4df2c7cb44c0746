/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_recording_open.c - a tick that goes on where the recording ends is one span, whether the recording came to its end or was cut
 * off: the stream of turns tells of it, and so does a slow tick that was told while it lasted.
 */
#include "test_recording_file.h"

TestSuite(recording_open, .timeout = 60);

#define LINE(mono) (FIXTURE_START_NS + (int64_t)(mono) - (int64_t)FILE_MONO)
#define MS 1000000ull

struct found {
	size_t ticks, open;
	struct timeline_span last;
	int64_t last_wait_end_ns;
};

static int take(void *arg, const struct timeline_span *s)
{
	struct found *g = arg;

	if (s->kind == SPAN_IO_WAIT)
		g->last_wait_end_ns = s->end_ns;
	if (s->kind != SPAN_TICK)
		return 0;
	g->ticks++;
	g->open += s->open;
	g->last = *s;
	return 0;
}

static struct found recorded(bool complete, bool told_to_begin)
{
	const struct recording_select all = RECORDING_ALL;
	struct recording_file rf = { 0 };
	struct loop_turn turn = { .kind = TURN_WHOLE, .pid = 4711, .tid = 4711, .io_start_ns = FILE_MONO, .io_end_ns = FILE_MONO + 10 * MS,
				  .end_ns = FILE_MONO + 20 * MS, .timeout_ns = TURN_NO_TIMEOUT };
	struct slow_tick slow = { .source = SOURCE_KERNEL, .id = { .pid = 4711, .tid = 4711 }, .runtime = "libuv", .ts = FIXTURE_TS,
				  .start_ns = FILE_MONO + 30 * MS, .duration_us = 60000, .events = -1, .in_progress = true };
	struct found g = { 0 };
	struct recording *r;
	struct sink *sink;

	file_open_as(&rf, true, 0);
	sink = file_source(&rf, SOURCE_KERNEL);
	cr_assert_eq(sink_turn(sink, &turn, &rf.f), 0);
	turn = (struct loop_turn){ .kind = TURN_TICK_START, .pid = 4711, .tid = 4711, .io_start_ns = FILE_MONO + 20 * MS,
				   .io_end_ns = FILE_MONO + 30 * MS };
	if (told_to_begin)
		cr_assert_eq(sink_turn(sink, &turn, &rf.f), 0);
	cr_assert_eq(sink_slow_tick(sink, &slow, &rf.f), 0);
	cr_assert_eq(database_commit(rf.db, FILE_MONO + 95 * MS, &rf.f), 0);
	if (complete)
		file_close(&rf, FILE_MONO + 130 * MS);
	else
		database_abandon(rf.db);
	r = file_read(&rf);
	cr_assert_eq(recording_spans(recording_view(r), &all, take, &g, &rf.f), 0, "%s", rf.f.text);
	recording_close(r);
	file_remove(&rf);
	return g;
}

Test(recording_open, to_the_end_of_a_recording)
{
	struct found g = recorded(true, true);

	cr_assert(g.ticks == 2 && g.open == 1, "%zu, %zu of them open", g.ticks, g.open);
	cr_assert(g.last.open && g.last.slow && g.last.start_ns == LINE(FILE_MONO + 30 * MS) && g.last.end_ns == LINE(FILE_MONO + 130 * MS));
}

Test(recording_open, as_far_as_it_was_told_where_the_recording_was_cut_off)
{
	struct found g = recorded(false, true);

	cr_assert(g.ticks == 2 && g.open == 1, "%zu, %zu of them open", g.ticks, g.open);
	cr_assert(g.last.open && g.last.slow && g.last.start_ns == LINE(FILE_MONO + 30 * MS) && g.last.end_ns == LINE(FILE_MONO + 90 * MS));
}

/* Shorter than what the stream takes to tell of a tick that goes on: no wait is made of its time. */
Test(recording_open, so_is_one_of_which_only_the_slow_tick_tells)
{
	struct found g = recorded(true, false);

	cr_assert(g.ticks == 2 && g.open == 1, "%zu, %zu of them open", g.ticks, g.open);
	cr_assert_eq(g.last_wait_end_ns, LINE(FILE_MONO + 30 * MS));
	cr_assert(g.last.open && g.last.slow && g.last.start_ns == LINE(FILE_MONO + 30 * MS) && g.last.end_ns == LINE(FILE_MONO + 130 * MS));
}
