/* SPDX-License-Identifier: BSD-2-Clause */
/* test_sink_task.c - task and source records: the design's fields in its order, null for what is not known, safe text. */
#include <jansson.h>

#include "model/source_record.h"
#include "model/task.h"
#include "test_sink_fixture.h"

TestSuite(sink_task, .timeout = 20);

static struct task_record blink(void)
{
	return (struct task_record){
		.ts = FIXTURE_TS, .interval_s = 1, .source = SOURCE_SERIAL, .kind = TASK_RUNS, .loop = "board0", .task = "blink",
		.id = 3, .instance = 1, .instances = 2, .runs = 50, .busy = 0.02, .wait = NAN, .alive = NAN,
		.run_us = { .n = 50, .min = 10, .p50 = 400, .p90 = 500, .p99 = 600, .max = 80000, .total = 20000 },
		.left_out = 0, .hogs = 1, .hog_open_us = NAN, .last_seen_s = 0.25, .uncertainty_us = NAN,
	};
}

static struct source_record board(void)
{
	return (struct source_record){
		.ts = FIXTURE_TS, .interval_s = 1, .source = SOURCE_SERIAL, .loop = "board0", .name = "\x1b[31mx", .where = "/dev/ttyX",
		.protocol = "loopscope", .present = true,
		.margin = { .mean = 0.6, .worst = 0.4, .worst_ago_s = 12, .window_s = 1, .windows = 30, .beyond = 0.095 },
		.sleep_us = { .n = 10, .min = 1, .p50 = 5000, .p90 = 9000, .p99 = 9900, .max = 10000, .total = 50000 },
		.clock = { .method = CLOCK_PINGS, .offset_ns = 5000000000, .drift_ppm = 200.4, .drift_error_ppm = 3, .error_ns = 90000,
			   .samples = 30 },
		.hz = 1000000, .lost_frames = 3, .lost_events = 1, .gaps = 2, .bytes = 5000, .events = 100, .garbage = 9,
		.silent_s = 0.1, .uncertainty_us = NAN, .from_sums = true,
	};
}

/* What either sink says of one task and one source; free() it. */
static char *said(bool json, const struct task_record *t, const struct source_record *s)
{
	struct loop_record loop = fixture_unknown();
	struct interval iv = fixture_interval(&loop, 1);
	struct fault f = { 0 };
	struct sink *sink;
	struct capture c;
	char *text;

	loop.id = (struct loop_id){ 0 };
	iv.tasks = t;
	iv.n_tasks = t ? 1 : 0;
	iv.sources = s;
	iv.n_sources = s ? 1 : 0;
	capture_open(&c);
	if (json)
		cr_assert_eq(sink_json_new(c.out, &sink, &f), 0);
	else
		cr_assert_eq(sink_table_new(&(struct table_options){ .out = c.out, .layout = TABLE_ONCE, .width = 100 }, &sink, &f), 0);
	cr_assert_eq(sink_interval(sink, &iv, &f), 0);
	sink_free(sink);
	fflush(c.out);
	text = strdup(c.text);
	capture_free(&c);
	return text;
}

static json_t *line_of(const char *text, const char *type)
{
	_cleanup_free_ char *copy = strdup(text), *rest = NULL;
	char *line = strtok_r(copy, "\n", &rest);

	while (line) {
		json_t *j = json_loads(line, 0, NULL);

		cr_assert_not_null(j, "%s", line);
		if (strcmp(json_string_value(json_object_get(j, "type")), type) == 0) {
			rest = NULL;
			return j;
		}
		json_decref(j);
		line = strtok_r(NULL, "\n", &rest);
	}
	cr_assert_fail("no %s in %s", type, text);
	return NULL;
}

static double number(json_t *j, const char *object, const char *key)
{
	json_t *o = object ? json_object_get(j, object) : j;

	cr_assert(json_is_number(json_object_get(o, key)), "%s.%s", object ? object : "", key);
	return json_number_value(json_object_get(o, key));
}

static void assert_null(json_t *j, const char *key)
{
	cr_assert(json_is_null(json_object_get(j, key)), "%s", key);
}

Test(sink_task, json_fields_are_the_designs)
{
	static const char *const keys[] = { "v", "type", "ts", "interval_s", "source", "loop", "task", "instance", "runs", "busy",
					    "run_us", "hogs" };
	static const char *const us[] = { "min", "p50", "p99", "max" };
	struct task_record t = blink();
	_cleanup_free_ char *text = said(true, &t, NULL);
	json_t *j = line_of(text, "task");
	void *it = json_object_iter(j);

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++, it = json_object_iter_next(j, it))
		cr_assert_str_eq(json_object_iter_key(it), keys[i]);
	it = json_object_iter(json_object_get(j, "run_us"));
	for (size_t i = 0; i < ARRAY_SIZE(us); i++, it = json_object_iter_next(json_object_get(j, "run_us"), it))
		cr_assert_str_eq(json_object_iter_key(it), us[i]);
	cr_assert_eq(number(j, NULL, "runs"), 50);
	cr_assert_float_eq(number(j, NULL, "busy"), 0.02, 1e-9);
	cr_assert_float_eq(number(j, "run_us", "max"), 80000, 1e-9);
	assert_null(j, "wait");
	assert_null(j, "alive");
	assert_null(j, "hog_open_us");
	json_decref(j);
}

Test(sink_task, what_is_not_known_is_null)
{
	struct task_record t = blink();
	struct source_record s = board();
	_cleanup_free_ char *text = NULL;
	json_t *j;

	t.runs = t.hogs = -1;
	t.busy = NAN;
	t.run_us = (struct span_stats){ 0 };
	s.margin = (struct margin){ .mean = NAN, .worst = NAN };
	s.clock = (struct clock_fit){ .method = CLOCK_NONE };
	s.sleep_us = (struct span_stats){ 0 };
	s.hz = 0;
	s.protocol = s.name = "";
	text = said(true, &t, &s);
	j = line_of(text, "task");
	assert_null(j, "runs");
	assert_null(j, "busy");
	assert_null(j, "run_us");
	assert_null(j, "hogs");
	json_decref(j);
	j = line_of(text, "source");
	assert_null(j, "margin");
	assert_null(j, "clock");
	assert_null(j, "sleep_us");
	assert_null(j, "hz");
	assert_null(j, "protocol");
	assert_null(j, "name");
	json_decref(j);
	j = line_of(text, "loop");
	assert_null(j, "pid");
	assert_null(j, "tid");
	json_decref(j);
}

/* A capture through a pipe: its bytes come as fast as they are read. */
Test(sink_task, a_drift_that_no_clock_has_is_not_told)
{
	struct source_record s = board();
	_cleanup_free_ char *json = NULL, *table = NULL;
	json_t *j;

	s.clock.drift_ppm = 999557.34;
	json = said(true, NULL, &s);
	j = line_of(json, "source");
	assert_null(j, "clock");
	json_decref(j);
	table = said(false, NULL, &s);
	cr_assert_not_null(strstr(table, "# clock: not compared with ours: bytes come at a pace that is not its own"), "%s", table);
	cr_assert_null(strstr(table, "ppm"), "%s", table);
}

Test(sink_task, json_source)
{
	struct source_record s = board();
	_cleanup_free_ char *text = said(true, NULL, &s);
	json_t *j = line_of(text, "source");

	cr_assert_float_eq(number(j, "margin", "worst"), 0.4, 1e-9);
	cr_assert_float_eq(number(j, "margin", "beyond"), 0.095, 1e-9);
	cr_assert_float_eq(number(j, "clock", "offset_s"), 5, 1e-9);
	cr_assert_float_eq(number(j, "clock", "drift_ppm"), 200.4, 1e-9);
	cr_assert_float_eq(number(j, "clock", "error_us"), 90, 1e-9);
	cr_assert_eq(number(j, "lost", "frames"), 3);
	cr_assert_str_eq(json_string_value(json_object_get(j, "name")), "\x1b[31mx");
	cr_assert_null(strchr(text, 0x1b), "escaped in the line");
	json_decref(j);
}

Test(sink_task, table_says_the_same)
{
	struct task_record t = blink();
	struct source_record s = board();
	_cleanup_free_ char *text = NULL;

	t.hog_open_us = 83000;
	text = said(false, &t, &s);
	cr_assert_not_null(strstr(text, "  blink#1"), "%s", text);
	cr_assert_not_null(strstr(text, "400us"), "%s", text);
	cr_assert_not_null(strstr(text, "80.0ms"), "%s", text);
	cr_assert_not_null(strstr(text, "1+83.0ms"), "%s", text);
	cr_assert_not_null(strstr(text, "# margin: 60.0% free on average, 40.0% in the worst of 30 windows of 1.00s (12.0s ago)\n"
					"#   with 95% confidence at most 9.5% of all windows are worse\n"), "%s", text);
	cr_assert_not_null(strstr(text, "# could sleep: 10 times, median 5.00ms, 90% below 9.00ms, longest 10.0ms, 50.0ms in all\n"),
			   "%s", text);
	cr_assert_not_null(strstr(text, "# clock: 5.000000 s behind ours within 90.0us, +200.4 ppm fast within 3.0 (pings)\n"), "%s",
			   text);
	cr_assert_not_null(strstr(text, "# lost: 3 frames on the line, 1 event at its other end; shares come from its own sums"), "%s",
			   text);
	cr_assert_not_null(strstr(text, "# 9 of 5000 bytes were neither loopscope nor text\n"), "%s", text);
	cr_assert_null(strstr(text, "contradiction"));
	cr_assert_null(strchr(text, 0x1b));
}

Test(sink_task, hostile_names_are_safe_in_the_table)
{
	struct task_record t = blink();
	struct source_record s = board();
	_cleanup_free_ char *text = NULL;

	memset(t.task, 0x1b, sizeof(t.task)); /* and no NUL */
	s.where = "/dev/\x1b[2J";
	s.present = false;
	text = said(false, &t, &s);
	cr_assert_null(strchr(text, 0x1b), "%s", text);
	cr_assert_not_null(strstr(text, "not there; waiting for it to come back\n"), "%s", text);
}
