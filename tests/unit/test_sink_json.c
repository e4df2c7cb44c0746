/* SPDX-License-Identifier: BSD-2-Clause */
/* test_sink_json.c - what scripts parse: names, order, null where nothing is known, sums that hold in print. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <unistd.h>

#include "sink/json_value.h"
#include "test_sink_fixture.h"

static void init(void)
{
	fixture_environment();
}

TestSuite(sink_json, .init = init, .timeout = 20);

static void print_json(struct capture *c, const struct interval *iv)
{
	struct sink *s = NULL;
	struct fault f = { 0 };

	capture_open(c);
	cr_assert_eq(sink_json_new(c->out, &s, &f), 0);
	cr_assert_eq(sink_interval(s, iv, &f), 0, "%s", f.text);
	sink_free(s);
}

/* The first line, parsed: strictly, a duplicate name is refused. */
static json_t *first_line(const struct interval *iv)
{
	struct capture c;
	json_error_t e;
	json_t *j;

	print_json(&c, iv);
	j = json_loadb(c.text, (size_t)(strchr(c.text, '\n') - c.text), JSON_REJECT_DUPLICATES, &e);
	cr_assert_not_null(j, "%s: %s", e.text, c.text);
	capture_free(&c);
	return j;
}

static double number(json_t *o, const char *key)
{
	json_t *v = json_object_get(o, key);

	cr_assert(json_is_number(v), "%s", key);
	return json_number_value(v);
}

Test(sink_json, golden)
{
	struct loop_record loops[FIXTURE_LOOPS];
	struct interval iv = fixture_interval(loops, FIXTURE_LOOPS);
	struct capture c;

	fixture_all(loops);
	iv.lost = 12;
	iv.steal = 0.0321;
	iv.n_asleep = 2000;
	iv.seq = 7;
	iv.last = true;
	print_json(&c, &iv);
	golden_check("loops.ndjson", c.text);
	capture_free(&c);
}

Test(sink_json, no_loops_is_one_interval_line)
{
	struct interval iv = fixture_interval(NULL, 0);
	struct capture c;

	iv.lost = -1;
	print_json(&c, &iv);
	golden_check("no-loops.ndjson", c.text);
	capture_free(&c);
}

static void assert_keys(json_t *o, const char *const *keys, size_t n)
{
	void *it = json_object_iter(o);

	for (size_t i = 0; i < n; i++, it = json_object_iter_next(o, it)) {
		cr_assert_not_null(it);
		cr_assert_str_eq(json_object_iter_key(it), keys[i]);
	}
}

/* The design's names in the design's order; ours only after them. */
Test(sink_json, fields_are_the_designs)
{
	static const char *const top[] = {
		"v", "type", "ts", "interval_s", "source", "pid", "tid", "nspid", "comm", "thread", "cgroup", "runtime",
		"wait_point", "load", "busy", "wait", "idle", "spin", "naive_load", "parts", "io_waits", "ticks",
		"tick_us", "io_us", "blocked_by", "waited_for", "lost", "observer_cost",
	};
	static const char *const point[] = { "syscall", "fd" };
	static const char *const parts[] = { "io_cpu", "tick_cpu", "tick_blocked", "wait_io", "wait_tick",
					     "throttled" };
	static const char *const us[] = { "p50", "p90", "p99", "p999", "max" };
	static const char *const blocked[] = { "syscall", "share" };
	static const char *const waited[] = { "comm", "pid", "share" };
	struct loop_record r = fixture_node();
	struct interval iv = fixture_interval(&r, 1);
	json_t *j;

	r.waited_for[r.n_waited_for++] = (struct waited_share){ "ffmpeg", 9, 0.1 };
	j = first_line(&iv);
	assert_keys(j, top, ARRAY_SIZE(top));
	assert_keys(json_object_get(j, "wait_point"), point, ARRAY_SIZE(point));
	assert_keys(json_object_get(j, "parts"), parts, ARRAY_SIZE(parts));
	assert_keys(json_object_get(j, "tick_us"), us, ARRAY_SIZE(us));
	assert_keys(json_object_get(j, "io_us"), us, ARRAY_SIZE(us));
	assert_keys(json_array_get(json_object_get(j, "blocked_by"), 0), blocked, ARRAY_SIZE(blocked));
	assert_keys(json_array_get(json_object_get(j, "waited_for"), 0), waited, ARRAY_SIZE(waited));
	cr_assert_eq(json_integer_value(json_object_get(j, "v")), 1);
	cr_assert_str_eq(json_string_value(json_object_get(j, "type")), "loop");
	json_decref(j);
}

Test(sink_json, what_is_unknown_is_null_and_what_is_zero_is_not)
{
	static const char *const nullable[] = {
		"nspid", "thread", "cgroup", "load", "busy", "wait", "idle", "spin", "naive_load", "io_waits", "ticks",
		"tick_us", "io_us", "lost", "observer_cost", "observer_cost_from", "io_sleeps", "thread_start_s",
		"comm",
	};
	struct loop_record r = fixture_unknown();
	struct interval iv = fixture_interval(&r, 1);
	json_t *j = first_line(&iv), *parts = json_object_get(j, "parts"), *v;
	json_t *point = json_object_get(j, "wait_point");
	const char *key;

	for (size_t i = 0; i < ARRAY_SIZE(nullable); i++)
		cr_assert(json_is_null(json_object_get(j, nullable[i])), "%s", nullable[i]);
	json_object_foreach(parts, key, v)
		cr_assert(json_is_null(v), "%s", key);
	json_object_foreach(point, key, v)
		cr_assert(json_is_null(v), "%s", key);
	json_decref(j);

	r = fixture_utf8(); /* asleep throughout: all zero but idle */
	j = first_line(&iv);
	cr_assert_float_eq(number(j, "load"), 0, 0);
	cr_assert_float_eq(number(j, "idle"), 1, 0);
	cr_assert_float_eq(number(j, "lost"), 0, 0);
	cr_assert(json_is_true(json_object_get(j, "in_progress_only")));
	json_decref(j);
}

/* A source that holds io_cpu and tick_cpu in one: the other parts are shown, and right. */
Test(sink_json, one_unknown_part_leaves_the_others)
{
	struct loop_record r = fixture_contended();
	struct interval iv = fixture_interval(&r, 1);
	json_t *j, *parts;

	r.tick_cpu += r.io_cpu;
	r.io_cpu = NAN;
	j = first_line(&iv);
	parts = json_object_get(j, "parts");
	cr_assert(json_is_null(json_object_get(parts, "io_cpu")));
	cr_assert_float_eq(number(parts, "tick_cpu"), 0.42, 1e-9);
	cr_assert_float_eq(number(parts, "wait_tick"), 0.2, 1e-9);
	json_decref(j);
}

/* xorshift64: the same sequence in each run. */
static double random_share(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (double)(*state >> 11) / (double)(1ULL << 53);
}

/* Sums of whole nanoseconds, as the kernel keeps them. */
static void random_parts(struct loop_record *r, uint64_t *state)
{
	double cut[5], wall = 1e9 + floor(random_share(state) * 1e9), left = wall;

	for (size_t i = 0; i < 5; i++) {
		cut[i] = floor(random_share(state) * left * (random_share(state) < 0.2 ? 0 : 1));
		left -= cut[i];
	}
	fixture_shares(r, cut[0] / wall, cut[1] / wall, cut[2] / wall, cut[3] / wall, cut[4] / wall);
}

Test(sink_json, sums_hold_in_print)
{
	uint64_t state = 88172645463325252ULL;

	for (int i = 0; i < 5000; i++) {
		struct loop_record r = fixture_node();
		struct interval iv = fixture_interval(&r, 1);
		double busy, wait, idle, of_busy;
		json_t *j, *parts;

		random_parts(&r, &state);
		j = first_line(&iv);
		parts = json_object_get(j, "parts");
		busy = number(j, "busy");
		wait = number(j, "wait");
		idle = number(j, "idle");
		/* The tolerance is that of adding doubles, far below one unit of 1e-6. */
		cr_assert_float_eq(busy + wait + idle, 1, 1e-12);
		cr_assert_float_eq(number(j, "load"), busy + wait, 1e-12);
		of_busy = number(parts, "io_cpu") + number(parts, "tick_cpu") + number(parts, "tick_blocked");
		cr_assert_float_eq(of_busy, busy, 1e-12);
		cr_assert_float_eq(number(parts, "wait_io") + number(parts, "wait_tick"), wait, 1e-12);
		cr_assert_float_eq(busy, r.busy, 1e-6);
		cr_assert_float_eq(wait, r.wait, 1e-6);
		cr_assert_float_eq(idle, r.idle, 1e-6);
		cr_assert_float_eq(number(parts, "tick_cpu"), r.tick_cpu, 1e-6);
		cr_assert_float_eq(number(parts, "wait_tick"), r.wait_tick, 1e-6);
		json_decref(j);
	}
}

/* A sum that is wrong must look wrong: rounding is no excuse to hide it. */
Test(sink_json, a_wrong_sum_is_not_repaired)
{
	struct loop_record r = fixture_node();
	struct interval iv = fixture_interval(&r, 1);
	json_t *j;

	r.busy = 0.3;
	r.wait = 0.2;
	r.idle = 0.1;
	r.load = 0.7;
	j = first_line(&iv);
	cr_assert_float_eq(number(j, "busy") + number(j, "wait") + number(j, "idle"), 0.6, 1e-9);
	cr_assert_float_eq(number(j, "load"), 0.7, 1e-9);
	json_decref(j);
}

Test(sink_json, absurd_numbers_are_null_or_bounded)
{
	static const double absurd[] = { INFINITY, -INFINITY, NAN, 1e300, -1e300, 1e16 };

	for (size_t i = 0; i < ARRAY_SIZE(absurd); i++) {
		struct loop_record r = fixture_node();
		struct interval iv = fixture_interval(&r, 1);
		json_t *j;

		r.load = r.busy = r.tick_cpu = r.observer_cost = r.ts = r.interval_s = r.tick_us.p50 = absurd[i];
		r.n_blocked_by = r.n_waited_for = 1000000; /* beyond the arrays */
		j = first_line(&iv);
		cr_assert(json_is_null(json_object_get(j, "load")));
		cr_assert(json_is_null(json_object_get(j, "busy")));
		cr_assert(json_is_null(json_object_get(j, "ts")));
		cr_assert_eq(json_array_size(json_object_get(j, "blocked_by")), LOOP_BLOCKED_MAX + 1);
		cr_assert_eq(json_array_size(json_object_get(j, "waited_for")), LOOP_WAITED_MAX + 1);
		json_decref(j);
	}
}

Test(sink_json, numbers_read_as_measured)
{
	struct loop_record r = fixture_node();
	struct interval iv = fixture_interval(&r, 1);
	struct capture c;

	r.spin = -1e-12;
	print_json(&c, &iv);
	cr_assert(strstr(c.text, "\"ts\":1764554400.25,"), "%s", c.text);
	cr_assert(strstr(c.text, "\"naive_load\":0.3391,"), "%s", c.text);
	cr_assert(strstr(c.text, "\"max\":8300.123}"), "%s", c.text);
	cr_assert(strstr(c.text, "\"spin\":0.0,"), "%s", c.text);
	cr_assert(strstr(c.text, "\"interval_s\":1.0,"), "%s", c.text);
	capture_free(&c);
}

/* jansson refuses to read what is not UTF-8: that it reads every line is the check. */
Test(sink_json, names_of_any_bytes_are_one_valid_line)
{
	for (int byte = 1; byte < 256; byte++) {
		struct loop_record r = fixture_node();
		struct interval iv = fixture_interval(&r, 1);
		struct capture c;
		unsigned lines = 0;
		json_t *j;

		memset(r.comm, byte, sizeof(r.comm));
		memset(r.blocked_by[0].what, byte, sizeof(r.blocked_by[0].what));
		j = first_line(&iv);
		if (byte < 0x80) {
			cr_assert_eq(json_string_length(json_object_get(j, "comm")), LOOP_COMM_LEN);
			cr_assert_eq(memcmp(json_string_value(json_object_get(j, "comm")), r.comm, LOOP_COMM_LEN), 0);
		} else {
			cr_assert_eq(strncmp(json_string_value(json_object_get(j, "comm")), "\xef\xbf\xbd", 3), 0);
		}
		json_decref(j);
		print_json(&c, &iv);
		for (const char *p = c.text; *p; p++) {
			lines += *p == '\n';
			cr_assert(*p == '\n' || ((unsigned char)*p >= 0x20 && (unsigned char)*p <= 0x7f));
		}
		cr_assert_eq(lines, 2);
		capture_free(&c);
	}
}

Test(sink_json, interval_is_flushed)
{
	struct loop_record r = fixture_node();
	struct interval iv = fixture_interval(&r, 1);
	struct sink *s = NULL;
	char text[8192];
	ssize_t n;
	int fds[2];
	FILE *out;

	cr_assert_eq(pipe2(fds, O_NONBLOCK), 0);
	out = fdopen(fds[1], "w");
	cr_assert_eq(sink_json_new(out, &s, NULL), 0);
	cr_assert_eq(sink_interval(s, &iv, NULL), 0);
	n = read(fds[0], text, sizeof(text));
	cr_assert(n > 0 && text[n - 1] == '\n');
	sink_free(s);
	fclose(out);
	close(fds[0]);
}

/* Few loops fail at the flush, many while writing: both are seen. */
Test(sink_json, full_disk_is_a_sentence)
{
	static const size_t sizes[] = { 0, 1, 1000 };
	_cleanup_free_ struct loop_record *loops = calloc(1000, sizeof(*loops));

	cr_assert_not_null(loops);
	for (size_t i = 0; i < 1000; i++)
		loops[i] = fixture_node();
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct interval iv = fixture_interval(loops, sizes[i]);
		FILE *out = fopen("/dev/full", "w");
		struct sink *s = NULL;
		struct fault f = { 0 };

		cr_assert_eq(sink_json_new(out, &s, &f), 0);
		cr_assert_eq(sink_interval(s, &iv, &f), -ENOSPC);
		cr_assert(strstr(f.text, "No space left"), "%s", f.text);
		sink_free(s);
		fclose(out);
	}
}

Test(sink_json, reader_gone_is_silent)
{
	struct loop_record r = fixture_node();
	struct interval iv = fixture_interval(&r, 1);
	FILE *out = fixture_reader_gone();
	struct fault f = { 0 };
	struct sink *s = NULL;

	cr_assert_eq(sink_json_new(out, &s, &f), 0);
	cr_assert_eq(sink_interval(s, &iv, &f), -EPIPE);
	cr_assert_str_empty(f.text);
	sink_free(s);
	fclose(out);
}

/* Names on disk and in JSON never change; what a newer version wrote is no reason to crash. */
Test(sink_json, enum_names)
{
	cr_assert_str_eq(record_source_name(SOURCE_KERNEL), "kernel");
	cr_assert_str_eq(record_source_name(SOURCE_RECORDING), "recording");
	cr_assert_str_eq(record_source_name(SOURCE_SERIAL), "serial");
	cr_assert_str_eq(record_source_name((enum record_source)-1), "unknown");
	cr_assert_null(cost_kind_name(COST_UNKNOWN));
	cr_assert_str_eq(cost_kind_name(COST_CALIBRATED), "calibrated");
	cr_assert_str_eq(cost_kind_name(COST_KERNEL), "kernel");
	cr_assert_null(cost_kind_name((enum cost_kind)99));
	cr_assert_str_eq(edge_kind_name(EDGES_SCHED), "sched");
	cr_assert_str_eq(edge_kind_name(EDGES_BOARD), "board");
	cr_assert_str_eq(edge_kind_name((enum edge_kind)99), "unknown");
}
