/* SPDX-License-Identifier: BSD-2-Clause */
/* test_sink_vcd.c - a recording as a value change dump, held against an own reader of such files and against what was put in. */
#include <ctype.h>
#include <errno.h>

#include "sink/vcd.h"
#include "sink/vcd_wire.h"
#include "test_recording_fixture.h"

#define WIRES_MAX 64

TestSuite(sink_vcd, .init = fixture_environment);

struct reading {
	char name[WIRES_MAX][600], id[WIRES_MAX][8];
	char value[WIRES_MAX];
	size_t n;
	int64_t now;
	char log[1 << 16]; /* "time name=value\n", as it is after each moment */
	size_t n_log;
};

static void log_value(struct reading *r, size_t wire, char value)
{
	r->value[wire] = value;
	r->n_log += (size_t)snprintf(r->log + r->n_log, sizeof(r->log) - r->n_log, "%lld %s=%c\n", (long long)r->now, r->name[wire], value);
	cr_assert_lt(r->n_log, sizeof(r->log));
}

static char *word(char **at)
{
	char *w = *at + strspn(*at, " \n");

	*at = w + strcspn(w, " \n");
	if (**at)
		*(*at)++ = '\0';
	return w;
}

/* Strict: what it does not know is an error. */
static void read_vcd(const char *text, struct reading *r)
{
	_cleanup_free_ char *copy = strdup(text);
	char scope[600] = "", *at = copy;
	bool defined = false;

	memset(r, 0, sizeof(*r));
	r->now = -1;
	for (char *w = word(&at); *w; w = word(&at)) {
		if (strcmp(w, "$scope") == 0) {
			cr_assert_str_eq(word(&at), "module");
			snprintf(scope, sizeof(scope), "%s", word(&at));
			cr_assert_str_eq(word(&at), "$end");
		} else if (strcmp(w, "$var") == 0) {
			cr_assert_lt(r->n, (size_t)WIRES_MAX);
			cr_assert_str_eq(word(&at), "wire");
			cr_assert_str_eq(word(&at), "1");
			snprintf(r->id[r->n], sizeof(r->id[0]), "%s", word(&at));
			cr_assert_lt(snprintf(r->name[r->n], sizeof(r->name[0]), "%s.%s", scope, word(&at)), 600);
			cr_assert_str_eq(word(&at), "$end");
			r->n++;
		} else if (strcmp(w, "$dumpvars") == 0 || strcmp(w, "$end") == 0) {
			cr_assert(defined);
		} else if (w[0] == '$') {
			defined |= strcmp(w, "$enddefinitions") == 0;
			while (strcmp(word(&at), "$end") != 0)
				cr_assert(*at);
		} else if (w[0] == '#') {
			int64_t t = strtoll(w + 1, NULL, 10);

			cr_assert_gt(t, r->now, "time goes on");
			r->now = t;
		} else {
			size_t i = 0;

			cr_assert(strchr("01x", w[0]), "%s", w);
			while (i < r->n && strcmp(r->id[i], w + 1) != 0)
				i++;
			cr_assert_lt(i, r->n, "a wire that was not declared: %s", w);
			log_value(r, i, w[0]);
		}
	}
	cr_assert(defined);
	for (size_t i = 0; i < r->n; i++)
		for (size_t j = 0; j < i; j++) {
			cr_assert_str_neq(r->name[i], r->name[j]);
			cr_assert_str_neq(r->id[i], r->id[j]);
		}
}

static int dump(struct fixture_view *w, const struct recording_select *s, struct capture *c)
{
	return fixture_written(vcd_write, w, s, c);
}

static void bare_view(struct fixture_view *w)
{
	fixture_view_init(w);
	w->n_lanes = w->n_spans = 0;
	w->host.end_ns = FIXTURE_AT(1000);
}

Test(sink_vcd, golden)
{
	static struct fixture_view w;
	static struct reading r;
	struct capture c;

	fixture_view_init(&w);
	cr_assert_eq(dump(&w, NULL, &c), 0);
	golden_check("recording.vcd", c.text);
	read_vcd(c.text, &r);
	cr_assert_eq(r.now, 1000000000);
	capture_free(&c);
}

Test(sink_vcd, values_of_a_loop)
{
	static struct fixture_view w;
	static struct reading r;
	struct capture c;

	bare_view(&w);
	fixture_lane(&w, LANE_LOOP, LANE_NONE, 0, "node", "node");
	fixture_span(&w, 0, SPAN_TICK, 0, 10);
	fixture_span(&w, 0, SPAN_IO_WAIT, 10, 30);
	fixture_span(&w, 0, SPAN_TICK, 30, 40);
	fixture_span(&w, 0, SPAN_TICK, 50, 60);
	w.spans[3].slow = true;
	fixture_span(&w, 0, SPAN_TICK, 60, 70);
	cr_assert_eq(dump(&w, NULL, &c), 0);
	read_vcd(c.text, &r);
	/* Not known: between the third and the fourth tick, and after the last. Two ticks with nothing between them: a glitch. */
	cr_assert_str_eq(r.log, "0 node-100.node-100=1\n"
				"0 node-100.node-100:slow=0\n"
				"10000 node-100.node-100=0\n"
				"30000 node-100.node-100=1\n"
				"40000 node-100.node-100=x\n"
				"50000 node-100.node-100=1\n"
				"50000 node-100.node-100:slow=1\n"
				"60000 node-100.node-100=x\n"
				"60000 node-100.node-100=1\n"
				"60000 node-100.node-100:slow=0\n"
				"70000 node-100.node-100=x\n"
				"70000 node-100.node-100:slow=x\n");
	cr_assert_eq(r.now, 1000000);
	capture_free(&c);
}

Test(sink_vcd, a_gap_covers_what_is_below_its_loop)
{
	static struct fixture_view w;
	static struct reading r;
	struct capture c;

	bare_view(&w);
	fixture_lane(&w, LANE_LOOP, LANE_NONE, 1, "board", "board");
	fixture_lane(&w, LANE_TASK, 0, 1, "board", "a b");
	fixture_lane(&w, LANE_MARK, 0, 1, "board", "m");
	fixture_lane(&w, LANE_TASK, LANE_NONE, 1, "other", "free");
	fixture_span(&w, 3, SPAN_RUN, 0, 100);
	fixture_span(&w, 1, SPAN_RUN, 10, 50);
	fixture_span(&w, 0, SPAN_GAP, 20, 30);
	fixture_span(&w, 2, SPAN_MARK, 25, 25);
	fixture_span(&w, 2, SPAN_MARK, 40, 40);
	fixture_span(&w, 1, SPAN_READY, 50, 60);
	fixture_span(&w, 1, SPAN_RUN, 60, 60);
	for (size_t i = 0; i < w.n_lanes; i++) {
		w.lanes[i].first_ns = FIXTURE_AT(0);
		w.lanes[i].last_ns = FIXTURE_AT(1000);
	}
	cr_assert_eq(dump(&w, NULL, &c), 0);
	read_vcd(c.text, &r);
	cr_assert_str_eq(r.log, "0 board.a_b=0\n"
				"0 board.a_b:ready=0\n"
				"0 board.m=0\n"
				"0 other.free=1\n"
				"10000 board.a_b=1\n"
				"20000 board.a_b=x\n"
				"20000 board.a_b:ready=x\n"
				"20000 board.m=x\n"
				"30000 board.a_b=1\n"
				"30000 board.a_b:ready=0\n"
				"30000 board.m=1\n"
				"40000 board.m=0\n"
				"50000 board.a_b=0\n"
				"50000 board.a_b:ready=1\n"
				"60000 board.a_b:ready=0\n"
				"60000 board.a_b=1\n"
				"60000 board.a_b=0\n"
				"100000 other.free=0\n");
	capture_free(&c);
}

/* A part of it: what was under way then is there from the first moment. */
Test(sink_vcd, a_part_begins_at_0)
{
	static struct fixture_view w;
	static struct reading r;
	static const bool lanes[] = { true, false };
	struct capture c;
	struct recording_select s = { .from_ns = FIXTURE_AT(100), .to_ns = FIXTURE_AT(400), .lanes = lanes };

	bare_view(&w);
	fixture_lane(&w, LANE_TASK, LANE_NONE, 1, "b", "t");
	fixture_lane(&w, LANE_TASK, LANE_NONE, 1, "b", "not_asked_for");
	fixture_span(&w, 0, SPAN_RUN, 10, 20);
	fixture_span(&w, 1, SPAN_RUN, 15, 300);
	fixture_span(&w, 0, SPAN_RUN, 90, 200);
	fixture_span(&w, 0, SPAN_RUN, 350, 500);
	cr_assert_eq(dump(&w, &s, &c), 0);
	read_vcd(c.text, &r);
	cr_assert_str_eq(r.log, "0 b.t=1\n"
				"100000 b.t=0\n"
				"250000 b.t=1\n"
				"300000 b.t=0\n");
	cr_assert_eq(r.now, 300000);
	capture_free(&c);
}

Test(sink_vcd, names_are_legal_and_unlike_each_other)
{
	static const char *const hostile[] = { "a b", "a.b", "$end", "\xff\xc3(", "x[7:0]", "", "#1", "\n$dumpoff $end\n" };
	static struct fixture_view w;
	static struct reading r;
	struct capture c;

	bare_view(&w);
	for (uint32_t i = 0; i < ARRAY_SIZE(hostile); i++) {
		fixture_lane(&w, LANE_TASK, LANE_NONE, 1, hostile[7], hostile[i]);
		fixture_span(&w, i, SPAN_RUN, i, 2 * i + 1);
	}
	cr_assert_eq(dump(&w, NULL, &c), 0);
	for (size_t i = 0; i < c.n; i++)
		cr_assert(isprint((unsigned char)c.text[i]) || c.text[i] == '\n');
	read_vcd(c.text, &r);
	cr_assert_eq(r.n, ARRAY_SIZE(hostile));
	cr_assert_str_eq(r.name[0], "%0A%24dumpoff_%24end%0A.a_b");
	cr_assert_str_eq(strchr(r.name[1], '.'), ".a_b~2");
	cr_assert_str_eq(strchr(r.name[3], '.'), ".%FF%C3%28");
	cr_assert_str_eq(strchr(r.name[5], '.'), ".task");
	capture_free(&c);
}

/* PulseView shows no scopes. */
Test(sink_vcd, a_name_of_two_boards_tells_which)
{
	static struct fixture_view w;
	static struct reading r;
	struct capture c;
	static const char *const boards[] = { "left", "right", "left", "left" }, *const names[] = { "blink", "blink", "blink", "log" };

	bare_view(&w);
	for (uint32_t i = 0; i < ARRAY_SIZE(boards); i++) {
		fixture_lane(&w, LANE_TASK, LANE_NONE, 1, boards[i], names[i]);
		fixture_span(&w, i, SPAN_RUN, i, 2 * i + 1);
	}
	cr_assert_eq(dump(&w, NULL, &c), 0);
	read_vcd(c.text, &r);
	cr_assert_str_eq(r.name[0], "left.left/blink");
	cr_assert_str_eq(r.name[1], "left.left/blink~2");
	cr_assert_str_eq(r.name[2], "left.log");
	cr_assert_str_eq(r.name[3], "right.right/blink");
	capture_free(&c);
}

Test(sink_vcd, nothing_is_a_file_too)
{
	static struct fixture_view w;
	static struct reading r;
	struct capture c;

	bare_view(&w);
	cr_assert_eq(dump(&w, NULL, &c), 0);
	read_vcd(c.text, &r);
	cr_assert_eq(r.n, 0);
	cr_assert_eq(r.now, 1000000);
	capture_free(&c);
}

Test(sink_vcd, a_full_disk_is_said)
{
	fixture_full_disk(vcd_write);
}

static int whole_visits;

static int interrupted(struct recording_view *v, const struct recording_select *s, timeline_span_fn fn, void *arg, struct fault *f)
{
	struct fixture_view *w = (struct fixture_view *)v;
	size_t n = w->n_spans;
	int err;

	if (whole_visits-- > 0)
		return fixture_spans(v, s, fn, arg, f);
	w->n_spans = 5;
	err = fixture_spans(v, s, fn, arg, f);
	w->n_spans = n;
	return err ? err : -EINTR;
}

static void interrupt_at(int visit, struct reading *r)
{
	static struct fixture_view w;
	struct recording_ops ops;
	struct capture c;

	fixture_view_init(&w);
	fixture_spans_by(&w, &ops, interrupted);
	whole_visits = visit;
	cr_assert_eq(dump(&w, NULL, &c), -EINTR);
	read_vcd(c.text, r);
	capture_free(&c);
}

/* A whole file of what came before. */
Test(sink_vcd, an_interrupted_one_is_whole)
{
	static struct reading r;

	interrupt_at(1, &r);
	cr_assert_eq(r.now, 400000, "what had begun has ended");
	interrupt_at(0, &r);
	cr_assert_eq(r.n, 5, "the wires that it knew of");
	cr_assert_eq(r.n_log, 0);
}

/* --- random time lines, against what the spans say of each moment --- */

#define MOMENTS 400
#define RANDOM_SPANS 300

struct random_view {
	struct recording_view view; /* first: the ops get this */
	struct fixture_view fixture;
	struct timeline_span spans[RANDOM_SPANS];
	size_t n;
};

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static int visit_random(struct recording_view *v, const struct recording_select *s, timeline_span_fn fn, void *arg, struct fault *f)
{
	const struct random_view *w = (struct random_view *)v;
	int err = 0;

	for (size_t i = 0; i < w->n && !err; i++)
		err = fn(arg, &w->spans[i]);
	return err;
}

static const struct recording_host *random_host(struct recording_view *v)
{
	return &((struct random_view *)v)->fixture.host;
}

static const struct lane *random_lanes(struct recording_view *v, size_t *ret_n)
{
	*ret_n = ((struct random_view *)v)->fixture.n_lanes;
	return ((struct random_view *)v)->fixture.lanes;
}

static int by_start(const void *x, const void *y)
{
	const struct timeline_span *a = x, *b = y;

	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* Lane 0 a loop that is in ticks and IO waits, with holes; 1 and 2 its tasks; gaps anywhere, on top of it all. */
static void make_random(struct random_view *w, uint32_t *state)
{
	static const enum span_kind kinds[3][2] = { { SPAN_TICK, SPAN_IO_WAIT }, { SPAN_RUN, SPAN_READY }, { SPAN_RUN, SPAN_RUN } };

	w->n = 0;
	for (uint32_t lane = 0; lane < 3; lane++) {
		for (int64_t t = 0; t < MOMENTS && w->n < RANDOM_SPANS - 20;) {
			int64_t from = t + next_random(state) % 4, to = from + 1 + next_random(state) % 12;

			w->spans[w->n++] = (struct timeline_span){ .lane = lane, .kind = kinds[lane][next_random(state) % 2],
								   .start_ns = FIXTURE_AT(from), .end_ns = FIXTURE_AT(to), .net_ns = -1 };
			t = to;
		}
	}
	for (unsigned i = 0; i < 8; i++) {
		int64_t from = next_random(state) % MOMENTS;

		w->spans[w->n++] = (struct timeline_span){ .lane = next_random(state) % 3, .kind = SPAN_GAP, .start_ns = FIXTURE_AT(from),
							   .end_ns = FIXTURE_AT(from + 1 + next_random(state) % 20), .value = -1 };
	}
	qsort(w->spans, w->n, sizeof(w->spans[0]), by_start);
}

/* In the middle of the microsecond. */
static char truth(const struct random_view *w, uint32_t lane, enum span_kind high, int64_t us)
{
	int64_t t = FIXTURE_AT(us) + 500;
	char value = lane == 0 ? 'x' : '0';

	for (size_t i = 0; i < w->n; i++) {
		const struct timeline_span *s = &w->spans[i];

		if (t < s->start_ns || t >= s->end_ns)
			continue;
		if (s->kind == SPAN_GAP && (s->lane == lane || s->lane == 0))
			return 'x';
		if (s->lane == lane && s->kind != SPAN_GAP && value != '1')
			value = s->kind == high ? '1' : '0';
	}
	return value;
}

static char shown_at(const struct reading *r, const char *name, int64_t us)
{
	char value = '?', wire[64], v;
	long long t;
	int n;

	for (const char *p = r->log; sscanf(p, "%lld %63[^=]=%c\n%n", &t, wire, &v, &n) == 3; p += n)
		if (t <= us * 1000 && strcmp(wire, name) == 0)
			value = v;
	return value;
}

Test(sink_vcd, any_time_line_is_shown_as_it_is)
{
	static const struct {
		const char *name;
		uint32_t lane;
		enum span_kind high;
	} wires[] = { { "b.loop", 0, SPAN_TICK }, { "b.one", 1, SPAN_RUN }, { "b.one:ready", 1, SPAN_READY }, { "b.two", 2, SPAN_RUN } };
	static struct random_view w;
	static struct reading r;
	uint32_t state = 1;

	for (unsigned round = 0; round < 20; round++) {
		struct recording_ops ops;
		struct fault f = { 0 };
		struct recording_select all = RECORDING_ALL;
		struct capture c;

		bare_view(&w.fixture);
		fixture_lane(&w.fixture, LANE_LOOP, LANE_NONE, 1, "b", "loop");
		fixture_lane(&w.fixture, LANE_TASK, 0, 1, "b", "one");
		fixture_lane(&w.fixture, LANE_TASK, 0, 1, "b", "two");
		for (size_t i = 0; i < 3; i++) {
			w.fixture.lanes[i].first_ns = FIXTURE_AT(0);
			w.fixture.lanes[i].last_ns = FIXTURE_AT(1000);
		}
		ops = *w.fixture.view.ops;
		ops.host = random_host;
		ops.lanes = random_lanes;
		ops.spans = visit_random;
		w.view.ops = &ops;
		make_random(&w, &state);
		capture_open(&c);
		cr_assert_eq(vcd_write(&w.view, &all, c.out, &f), 0);
		fflush(c.out);
		read_vcd(c.text, &r);
		for (size_t i = 0; i < ARRAY_SIZE(wires); i++)
			for (int64_t us = 0; us < MOMENTS; us += 3) {
				char want = truth(&w, wires[i].lane, wires[i].high, us), got = shown_at(&r, wires[i].name, us);

				cr_assert_eq(want, got, "round %u, %s at %lld us: %c, not %c", round, wires[i].name, (long long)us, got, want);
			}
		capture_free(&c);
	}
}
