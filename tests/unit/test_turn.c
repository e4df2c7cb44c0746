/* SPDX-License-Identifier: BSD-2-Clause */
/* test_turn.c - a turn of a loop as the events of the stream. */
#include <criterion/criterion.h>

#include "model/turn.h"

TestSuite(turn, .timeout = 20);

#define IO_END 5000u
#define END 9000u

static const struct loop_turn whole = { .kind = TURN_WHOLE, .pid = 1, .tid = 2, .io_start_ns = 1000, .io_end_ns = IO_END,
					.end_ns = END, .timeout_ns = 7, .next_timeout_ns = 8, .count = 3 };

static void assert_events(const struct loop_turn *t, size_t n, const enum loop_event_kind *kinds, const uint64_t *ns)
{
	struct turn_event e[TURN_EVENTS_MAX];

	cr_assert_eq(turn_events(t, e), n);
	for (size_t i = 0; i < n; i++) {
		cr_assert_eq(e[i].kind, kinds[i], "event %zu is %d, expected %d", i, e[i].kind, kinds[i]);
		cr_assert_eq(e[i].ns, ns[i], "event %zu at %lu, expected %lu", i, e[i].ns, ns[i]);
	}
}

#define ASSERT_EVENTS(t, kinds, ns)                                       \
	do {                                                              \
		static const enum loop_event_kind k_[] = kinds;           \
		static const uint64_t n_[] = ns;                          \
		assert_events(&(t), sizeof(k_) / sizeof(k_[0]), k_, n_); \
	} while (0)
#define LIST(...) { __VA_ARGS__ }

Test(turn, a_whole_one_is_four_events)
{
	struct turn_event e[TURN_EVENTS_MAX];

	ASSERT_EVENTS(whole, LIST(EVENT_IO_END, EVENT_TICK_START, EVENT_TICK_END, EVENT_IO_START), LIST(IO_END, IO_END, END, END));
	turn_events(&whole, e);
	cr_assert_eq(e[0].count, 3);
	cr_assert_eq(e[3].timeout_ns, 8u, "the wait that begins is the next one");
}

Test(turn, the_first_wait_and_one_after_a_pause)
{
	struct loop_turn t = whole;

	t.kind = TURN_LOOP_START;
	ASSERT_EVENTS(t, LIST(EVENT_LOOP_START, EVENT_IO_START), LIST(END, END));
	t.kind = TURN_AGAIN;
	t.io_end_ns = 0;
	t.lost = -1;
	ASSERT_EVENTS(t, LIST(EVENT_GAP, EVENT_IO_START), LIST(END, END));
}

Test(turn, a_loop_stops_in_its_tick_or_in_its_wait)
{
	struct loop_turn t = whole;

	t.kind = TURN_LOOP_STOP;
	ASSERT_EVENTS(t, LIST(EVENT_IO_END, EVENT_TICK_START, EVENT_LOOP_STOP), LIST(IO_END, IO_END, END));
	t.io_end_ns = 0;
	ASSERT_EVENTS(t, LIST(EVENT_LOOP_STOP), LIST(END));
}

Test(turn, what_was_told_early_is_not_told_twice)
{
	struct loop_turn t = whole;

	t.kind = TURN_TICK_START;
	ASSERT_EVENTS(t, LIST(EVENT_IO_END, EVENT_TICK_START), LIST(IO_END, IO_END));
	t.kind = TURN_WHOLE;
	t.begun = true;
	ASSERT_EVENTS(t, LIST(EVENT_TICK_END, EVENT_IO_START), LIST(END, END));
	t.kind = TURN_LOOP_STOP;
	ASSERT_EVENTS(t, LIST(EVENT_LOOP_STOP), LIST(END));
}

Test(turn, what_was_lost_stands_before_it)
{
	struct loop_turn t = whole;
	struct turn_event e[TURN_EVENTS_MAX];

	t.lost = 12;
	ASSERT_EVENTS(t, LIST(EVENT_GAP, EVENT_IO_END, EVENT_TICK_START, EVENT_TICK_END, EVENT_IO_START),
		      LIST(IO_END, IO_END, IO_END, END, END));
	turn_events(&t, e);
	cr_assert_eq(e[0].count, 12);
	t.kind = TURN_GAP;
	t.io_end_ns = 0;
	ASSERT_EVENTS(t, LIST(EVENT_GAP), LIST(END));
}

/* As many as there were, whichever edge was missed. */
Test(turn, an_edge_that_nobody_saw_is_a_gap_of_its_two_events)
{
	struct loop_turn t = whole;
	struct turn_event e[TURN_EVENTS_MAX];

	t.io_end_ns = 0;
	ASSERT_EVENTS(t, LIST(EVENT_GAP, EVENT_TICK_END, EVENT_IO_START), LIST(END, END, END));
	turn_events(&t, e);
	cr_assert_eq(e[0].count, 2);
	t = whole;
	t.end_ns = 0;
	ASSERT_EVENTS(t, LIST(EVENT_IO_END, EVENT_TICK_START, EVENT_GAP), LIST(IO_END, IO_END, IO_END));
	turn_events(&t, e);
	cr_assert_eq(e[2].count, 2);
}

Test(turn, no_kind_has_more_events_than_there_is_room_for)
{
	for (int kind = TURN_LOOP_START; kind <= TURN_GAP; kind++)
		for (int bits = 0; bits < 16; bits++) {
			struct loop_turn t = { .kind = (enum turn_kind)kind, .lost = bits & 1, .begun = bits & 2,
					       .io_end_ns = bits & 4 ? IO_END : 0, .end_ns = bits & 8 ? END : 0 };
			struct turn_event e[TURN_EVENTS_MAX];

			cr_assert_leq(turn_events(&t, e), (size_t)TURN_EVENTS_MAX);
		}
}
