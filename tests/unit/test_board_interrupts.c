/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_board_interrupts.c - a step or a sleep of which the board tells the net length at its end began that and all its interrupts
 * earlier. Each is made with a known beginning, told as a board tells it, and has to come back whole.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "test_board_fixture.h"

TestSuite(board_interrupts, .timeout = 60);

#define TASK 3
#define TIMER 7

struct edges {
	struct board_edge run, idle, hog;
	unsigned runs, idles, hogs;
};

static void take(void *arg, const struct board_edge *e)
{
	struct edges *g = arg;

	switch (e->kind) {
	case EDGE_RUN:
		g->run = *e;
		g->runs++;
		break;
	case EDGE_IDLE:
		g->idle = *e;
		g->idles++;
		break;
	case EDGE_HOG:
		g->hog = *e;
		g->hogs++;
		break;
	default:
		break;
	}
}

static struct board *new_board(struct edges *g)
{
	struct board_options o = { .label = "b0", .edge = take, .arg = g };

	return board_that_counts(&o);
}

static void interrupt(struct board *b, uint64_t from, uint64_t to)
{
	struct board_event in = { .kind = BOARD_ISR_IN, .id = TIMER, .t = from }, out = { .kind = BOARD_ISR_OUT, .id = TIMER, .t = to };

	board_event(b, &in);
	board_event(b, &out);
}

/* `every` us an interrupt of 10 us, from the moment on; what is told of the stretch is without those that lie in it. */
static uint64_t interrupts(struct board *b, uint64_t from, uint64_t to, uint64_t every)
{
	uint64_t taken = 0;

	for (uint64_t t = from; t + 10 <= to; t += every) {
		interrupt(b, t, t + 10);
		taken += 10;
	}
	return taken;
}

static void tell_run(struct board *b, uint64_t end, uint64_t net)
{
	struct board_event e = { .kind = BOARD_RUN, .id = TASK, .t = end };

	e.u.run.ticks = net;
	board_event(b, &e);
}

Test(board_interrupts, a_step_began_that_much_earlier)
{
	struct edges g = { 0 };
	_cleanup_board_ struct board *b = new_board(&g);

	interrupts(b, 100, 1000, 100); /* before it: none of its own */
	interrupts(b, 1050, 3000, 100);
	tell_run(b, 3000, 2000 - 200);
	cr_assert_eq(g.runs, 1);
	cr_assert_eq(g.run.start, 1000);
	cr_assert_eq(g.run.net, 1800);
	interrupt(b, 3100, 3110); /* just before: ends where the step begins */
	tell_run(b, 3310, 200);
	cr_assert_eq(g.run.start, 3110);
	interrupt(b, 3400, 3500);
	tell_run(b, 3500, 50); /* ended in it */
	cr_assert_eq(g.run.start, 3350);
}

Test(board_interrupts, nested_ones_count_once)
{
	struct edges g = { 0 };
	_cleanup_board_ struct board *b = new_board(&g);
	struct board_event in = { .kind = BOARD_ISR_IN, .id = TIMER, .t = 1000 }, out = { .kind = BOARD_ISR_OUT, .id = TIMER, .t = 1100 };

	board_event(b, &in);
	interrupt(b, 1020, 1080);
	board_event(b, &out);
	tell_run(b, 2000, 1400);
	cr_assert_eq(g.run.start, 500);
}

Test(board_interrupts, so_did_a_sleep)
{
	struct edges g = { 0 };
	_cleanup_board_ struct board *b = new_board(&g);
	struct board_event e = { .kind = BOARD_SLEPT, .t = 5000 };

	e.u.slept.ticks = 4000 - interrupts(b, 1200, 5000, 500);
	board_event(b, &e);
	cr_assert_eq(g.idles, 1);
	cr_assert_eq(g.idle.start, 1000);
	cr_assert_eq(g.idle.end, 5000);
}

/* More interrupts than are remembered: what told of it while it ran knows its beginning. */
Test(board_interrupts, a_hog_begins_where_it_was_first_told_to_have)
{
	struct edges g = { 0 };
	_cleanup_board_ struct board *b = new_board(&g);
	struct board_event open = { .kind = BOARD_OPEN, .id = TASK, .t = 60000 };
	uint64_t taken = interrupts(b, 5000, 60000, 100);

	open.u.open.ticks = 55000;
	board_event(b, &open);
	cr_assert(g.hogs == 1 && g.hog.open && g.hog.start == 5000);
	taken += interrupts(b, 60000, 105000, 100);
	tell_run(b, 105000, 100000 - taken);
	cr_assert_eq(g.run.start, 5000);
	cr_assert_eq(g.run.net, 100000 - taken);
	cr_assert(g.hogs == 2 && !g.hog.open && g.hog.start == 5000 && g.hog.end == 105000);
}

/* A board that begins anew counts from 0: interrupts of its life before are not in its steps. */
Test(board_interrupts, a_reset_forgets_them)
{
	struct edges g = { 0 };
	_cleanup_board_ struct board *b = new_board(&g);
	struct board_event reset = { .kind = BOARD_RESET };

	interrupt(b, 100, 900);
	board_event(b, &reset);
	tell_run(b, 1000, 500);
	cr_assert_eq(g.run.start, 500);
}
