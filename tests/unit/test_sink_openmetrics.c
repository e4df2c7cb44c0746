/* SPDX-License-Identifier: BSD-2-Clause */
/* test_sink_openmetrics.c - metrics as text: golden files in both formats, hostile names, numbers, what a client likes best. */
#include "model/hist_packed.h"
#include "model/metrics.h"
#include "model/source_record.h"
#include "model/task.h"
#include "sink/openmetrics.h"
#include "test_sink_fixture.h"

#define SEC 1000000000ull

TestSuite(sink_openmetrics, .timeout = 30);

static const struct metric_family build_family = { "loopscope_build", "", METRIC_INFO, "What is running: \\ and \"quotes\"." };

/* --- golden files ------------------------------------------------------------------------------------------------------------- */

static void count_board(struct metrics *m)
{
	struct loop_record loop = fixture_unknown();
	struct task_record tasks[] = {
		{ .ts = FIXTURE_TS, .interval_s = 1, .source = SOURCE_SERIAL, .kind = TASK_RUNS, .loop = "board0", .task = "blink", .instances = 1,
		  .runs = 50, .busy = .02, .wait = .001, .alive = NAN, .hogs = 1, .hog_open_us = 83000 },
		{ .ts = FIXTURE_TS, .interval_s = 1, .source = SOURCE_SERIAL, .kind = TASK_LIFETIME, .loop = "board0", .task = "ta\"sk\n",
		  .instances = 2, .runs = 3, .busy = NAN, .wait = NAN, .alive = .5, .hogs = -1, .hog_open_us = NAN },
	};
	struct source_record source = {
		.ts = FIXTURE_TS, .interval_s = 1, .source = SOURCE_SERIAL, .loop = "board0", .name = "esp32 \xff", .where = "/dev/ttyACM0",
		.protocol = "loopscope", .present = true, .margin = { .mean = .75, .worst = .25 }, .lost_frames = 3, .lost_events = 0,
		.lost_bytes = 17, .gaps = 2, .resets = 1, .bytes = 123456, .events = 5000, .silent_s = .125,
		.clock = { .method = CLOCK_PINGS, .offset_ns = 1500000000, .drift_ppm = -12.5, .drift_error_ppm = 2.5, .error_ns = 250000 },
	};
	struct interval iv = fixture_interval(&loop, 1);

	SET_BYTES(loop.comm, "board0");
	loop.idle = .9;
	loop.tick_cpu = loop.busy = loop.load = .1;
	loop.ticks = loop.io_waits = 50;
	iv.tasks = tasks;
	iv.n_tasks = ARRAY_SIZE(tasks);
	iv.sources = &source;
	iv.n_sources = 1;
	cr_assert_eq(metrics_interval(m, 1, &iv, 10 * SEC), 0);
}

static void count_kernel(struct metrics *m)
{
	static const struct slow_cause causes[] = { { .kind = CAUSE_SYSCALL, .us = 81000, .what = "" },
						    { .kind = CAUSE_WAIT, .us = 2000, .what = "" } };
	_cleanup_free_ struct hist *h = calloc(1, sizeof(*h));
	_cleanup_free_ struct hist_packed *p = NULL;
	struct loop_record loops[FIXTURE_LOOPS - 1];
	struct slow_tick t = { .id = { .pid = 4711, .tid = 4711, .start_ns = 1234567890123 }, .runtime = "", .start_ns = 9 * SEC,
			       .duration_us = 83000, .causes = causes, .n_causes = 2, .suppressed = 2 };
	struct interval iv = fixture_interval(loops, ARRAY_SIZE(loops));
	struct loop_record all[FIXTURE_LOOPS];

	hist_add_n(h, 3000, 40);
	hist_add_n(h, 3000000, 59);
	hist_add(h, 83000000);
	p = hist_pack(h);
	fixture_all(all);
	memcpy(loops, all, sizeof(loops));
	for (size_t i = 0; i < ARRAY_SIZE(loops); i++)
		if (loops[i].id.pid == 4711) {
			loops[i].edges = EDGES_FENTRY;
			loops[i].tick_hist = loops[i].io_hist = p;
			loops[i].slow_ticks = 1;
		}
	iv.steal = .01;
	cr_assert_eq(metrics_interval(m, METRICS_KERNEL, &iv, 10 * SEC), 0);
	cr_assert_eq(metrics_slow_tick(m, METRICS_KERNEL, &t, 10 * SEC), 0);
	t.in_progress = true;
	t.start_ns = 10 * SEC;
	cr_assert_eq(metrics_slow_tick(m, METRICS_KERNEL, &t, 10 * SEC), 0);
}

static struct metrics *filled(void)
{
	const struct metrics_options o = { .slow_ticks = true, .n_cpus = 2, .start_s = FIXTURE_TS - 60 };
	const struct metric_label labels[] = { { "version", "0.0\\\"\n" }, { "kernel", "" } };
	struct metrics *m = NULL;

	cr_assert_eq(metrics_new(&o, &m), 0);
	count_kernel(m);
	count_board(m);
	cr_assert_eq(metrics_own(m, &build_family, labels, 2, 1), 0);
	return m;
}

static char *rendered(struct metrics *m, enum metrics_format format)
{
	struct metrics_text t = {};

	cr_assert_eq(openmetrics_render(m, 11 * SEC, format, &t), 0);
	t.p = realloc(t.p, t.len + 1);
	t.p[t.len] = '\0';
	return t.p;
}

Test(sink_openmetrics, golden)
{
	static const char *const names[] = { "metrics.prom", "metrics.openmetrics" };
	struct metrics *m = filled();

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_free_ char *text = rendered(m, i);

		golden_check(names[i], text);
	}
	metrics_free(m);
}

Test(sink_openmetrics, room_is_used_again)
{
	struct metrics *m = filled();
	struct metrics_text t = {};
	_cleanup_free_ char *first = rendered(m, METRICS_OPENMETRICS);

	for (int i = 0; i < 3; i++) {
		cr_assert_eq(openmetrics_render(m, 11 * SEC, METRICS_OPENMETRICS, &t), 0);
		cr_assert_eq(t.len, strlen(first));
		cr_assert_eq(memcmp(t.p, first, t.len), 0);
	}
	free(t.p);
	metrics_free(m);
}

/* --- hostile names ------------------------------------------------------------------------------------------------------------- */

/* One line a sample, whatever its labels hold: a name, labels in quotes that are closed, a number; nothing but printable ASCII
 * and whole UTF-8. */
static void check_line(const char *line)
{
	const char *p = line;

	if (line[0] == '#')
		return;
	p += strspn(p, "abcdefghijklmnopqrstuvwxyz_");
	cr_assert(p > line && (*p == '{' || *p == ' '), "%s", line);
	if (*p == '{') {
		p++;
		while (*p != '}') {
			p += strspn(p, "abcdefghijklmnopqrstuvwxyz_,");
			cr_assert_eq(strncmp(p, "=\"", 2), 0, "%s", line);
			for (p += 2; *p != '"'; p++) {
				cr_assert((unsigned char)*p >= ' ' && *p != 127, "%s", line);
				if (*p == '\\' && *++p)
					cr_assert(*p == '\\' || *p == '"' || *p == 'n', "%s", line);
			}
			p++;
		}
		p++;
	}
	cr_assert_eq(*p, ' ', "%s", line);
	cr_assert(p[1] && !strchr(p + 1, ' '), "%s", line);
}

Test(sink_openmetrics, hostile_names_break_no_line)
{
	static const char *const names[] = { "\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b", "a\"b", "a\nb", "a\\", "\\\"} 1\n#", "\xff\xfe\xc0",
					     "\xed\xa0\x80x", "{}=,", "\xe2\x80\xa8", " ", "" };
	struct loop_record loops[ARRAY_SIZE(names)];
	struct interval iv = fixture_interval(loops, ARRAY_SIZE(loops));
	const struct metrics_options o = { .start_s = FIXTURE_TS };
	char long_path[3 * METRIC_LABEL_MAX];
	struct metrics *m = NULL;
	size_t lines = 0;

	memset(long_path, '"', sizeof(long_path));
	long_path[sizeof(long_path) - 1] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		loops[i] = fixture_node();
		loops[i].id.tid = (uint32_t)(100 + i);
		memset(loops[i].comm, 0, sizeof(loops[i].comm));
		memcpy(loops[i].comm, names[i], strlen(names[i]));
		loops[i].cgroup = i % 2 ? long_path : names[i];
	}
	cr_assert_eq(metrics_new(&o, &m), 0);
	cr_assert_eq(metrics_interval(m, METRICS_KERNEL, &iv, SEC), 0);
	for (int f = METRICS_PROMETHEUS; f <= METRICS_OPENMETRICS; f++) {
		_cleanup_free_ char *text = rendered(m, f);

		for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), lines++)
			check_line(line);
	}
	cr_assert_gt(lines, 2 * 10 * ARRAY_SIZE(names));
	metrics_free(m);
}

/* --- numbers --------------------------------------------------------------------------------------------------------------------- */

Test(sink_openmetrics, seconds_grow_with_their_nanoseconds)
{
	static const struct metric_family f = { "loopscope_x_seconds", "seconds", METRIC_COUNTER, "x" };
	static const uint64_t from[] = { 0, 999999000, 86399999999000, 7999999999999000, 900000000000000000, UINT64_MAX - 3000 };
	const struct metrics_options o = { .start_s = 1 };
	struct metrics *m = NULL;

	cr_assert_eq(metrics_new(&o, &m), 0);
	for (size_t i = 0; i < ARRAY_SIZE(from); i++) {
		double last = -1;

		for (uint64_t ns = from[i]; ns < from[i] + 2000; ns += 7) {
			_cleanup_free_ char *text = NULL;
			double shown;

			cr_assert_eq(metrics_own(m, &f, NULL, 0, (double)ns / 1e9), 0);
			text = rendered(m, METRICS_PROMETHEUS);
			shown = strtod(strstr(text, "\nloopscope_x_seconds_total ") + strlen("\nloopscope_x_seconds_total "), NULL);
			cr_assert_geq(shown, last, "%llu ns", (unsigned long long)ns);
			if (ns < 8000000000000000)
				cr_assert_eq((uint64_t)llround(shown * 1e9), ns);
			last = shown;
		}
	}
	metrics_free(m);
}

/* --- what a client likes -------------------------------------------------------------------------------------------------------- */

#define PROTOBUF "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"

Test(sink_openmetrics, accept)
{
	static const struct {
		const char *accept;
		enum metrics_format want;
	} cases[] = {
		{ NULL, METRICS_PROMETHEUS },
		{ "", METRICS_PROMETHEUS },
		{ "*/*", METRICS_PROMETHEUS },
		{ "text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8", METRICS_PROMETHEUS },
		{ "application/openmetrics-text", METRICS_OPENMETRICS },
		{ "application/openmetrics-text; version=1.0.0; charset=utf-8", METRICS_OPENMETRICS },
		{ "APPLICATION/OpenMetrics-Text;Version=1.0.0", METRICS_OPENMETRICS },
		{ "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,"
		  "*/*;q=0.1", METRICS_OPENMETRICS },
		{ "application/openmetrics-text;version=0.0.1,text/plain;q=0.5", METRICS_PROMETHEUS },
		{ "application/openmetrics-text;q=0.3,text/plain;version=0.0.4;q=0.4", METRICS_PROMETHEUS },
		{ "application/openmetrics-text;q=0,*/*", METRICS_PROMETHEUS },
		{ "application/openmetrics-text;q=2,text/plain", METRICS_PROMETHEUS },
		{ "application/openmetrics-text;q=x", METRICS_PROMETHEUS },
		{ "application/*", METRICS_OPENMETRICS },
		{ PROTOBUF ",*/*;q=0.1", METRICS_PROTOBUF },
		{ PROTOBUF ",application/openmetrics-text;version=1.0.0;q=0.8,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;"
			   "version=0.0.4;q=0.5,*/*;q=0.1", METRICS_PROTOBUF },
		{ PROTOBUF ";q=0.7,text/plain;version=0.0.4;q=0.3", METRICS_PROTOBUF },
		{ PROTOBUF ";q=0.3,text/plain;version=0.0.4;q=0.7", METRICS_PROMETHEUS },
		{ PROTOBUF ";q=0,*/*", METRICS_PROMETHEUS },
		{ "application/vnd.google.protobuf", METRICS_PROMETHEUS },
		{ "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=text,*/*;q=0.1", METRICS_PROMETHEUS },
		{ "application/vnd.google.protobuf;proto=another.MetricFamily;encoding=delimited", METRICS_PROMETHEUS },
		{ "application/vnd.google.protobuf;encoding=delimited;encoding=delimited", METRICS_PROMETHEUS },
		{ "application/openmetrics-text;x=\"a,b;q=0\"", METRICS_OPENMETRICS },
		{ ";;;,,,=;q=,\"", METRICS_PROMETHEUS },
	};
	char flood[5000];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_assert_eq(openmetrics_negotiate(cases[i].accept), cases[i].want, "%s", cases[i].accept);
	memset(flood, 'a', sizeof(flood));
	flood[sizeof(flood) - 1] = '\0';
	cr_assert_eq(openmetrics_negotiate(flood), METRICS_PROMETHEUS);
	for (size_t i = 0; i + 1 < sizeof(flood); i++)
		flood[i] = ",;=\"q*/"[i % 7];
	cr_assert_eq(openmetrics_negotiate(flood), METRICS_PROMETHEUS);
}
