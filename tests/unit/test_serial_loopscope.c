/* SPDX-License-Identifier: BSD-2-Clause */
/* test_serial_loopscope.c - our own frames through decoder and model: a simulated board that knows its truth. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "test_serial_sim.h"

TestSuite(serial_loopscope, .timeout = 120);

Test(serial_loopscope, sums_and_steps_agree)
{
	_cleanup_serial_run_ struct serial_run *r = serial_run_new(SERIAL_AUTO, NULL);
	const struct task_record *t;
	struct board_report rep;
	struct sim s;

	sim_begin(&s, r, 30);
	sim_work(&s, 10 * SIM_HZ);
	sim_send_sync(&s);
	sim_flush(&s);
	cr_assert_eq(serial_stream_protocol(r->stream), SERIAL_LOOPSCOPE);
	rep = sim_report(&s);
	cr_assert(rep.summary.from_sums);
	cr_assert_float_eq(rep.loop.idle, (double)s.idle / (double)(s.idle + s.busy + s.isr), 1e-9);
	cr_assert_float_eq(rep.loop.load, 1 - rep.loop.idle, 1e-12);
	cr_assert_float_eq(rep.loop.interval_s, (double)(s.t - s.boot_t) / SIM_HZ, 1e-9);
	cr_assert_str_eq(rep.summary.name, "sim");
	for (uint32_t id = 1; id <= 3; id++) {
		t = serial_task(&rep, TASK_RUNS, id);
		cr_assert_eq(t->runs, (int64_t)s.runs[id]);
		cr_assert_eq(t->run_us.n, (int64_t)s.runs[id]);
		cr_assert_float_eq(t->busy, (double)s.task_busy[id] / (double)(s.t - s.boot_t), 1e-9);
		cr_assert_eq(t->left_out, 0);
		cr_assert_eq(t->instances, id == 3 ? 1 : 2, "two instances of blink");
		cr_assert_eq(t->instance, id == 2 ? 1u : 0u);
	}
	t = serial_task(&rep, TASK_ISR, 9);
	cr_assert_float_eq(t->busy, (double)s.isr / (double)(s.t - s.boot_t), 1e-6);
	cr_assert_float_eq(t->run_us.min, 30, 1e-9);
	cr_assert_eq(rep.summary.gaps, 0);
	cr_assert_geq(rep.summary.margin.windows, 9);
	cr_assert_float_eq(rep.summary.margin.beyond, 1 - pow(0.05, 1.0 / (double)rep.summary.margin.windows), 1e-12);
	cr_assert_leq(rep.summary.margin.worst, rep.loop.idle);
	cr_assert_eq(rep.loop.ticks, rep.loop.io_waits - 1, "a tick lies between two sleeps");
}

Test(serial_loopscope, load_is_exact_whatever_is_lost)
{
	for (unsigned percent = 10; percent <= 90; percent += 20) {
		_cleanup_serial_run_ struct serial_run *r = serial_run_new(SERIAL_LOOPSCOPE, NULL);
		struct board_report rep;
		struct sim s;
		uint64_t before;

		sim_begin(&s, r, 32);
		sim_flush(&s);
		s.lose_percent = percent;
		sim_work(&s, 60 * SIM_HZ);
		s.lose_percent = 0;
		sim_send_sync(&s);
		sim_flush(&s);
		rep = sim_report(&s);
		cr_assert_float_eq(rep.loop.idle, (double)s.idle / (double)(s.idle + s.busy + s.isr), 1e-9, "%u %% lost", percent);
		for (uint32_t id = 1; id <= 3; id++) {
			const struct task_record *t = serial_task(&rep, TASK_RUNS, id);

			cr_assert_eq(t->runs, (int64_t)s.runs[id], "%u %%: task %u: %ld of %lu", percent, id, t->runs, s.runs[id]);
			cr_assert_float_eq(t->busy, (double)s.task_busy[id] / (double)(s.t - s.boot_t), 1e-6);
			cr_assert_lt(t->run_us.n, t->runs, "what was lost has no distribution");
		}
		cr_assert_eq(rep.summary.lost[LOSS_FRAMES], (int64_t)s.lost_frames, "every loss is reported with its count");
		cr_assert_eq(rep.summary.gaps_uncounted, 0);
		before = s.lost_frames;
		cr_assert_gt(before, 0u);
	}
}

Test(serial_loopscope, intervals_add_up_under_loss)
{
	_cleanup_serial_run_ struct serial_run *r = serial_run_new(SERIAL_LOOPSCOPE, NULL);
	int64_t runs[SIM_TASKS + 1] = { 0 };
	double idle = 0, span = 0;
	struct board_report rep;
	struct sim s;

	sim_begin(&s, r, 32);
	sim_flush(&s);
	s.lose_percent = 40;
	for (int i = 0; i < 60; i++) {
		if (i == 59)
			s.lose_percent = 0;
		sim_work(&s, SIM_HZ);
		if (i == 59) {
			sim_send_sync(&s);
			sim_flush(&s);
		}
		rep = sim_report(&s);
		if (!isnan(rep.loop.idle)) {
			cr_assert(rep.loop.idle >= 0 && rep.loop.idle <= 1);
			idle += rep.loop.idle * rep.loop.interval_s;
			span += rep.loop.interval_s;
		}
		for (uint32_t id = 1; id <= 3; id++) {
			const struct task_record *t = serial_task(&rep, TASK_RUNS, id);

			cr_assert(t->runs == -1 || t->runs >= 0);
			cr_assert_eq(t->runs == -1, isnan(t->busy));
			if (t->runs > 0)
				runs[id] += t->runs;
			if (!isnan(t->busy))
				cr_assert(t->busy >= 0 && t->busy <= 1);
		}
	}
	for (uint32_t id = 1; id <= 3; id++)
		cr_assert_eq(runs[id], (int64_t)s.runs[id], "task %u: %ld: nothing twice, nothing never", id, runs[id]);
	cr_assert_float_eq(idle, (double)s.idle / SIM_HZ, 1e-6);
	cr_assert_float_eq(span, (double)(s.t - s.boot_t) / SIM_HZ, 1e-6);
}

Test(serial_loopscope, damaged_frames_beside_text)
{
	_cleanup_serial_run_ struct serial_run *r = serial_run_new(SERIAL_AUTO, NULL);
	struct board_report rep;
	struct sim s;

	sim_begin(&s, r, 32);
	sim_flush(&s);
	s.flip_percent = 30;
	s.text = true;
	sim_work(&s, 60 * SIM_HZ);
	s.flip_percent = 0;
	sim_send_sync(&s);
	sim_flush(&s);
	serial_stream_quiet(r->stream);
	rep = sim_report(&s);
	cr_assert_float_eq(rep.loop.idle, (double)s.idle / (double)(s.idle + s.busy + s.isr), 1e-9);
	cr_assert_eq(rep.summary.lost[LOSS_FRAMES], (int64_t)s.lost_frames);
	cr_assert_eq(serial_stream_stats(r->stream).events, s.frames - s.lost_frames, 
		     "no false frame, none lost beside the damaged");
	cr_assert_not_null(strstr(r->console, "hello from the board\r\n"));
	cr_assert_not_null(strstr(r->console, ">>> "));
}

Test(serial_loopscope, a_reset_begins_anew_and_loses_nothing_of_the_sums)
{
	_cleanup_serial_run_ struct serial_run *r = serial_run_new(SERIAL_AUTO, NULL);
	struct board_report rep;
	uint64_t idle, all;
	struct sim s;

	sim_begin(&s, r, 32);
	sim_work(&s, 5 * SIM_HZ);
	sim_send_sync(&s);
	sim_flush(&s);
	idle = s.idle;
	all = s.idle + s.busy + s.isr;
	/* The new boot's first frames are lost: its sums since boot tell it all the same. */
	s.lose_percent = 100;
	sim_reboot(&s);
	sim_work(&s, SIM_HZ / 2);
	sim_flush(&s);
	s.lose_percent = 0;
	sim_work(&s, 5 * SIM_HZ);
	sim_send_sync(&s);
	sim_flush(&s);
	rep = sim_report(&s);
	cr_assert_eq(rep.summary.resets, 1);
	cr_assert_float_eq(rep.loop.idle, (double)(s.idle + idle) / (double)(all + s.idle + s.busy + s.isr), 1e-9);
	cr_assert_eq(rep.n_tasks, 2 * (SIM_TASKS + 1u), "tasks of the first boot, and of the second");
	rep = sim_report(&s);
	cr_assert_eq(rep.n_tasks, SIM_TASKS + 1u, "then only of the second");
}

Test(serial_loopscope, twenty_minutes_of_silence_over_a_wrap)
{
	static const unsigned bits[] = { 30, 32 };

	for (size_t i = 0; i < ARRAY_SIZE(bits); i++) {
		_cleanup_serial_run_ struct serial_run *r = serial_run_new(SERIAL_AUTO, NULL);
		struct board_report rep;
		struct sim s;

		sim_begin(&s, r, bits[i]);
		sim_work(&s, 3 * SIM_HZ);
		sim_send_sync(&s);
		sim_flush(&s);
		sim_sleep_ticks(&s, 1200000000u);
		s.next_sync = s.t;
		sim_work(&s, 3 * SIM_HZ);
		sim_send_sync(&s);
		sim_flush(&s);
		rep = sim_report(&s);
		cr_assert_eq(r->last_t - s.boot_t, s.t - s.boot_t, "%u bits", bits[i]);
		cr_assert_float_eq(rep.loop.interval_s, (double)(s.t - s.boot_t) / SIM_HZ, 1e-6);
		cr_assert_float_eq(rep.loop.idle, (double)s.idle / (double)(s.idle + s.busy + s.isr), 1e-9);
		cr_assert_float_eq(rep.summary.sleep_us.max, 1.2e9, 1);
	}
}

Test(serial_loopscope, light_sleep_stops_the_clock)
{
	_cleanup_serial_run_ struct serial_run *r = serial_run_new(SERIAL_AUTO, NULL);
	struct board_report rep;
	struct sim s;
	double busy, wall;

	sim_begin(&s, r, 30);
	s.flags = LSW_FLAG_STOPS;
	sim_send_sync(&s);
	sim_flush(&s);
	sim_report(&s);
	busy = (double)(s.busy + s.isr);
	wall = (double)sim_host_ns(&s);
	for (int k = 0; k < 10; k++) {
		sim_work(&s, SIM_HZ / 2);
		s.clock_stopped += 10 * SIM_HZ; /* asleep: the host's clock alone goes on */
		sim_send_sync(&s);
		sim_flush(&s);
	}
	rep = sim_report(&s);
	wall = ((double)sim_host_ns(&s) - wall) / SIM_NS_PER_TICK;
	cr_assert_float_eq(rep.loop.load, ((double)(s.busy + s.isr) - busy) / wall, 0.005, "%f", rep.loop.load);
	cr_assert_float_eq(rep.loop.interval_s, wall / SIM_HZ, 0.1);
}

Test(serial_loopscope, a_hog_is_seen_live_and_counted)
{
	_cleanup_serial_run_ struct serial_run *r = serial_run_new(SERIAL_AUTO, NULL);
	struct lsw_record open = { .type = LSW_OPEN, .id = 4 };
	const struct task_record *t;
	struct board_report rep;
	struct sim s;

	sim_begin(&s, r, 32);
	sim_work(&s, SIM_HZ);
	s.t += 60000;
	open.u.open.ran = 60000;
	sim_put(&s, open);
	sim_flush(&s);
	rep = sim_report(&s);
	t = serial_task(&rep, TASK_RUNS, 4);
	cr_assert_float_eq(t->hog_open_us, 60000, 1);
	s.t -= 60000;
	sim_step(&s, 4, 80000);
	sim_flush(&s);
	rep = sim_report(&s);
	t = serial_task(&rep, TASK_RUNS, 4);
	cr_assert(isnan(t->hog_open_us));
	cr_assert_eq(t->hogs, 1);
	cr_assert_float_eq(t->run_us.max, 80000, 1e-6);
}

Test(serial_loopscope, full_ring_on_the_board)
{
	_cleanup_serial_run_ struct serial_run *r = serial_run_new(SERIAL_AUTO, NULL);
	struct lsw_record d = { .type = LSW_DROPPED };
	struct board_report rep;
	struct sim s;

	sim_begin(&s, r, 32);
	sim_work(&s, SIM_HZ);
	s.dropped = 17;
	d.u.dropped.total = 17;
	sim_put(&s, d);
	sim_work(&s, 2 * SIM_HZ);
	s.dropped = 20; /* its DROPPED record is lost too: SYNC tells */
	sim_send_sync(&s);
	sim_flush(&s);
	rep = sim_report(&s);
	cr_assert_eq(rep.summary.lost[LOSS_EVENTS], 20);
	cr_assert_eq(rep.summary.gaps, 2);
	cr_assert_eq(rep.summary.lost[LOSS_FRAMES], 0);
}

Test(serial_loopscope, withheld_steps_are_no_loss)
{
	_cleanup_serial_run_ struct serial_run *r = serial_run_new(SERIAL_AUTO, NULL);
	struct board_report rep;
	struct sim s;

	sim_begin(&s, r, 32);
	s.rate = LSW_RATE_TOTALS;
	sim_send_sync(&s);
	sim_flush(&s);
	sim_report(&s);
	sim_work(&s, 10 * SIM_HZ);
	sim_send_sync(&s);
	sim_flush(&s);
	rep = sim_report(&s);
	cr_assert_eq(rep.summary.gaps, 0);
	for (uint32_t id = 1; id <= 3; id++)
		cr_assert_eq(serial_task(&rep, TASK_RUNS, id)->runs, (int64_t)s.runs[id]);
	cr_assert_eq(serial_task(&rep, TASK_RUNS, 1)->run_us.n, 0);
	cr_assert_float_eq(rep.loop.idle, (double)s.idle / (double)(s.idle + s.busy + s.isr), 0.001);
}

Test(serial_loopscope, attached_late)
{
	_cleanup_serial_run_ struct serial_run *r = serial_run_new(SERIAL_AUTO, NULL);
	struct board_report rep;
	struct sim s;
	uint64_t idle, all, runs;

	sim_begin(&s, r, 32);
	s.lose_percent = 100; /* nobody listens yet */
	sim_work(&s, 30 * SIM_HZ);
	sim_flush(&s);
	s.lose_percent = 0;
	sim_send_sync(&s);
	sim_flush(&s);
	idle = s.idle;
	all = s.idle + s.busy + s.isr;
	runs = s.runs[1];
	/* The very first frame was heard, all the others were not: as if it had come from another boot. */
	serial_run_free(r);
	r = s.run = serial_run_new(SERIAL_AUTO, NULL);
	sim_send_sync(&s);
	sim_work(&s, 5 * SIM_HZ);
	sim_send_sync(&s);
	sim_flush(&s);
	rep = sim_report(&s);
	cr_assert_float_eq(rep.loop.idle, (double)(s.idle - idle) / (double)(s.idle + s.busy + s.isr - all), 1e-9);
	cr_assert_eq(serial_task(&rep, TASK_RUNS, 1)->runs, (int64_t)(s.runs[1] - runs), "what was before is not ours");
	cr_assert_str_eq(serial_task(&rep, TASK_RUNS, 3)->task, "net");
	cr_assert_eq(rep.summary.lost[LOSS_FRAMES], 0);
	cr_assert_eq(rep.summary.resets, 0);
}

Test(serial_loopscope, drift_is_found_from_frames_alone)
{
	_cleanup_serial_run_ struct serial_run *r = serial_run_new(SERIAL_AUTO, NULL);
	struct board_report rep;
	struct sim s;

	sim_begin(&s, r, 32);
	for (int k = 0; k < 600; k++) {
		sim_work(&s, SIM_HZ / 20);
		sim_flush(&s);
		/* The board's clock loses 200 ppm: the host's goes on that much more. */
		s.clock_stopped = s.t / 5000;
	}
	rep = sim_report(&s);
	cr_assert_eq(rep.summary.clock.method, CLOCK_ONE_WAY);
	cr_assert_float_eq(rep.summary.clock.drift_ppm, -200, 20, "%f", rep.summary.clock.drift_ppm);
}

Test(serial_loopscope, pings_are_matched_by_nonce)
{
	_cleanup_serial_run_ struct serial_run *r = serial_run_new(SERIAL_AUTO, NULL);
	struct lsw_record a = { .type = LSW_TIME };
	struct board_report rep;
	struct sim s;

	sim_begin(&s, r, 30);
	sim_flush(&s);
	for (uint16_t nonce = 1; nonce <= 20; nonce++) {
		board_ping_sent(r->board, nonce, sim_host_ns(&s));
		s.t += 2000; /* 2 ms there */
		a.u.time.nonce = nonce;
		a.u.time.rx = (uint32_t)s.t & 0x3FFFFFFF;
		s.t += 500;
		a.u.time.tx = (uint32_t)s.t & 0x3FFFFFFF;
		sim_put(&s, a);
		s.t += 2000; /* and back */
		sim_flush(&s);
		sim_sleep_ticks(&s, 500000);
		a.u.time.nonce = 9999; /* an answer that nobody asked for */
		sim_put(&s, a);
	}
	rep = sim_report(&s);
	cr_assert_eq(rep.summary.clock.method, CLOCK_PINGS);
	cr_assert_eq(rep.summary.clock.samples, 20u, "%lu", rep.summary.clock.samples);
	cr_assert_float_eq((double)rep.summary.clock.offset_ns, (double)SIM_HOST0, 1000);
	cr_assert_float_eq((double)rep.summary.clock.error_ns, 2e6, 1);
}
