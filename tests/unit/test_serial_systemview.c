/* SPDX-License-Identifier: BSD-2-Clause */
/* test_serial_systemview.c - recorded SystemView streams against the truth beside them, to the tick. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/cleanup.h"
#include "source/serial_systemview.h"
#include "test_serial_fixture.h"

TestSuite(serial_systemview, .timeout = 120);

static void check_distribution(const struct serial_run *r, enum board_edge_kind kind, uint32_t id, const json_t *want,
			       const char *what)
{
	struct kept_stats s = serial_stats_of(r, kind, id, true);
	char text[128];

	snprintf(text, sizeof(text), "%s net", what);
	serial_check_ticks(&s, json_object_get(want, "net"), text);
	s = serial_stats_of(r, kind, id, false);
	snprintf(text, sizeof(text), "%s gross", what);
	serial_check_ticks(&s, json_object_get(want, "gross"), text);
}

/* Every figure of `true` or `clean` that the bytes carry. */
static void check_truth(const struct serial_run *r, const json_t *truth)
{
	size_t i;
	json_t *o;

	json_array_foreach(json_object_get(truth, "tasks"), i, o) {
		uint32_t id = (uint32_t)json_integer_value(json_object_get(o, "id"));
		const char *name = json_string_value(json_object_get(o, "name"));

		check_distribution(r, EDGE_RUN, id, o, name);
		if (json_object_get(o, "ready_to_run")) {
			struct kept_stats s = serial_stats_of(r, EDGE_READY, id, true);

			serial_check_ticks(&s, json_object_get(o, "ready_to_run"), "ready to run");
		}
	}
	json_array_foreach(json_object_get(truth, "isrs"), i, o)
		check_distribution(r, EDGE_ISR, (uint32_t)json_integer_value(json_object_get(o, "id")), o, "isr");
	check_distribution(r, EDGE_IDLE, 0, json_object_get(truth, "idle"), "idle");
}

static struct serial_run *run_file(const char *file, size_t piece, enum serial_protocol p)
{
	struct serial_run *r = serial_run_new(p, NULL);
	_cleanup_free_ uint8_t *bytes = NULL;
	size_t n;

	bytes = serial_data(file, &n);
	serial_run_feed(r, bytes, n, piece);
	cr_assert_eq(serial_stream_protocol(r->stream), SERIAL_SYSTEMVIEW, "%s", file);
	return r;
}

/* Streams by pieces: any cut must give the same. */
static const size_t pieces[] = { 1, 3, 64, 1000, 1000000 };

ParameterizedTestParameters(serial_systemview, clean_stream)
{
	return cr_make_param_array(size_t, (void *)pieces, ARRAY_SIZE(pieces));
}

ParameterizedTest(size_t *piece, serial_systemview, clean_stream)
{
	_cleanup_serial_run_ struct serial_run *r = run_file("systemview-a.bin", *piece, SERIAL_AUTO);
	json_t *want = serial_expect("systemview-a.expect.json"), *truth = json_object_get(want, "true");
	struct board_report rep;
	json_t *span = json_object_get(truth, "span");

	check_truth(r, truth);
	cr_assert_eq(serial_stream_stats(r->stream).events, json_array_size(json_object_get(want, "packets")));
	cr_assert_eq(serial_stream_stats(r->stream).garbage, 0u);
	cr_assert_eq(r->last_t, (uint64_t)json_integer_value(json_object_get(want, "last_t")));
	board_interval(r->board, 0, 1, CLOCK_UNKNOWN, &rep);
	cr_assert_float_eq(rep.loop.idle, json_number_value(json_object_get(span, "idle_net_share")), 1e-6);
	cr_assert_float_eq(rep.loop.load, 1 - json_number_value(json_object_get(span, "idle_net_share")), 1e-6);
	cr_assert(isnan(rep.loop.wait), "a board's loop has no neighbours that a trace could tell of");
	cr_assert_float_eq(rep.loop.interval_s, json_number_value(json_object_get(span, "ticks")) / 1e8, 1e-9);
	cr_assert_eq(rep.summary.hz, 100000000u);
	cr_assert_eq(rep.summary.gaps, 0);
	cr_assert_eq(rep.summary.orphans, json_integer_value(json_object_get(want, "orphan_isr_exits")));
	cr_assert_str_eq(rep.summary.name, "loop fixture A1");
	json_decref(want);
}

Test(serial_systemview, records_agree_with_the_truth)
{
	_cleanup_serial_run_ struct serial_run *r = run_file("systemview-a.bin", 4096, SERIAL_AUTO);
	json_t *want = serial_expect("systemview-a.expect.json"), *truth = json_object_get(want, "true"), *o;
	double ticks = json_number_value(json_object_get(json_object_get(truth, "span"), "ticks")), sum = 0;
	struct board_report rep;
	size_t i;

	board_interval(r->board, 0, 1, CLOCK_UNKNOWN, &rep);
	json_array_foreach(json_object_get(truth, "tasks"), i, o) {
		const struct task_record *t = serial_task(&rep, TASK_RUNS, (uint32_t)json_integer_value(json_object_get(o, "id")));
		json_t *net = json_object_get(json_object_get(o, "net"), "us");
		double median = json_number_value(json_object_get(net, "median"));

		cr_assert_str_eq(t->task, json_string_value(json_object_get(o, "name")));
		cr_assert_eq(t->runs, json_integer_value(json_object_get(o, "executions")));
		cr_assert_float_eq(t->busy, json_number_value(json_object_get(net, "total")) * 100 / ticks, 1e-9);
		cr_assert_float_eq(t->run_us.min, json_number_value(json_object_get(net, "min")), 1e-6);
		cr_assert_float_eq(t->run_us.max, json_number_value(json_object_get(net, "max")), 1e-6);
		cr_assert_float_eq(t->run_us.p50, median, median * 0.02);
		cr_assert_eq(t->left_out, 0);
		sum += t->busy;
	}
	cr_assert_float_eq(sum, json_number_value(json_object_get(json_object_get(truth, "span"), "tasks_net_share")), 1e-6);
	cr_assert_eq(rep.summary.margin.windows, 2, "2.5 s hold two whole windows of a second");
	cr_assert_leq(rep.summary.margin.worst, rep.summary.margin.mean);
	cr_assert_float_eq(rep.summary.margin.mean, rep.loop.idle, 0.01);
	cr_assert_gt(rep.summary.sleep_us.n, 968, "interrupts cut idle stretches into more");
	json_decref(want);
}

Test(serial_systemview, handles_and_isr_names)
{
	_cleanup_serial_run_ struct serial_run *r = run_file("systemview-c.bin", 4096, SERIAL_AUTO);
	json_t *want = serial_expect("systemview-c.expect.json"), *o;
	size_t i, found = 0;

	json_array_foreach(json_object_get(json_object_get(want, "true"), "tasks"), i, o) {
		for (size_t k = 0; k < r->n_names; k++) {
			if (r->names[k].class != BOARD_TASK || r->names[k].id != (uint32_t)json_integer_value(json_object_get(o, "id")))
				continue;
			cr_assert_eq(r->names[k].address, (uint64_t)json_integer_value(json_object_get(o, "handle")));
			cr_assert_str_eq(r->names[k].text, json_string_value(json_object_get(o, "name")));
			found++;
			break;
		}
	}
	cr_assert_eq(found, 4u);
	for (size_t k = 0; k < r->n_names; k++)
		if (r->names[k].class == BOARD_ISR && r->names[k].id == 44)
			cr_assert_str_eq(r->names[k].text, "DMA");
	json_decref(want);
}

Test(serial_systemview, overflowing_stream)
{
	_cleanup_serial_run_ struct serial_run *r = run_file("systemview-b.bin", 100, SERIAL_AUTO);
	json_t *want = serial_expect("systemview-b.expect.json"), *over = json_object_get(want, "overflow");
	struct board_report rep;

	check_truth(r, json_object_get(want, "clean"));
	board_interval(r->board, 0, 1, CLOCK_UNKNOWN, &rep);
	cr_assert_eq(rep.summary.lost[LOSS_EVENTS], json_integer_value(json_object_get(over, "lost_events")));
	cr_assert_eq(rep.summary.gaps, json_integer_value(json_object_get(over, "episodes")));
	cr_assert_eq(rep.summary.gaps_uncounted, 0);
	cr_assert_eq(rep.loop.lost, json_integer_value(json_object_get(over, "lost_events")));
	cr_assert_eq(serial_stream_stats(r->stream).garbage, 0u);
	json_decref(want);
}

static void check_wrapping(const struct serial_run *r, const json_t *want)
{
	check_truth(r, json_object_get(want, "true"));
	cr_assert_eq(r->last_t, (uint64_t)json_integer_value(json_object_get(want, "last_t")));
}

Test(serial_systemview, counter_wraps_and_long_silences)
{
	_cleanup_serial_run_ struct serial_run *r = run_file("systemview-c.bin", 512, SERIAL_AUTO);
	json_t *want = serial_expect("systemview-c.expect.json");

	check_wrapping(r, want);
	json_decref(want);
}

Test(serial_systemview, arrival_times_add_no_turns_that_were_none)
{
	_cleanup_serial_run_ struct serial_run *r = serial_run_new(SERIAL_AUTO, NULL);
	json_t *want = serial_expect("systemview-c.expect.json");
	_cleanup_free_ uint8_t *bytes = NULL;
	_cleanup_free_ uint64_t *times = NULL;
	struct board_report rep;
	size_t n;

	bytes = serial_data("systemview-c.bin", &n);
	times = serial_times("systemview-c.times", n);
	serial_run_feed_timed(r, bytes, n, times, 5000000000ull);
	check_wrapping(r, want);
	board_interval(r->board, 0, 1, 5000000000ull + times[n - 1], &rep);
	cr_assert_eq(rep.summary.clock.method, CLOCK_ONE_WAY);
	cr_assert_float_eq(rep.summary.clock.drift_ppm, 0, 1, "one simulated clock drives both");
	json_decref(want);
}

Test(serial_systemview, cut_stream_without_sync)
{
	_cleanup_serial_run_ struct serial_run *r = run_file("systemview-d.bin", 777, SERIAL_AUTO);
	json_t *want = serial_expect("systemview-d.expect.json");
	struct board_report rep;
	uint64_t packets = 0;
	const char *key;
	json_t *v;

	json_object_foreach(json_object_get(want, "packets_by_id"), key, v)
		packets += (uint64_t)json_integer_value(v);
	check_truth(r, json_object_get(want, "true"));
	cr_assert_eq(serial_stream_stats(r->stream).events, packets);
	cr_assert_eq(serial_stream_stats(r->stream).garbage,
		     (uint64_t)json_integer_value(json_object_get(want, "first_packet_offset")));
	board_interval(r->board, 0, 1, CLOCK_UNKNOWN, &rep);
	cr_assert_eq(rep.summary.hz, 100000000u, "no INIT: the rate comes from the two SYSTIMEs");
	json_decref(want);
}

/* Each packet's place, size, time and numbers, against the independent decode. */
static void check_packets(const char *bin, const char *expect)
{
	json_t *want = serial_expect(expect), *p;
	_cleanup_free_ uint8_t *bytes = NULL;
	struct systemview_packet k;
	uint64_t t = 0;
	size_t n, i, at = 0;

	bytes = serial_data(bin, &n);
	json_array_foreach(json_object_get(want, "packets"), i, p) {
		size_t args = json_array_size(p) - 4;
		int len;

		if (json_integer_value(json_array_get(p, 0)) < 0)
			continue; /* lost on the board */
		len = systemview_packet(bytes + at, n - at, &k);
		cr_assert_eq((json_int_t)at, json_integer_value(json_array_get(p, 0)));
		cr_assert_eq(len, json_integer_value(json_array_get(p, 1)), "at %zu: %d", at, len);
		t += k.delta;
		if (i > 0)
			cr_assert_eq(t, (uint64_t)json_integer_value(json_array_get(p, 2)), "at %zu", at);
		cr_assert_eq(k.id, json_integer_value(json_array_get(p, 3)));
		for (size_t a = 0, num = 0; a < args && k.id < 32 && num < k.n_args; a++) {
			json_t *arg = json_array_get(p, 4 + a);

			if (json_is_string(arg))
				cr_assert_str_eq(k.text, json_string_value(arg));
			else
				cr_assert_eq(k.arg[num++], (uint32_t)json_integer_value(arg), "at %zu arg %zu", at, a);
		}
		at += (size_t)len;
	}
	cr_assert_eq(at, n);
	json_decref(want);
}

Test(serial_systemview, every_packet)
{
	check_packets("systemview-a.bin", "systemview-a.expect.json");
	check_packets("systemview-b.bin", "systemview-b.expect.json");
	check_packets("systemview-c.bin", "systemview-c.expect.json");
}

Test(serial_systemview, hello_and_greetings)
{
	_cleanup_free_ uint8_t *board = NULL, *host = NULL, *a = NULL;
	_cleanup_serial_run_ struct serial_run *r = serial_run_new(SERIAL_AUTO, NULL);
	uint8_t out[16];
	size_t n, nh, na;

	host = serial_data("systemview-handshake.host.bin", &nh);
	n = serial_greeting(SERIAL_SYSTEMVIEW, SERIAL_OPENED, out);
	cr_assert_eq(n, nh);
	cr_assert_arr_eq(out, host, n);
	cr_assert_eq(serial_greeting(SERIAL_SYSTEMVIEW, SERIAL_ANSWERED, out), 1u);
	cr_assert_eq(out[0], 1);
	board = serial_data("systemview-handshake.board.bin", &n);
	a = serial_data("systemview-a.bin", &na);
	serial_stream_feed(r->stream, board, n, CLOCK_UNKNOWN);
	serial_run_feed(r, a, na, 256);
	cr_assert_eq(serial_stream_protocol(r->stream), SERIAL_SYSTEMVIEW);
	cr_assert_eq(serial_stream_stats(r->stream).events, 15489u);
}
