/* SPDX-License-Identifier: BSD-2-Clause */
/* test_timeline.c - spans become edges in the order of time; whatever the order of ends, what begins ends, and once. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

#include "model/timeline.h"
#include "test_recording_fixture.h"

struct edges {
	char text[512];
	size_t n, open;
	int64_t now;
};

static int on_edge(void *arg, const struct timeline_span *s, bool begins)
{
	struct edges *e = arg;
	int64_t t = begins ? s->start_ns : s->end_ns;

	cr_assert_geq(t, e->now);
	e->now = t;
	e->open += begins ? 1 : (size_t)-1;
	e->n += (size_t)snprintf(e->text + e->n, sizeof(e->text) - e->n, "%c%u", begins ? '+' : '-', s->lane);
	return 0;
}

static void feed(struct edges *e, const int64_t (*spans)[2], uint32_t n)
{
	struct timeline_edges *t = NULL;

	*e = (struct edges){ .now = INT64_MIN };
	cr_assert_eq(timeline_edges_new(on_edge, e, &t), 0);
	for (uint32_t i = 0; i < n; i++)
		cr_assert_eq(timeline_edges_span(t, &(struct timeline_span){ .lane = i, .start_ns = spans[i][0], .end_ns = spans[i][1] }), 0);
	cr_assert_eq(timeline_edges_end(t), 0);
	timeline_edges_free(t);
	cr_assert_eq(e->open, 0);
}

Test(timeline, spans_beside_each_other_end_before_the_next_begins)
{
	struct edges e;

	feed(&e, (const int64_t[][2]){ { 0, 5 }, { 5, 7 }, { 7, 7 }, { 7, 9 } }, 4);
	cr_assert_str_eq(e.text, "+0-0+1-1+2-2+3-3");
}

Test(timeline, nested_spans_close_inside_out)
{
	struct edges e;

	feed(&e, (const int64_t[][2]){ { 0, 9 }, { 0, 9 }, { 3, 9 }, { 4, 5 } }, 4);
	cr_assert_str_eq(e.text, "+0+1+2+3-3-2-1-0");
}

Test(timeline, an_edge_out_of_order_is_refused)
{
	struct edges e = { .now = INT64_MIN };
	struct timeline_edges *t = NULL;

	cr_assert_eq(timeline_edges_new(on_edge, &e, &t), 0);
	cr_assert_eq(timeline_edges_span(t, &(struct timeline_span){ .start_ns = 5, .end_ns = 6 }), 0);
	cr_assert_eq(timeline_edges_span(t, &(struct timeline_span){ .start_ns = 4, .end_ns = 6 }), -EINVAL);
	cr_assert_eq(timeline_edges_span(t, &(struct timeline_span){ .start_ns = 7, .end_ns = 6 }), -EINVAL);
	timeline_edges_free(t);
}

static int count(void *arg, const struct timeline_span *s, bool begins)
{
	int64_t *state = arg, t = begins ? s->start_ns : s->end_ns;

	cr_assert_geq(t, state[0]);
	state[0] = t;
	state[1] += begins ? 1 : -1;
	state[2]++;
	return 0;
}

Test(timeline, many_spans_of_any_length_stay_in_order)
{
	struct timeline_edges *t = NULL;
	int64_t state[3] = { INT64_MIN, 0, 0 }, at = 0;

	srand(1);
	cr_assert_eq(timeline_edges_new(count, state, &t), 0);
	for (int i = 0; i < 20000; i++) {
		at += rand() % 4;
		cr_assert_eq(timeline_edges_span(t, &(struct timeline_span){ .start_ns = at, .end_ns = at + rand() % 1000 }), 0);
	}
	cr_assert_eq(timeline_edges_end(t), 0);
	cr_assert_eq(state[1], 0);
	cr_assert_eq(state[2], 40000);
	timeline_edges_free(t);
}

static int check_span(void *arg, const struct timeline_span *s)
{
	struct fixture_view *w = arg;

	cr_assert_geq(s->start_ns, w->lanes[s->lane].first_ns);
	cr_assert_leq(s->end_ns, w->lanes[s->lane].last_ns);
	return 0;
}

Test(timeline, the_fixture_keeps_what_the_interface_promises)
{
	static struct fixture_view w;
	const struct recording_select all = RECORDING_ALL;
	struct edges e = { .now = INT64_MIN };
	struct timeline_edges *t = NULL;

	fixture_view_init(&w);
	cr_assert_eq(recording_spans(&w.view, &all, check_span, &w, NULL), 0);
	cr_assert_eq(timeline_edges_new(on_edge, &e, &t), 0);
	cr_assert_eq(recording_spans(&w.view, &all, timeline_edges_span, t, NULL), 0);
	cr_assert_eq(timeline_edges_end(t), 0);
	timeline_edges_free(t);
	cr_assert_eq(e.open, 0);
}
