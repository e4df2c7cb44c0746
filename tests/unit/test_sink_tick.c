/* SPDX-License-Identifier: BSD-2-Clause */
/* test_sink_tick.c - slow ticks, their summary and the event stream, as JSON, as table and as folded stacks: names of hostile bytes. */
#include <jansson.h>

#include "test_sink_fixture.h"

static void init(void)
{
	fixture_environment();
}

TestSuite(sink_tick, .init = init, .timeout = 20);

#define N_CAUSES 6

struct story {
	struct slow_cause causes[N_CAUSES];
	struct slow_tick tick;
};

static void set_stack(struct stack_names *s, const char *const *frames, size_t n, bool incomplete)
{
	for (size_t i = 0; i < n; i++)
		s->frame[i] = frames[i];
	s->n = n;
	s->incomplete = incomplete;
}

/* A tick with one cause of each kind, largest first. */
static void tell(struct story *s)
{
	static const char *const deep[] = { "fsync", "save", "on_request", "dispatch", "loop_run", "main", "__libc_start_main", "_start" };
	static const char *const hostile[] = { "evil\n\x1b[31mred", "a;b c", "k\xc3\xb6ln\xff", "libx.so+0x12\"\\" };

	*s = (struct story){ .tick = {
		.ts = FIXTURE_TS, .source = SOURCE_KERNEL, .id = { .pid = 4711, .tid = 4713, .start_ns = 1 }, .runtime = "libuv",
		.start_ns = 123456789012345, .duration_us = 83123.456, .cpu_us = 30000.25, .blocked_us = 42000, .wait_us = 11123.206,
		.throttled_us = 1000, .events = 3, .suppressed = 2, .causes = s->causes, .n_causes = N_CAUSES } };
	SET_BYTES(s->tick.comm, "node\x1b[2J\n");
	SET_BYTES(s->tick.thread, "worker\xff\n0123456789");
	s->causes[0] = (struct slow_cause){ .kind = CAUSE_SYSCALL, .us = 40000, .what = "fsync(/var/lib/x\n\x1b]0;t\x07)", .samples = -1 };
	set_stack(&s->causes[0].stack, deep, ARRAY_SIZE(deep), false);
	s->causes[1] = (struct slow_cause){ .kind = CAUSE_CPU, .us = 30000.25, .what = "", .samples = 30 };
	set_stack(&s->causes[1].stack, hostile, ARRAY_SIZE(hostile), true);
	s->causes[2] = (struct slow_cause){ .kind = CAUSE_WAIT, .us = 9000, .what = "ffm\rpeg (pid 99)", .samples = -1 };
	s->causes[3] = (struct slow_cause){ .kind = CAUSE_PAGE_FAULT, .us = 1500, .what = "page fault in /usr/lib/x.so", .samples = -1 };
	s->causes[4] = (struct slow_cause){ .kind = CAUSE_THROTTLE, .us = 1000, .what = "/box", .samples = -1 };
	s->causes[5] = (struct slow_cause){ .kind = CAUSE_OTHER, .us = 623.206, .what = "", .samples = -1 };
}

static void sum_up(struct story *s, struct slow_sum *sums, struct slow_summary *ret)
{
	for (size_t i = 0; i < N_CAUSES; i++)
		sums[i] = (struct slow_sum){ .kind = s->causes[i].kind, .what = s->causes[i].what, .us = s->causes[i].us,
					     .stack = s->causes[i].stack.n ? &s->causes[i].stack : NULL, .ticks = i + 1 };
	*ret = (struct slow_summary){ .causes = sums, .n_causes = N_CAUSES, .ticks = 7, .us = s->tick.duration_us, .held_back = 5 };
}

static int new_table(FILE *out, struct sink **ret, struct fault *f)
{
	return sink_table_new(&(struct table_options){ .out = out, .layout = TABLE_REPEAT, .width = 100 }, ret, f);
}

/* One tick that ended, one in progress of which little is known, the summary. */
static void print_story(struct capture *c, int (*new_sink)(FILE *, struct sink **, struct fault *))
{
	struct slow_sum sums[N_CAUSES];
	struct slow_summary sum;
	struct sink *sink = NULL;
	struct fault f = { 0 };
	struct story s;

	capture_open(c);
	cr_assert_eq(new_sink(c->out, &sink, &f), 0, "%s", f.text);
	tell(&s);
	cr_assert_eq(sink_slow_tick(sink, &s.tick, &f), 0);
	sum_up(&s, sums, &sum);
	s.tick.id.tid = s.tick.id.pid;
	s.tick.in_progress = true;
	s.tick.events = -1;
	s.tick.suppressed = 0;
	s.tick.n_causes = 2;
	s.tick.causes = &s.causes[1];
	cr_assert_eq(sink_slow_tick(sink, &s.tick, &f), 0);
	cr_assert_eq(sink_slow_summary(sink, &sum, &f), 0);
	sink_free(sink);
	fflush(c->out);
}

Test(sink_tick, json)
{
	struct capture c;

	print_story(&c, sink_json_new);
	golden_check("slow-tick.ndjson", c.text);
	capture_free(&c);
}

Test(sink_tick, table)
{
	struct capture c;

	print_story(&c, new_table);
	golden_check("slow-tick.txt", c.text);
	capture_free(&c);
}

Test(sink_tick, folded)
{
	struct capture c;

	print_story(&c, sink_folded_new);
	golden_check("slow-tick.folded", c.text);
	capture_free(&c);
}

static json_t *parse_line(const char *text)
{
	json_error_t e;
	json_t *j = json_loadb(text, strcspn(text, "\n"), JSON_REJECT_DUPLICATES, &e);

	cr_assert_not_null(j, "%s", e.text);
	return j;
}

/* The design's names in the design's order; ours only after them. */
Test(sink_tick, json_fields_are_the_designs)
{
	static const char *const names[] = { "v", "type", "ts", "source", "pid", "tid", "comm", "runtime", "start_ns", "duration_us",
					     "in_progress", "parts_us", "events", "causes" };
	struct capture c;
	json_t *j, *cause;
	void *it;

	print_story(&c, sink_json_new);
	j = parse_line(c.text);
	it = json_object_iter(j);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++, it = json_object_iter_next(j, it))
		cr_assert_str_eq(json_object_iter_key(it), names[i]);
	cr_assert_eq(json_array_size(json_object_get(j, "causes")), (size_t)N_CAUSES);
	cause = json_array_get(json_object_get(j, "causes"), 0);
	cr_assert_str_eq(json_string_value(json_object_get(cause, "kind")), "syscall");
	cr_assert_eq(json_array_size(json_object_get(cause, "stack")), 8u);
	cr_assert(json_is_null(json_object_get(json_array_get(json_object_get(j, "causes"), 2), "stack")));
	json_decref(j);
	j = parse_line(strchr(c.text, '\n') + 1);
	cr_assert(json_is_null(json_object_get(j, "events")), "unknown is null");
	json_decref(j);
	capture_free(&c);
}

/* No byte of a name may move the cursor, end a line, or be taken for the product's own. */
Test(sink_tick, no_control_character_passes)
{
	static int (*const sinks[])(FILE *, struct sink **, struct fault *) = { sink_json_new, new_table, sink_folded_new };

	for (size_t i = 0; i < ARRAY_SIZE(sinks); i++) {
		struct capture c;

		print_story(&c, sinks[i]);
		for (size_t j = 0; j < c.n; j++)
			cr_assert((unsigned char)c.text[j] >= 0x20 || c.text[j] == '\n', "sink %zu, byte %zu", i, j);
		capture_free(&c);
	}
}

/* "root;...;leaf N": what flame graph tools split at. */
Test(sink_tick, folded_lines_are_stacks_and_a_number)
{
	struct capture c;
	double us = 0;
	int lines = 0;

	print_story(&c, sink_folded_new);
	for (char *save = NULL, *line = strtok_r(c.text, "\n", &save); line; line = strtok_r(NULL, "\n", &save), lines++) {
		char *space = strrchr(line, ' '), *end;

		cr_assert_not_null(space);
		us += (double)strtoull(space + 1, &end, 10);
		cr_assert(end > space + 1 && !*end, "%s", line);
	}
	cr_assert_eq(lines, N_CAUSES);
	cr_assert_float_eq(us, 82123.456, 3);
	capture_free(&c);
}

Test(sink_tick, events)
{
	static const struct loop_event template = { .ts = FIXTURE_TS, .mono_ns = 123456789012345, .source = SOURCE_KERNEL,
						    .id = { .pid = 7, .tid = 8 }, .runtime = "asyncio", .timeout_us = NAN, .count = -1 };
	struct fault f = { 0 };
	struct sink *sink = NULL;
	struct capture c;

	capture_open(&c);
	cr_assert_eq(sink_json_new(c.out, &sink, &f), 0);
	for (int kind = EVENT_LOOP_START; kind <= EVENT_GAP; kind++) {
		struct loop_event e = template;

		e.kind = (enum loop_event_kind)kind;
		e.count = kind == EVENT_GAP ? 4000000000 : -1;
		SET_BYTES(e.comm, "py\n\"\xff");
		SET_BYTES(e.thread, "py");
		cr_assert_eq(sink_event(sink, &e, &f), 0);
		e.timeout_us = 1500.5;
		e.count = 12;
		cr_assert_eq(sink_event(sink, &e, &f), 0);
	}
	sink_free(sink);
	fflush(c.out);
	golden_check("tick-events.ndjson", c.text);
	capture_free(&c);
}
