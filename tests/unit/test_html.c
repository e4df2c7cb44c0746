/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_html.c - the HTML report's data, read back as the page reads it: what went in comes out, nothing in it can be markup, and its
 * size is bounded whatever the recording holds.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "lib/cleanup.h"
#include "sink/html.h"
#include "sink/html_spans.h"

#define START 1764554400000000000ll
#define SECOND 1000000000ll
#define LANES 3

TestSuite(html, .timeout = 120);

/* A recording that is in memory: arrays of what is visited. */
struct kept {
	struct recording_view view; /* first: the ops get this */
	struct recording_host host;
	struct lane lanes[LANES];
	size_t n_lanes;
	const struct timeline_span *spans;
	size_t n_spans;
	const struct recording_loop *loops;
	size_t n_loops;
	const struct recording_slow *slow;
	size_t n_slow;
	const struct recording_state *states;
	size_t n_states;
};

static const struct recording_host *kept_host(struct recording_view *v)
{
	return &((struct kept *)v)->host;
}

static const struct recording_source *kept_sources(struct recording_view *v, size_t *ret_n)
{
	static const struct recording_source source = { SOURCE_KERNEL, "kernel", "", "" };

	*ret_n = 1;
	return &source;
}

static const struct lane *kept_lanes(struct recording_view *v, size_t *ret_n)
{
	*ret_n = ((struct kept *)v)->n_lanes;
	return ((struct kept *)v)->lanes;
}

#define VISIT(name, type, of, n)                                                                                                     \
	static int name(struct recording_view *v, const struct recording_select *s, int (*fn)(void *arg, const type *), void *arg,   \
			struct fault *f)                                                                                             \
	{                                                                                                                            \
		struct kept *k = (struct kept *)v;                                                                                   \
		int err = 0;                                                                                                         \
                                                                                                                                     \
		for (size_t i = 0; i < k->n && !err; i++)                                                                            \
			err = fn(arg, &k->of[i]);                                                                                    \
		return err;                                                                                                          \
	}

VISIT(kept_loops, struct recording_loop, loops, n_loops)
VISIT(kept_slow, struct recording_slow, slow, n_slow)
VISIT(kept_states, struct recording_state, states, n_states)
VISIT(kept_spans, struct timeline_span, spans, n_spans)

static int no_tasks(struct recording_view *v, const struct recording_select *s, recording_task_fn fn, void *arg, struct fault *f)
{
	return 0;
}

static const struct recording_ops kept_ops = {
	.host = kept_host, .sources = kept_sources, .lanes = kept_lanes, .loops = kept_loops, .slow_ticks = kept_slow, .tasks = no_tasks,
	.states = kept_states, .spans = kept_spans,
};

static struct kept recording(double seconds)
{
	struct kept k = {
		.view = { &kept_ops }, .n_lanes = LANES,
		.host = { .hostname = "h", .kernel = "6", .machine = "m", .version = "v", .command = "record", .cpus = 2, .start_ns = START,
			  .end_ns = START + (int64_t)(seconds * 1e9), .interval_ns = SECOND, .slow_ns = 50000000, .has_ticks = true, .complete = true,
			  .dropped_until_ns = INT64_MIN },
	};

	for (uint32_t i = 0; i < LANES; i++)
		k.lanes[i] = (struct lane){ .index = i, .parent = LANE_NONE, .name = "n", .process = "p", .runtime = "r", .id = { .pid = 5, .tid = 5 } };
	k.lanes[2].kind = LANE_MARK;
	k.lanes[2].parent = 0;
	return k;
}

static char *page_of(struct kept *k, size_t *ret_n)
{
	struct recording_select all = RECORDING_ALL;
	struct fault f = { 0 };
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_n);

	cr_assert_not_null(out);
	cr_assert_eq(html_write(&k->view, &all, out, &f), 0, "%s", f.text);
	fclose(out);
	return text;
}

/* An element of data, parsed strictly. */
static json_t *element(const char *page, const char *id)
{
	char begin[80];
	const char *from, *to;
	json_error_t e;
	json_t *j;

	snprintf(begin, sizeof(begin), "<script type=\"application/json\" id=\"data-%s\">", id);
	from = strstr(page, begin);
	cr_assert_not_null(from, "%s", id);
	from += strlen(begin);
	to = strstr(from, "</script>");
	cr_assert_not_null(to);
	cr_assert_null(memchr(from, '<', (size_t)(to - from)), "%s: nothing in the data can begin a tag", id);
	j = json_loadb(from, (size_t)(to - from), JSON_REJECT_DUPLICATES, &e);
	cr_assert_not_null(j, "%s: %s at %d", id, e.text, e.position);
	return j;
}

static json_t *rows(json_t *table)
{
	return json_object_get(table, "rows");
}

/* A value by its column's name. */
static json_t *cell(json_t *table, size_t row, const char *column)
{
	json_t *columns = json_object_get(table, "columns");

	for (size_t i = 0; i < json_array_size(columns); i++)
		if (strcmp(json_string_value(json_array_get(columns, i)), column) == 0)
			return json_array_get(json_array_get(rows(table), row), i);
	cr_assert_fail("no column %s", column);
	return NULL;
}

static json_int_t number(json_t *table, size_t row, const char *column)
{
	json_t *v = cell(table, row, column);

	cr_assert(json_is_integer(v), "%s", column);
	return json_integer_value(v);
}

/* --- spans, unpacked as html_spans.h says ------------------------------------------------------------------------------ */

static int digit(char c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *p = strchr(digits, c);

	return p && c ? (int)(p - digits) : -1;
}

static size_t from_base64(const char *text, size_t n, unsigned char *to)
{
	unsigned bits = 0, have = 0;
	size_t len = 0;

	for (size_t i = 0; i < n && text[i] != '='; i++) {
		bits = bits << 6 | (unsigned)digit(text[i]);
		have += 6;
		if (have >= 8)
			to[len++] = (unsigned char)(bits >> (have -= 8));
	}
	return len;
}

static uint64_t bytes(const unsigned char *p, size_t step, size_t n)
{
	uint64_t v = 0;

	for (size_t i = 0; i < n; i++)
		v |= (uint64_t)p[i * step] << 8 * i;
	return v;
}

struct unpacked {
	struct timeline_span *of;
	size_t n;
};

static void unpack_piece(struct unpacked *u, uint32_t lane, const unsigned char *p, int64_t unit)
{
	size_t n = bytes(p, 1, 4), wide[3] = { p[4], p[5], p[6] }, n_flags = bytes(p + 16, 1, 4), first = u->n;
	const unsigned char *pauses = p + 20, *lengths = pauses + n * wide[0], *values = lengths + n * wide[1], *flags = values + n * wide[2];
	uint64_t bits = bytes(p + 8, 1, 8);
	double start;
	int64_t t;

	memcpy(&start, &bits, sizeof(start));
	t = (int64_t)start;
	for (size_t i = 0; i < n; i++) {
		uint64_t value = bytes(values + i, n, wide[2]);
		struct timeline_span *s = &u->of[u->n++];

		t += (int64_t)bytes(pauses + i, n, wide[0]);
		*s = (struct timeline_span){ .lane = lane, .start_ns = START + t * unit, .value = value & 1 ? -(int64_t)(value >> 1) - 1 : (int64_t)(value >> 1) };
		t += (int64_t)bytes(lengths + i, n, wide[1]);
		s->end_ns = START + t * unit;
	}
	for (size_t i = 0; i < n_flags; i++) {
		struct timeline_span *s = &u->of[first + bytes(flags + 4 * i, 1, 4)];
		unsigned char set = flags[4 * n_flags + i];

		s->slow = set & HTML_SPAN_SLOW;
		s->open = set & HTML_SPAN_OPEN;
		s->unsure = set & HTML_SPAN_UNSURE;
	}
}

static struct unpacked unpack(const char *page, size_t most, int64_t unit)
{
	static const char begin[] = "<script type=\"text/plain\" class=\"spans\" data-lane=\"";
	struct unpacked u = { .of = calloc(most + 1, sizeof(*u.of)) };
	size_t room = 8u << 20;
	unsigned char *zipped = malloc(room), *raw = malloc(room);

	for (const char *at = page; (at = strstr(at, begin)); ) {
		char *text;
		uint32_t lane = (uint32_t)strtoul(at + strlen(begin), &text, 10);
		const char *end = strstr(text, "</script>");
		uLongf n = room;

		text += 2; /* "> */
		cr_assert_eq(uncompress(raw, &n, zipped, from_base64(text, (size_t)(end - text), zipped)), Z_OK);
		cr_assert_leq(u.n + bytes(raw, 1, 4), most);
		unpack_piece(&u, lane, raw, unit);
		at = end;
	}
	free(zipped);
	free(raw);
	return u;
}

static void assert_same(const struct timeline_span *want, const struct timeline_span *got, int64_t unit)
{
	cr_assert(want->start_ns - got->start_ns >= 0 && want->start_ns - got->start_ns < unit);
	cr_assert(want->end_ns - got->end_ns >= 0 && want->end_ns - got->end_ns < unit);
	cr_assert_eq(want->slow, got->slow);
	cr_assert_eq(want->open, got->open);
	cr_assert_eq(want->unsure, got->unsure);
	if (want->kind == SPAN_MARK)
		cr_assert_eq(want->value, got->value);
}

Test(html, spans_come_back_to_the_nanosecond)
{
	struct timeline_span spans[5000];
	struct kept k = recording(4000);
	_cleanup_free_ char *page = NULL;
	int64_t at[LANES] = { START - 7, START, START }, unit;
	struct unpacked u;
	json_t *facts;
	size_t n, seen[LANES] = { 0 };

	srand(1);
	for (size_t i = 0; i < ARRAY_SIZE(spans); i++) {
		uint32_t lane = (uint32_t)rand() % LANES;
		int64_t length = lane == 2 ? 0 : (int64_t)rand() % (i % 50 ? 100000 : 5000000000ll);

		spans[i] = (struct timeline_span){ .lane = lane, .kind = lane == 2 ? SPAN_MARK : SPAN_TICK, .start_ns = at[lane], .end_ns = at[lane] + length,
						   .net_ns = -1, .slow = length > 50000000, .unsure = i % 77 == 0, .open = i == 4999,
						   .value = lane == 2 ? rand() - RAND_MAX / 2 : -1 };
		/* Marks may stand at one moment; what a damaged recording holds may overlap. */
		at[lane] += length + (i % 97 ? rand() % 3000 : -length / 2);
	}
	k.spans = spans;
	k.n_spans = ARRAY_SIZE(spans);
	page = page_of(&k, &n);
	facts = element(page, "facts");
	unit = json_integer_value(json_object_get(facts, "unit"));
	cr_assert_eq(unit, 1);
	u = unpack(page, ARRAY_SIZE(spans), unit);
	cr_assert_eq(u.n, ARRAY_SIZE(spans));
	for (size_t i = 0; i < u.n; i++) {
		uint32_t lane = u.of[i].lane;

		while (spans[seen[lane]].lane != lane)
			seen[lane]++;
		assert_same(&spans[seen[lane]++], &u.of[i], unit);
	}
	json_decref(facts);
	free(u.of);
}

Test(html, waits_and_gaps_are_no_levels)
{
	const struct timeline_span spans[] = {
		{ .lane = 0, .kind = SPAN_IO_WAIT, .start_ns = START, .end_ns = START + 10, .net_ns = -1, .value = 1 },
		{ .lane = 0, .kind = SPAN_GAP, .start_ns = START + 10, .end_ns = START + 30, .net_ns = -1, .value = 12 },
		{ .lane = 0, .kind = SPAN_TICK, .start_ns = START + 30, .end_ns = START + 45, .net_ns = -1, .value = -1 },
	};
	struct kept k = recording(1);
	_cleanup_free_ char *page = NULL;
	struct unpacked u;
	json_t *gaps;
	size_t n;

	k.spans = spans;
	k.n_spans = ARRAY_SIZE(spans);
	page = page_of(&k, &n);
	u = unpack(page, 3, 1);
	cr_assert_eq(u.n, 1);
	cr_assert_eq(u.of[0].start_ns, START + 30);
	gaps = element(page, "gaps");
	cr_assert_eq(json_array_size(rows(gaps)), 1);
	cr_assert_eq(number(gaps, 0, "end"), 30);
	cr_assert_eq(number(gaps, 0, "lost"), 12);
	json_decref(gaps);
	free(u.of);
}

/* The page says how fine it is, and keeps to it. */
Test(html, many_spans_are_shown_less_finely)
{
	size_t most = 900000, n;
	struct timeline_span *spans = calloc(most, sizeof(*spans));
	struct kept k = recording(1e6);
	_cleanup_free_ char *page = NULL;
	int64_t at = START, unit;
	struct unpacked u;
	json_t *facts;

	srand(2);
	for (size_t i = 0; i < most; i++) {
		int64_t length = (int64_t)rand() << 8, pause = (int64_t)rand() << 8;

		spans[i] = (struct timeline_span){ .kind = SPAN_TICK, .start_ns = at, .end_ns = at + length, .net_ns = -1, .value = -1 };
		at += length + pause;
	}
	k.host.end_ns = at;
	k.spans = spans;
	k.n_spans = most;
	page = page_of(&k, &n);
	facts = element(page, "facts");
	unit = json_integer_value(json_object_get(facts, "unit"));
	cr_assert_gt(unit, 1);
	cr_assert_lt(n, 12000000);
	u = unpack(page, most, unit);
	cr_assert_eq(u.n, most);
	for (size_t i = 0; i < most; i += 997)
		assert_same(&spans[i], &u.of[i], unit);
	json_decref(facts);
	free(u.of);
	free(spans);
}

/* --- names ------------------------------------------------------------------------------------------------------------- */

Test(html, hostile_names_are_data)
{
	static const char evil[] = "</script><script>alert(1)</script>\xff\x01\"<!--";
	struct slow_cause cause = { .kind = CAUSE_CPU, .us = 60000, .what = evil, .stack = { .frame = { evil, "main" }, .n = 2 }, .samples = 3 };
	struct slow_tick tick = { .runtime = "", .duration_us = 60000, .cpu_us = 60000, .blocked_us = NAN, .wait_us = NAN, .throttled_us = NAN, .events = -1,
				  .causes = &cause, .n_causes = 1 };
	struct recording_slow slow = { 0, START, START + 60000000, &tick };
	struct kept k = recording(1);
	_cleanup_free_ char *page = NULL;
	json_t *names, *facts, *ticks, *stack;
	size_t n, begins = 0, ends = 0;

	k.slow = &slow;
	k.n_slow = 1;
	k.host.hostname = k.host.command = k.lanes[0].name = evil;
	page = page_of(&k, &n);
	for (const char *p = page; (p = strstr(p, "<script")); p++)
		begins++;
	for (const char *p = page; (p = strstr(p, "</script")); p++)
		ends++;
	cr_assert_eq(begins, ends, "no element is ended by a name");
	facts = element(page, "facts");
	cr_assert_str_eq(json_string_value(json_object_get(facts, "hostname")), "</script><script>alert(1)</script>\xef\xbf\xbd\x01\"<!--");
	names = element(page, "names");
	ticks = element(page, "slow");
	cr_assert_eq(json_array_size(rows(names)), 2, "each name once");
	stack = json_array_get(json_array_get(cell(ticks, 0, "causes"), 0), 5);
	cr_assert_str_eq(json_string_value(cell(names, (size_t)json_integer_value(json_array_get(stack, 1)), "name")), "main");
	cr_assert(json_is_null(cell(ticks, 0, "blocked_ns")), "unknown is null");
	json_decref(facts);
	json_decref(names);
	json_decref(ticks);
}

/* --- records ----------------------------------------------------------------------------------------------------------- */

static struct loop_record record_of(size_t i)
{
	struct loop_record r = {
		.interval_s = 1, .runtime = "", .cgroup = "", .wait_syscall = "", .load = NAN, .busy = i % 2 ? 0.5 : 0.25, .wait = NAN, .idle = NAN, .spin = NAN,
		.naive_load = NAN, .io_cpu = NAN, .tick_cpu = NAN, .tick_blocked = NAN, .wait_io = NAN, .wait_tick = NAN, .throttled = NAN, .io_waits = -1,
		.ticks = 3, .slow_ticks = -1, .lost = 0, .observer_cost = NAN, .tick_us = { true, 1, 2, 3, 4, (double)(i % 1000) },
		.waited_for = { { "hog", 7, 0.1 } }, .n_waited_for = 1,
	};

	return r;
}

Test(html, intervals_are_merged_but_not_their_sums)
{
	static struct loop_record records[6000];
	static struct recording_loop loops[6000];
	struct kept k = recording(6000);
	_cleanup_free_ char *page = NULL;
	json_int_t ticks = 0, worst = 0, merged = 0;
	double busy = 0;
	json_t *table;
	size_t n;

	for (size_t i = 0; i < 6000; i++) {
		records[i] = record_of(i);
		loops[i] = (struct recording_loop){ 0, START + (int64_t)i * SECOND, START + (int64_t)(i + 1) * SECOND, &records[i] };
	}
	k.loops = loops;
	k.n_loops = 6000;
	page = page_of(&k, &n);
	table = element(page, "loops");
	cr_assert_leq(json_array_size(rows(table)), 2001);
	for (size_t i = 0; i < json_array_size(rows(table)); i++) {
		ticks += number(table, i, "ticks");
		merged += number(table, i, "merged");
		busy += (double)number(table, i, "busy") * 1e-5 * (double)number(table, i, "merged");
		worst = number(table, i, "max") > worst ? number(table, i, "max") : worst;
		cr_assert(json_is_null(cell(table, i, "wait")), "unknown stays unknown");
		cr_assert_eq(json_integer_value(json_array_get(cell(table, i, "waited"), 2)), 10000);
	}
	cr_assert_eq(merged, 6000);
	cr_assert_eq(ticks, 18000);
	cr_assert_eq(worst, 999000);
	cr_assert_float_eq(busy, 2250, 0.1);
	json_decref(table);
}

Test(html, slow_ticks_beyond_a_number_are_counted)
{
	static struct recording_slow slow[12000];
	struct slow_tick tick = { .runtime = "", .cpu_us = NAN, .blocked_us = NAN, .wait_us = NAN, .throttled_us = NAN, .events = -1 };
	struct kept k = recording(12000);
	_cleanup_free_ char *page = NULL;
	json_t *table, *facts;
	size_t n, shown, longest = 0;

	for (size_t i = 0; i < 12000; i++)
		slow[i] = (struct recording_slow){ 0, START + (int64_t)i * SECOND, START + (int64_t)i * SECOND + 1000 * (int64_t)(i + 1), &tick };
	k.slow = slow;
	k.n_slow = 12000;
	page = page_of(&k, &n);
	table = element(page, "slow");
	facts = element(page, "facts");
	shown = json_array_size(rows(table));
	cr_assert_leq(shown, 10000);
	cr_assert_eq(shown + (size_t)json_integer_value(json_object_get(facts, "slow_left_out")), 12000);
	for (size_t i = 0; i < shown; i++)
		longest += number(table, i, "end") - number(table, i, "start") > 4000 * 1000;
	cr_assert_eq(longest, 8000, "the longest are there");
	json_decref(table);
	json_decref(facts);
}

/* --- ends -------------------------------------------------------------------------------------------------------------- */

Test(html, nothing_at_all_is_a_page_too)
{
	static const char *const elements[] = { "heat", "loops", "tasks", "slow", "states", "gaps", "names" };
	struct kept k = recording(0);
	_cleanup_free_ char *page = NULL;
	size_t n;

	k.n_lanes = 0;
	page = page_of(&k, &n);
	for (size_t i = 0; i < ARRAY_SIZE(elements); i++) {
		json_t *table = element(page, elements[i]);

		cr_assert_eq(json_array_size(rows(table)), 0);
		json_decref(table);
	}
	cr_assert_gt(n, 100000);
	cr_assert_str_eq(page + n - 8, "</html>\n");
}

Test(html, a_full_disk_is_told)
{
	struct recording_select all = RECORDING_ALL;
	struct kept k = recording(1);
	struct fault f = { 0 };
	FILE *full = fopen("/dev/full", "w");

	cr_assert_not_null(full);
	cr_assert_eq(html_write(&k.view, &all, full, &f), -ENOSPC);
	cr_assert(strstr(f.text, "No space left on device"), "%s", f.text);
	fclose(full);
}
