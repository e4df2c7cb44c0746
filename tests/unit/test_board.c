/* SPDX-License-Identifier: BSD-2-Clause */
/* test_board.c - the board model by hand-made events: who had the CPU, what a gap leaves, what a worst window says. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "test_board_fixture.h"
#include "test_serial_fixture.h"

TestSuite(board, .timeout = 60);

static void ev(struct board *b, enum board_event_kind kind, uint32_t id, uint64_t t)
{
	struct board_event e = { .kind = kind, .id = id, .t = t };

	board_event(b, &e);
}

static void name(struct board *b, uint32_t id, uint32_t instance, const char *text, uint64_t t)
{
	struct board_event e = { .kind = BOARD_NAME, .id = id, .t = t };

	e.u.name.text = text;
	e.u.name.instance = instance;
	board_event(b, &e);
}

static void gap(struct board *b, int64_t count, uint64_t t)
{
	struct board_event e = { .kind = BOARD_GAP, .t = t };

	e.u.gap.count = count;
	e.u.gap.what = LOSS_EVENTS;
	board_event(b, &e);
}

static struct board *new_board(void)
{
	struct board_options o = { .label = "b0" };

	return board_that_counts(&o);
}

/* It began under our eyes. */
static struct board *board_from_zero(void)
{
	struct board_event e = { .kind = BOARD_RESET };
	struct board *b = new_board();

	e.u.reset.from_zero = true;
	board_event(b, &e);
	return b;
}

static struct board_report report(struct board *b)
{
	struct board_report r;

	board_interval(b, 100, 1, CLOCK_UNKNOWN, &r);
	return r;
}

Test(board, interrupts_belong_to_nobody_else)
{
	_cleanup_board_ struct board *b = new_board();
	const struct task_record *t;
	struct board_report r;

	ev(b, BOARD_SWITCH, 1, 0);
	ev(b, BOARD_ISR_IN, 5, 100);
	ev(b, BOARD_ISR_IN, 6, 110); /* nested */
	ev(b, BOARD_ISR_OUT, 0, 140);
	ev(b, BOARD_ISR_OUT, 0, 150);
	ev(b, BOARD_IDLE, 0, 300);
	ev(b, BOARD_ISR_IN, 5, 500); /* in idle */
	ev(b, BOARD_ISR_OUT, 0, 600);
	ev(b, BOARD_SWITCH, 1, 1000);
	ev(b, BOARD_STOP, 0, 1000);
	r = report(b);
	t = serial_task(&r, TASK_RUNS, 1);
	cr_assert_eq(t->runs, 2);
	cr_assert_float_eq(t->busy, 0.25, 1e-12, "300 less 50 of interrupts");
	cr_assert_float_eq(serial_task(&r, TASK_ISR, 5)->busy, 0.12, 1e-12, "20 without the nested one, and 100");
	cr_assert_float_eq(serial_task(&r, TASK_ISR, 6)->busy, 0.03, 1e-12);
	cr_assert_float_eq(r.loop.idle, 0.6, 1e-12);
	cr_assert_float_eq(r.loop.load, 0.4, 1e-12);
	cr_assert_eq(r.summary.sleep_us.n, 2, "the interrupt cut the idle stretch in two");
	cr_assert_float_eq(r.summary.sleep_us.max, 400, 1e-9);
	cr_assert_float_eq(r.loop.io_us.max, 700, 1e-9);
}

Test(board, a_gap_is_neither_busy_nor_idle)
{
	_cleanup_board_ struct board *b = new_board();
	const struct task_record *t;
	struct board_report r;

	ev(b, BOARD_SWITCH, 1, 0);
	ev(b, BOARD_IDLE, 0, 100);
	ev(b, BOARD_SWITCH, 1, 200);
	ev(b, BOARD_ISR_IN, 5, 250);
	gap(b, 7, 1000); /* within a step and an interrupt */
	ev(b, BOARD_ISR_OUT, 0, 1100); /* of one that we did not see begin */
	ev(b, BOARD_IDLE, 0, 1200);
	ev(b, BOARD_SWITCH, 2, 1300);
	gap(b, -1, 1300);
	r = report(b);
	t = serial_task(&r, TASK_RUNS, 1);
	cr_assert_eq(t->runs, 2);
	cr_assert_eq(t->left_out, 1);
	cr_assert_eq(t->run_us.n, 1);
	cr_assert_float_eq(t->run_us.max, 100, 1e-9);
	cr_assert_float_eq(r.loop.interval_s, 350e-6, 1e-12, "what was seen");
	cr_assert_float_eq(r.loop.idle, 200.0 / 350, 1e-12);
	cr_assert_eq(r.summary.lost[LOSS_EVENTS], 7);
	cr_assert_eq(r.summary.gaps, 2);
	cr_assert_eq(r.summary.gaps_uncounted, 1);
	cr_assert_eq(r.summary.orphans, 1);
	cr_assert_eq(r.loop.ticks, 0, "no tick from idle to idle was seen whole");
}

Test(board, what_is_open_at_an_intervals_end_is_shared_out)
{
	_cleanup_board_ struct board *b = new_board();
	struct board_report r;

	ev(b, BOARD_SWITCH, 1, 0);
	ev(b, BOARD_READY, 2, 400);
	ev(b, BOARD_READY, 1, 1000); /* just to move time on */
	r = report(b);
	cr_assert_float_eq(serial_task(&r, TASK_RUNS, 1)->busy, 1, 1e-12);
	cr_assert_eq(serial_task(&r, TASK_RUNS, 1)->runs, 0, "its step has not ended");
	cr_assert_float_eq(serial_task(&r, TASK_RUNS, 2)->wait, 0.6, 1e-12);
	ev(b, BOARD_SWITCH, 2, 1500);
	ev(b, BOARD_IDLE, 0, 2000);
	r = report(b);
	cr_assert_float_eq(serial_task(&r, TASK_RUNS, 1)->busy, 0.5, 1e-12);
	cr_assert_float_eq(serial_task(&r, TASK_RUNS, 1)->run_us.max, 1500, 1e-9);
	cr_assert_float_eq(serial_task(&r, TASK_RUNS, 2)->wait, 0.5, 1e-12);
	cr_assert_float_eq(serial_task(&r, TASK_RUNS, 2)->ready_us.max, 1100, 1e-9);
	cr_assert_float_eq(r.loop.load, 1, 1e-12);
}

Test(board, the_worst_window_and_what_it_says)
{
	_cleanup_board_ struct board *b = new_board();
	struct board_report r;
	uint64_t t = 0;

	/* 60 seconds with 70 % idle, but one second with 20 %. */
	for (int s = 0; s < 60; s++) {
		unsigned busy = s == 41 ? 80 : 30;

		for (int k = 0; k < 10; k++, t += 100000) {
			ev(b, BOARD_SWITCH, 1, t);
			ev(b, BOARD_IDLE, 0, t + busy * 1000);
		}
	}
	ev(b, BOARD_SWITCH, 1, t);
	r = report(b);
	cr_assert_eq(r.summary.margin.windows, 60);
	cr_assert_float_eq(r.summary.margin.worst, 0.2, 1e-12);
	cr_assert_float_eq(r.summary.margin.worst_ago_s, 18, 1e-9);
	cr_assert_float_eq(r.summary.margin.mean, (59 * 0.7 + 0.2) / 60, 1e-12);
	cr_assert_float_eq(r.summary.margin.window_s, 1, 1e-12);
	/* 0.05 = (1 - beyond)^60 */
	cr_assert_float_eq(pow(1 - r.summary.margin.beyond, 60), 0.05, 1e-12);
}

Test(board, a_long_sleep_is_many_windows_and_takes_no_time)
{
	_cleanup_board_ struct board *b = new_board();
	struct board_report r;

	ev(b, BOARD_IDLE, 0, 0);
	ev(b, BOARD_SWITCH, 1, UINT64_MAX / 2);
	r = report(b);
	cr_assert_eq(r.summary.margin.windows, (int64_t)(UINT64_MAX / 2 / HZ));
	cr_assert_float_eq(r.summary.margin.worst, 1, 1e-12);
}

Test(board, ids_are_reused_and_names_replaced)
{
	_cleanup_board_ struct board *b = new_board();
	struct board_report r;

	name(b, 1, 0, "fetch", 0);
	name(b, 2, 1, "fetch", 0);
	ev(b, BOARD_SWITCH, 1, 0);
	ev(b, BOARD_SWITCH, 2, 100);
	ev(b, BOARD_END, 1, 150);
	name(b, 1, 0, "print", 160);
	ev(b, BOARD_SWITCH, 1, 200);
	ev(b, BOARD_IDLE, 0, 260);
	r = report(b);
	cr_assert_eq(r.n_tasks, 3u);
	for (size_t i = 0; i < r.n_tasks; i++) {
		const struct task_record *t = &r.tasks[i];

		if (t->id == 2)
			cr_assert(strcmp(t->task, "fetch") == 0 && t->instances == 1 && t->instance == 1);
		else if (t->ended)
			cr_assert(strcmp(t->task, "fetch") == 0 && t->run_us.max == 100);
		else
			cr_assert(strcmp(t->task, "print") == 0 && t->run_us.max == 60);
	}
	r = report(b);
	cr_assert_eq(r.n_tasks, 2u, "the ended one was reported once more, and is forgotten");
}

Test(board, too_many_tasks_are_counted_and_keep_the_load_right)
{
	_cleanup_board_ struct board *b = new_board();
	struct board_report r;
	uint64_t t = 0;

	for (uint32_t id = 1; id <= 4 * BOARD_TASKS_MAX; id++, t += 100) {
		ev(b, BOARD_SWITCH, id, t);
		ev(b, BOARD_IDLE, 0, t + 25);
	}
	ev(b, BOARD_STOP, 0, t);
	r = report(b);
	cr_assert_eq(r.n_tasks, (size_t)BOARD_TASKS_MAX);
	cr_assert_eq(r.summary.untracked, 3 * BOARD_TASKS_MAX);
	cr_assert_float_eq(r.loop.load, 0.25, 1e-12);
}

Test(board, unknown_stays_unknown)
{
	_cleanup_board_ struct board *b = new_board();
	struct board_report r = report(b);

	cr_assert(isnan(r.loop.load) && isnan(r.loop.idle) && isnan(r.loop.wait) && isnan(r.loop.spin));
	cr_assert_eq(r.loop.ticks, -1);
	cr_assert_not(r.loop.tick_us.known);
	cr_assert(isnan(r.summary.margin.mean) && isnan(r.summary.margin.worst));
	cr_assert_eq(r.summary.clock.method, CLOCK_NONE);
	/* Switches without any idle: no load can be claimed either. */
	ev(b, BOARD_SWITCH, 1, 0);
	ev(b, BOARD_SWITCH, 2, 100);
	ev(b, BOARD_SWITCH, 1, 200);
	r = report(b);
	cr_assert(isnan(r.loop.load));
	cr_assert_float_eq(serial_task(&r, TASK_RUNS, 1)->busy, 0.5, 1e-12);
}

Test(board, an_interrupt_whose_end_was_swallowed_does_not_last_for_ever)
{
	_cleanup_board_ struct board *b = new_board();
	struct board_report r;

	ev(b, BOARD_SWITCH, 1, 0);
	ev(b, BOARD_ISR_IN, 5, 10);
	ev(b, BOARD_SWITCH, 1, 100);
	ev(b, BOARD_IDLE, 0, 200);
	ev(b, BOARD_SWITCH, 1, 10000);
	r = report(b);
	cr_assert_eq(r.summary.orphans, 1);
	cr_assert_float_eq(r.loop.idle, 0.98, 1e-9);
}

static void told_run(struct board *b, uint32_t id, uint64_t ticks, uint64_t t)
{
	struct board_event e = { .kind = BOARD_RUN, .id = id, .t = t };

	e.u.run.ticks = ticks;
	board_event(b, &e);
}

static void totals(struct board *b, uint32_t id, uint32_t runs, uint64_t busy, uint64_t t)
{
	struct board_event e = { .kind = BOARD_TOTALS, .id = id, .t = t };

	e.u.totals.runs = runs;
	e.u.totals.busy = busy;
	board_event(b, &e);
}

/* A board that began under our eyes tells its first sums after an interval has been reported from its steps alone. */
Test(board, sums_since_the_beginning_count_nothing_twice)
{
	_cleanup_board_ struct board *b = board_from_zero();
	const struct task_record *t;
	struct board_report r;

	told_run(b, 3, 200, 1000);
	told_run(b, 3, 100, 2000);
	r = report(b);
	cr_assert_eq(serial_task(&r, TASK_RUNS, 3)->runs, 2);
	told_run(b, 3, 300, 4000);
	totals(b, 3, 5, 1000, 6000); /* two steps were not sent */
	r = report(b);
	t = serial_task(&r, TASK_RUNS, 3);
	cr_assert_eq(t->runs, 3, "%ld", t->runs);
	cr_assert_float_eq(t->busy, 700.0 / 4000, 1e-9, "from the last report on");
	totals(b, 3, 2, 90, 7000); /* others' sums: begun anew */
	r = report(b);
	cr_assert_eq(serial_task(&r, TASK_RUNS, 3)->runs, 0);
	totals(b, 3, 4, 290, 9000);
	r = report(b);
	cr_assert_eq(serial_task(&r, TASK_RUNS, 3)->runs, 2);
}

/* Sums that came while a step lasted hold a part of it: at its end only the rest is new. */
Test(board, a_step_in_progress_is_counted_once)
{
	_cleanup_board_ struct board *b = board_from_zero();
	const struct task_record *t;
	struct board_report r;

	told_run(b, 3, 100, 1000);
	totals(b, 3, 1, 100 + 300, 2000);
	totals(b, 3, 1, 100 + 900, 2600);
	told_run(b, 3, 1400, 3100);
	r = report(b);
	t = serial_task(&r, TASK_RUNS, 3);
	cr_assert_eq(t->runs, 2);
	cr_assert_float_eq(t->busy, 1500.0 / 3100, 1e-9);
	told_run(b, 3, 100, 4000);
	r = report(b);
	t = serial_task(&r, TASK_RUNS, 3);
	cr_assert_eq(t->runs, 1);
	cr_assert_float_eq(t->busy, 100.0 / 900, 1e-9, "the next step is whole");
	/* After a gap nobody knows how much of the sums is the step's: the next sums tell. */
	gap(b, 5, 5000);
	totals(b, 3, 9, 2900, 6000);
	told_run(b, 3, 800, 6500);
	report(b);
	told_run(b, 3, 10, 6900);
	totals(b, 3, 11, 3210, 7000);
	r = report(b);
	t = serial_task(&r, TASK_RUNS, 3);
	cr_assert_eq(t->runs, 1, "%ld", t->runs);
	cr_assert_float_eq(t->busy, 310.0 / 500, 1e-9);
}

/* Steps were lost that a report had no part of, and the sums tell of them soon after it. */
Test(board, lost_steps_are_made_up_for_whole)
{
	_cleanup_board_ struct board *b = board_from_zero();
	const struct task_record *t;
	struct board_report r;
	double busy = 0;

	totals(b, 3, 0, 0, 1000);
	told_run(b, 3, 100, 2000);
	told_run(b, 3, 100, 6000);
	r = report(b);
	t = serial_task(&r, TASK_RUNS, 3);
	busy += t->busy * t->interval_s;
	gap(b, 20, 6100);
	totals(b, 3, 22, 2200, 6100);
	r = report(b);
	t = serial_task(&r, TASK_RUNS, 3);
	busy += t->busy * t->interval_s;
	cr_assert_eq(t->runs, 20);
	cr_assert_float_eq(t->busy, 1, 1e-9);
	cr_assert_float_eq(busy, 2200.0 / HZ, 1e-12);
}

/* The sums of a task that is gone were its last, whatever is lost after it. */
Test(board, a_gap_does_not_take_from_who_is_gone)
{
	_cleanup_board_ struct board *b = new_board();
	struct board_report r;

	totals(b, 3, 10, 1000, 2000);
	report(b);
	totals(b, 3, 17, 1700, 4000);
	ev(b, BOARD_END, 3, 4000);
	gap(b, 5, 5000);
	r = report(b);
	cr_assert_eq(serial_task(&r, TASK_RUNS, 3)->runs, 7);
	cr_assert(serial_task(&r, TASK_RUNS, 3)->ended);
}

/* Of a mark a board tells how often it came, too: that makes no task of it. */
Test(board, a_marks_sums_make_no_task)
{
	_cleanup_board_ struct board *b = new_board();
	struct board_event named = { .kind = BOARD_NAME, .id = 4, .t = 10 }, sums = { .kind = BOARD_TOTALS, .id = 4, .t = 20 };

	named.u.name.text = "temperature";
	named.u.name.class = BOARD_MARKER;
	board_event(b, &named);
	sums.u.totals.runs = 7;
	board_event(b, &sums);
	cr_assert_eq(report(b).n_tasks, 0);
}
