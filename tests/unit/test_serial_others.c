/* SPDX-License-Identifier: BSD-2-Clause */
/* test_serial_others.c - recorded micropython-monitor, Tonbandgeraet and Zephyr CTF streams against their truth. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/cleanup.h"
#include "test_serial_fixture.h"

TestSuite(serial_others, .timeout = 60);

static double num(const json_t *o, const char *key)
{
	cr_assert(json_is_number(json_object_get(o, key)), "%s", key);
	return json_number_value(json_object_get(o, key));
}

/* ---- micropython-monitor ---- */
#define T0 1000000000000ull

static struct serial_run *run_monitor(const char *file, const char *times_file, uint64_t hog_ns, uint64_t *ret_end)
{
	struct board_options o = { .hog_ns = hog_ns };
	struct serial_run *r = serial_run_new(SERIAL_AUTO, &o);
	_cleanup_free_ uint8_t *bytes = NULL;
	_cleanup_free_ uint64_t *times = NULL;
	size_t n;

	bytes = serial_data(file, &n);
	times = serial_times(times_file, n);
	serial_run_feed_timed(r, bytes, n, times, T0);
	cr_assert_eq(serial_stream_protocol(r->stream), SERIAL_MONITOR);
	cr_assert_eq(serial_stream_stats(r->stream).events, n);
	*ret_end = T0 + times[n - 1];
	return r;
}

/* What the bytes and their times say themselves, ident by ident. */
static uint64_t high_ns(const uint8_t *bytes, const uint64_t *times, size_t n, uint32_t ident)
{
	uint64_t total = 0, up = UINT64_MAX;

	for (size_t i = 0; i < n; i++) {
		if (bytes[i] == 0x40 + ident) {
			up = times[i];
		} else if (bytes[i] == 0x60 + ident && up != UINT64_MAX) {
			total += times[i] - up;
			up = UINT64_MAX;
		}
	}
	return up == UINT64_MAX ? total : total + times[n - 1] - up;
}

/* The harness's own clock and the bytes' differ by up to what a call costs, 100 us, at each edge; its figures are
 * rounded to 100 us. */
static double sum_tolerance(const json_t *high)
{
	return num(high, "n") * 0.12 + 0.1;
}

static void check_idents(struct serial_run *r, json_t *want, const char *bin, const char *times_file,
			 const struct board_report *rep)
{
	double tol = num(want, "tolerance_ms"), duration = num(want, "duration_ms");
	_cleanup_free_ uint8_t *bytes = NULL;
	_cleanup_free_ uint64_t *times = NULL;
	size_t n;
	const char *key;
	json_t *o;

	bytes = serial_data(bin, &n);
	times = serial_times(times_file, n);
	json_object_foreach(json_object_get(want, "idents"), key, o) {
		uint32_t id = (uint32_t)atoi(key);
		const struct task_record *t = serial_task(rep, TASK_LIFETIME, id);
		json_t *alive = json_object_get(o, "alive_ms"), *high = json_object_get(o, "high");
		struct kept_stats s = serial_stats_of(r, EDGE_ALIVE, id, false);

		cr_assert_eq(t->runs, (int64_t)num(o, "starts"), "ident %u: %ld", id, t->runs);
		cr_assert_eq(t->left_out, 0);
		cr_assert(isnan(t->busy), "alive is not on the CPU");
		if (!alive)
			continue;
		cr_assert_eq(s.n, (size_t)num(alive, "n"), "ident %u", id);
		cr_assert_eq(t->instances, (int64_t)(num(o, "starts") - num(o, "stops")));
		cr_assert_float_eq(t->alive * t->interval_s * 1e9, (double)high_ns(bytes, times, n, id), 1, "ident %u", id);
		cr_assert_float_eq(t->alive * t->interval_s * 1000, num(high, "total_ms"), sum_tolerance(high));
		if (!s.n)
			continue;
		cr_assert_float_eq((double)s.min / 1e6, num(alive, "min"), tol);
		cr_assert_float_eq(s.median / 1e6, num(alive, "median"), tol);
		cr_assert_float_eq((double)s.max / 1e6, num(alive, "max"), tol);
		cr_assert_float_eq((double)s.total / 1e6, num(alive, "total"), sum_tolerance(alive));
		cr_assert_float_eq(t->run_us.min, (double)s.min / 1e3, 0.01);
		cr_assert_float_eq(t->run_us.p50, s.median / 1e3, s.median / 1e3 * 0.02);
		cr_assert_float_eq(t->run_us.max, (double)s.max / 1e3, 0.01);
	}
	cr_assert_float_eq(rep->summary.uncertainty_us, 0, 1e-9, "each byte came alone");
	cr_assert(isnan(rep->loop.load), "lifetimes do not tell the load");
	cr_assert_float_eq(duration, (double)(r->last_t - T0) / 1e6, tol);
}

Test(serial_others, monitor_lifetimes)
{
	json_t *want = serial_expect("monitor-a.expect.json");
	_cleanup_serial_run_ struct serial_run *r = NULL;
	struct board_report rep;
	uint64_t end;

	r = run_monitor("monitor-a.bin", "monitor-a.times", 0, &end);
	board_interval(r->board, 0, 4, end, &rep);
	cr_assert_eq(rep.n_tasks, json_object_size(json_object_get(want, "idents")));
	check_idents(r, want, "monitor-a.bin", "monitor-a.times", &rep);
	json_decref(want);
}

Test(serial_others, monitor_hog_detector)
{
	json_t *want = serial_expect("monitor-c.expect.json"), *hogs = json_object_get(want, "hogs");
	json_t *gaps = json_object_get(want, "gaps_over_20ms"), *passes = json_object_get(want, "detector_gap_us");
	_cleanup_serial_run_ struct serial_run *r = NULL;
	struct board_report rep;
	size_t n = 0;
	uint64_t end;

	r = run_monitor("monitor-c.bin", "monitor-c.times", 20000000, &end);
	for (size_t i = 0; i < r->n_edges; i++) {
		const struct kept_edge *e = &r->edges[i];
		json_t *g = json_array_get(gaps, n);

		if (e->kind != EDGE_HOG)
			continue;
		cr_assert_not_null(g, "no hog at %f ms", (double)(e->start - T0) / 1e6);
		cr_assert_float_eq((double)(e->start - T0) / 1e6, num(g, "after_ms"), 1);
		cr_assert_float_eq((double)(e->end - e->start) / 1e6, num(g, "gap_ms"), 1);
		cr_assert_float_eq((double)(e->start - T0) / 1e6,
				   json_number_value(json_array_get(json_object_get(hogs, "start_ms"), n)), 1);
		cr_assert_float_eq((double)(e->end - e->start) / 1e6,
				   json_number_value(json_array_get(json_object_get(hogs, "length_ms"), n)), 1);
		n++;
	}
	cr_assert_eq(n, (size_t)num(hogs, "n"));
	board_interval(r->board, 0, 4.3, end, &rep);
	check_idents(r, want, "monitor-c.bin", "monitor-c.times", &rep);
	cr_assert_float_eq(rep.summary.pass_us.p50, num(passes, "median"), num(passes, "median") * 0.02);
	cr_assert_float_eq(rep.summary.pass_us.max, num(passes, "max"), 1000);
	json_decref(want);
}

Test(serial_others, monitor_hog_is_seen_while_it_lasts)
{
	struct board_options o = { .hog_ns = 20000000 };
	_cleanup_serial_run_ struct serial_run *r = serial_run_new(SERIAL_AUTO, &o);
	_cleanup_free_ uint8_t *bytes = NULL;
	_cleanup_free_ uint64_t *times = NULL;
	size_t n, i = 0, before;

	bytes = serial_data("monitor-c.bin", &n);
	times = serial_times("monitor-c.times", n);
	/* Up to the first hog: 420.5 ms. */
	for (; times[i] < 420450000; i++)
		serial_stream_feed(r->stream, bytes + i, 1, T0 + times[i]);
	before = r->n_edges;
	board_quiet(r->board, T0 + times[i - 1] + 15000000);
	cr_assert_eq(r->n_edges, before, "not yet");
	board_quiet(r->board, T0 + times[i - 1] + 30000000);
	board_quiet(r->board, T0 + times[i - 1] + 40000000);
	cr_assert_eq(r->n_edges, before + 1, "said once");
	cr_assert(r->edges[before].kind == EDGE_HOG && r->edges[before].open);
}

Test(serial_others, monitor_instances_share_an_ident)
{
	static const char bytes[] = "zABAabABAbaaa"; /* ident 1: up to three at a time; ident 2: an end too many */
	_cleanup_serial_run_ struct serial_run *r = serial_run_new(SERIAL_MONITOR, NULL);
	const struct task_record *t;
	struct board_report rep;

	for (size_t i = 0; i < sizeof(bytes) - 1; i++)
		serial_stream_feed(r->stream, (const uint8_t *)bytes + i, 1, T0 + i * 1000000);
	serial_stream_feed(r->stream, (const uint8_t *)"b", 1, T0 + 20000000);
	board_interval(r->board, 0, 1, T0 + 20000000, &rep);
	t = serial_task(&rep, TASK_LIFETIME, 1);
	cr_assert_eq(t->runs, 4);
	cr_assert_eq(t->instances, 0);
	cr_assert_eq(t->run_us.n, 0, "which instance ended first cannot be known");
	cr_assert_eq(t->left_out, 1);
	cr_assert_float_eq(t->alive * t->interval_s, 0.011, 1e-6, "high from byte 1 to byte 12: %f", t->alive * t->interval_s);
	cr_assert_eq(rep.summary.orphans, 1);
}

Test(serial_others, monitor_reads_of_many_bytes_are_uncertain)
{
	_cleanup_serial_run_ struct serial_run *r = serial_run_new(SERIAL_MONITOR, NULL);
	struct board_report rep;

	serial_stream_feed(r->stream, (const uint8_t *)"zA", 2, T0);
	serial_stream_feed(r->stream, (const uint8_t *)"aBb", 3, T0 + 5000000);
	board_interval(r->board, 0, 1, T0 + 5000000, &rep);
	cr_assert_float_eq(rep.summary.uncertainty_us, 16000, 1e-6, "the first read: unknown since when");
	cr_assert_float_eq(serial_task(&rep, TASK_LIFETIME, 1)->uncertainty_us, 16000, 1e-6);
}

Test(serial_others, monitor_from_a_file_has_counts_but_no_times)
{
	_cleanup_serial_run_ struct serial_run *r = serial_run_new(SERIAL_AUTO, NULL);
	_cleanup_free_ uint8_t *bytes = NULL;
	const struct task_record *t;
	struct board_report rep;
	size_t n;

	bytes = serial_data("monitor-a.bin", &n);
	serial_run_feed(r, bytes, n, 4096);
	board_interval(r->board, 0, 1, CLOCK_UNKNOWN, &rep);
	t = serial_task(&rep, TASK_LIFETIME, 1);
	cr_assert_eq(t->runs, 40);
	cr_assert(isnan(t->alive));
	cr_assert(isnan(t->run_us.min));
}

/* ---- Tonbandgeraet ---- */
Test(serial_others, tonbandgeraet)
{
	static const size_t pieces[] = { 1, 7, 1000000 };
	json_t *want = serial_expect("tonband-a.expect.json"), *truth = json_object_get(want, "true"), *o;
	_cleanup_free_ uint8_t *bytes = NULL;
	size_t n, i;

	bytes = serial_data("tonband-a.bin", &n);
	for (size_t p = 0; p < ARRAY_SIZE(pieces); p++) {
		_cleanup_serial_run_ struct serial_run *r = serial_run_new(SERIAL_AUTO, NULL);
		struct board_report rep;

		serial_run_feed(r, bytes, n, pieces[p]);
		cr_assert_eq(serial_stream_protocol(r->stream), SERIAL_TONBANDGERAET);
		cr_assert_eq(serial_stream_stats(r->stream).events, (uint64_t)num(want, "frames"));
		cr_assert_eq(serial_stream_stats(r->stream).garbage, 0u);
		json_array_foreach(json_object_get(truth, "tasks"), i, o) {
			uint32_t id = (uint32_t)num(o, "id");
			bool idle = strcmp(json_string_value(json_object_get(o, "name")), "IDLE") == 0;
			struct kept_stats net = serial_stats_of(r, idle ? EDGE_IDLE : EDGE_RUN, id, true);
			struct kept_stats gross = serial_stats_of(r, idle ? EDGE_IDLE : EDGE_RUN, id, false);

			serial_check_us(&net, json_object_get(o, "net_us"), 1, "net");
			serial_check_us(&gross, json_object_get(o, "gross_us"), 1, "gross");
		}
		json_array_foreach(json_object_get(truth, "isrs"), i, o) {
			struct kept_stats s = serial_stats_of(r, EDGE_ISR, (uint32_t)num(o, "id"), true);

			serial_check_us(&s, json_object_get(o, "us"), 1, "isr");
		}
		board_interval(r->board, 0, 1, CLOCK_UNKNOWN, &rep);
		cr_assert_eq(rep.summary.gaps, 0, "a drop count that stays the same is no loss");
		cr_assert_str_eq(serial_task(&rep, TASK_RUNS, 2)->task, "comms");
		cr_assert_float_eq(rep.loop.idle, 208003.36 / (rep.loop.interval_s * 1e6), 1e-4);
	}
	json_decref(want);
}

Test(serial_others, tonbandgeraet_counts_drops_once)
{
	/* Resolution, then switches with a drop count before each: 0, 3, 3, 5. */
	static const uint8_t bytes[] = {
		3, 0x02, 10, 0, 4, 0x54, 10, 1, 0, 3, 0x01, 20, 1, 0,         4, 0x54, 30, 2, 0,
		4, 0x01, 40, 3, 0, 4, 0x54, 41, 1, 0, 4, 0x01, 50, 3, 0, 4, 0x54, 51, 2, 0, 4, 0x01, 60, 5, 0, 4, 0x54, 61, 1, 0,
	};
	_cleanup_serial_run_ struct serial_run *r = serial_run_new(SERIAL_TONBANDGERAET, NULL);
	struct board_report rep;

	serial_run_feed(r, bytes, sizeof(bytes), 5);
	board_interval(r->board, 0, 1, CLOCK_UNKNOWN, &rep);
	cr_assert_eq(rep.summary.lost[LOSS_EVENTS], 5);
	cr_assert_eq(rep.summary.gaps, 2);
	cr_assert_eq(serial_task(&rep, TASK_RUNS, 2)->left_out, 2);
}

/* ---- Zephyr ---- */
static void check_zephyr(const struct serial_run *r, json_t *want)
{
	json_t *o, *isr = json_object_get(json_object_get(want, "isr"), "us");
	struct kept_stats s;
	size_t i;

	json_array_foreach(json_object_get(want, "threads"), i, o) {
		uint32_t id = (uint32_t)num(o, "thread_id");
		enum board_edge_kind kind = i == 0 ? EDGE_IDLE : EDGE_RUN;

		s = serial_stats_of(r, kind, id, true);
		serial_check_us(&s, json_object_get(o, "net_us"), 1, "net");
		s = serial_stats_of(r, kind, id, false);
		serial_check_us(&s, json_object_get(o, "gross_us"), 1, "gross");
	}
	s = serial_stats_of(r, EDGE_ISR, 0, true);
	serial_check_us(&s, isr, 1, "isr");
	cr_assert_eq(r->last_t, (uint64_t)num(want, "last_ns"));
}

Test(serial_others, zephyr_ctf)
{
	static const size_t pieces[] = { 1, 11, 1000000 };
	json_t *want = serial_expect("zephyr-ctf-32.expect.json");
	_cleanup_free_ uint8_t *bytes = NULL;
	struct board_report rep;
	size_t n;

	bytes = serial_data("zephyr-ctf-32.bin", &n);
	for (size_t p = 0; p < ARRAY_SIZE(pieces); p++) {
		_cleanup_serial_run_ struct serial_run *r = serial_run_new(SERIAL_AUTO, NULL);

		serial_run_feed(r, bytes, n, pieces[p]);
		cr_assert_eq(serial_stream_protocol(r->stream), SERIAL_ZEPHYR_CTF);
		cr_assert_eq(serial_stream_stats(r->stream).events, (uint64_t)num(want, "events"));
		cr_assert_eq(serial_stream_stats(r->stream).garbage, 0u);
		check_zephyr(r, want);
		board_interval(r->board, 0, 1, CLOCK_UNKNOWN, &rep);
		cr_assert_eq(rep.summary.gaps, 0);
		cr_assert_gt(rep.loop.idle, 0.9);
	}
	json_decref(want);
}

Test(serial_others, zephyr_cut_in_the_middle_of_an_event)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	size_t n, at = 0;

	bytes = serial_data("zephyr-ctf-32.bin", &n);
	/* Wherever it is cut, decoding begins within a few events, and nothing is made up. */
	for (at = 1000; at < 1060; at++) {
		_cleanup_serial_run_ struct serial_run *r = serial_run_new(SERIAL_AUTO, NULL);

		serial_run_feed(r, bytes + at, n - at, 512);
		cr_assert_eq(serial_stream_protocol(r->stream), SERIAL_ZEPHYR_CTF, "cut at %zu", at);
		cr_assert_leq(serial_stream_stats(r->stream).garbage + serial_stream_stats(r->stream).console, 37u, "cut at %zu", at);
		cr_assert_gt(serial_stats_of(r, EDGE_RUN, 536871984, true).n, 230u);
	}
}
