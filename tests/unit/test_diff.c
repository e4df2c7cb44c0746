/* SPDX-License-Identifier: BSD-2-Clause */
/* test_diff.c - two recordings: a callback that is three times slower is at the top, and the same program is no difference. */
#include "sink/diff.h"
#include "test_recording_file.h"

TestSuite(diff, .timeout = 60);

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static double noisy(uint64_t *seed, double v)
{
	return v * (0.95 + 0.1 * (double)(next_random(seed) % 1000) / 1000);
}

/* Each interval one slow tick: on_timer() computes, on_flush() waits for the disk for ever the same time. */
static void tell(struct recording_file *rf, struct sink *sink, unsigned i, double timer_us, uint64_t *seed)
{
	struct loop_record loop = fixture_node();
	struct interval iv = fixture_interval(&loop, 1);
	struct slow_cause causes[2] = {
		{ .kind = CAUSE_CPU, .us = noisy(seed, timer_us), .what = "", .samples = 6, .stack = { { "parse", "on_timer", "main" }, 3, false } },
		{ .kind = CAUSE_SYSCALL, .us = noisy(seed, 40000), .what = "fsync(socket:[12])", .samples = -1,
		  .stack = { { "fsync", "on_flush", "main" }, 3, false } },
	};
	struct slow_tick t = { .source = SOURCE_KERNEL, .id = loop.id, .runtime = "libuv", .start_ns = FILE_MONO + i * 1000000000ull + 500000000,
			       .duration_us = causes[0].us + causes[1].us, .events = -1, .causes = causes, .n_causes = 2 };

	SET_BYTES(t.comm, "node");
	fixture_shares(&loop, 0, t.duration_us / 1e6, 0, 0, 0);
	loop.tick_us = (struct quantiles){ true, t.duration_us, t.duration_us, t.duration_us, t.duration_us, t.duration_us };
	iv.mono_ns = FILE_MONO + (i + 1) * 1000000000ull;
	cr_assert_eq(sink_slow_tick(sink, &t, &rf->f), 0);
	cr_assert_eq(sink_interval(sink, &iv, &rf->f), 0, "%s", rf->f.text);
}

static void make(struct recording_file *rf, unsigned intervals, double timer_us, uint64_t seed)
{
	struct sink *sink;

	file_open_as(rf, false, 0);
	sink = file_source(rf, SOURCE_KERNEL);
	for (unsigned i = 0; i < intervals; i++)
		tell(rf, sink, i, timer_us, &seed);
	file_close(rf, FILE_MONO + intervals * 1000000000ull);
}

/* What is said of them; to be freed. */
static char *compared(struct recording_file *before, struct recording_file *after)
{
	const struct recording_select all = RECORDING_ALL;
	struct recording *a = file_read(before), *b = file_read(after);
	struct fault f = { 0 };
	struct capture c;
	char *text;

	capture_open(&c);
	cr_assert_eq(diff_write(recording_view(a), &all, recording_view(b), &all, c.out, &f), 0, "%s", f.text);
	fflush(c.out);
	text = strdup(c.text);
	capture_free(&c);
	recording_close(a);
	recording_close(b);
	file_remove(before);
	file_remove(after);
	return text;
}

Test(diff, a_callback_three_times_slower_is_at_the_top)
{
	struct recording_file before = { 0 }, after = { 0 };
	_cleanup_free_ char *text = NULL, *slow = NULL;

	make(&before, 12, 60000, 1);
	make(&after, 12, 180000, 2);
	text = compared(&before, &after);
	cr_assert_eq(strncmp(text, "node (libuv)\n  load ", 20), 0, "%s", text);
	slow = strdup(strstr(text, "  slow "));
	*strchrnul(slow, '\n') = '\0';
	cr_assert(strstr(text, "in parse\n") && !strstr(text, "in main\n") && !strstr(text, "in on_timer\n"), "callers are not told again: %s", text);
	cr_assert(!strstr(text, "fsync") && !strstr(text, "on_flush"), "what is the same is not told: %s", text);
	cr_assert(strstr(slow, "cpu") || strstr(slow, "in parse"), "%s", slow);
}

Test(diff, the_same_program_is_no_difference)
{
	for (uint64_t seed = 1; seed < 40; seed += 2) {
		struct recording_file before = { 0 }, after = { 0 };
		_cleanup_free_ char *text = NULL;

		make(&before, 12, 60000, seed);
		make(&after, 9, 60000, seed + 1);
		text = compared(&before, &after);
		cr_assert_str_eq(text, "no difference beyond noise\n");
	}
}

Test(diff, too_few_intervals_are_told_as_such)
{
	struct recording_file before = { 0 }, after = { 0 };
	_cleanup_free_ char *text = NULL;

	make(&before, 12, 60000, 1);
	make(&after, 2, 180000, 2);
	text = compared(&before, &after);
	cr_assert_str_eq(text, "# too short to compare: node (libuv) has 12 and 2 intervals, and it takes 3\n");
}
