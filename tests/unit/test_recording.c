/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_recording.c - a recording says again, to the byte, what was said while it was made: the same records go to a sink and into
 * a file, and what is read from the file goes to another sink of that kind.
 */
#include "model/hist_packed.h"
#include "model/slow_sums.h"
#include "test_recording_file.h"

TestSuite(recording, .timeout = 60);

#define INTERVALS 3

static struct stack_names deep(const char *inner)
{
	return (struct stack_names){ { inner, "run; it", FIXTURE_HOSTILE, "main" }, 4, true };
}

/* Everything at once, told to one sink. */
static void tell_kernel(struct sink *sink, struct fault *f)
{
	struct slow_cause causes[3] = {
		{ .kind = CAUSE_CPU, .us = 60000.125, .what = "", .samples = 6, .stack = deep("parse") },
		{ .kind = CAUSE_SYSCALL, .us = 20000, .what = "fsync(/var/\x01lib/\xff)", .samples = -1, .stack = deep("write") },
		{ .kind = CAUSE_WAIT, .us = 10000, .what = "ffmpeg (pid 99)", .samples = -1 },
	};
	struct slow_tick t = {
		.ts = FIXTURE_TS + 0.4, .source = SOURCE_KERNEL, .id = fixture_node().id, .runtime = "libuv", .start_ns = FILE_MONO + 310000000,
		.duration_us = 90000.125, .cpu_us = 60000.125, .blocked_us = 20000, .wait_us = 10000, .throttled_us = 0, .events = 1,
		.suppressed = 2, .causes = causes, .n_causes = 3, .in_progress = true,
	};
	struct loop_event e = { .kind = EVENT_LOOP_START, .ts = FIXTURE_TS - 0.25, .mono_ns = FILE_MONO, .source = SOURCE_KERNEL,
				.id = { .pid = 4711, .tid = 4711 }, .comm = "node", .thread = "node", .runtime = "libuv", .timeout_us = NAN };
	struct loop_record loops[FIXTURE_LOOPS];
	struct hist h = { 0 };
	_cleanup_free_ struct hist_packed *packed = NULL;

	hist_add(&h, 3100000);
	hist_add_n(&h, 400, 7);
	packed = hist_pack(&h);
	SET_BYTES(t.comm, "node");
	SET_BYTES(t.thread, "node\xff");
	cr_assert_eq(sink_event(sink, &e, f), 0);
	cr_assert_eq(sink_slow_tick(sink, &t, f), 0);
	t.in_progress = false;
	t.duration_us = 123456.789;
	cr_assert_eq(sink_slow_tick(sink, &t, f), 0);
	for (unsigned i = 0; i < INTERVALS; i++) {
		struct interval iv;

		fixture_all(loops);
		loops[3].tick_hist = loops[3].io_hist = packed;
		loops[i].interval_s = 0.1 * i;
		iv = fixture_interval(loops, FIXTURE_LOOPS - 1);
		iv.ts += i;
		iv.mono_ns = FILE_MONO + 1000000000ull * (i + 1);
		iv.seq = i;
		iv.n_asleep = 7 * i;
		iv.n_beyond = i;
		iv.steal = i ? 0.25 : NAN;
		iv.lost = (int64_t)i - 1;
		iv.last = i == INTERVALS - 1;
		for (size_t j = 0; j < iv.n_loops; j++) {
			loops[j].ts = iv.ts;
			loops[j].n_phases = 0; /* nobody who records asks for them, and no recording has any */
		}
		cr_assert_eq(sink_interval(sink, &iv, f), 0, "%s", f->text);
	}
	e.kind = EVENT_GAP;
	e.count = 12;
	e.what = "frames";
	cr_assert_eq(sink_event(sink, &e, f), 0);
}

static void tell_board(struct sink *sink, struct fault *f)
{
	struct fixture_view w;
	struct loop_record loop = fixture_unknown();
	struct interval iv = fixture_interval(&loop, 1);
	struct slow_cause cause = { .kind = CAUSE_CPU, .us = 90000, .what = "blink", .samples = -1 };
	struct slow_tick hog = { .ts = FIXTURE_TS, .source = SOURCE_SERIAL, .comm = "board0", .thread = "board0", .runtime = "",
				 .start_ns = 12345, .duration_us = 90000, .cpu_us = 90000, .blocked_us = NAN, .wait_us = NAN,
				 .throttled_us = NAN, .events = -1, .causes = &cause, .n_causes = 1 };

	fixture_view_init(&w);
	loop.id = (struct loop_id){ 0 };
	SET_BYTES(loop.comm, "board0");
	SET_BYTES(loop.thread, "pico");
	loop.idle = 0.75;
	loop.load = loop.busy = loop.tick_cpu = 0.25;
	iv.mono_ns = FILE_MONO + 1500000000;
	iv.tasks = w.task_records;
	iv.n_tasks = 2;
	iv.sources = &w.state_record;
	iv.n_sources = 1;
	cr_assert_eq(sink_slow_tick(sink, &hog, f), 0);
	cr_assert_eq(sink_interval(sink, &iv, f), 0, "%s", f->text);
}

/* --- once more --- */

struct again {
	struct sink *sink;
	struct fault f;
	int only; /* source; -1: all */
};

static int on_interval(void *arg, uint32_t source, const struct interval *iv)
{
	struct again *a = arg;

	return a->only < 0 || a->only == (int)source ? sink_interval(a->sink, iv, &a->f) : 0;
}

static int on_slow(void *arg, uint32_t source, const struct slow_tick *t)
{
	struct again *a = arg;

	return a->only < 0 || a->only == (int)source ? sink_slow_tick(a->sink, t, &a->f) : 0;
}

static int on_event(void *arg, uint32_t source, const struct loop_event *e)
{
	struct again *a = arg;

	return a->only < 0 || a->only == (int)source ? sink_event(a->sink, e, &a->f) : 0;
}

static struct sink *new_sink(bool json, FILE *out)
{
	struct table_options t = { .out = out, .layout = TABLE_REPEAT, .width = 120 };
	struct sink *sink = NULL;
	struct fault f = { 0 };

	cr_assert_eq(json ? sink_json_new(out, &sink, &f) : sink_table_new(&t, &sink, &f), 0);
	return sink;
}

static void check_again(bool json)
{
	struct recording_file rf = { 0 };
	const struct recording_select all = RECORDING_ALL;
	struct again a = { .only = -1 };
	struct recording_replay to = { on_interval, on_slow, on_event, &a };
	struct recording *r;
	struct capture live, replayed;
	struct sink *sink;

	fixture_environment();
	capture_open(&live);
	sink = new_sink(json, live.out);
	file_open_as(&rf, false, 0);
	tell_kernel(sink, &rf.f);
	tell_kernel(file_source(&rf, SOURCE_KERNEL), &rf.f);
	tell_board(sink, &rf.f);
	tell_board(file_source(&rf, SOURCE_SERIAL), &rf.f);
	file_close(&rf, FILE_MONO + 4000000000);
	sink_free(sink);
	fflush(live.out);

	r = file_read(&rf);
	cr_assert(recording_facts(r)->complete);
	capture_open(&replayed);
	a.sink = new_sink(json, replayed.out);
	cr_assert_eq(recording_replay(r, &all, &to, &a.f), 0, "%s", a.f.text);
	sink_free(a.sink);
	fflush(replayed.out);
	cr_assert_gt(live.n, 1000);
	cr_assert_str_eq(replayed.text, live.text);
	capture_free(&live);
	capture_free(&replayed);
	recording_close(r);
	file_remove(&rf);
}

Test(recording, json_is_the_same_to_the_byte)
{
	check_again(true);
}

Test(recording, tables_are_the_same_to_the_byte)
{
	check_again(false);
}
