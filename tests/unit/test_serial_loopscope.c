/* SPDX-License-Identifier: BSD-2-Clause */
/* test_serial_loopscope.c - our own frames through decoder and model: a simulated board that knows its truth. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "targets/codec/lswire.h"
#include "test_serial_fixture.h"

TestSuite(serial_loopscope, .timeout = 120);

#define HZ 1000000u
#define TASKS 4 /* ids 1 to 4: "blink" 0 and 1, "net", "hogger" */
#define NS_PER_TICK (1000000000u / HZ)
#define HOST0 50000000000ull

struct sim {
	struct serial_run *run;
	struct lsw_builder b;
	uint64_t seed, t, cursor; /* ticks, never wrapping */
	uint64_t boot_t;
	unsigned bits;
	uint16_t boot;
	uint32_t frames, dropped;
	bool open;
	uint8_t rate, flags;
	uint64_t busy, idle, isr, runs[TASKS + 1], task_busy[TASKS + 1], next_sync;
	uint64_t clock_stopped; /* ticks of host time that the board's clock missed */

	/* what the line does to a frame */
	unsigned lose_percent, flip_percent;
	bool text; /* console text between frames */
	uint64_t lost_frames;
};

static uint64_t next_random(struct sim *s)
{
	s->seed ^= s->seed << 13;
	s->seed ^= s->seed >> 7;
	s->seed ^= s->seed << 17;
	return s->seed;
}

static uint64_t host_ns(const struct sim *s)
{
	return HOST0 + (s->t + s->clock_stopped) * NS_PER_TICK;
}

static void line(struct sim *s, uint8_t *p, size_t n)
{
	static const char *const text[] = { "hello from the board\r\n", ">>> ", "Traceback: \xc3\xa4\n", "a" };

	if (s->lose_percent && next_random(s) % 100 < s->lose_percent) {
		s->lost_frames++;
		return;
	}
	if (s->flip_percent && next_random(s) % 100 < s->flip_percent) {
		p[1 + next_random(s) % (n - 2)] ^= (uint8_t)(1u << next_random(s) % 8);
		s->lost_frames++;
	}
	if (s->text && next_random(s) % 3 == 0) {
		const char *t = text[next_random(s) % 4];

		serial_stream_feed(s->run->stream, (const uint8_t *)t, strlen(t), host_ns(s));
	}
	serial_stream_feed(s->run->stream, p, n, host_ns(s));
}

static void flush(struct sim *s)
{
	size_t n = s->open ? lsw_frame_end(&s->b) : 0;

	s->open = false;
	if (!n)
		return;
	s->frames++;
	line(s, s->b.wire, n);
}

static void put(struct sim *s, struct lsw_record r)
{
	for (int again = 0; again < 2; again++) {
		if (!s->open) {
			lsw_frame_begin(&s->b, (uint8_t)s->frames, (uint32_t)(s->t & ((1ull << s->bits) - 1)), s->boot);
			s->open = true;
			s->cursor = s->t;
		}
		r.dt = (uint32_t)(s->t - s->cursor);
		if (r.type == LSW_SYNC)
			r.u.sync.frames = s->frames;
		if (lsw_frame_put(&s->b, &r) > 0) {
			s->cursor = s->t;
			return;
		}
		flush(s);
	}
	cr_assert_fail("a record does not fit an empty frame");
}

static void name(struct sim *s, uint16_t id, uint8_t kind, uint16_t inst, const char *text)
{
	struct lsw_record r = { .type = LSW_NAME, .id = id };

	r.u.name.kind = kind;
	r.u.name.inst = inst;
	r.u.name.text = (const uint8_t *)text;
	r.u.name.len = (uint8_t)strlen(text);
	put(s, r);
}

static void send_sync(struct sim *s)
{
	struct lsw_record r = { .type = LSW_SYNC };

	flush(s); /* at most one in a frame, and first in it */
	r.u.sync.version = LSW_VERSION;
	r.u.sync.bits = (uint8_t)s->bits;
	r.u.sync.rate = s->rate;
	r.u.sync.flags = s->flags;
	r.u.sync.hz = HZ;
	r.u.sync.dropped = s->dropped;
	r.u.sync.busy = s->busy;
	r.u.sync.idle = s->idle;
	r.u.sync.isr = s->isr;
	put(s, r);
	for (uint16_t id = 1; id <= TASKS; id++) {
		r = (struct lsw_record){ .type = LSW_TOTALS, .id = id };
		r.u.totals.runs = (uint32_t)s->runs[id];
		r.u.totals.busy = s->task_busy[id];
		put(s, r);
	}
	name(s, 1, LSW_KIND_TASK, 0, "blink");
	name(s, 2, LSW_KIND_TASK, 1, "blink");
	name(s, 3, LSW_KIND_TASK, 0, "net");
	name(s, 4, LSW_KIND_TASK, 0, "hogger");
	name(s, 9, LSW_KIND_ISR, 0, "SysTick");
	name(s, 0, LSW_KIND_BOARD, 0, "sim");
	s->next_sync = s->t + HZ;
}

static void step(struct sim *s, uint16_t id, uint32_t dur)
{
	struct lsw_record r = { .type = LSW_RUN, .id = id };

	s->t += dur;
	s->busy += dur;
	s->runs[id]++;
	s->task_busy[id] += dur;
	r.u.run.dur = dur;
	if (s->rate >= LSW_RATE_RUNS)
		put(s, r);
}

static void sleep_ticks(struct sim *s, uint32_t dur)
{
	struct lsw_record r = { .type = LSW_IDLE };

	s->t += dur;
	s->idle += dur;
	r.u.idle.slept = dur;
	r.u.idle.asked_ms = (uint16_t)(dur / 1000);
	if (s->rate >= LSW_RATE_ALL)
		put(s, r);
}

static void interrupt(struct sim *s, uint32_t dur)
{
	struct lsw_record r = { .type = LSW_ISR_IN, .id = 9 };

	put(s, r);
	s->t += dur;
	s->isr += dur;
	r.type = LSW_ISR_OUT;
	put(s, r);
}

static void begin(struct sim *s, struct serial_run *run, unsigned bits)
{
	*s = (struct sim){ .run = run, .seed = 88172645463325252ull, .bits = bits, .boot = 0x1234, .rate = LSW_RATE_ALL, .t = 777 };
	s->boot_t = s->t;
	send_sync(s);
}

static void reboot(struct sim *s)
{
	s->open = false;
	s->boot++;
	s->frames = 0;
	s->busy = s->idle = s->isr = 0;
	memset(s->runs, 0, sizeof(s->runs));
	memset(s->task_busy, 0, sizeof(s->task_busy));
	s->t += HZ / 5;
	s->boot_t = s->t;
	send_sync(s);
}

/* About `ticks` of a loop with three short steps, an interrupt and a sleep. */
static void work(struct sim *s, uint64_t ticks)
{
	uint64_t end = s->t + ticks;

	while (s->t < end) {
		step(s, 1, 100 + next_random(s) % 400);
		step(s, 2, 100 + next_random(s) % 100);
		if (next_random(s) % 4 == 0)
			interrupt(s, 30);
		step(s, 3, 200 + next_random(s) % 2000);
		sleep_ticks(s, 500 + next_random(s) % 5000);
		if (s->t >= s->next_sync)
			send_sync(s);
	}
}

static struct board_report report(struct sim *s)
{
	struct board_report rep;

	board_interval(s->run->board, 0, 1, host_ns(s), &rep);
	return rep;
}

Test(serial_loopscope, sums_and_steps_agree)
{
	_cleanup_serial_run_ struct serial_run *r = serial_run_new(SERIAL_AUTO, NULL);
	const struct task_record *t;
	struct board_report rep;
	struct sim s;

	begin(&s, r, 30);
	work(&s, 10 * HZ);
	send_sync(&s);
	flush(&s);
	cr_assert_eq(serial_stream_protocol(r->stream), SERIAL_LOOPSCOPE);
	rep = report(&s);
	cr_assert(rep.summary.from_sums);
	cr_assert_float_eq(rep.loop.idle, (double)s.idle / (double)(s.idle + s.busy + s.isr), 1e-9);
	cr_assert_float_eq(rep.loop.load, 1 - rep.loop.idle, 1e-12);
	cr_assert_float_eq(rep.loop.interval_s, (double)(s.t - s.boot_t) / HZ, 1e-9);
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
	cr_assert_eq(rep.loop.ticks, rep.loop.io_waits - 1, "a tick lies between two sleeps: when the first began is not known");
}

Test(serial_loopscope, load_is_exact_whatever_is_lost)
{
	for (unsigned percent = 10; percent <= 90; percent += 20) {
		_cleanup_serial_run_ struct serial_run *r = serial_run_new(SERIAL_LOOPSCOPE, NULL);
		struct board_report rep;
		struct sim s;
		uint64_t before;

		begin(&s, r, 32);
		flush(&s);
		s.lose_percent = percent;
		work(&s, 60 * HZ);
		s.lose_percent = 0;
		send_sync(&s);
		flush(&s);
		rep = report(&s);
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
	int64_t runs[TASKS + 1] = { 0 };
	double idle = 0, span = 0;
	struct board_report rep;
	struct sim s;

	begin(&s, r, 32);
	flush(&s);
	s.lose_percent = 40;
	for (int i = 0; i < 60; i++) {
		if (i == 59)
			s.lose_percent = 0;
		work(&s, HZ);
		if (i == 59) {
			send_sync(&s);
			flush(&s);
		}
		rep = report(&s);
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
		cr_assert_eq(runs[id], (int64_t)s.runs[id], "task %u: %ld of %lu: nothing twice, nothing never", id, runs[id], s.runs[id]);
	cr_assert_float_eq(idle, (double)s.idle / HZ, 1e-6);
	cr_assert_float_eq(span, (double)(s.t - s.boot_t) / HZ, 1e-6);
}

Test(serial_loopscope, damaged_frames_beside_text)
{
	_cleanup_serial_run_ struct serial_run *r = serial_run_new(SERIAL_AUTO, NULL);
	struct board_report rep;
	struct sim s;

	begin(&s, r, 32);
	flush(&s);
	s.flip_percent = 30;
	s.text = true;
	work(&s, 60 * HZ);
	s.flip_percent = 0;
	send_sync(&s);
	flush(&s);
	serial_stream_quiet(r->stream);
	rep = report(&s);
	cr_assert_float_eq(rep.loop.idle, (double)s.idle / (double)(s.idle + s.busy + s.isr), 1e-9);
	cr_assert_eq(rep.summary.lost[LOSS_FRAMES], (int64_t)s.lost_frames);
	cr_assert_eq(serial_stream_stats(r->stream).events, s.frames - s.lost_frames, "no false frame, none lost beside the damaged");
	cr_assert_not_null(strstr(r->console, "hello from the board\r\n"));
	cr_assert_not_null(strstr(r->console, ">>> "));
}

Test(serial_loopscope, a_reset_begins_anew_and_loses_nothing_of_the_sums)
{
	_cleanup_serial_run_ struct serial_run *r = serial_run_new(SERIAL_AUTO, NULL);
	struct board_report rep;
	uint64_t idle, all;
	struct sim s;

	begin(&s, r, 32);
	work(&s, 5 * HZ);
	send_sync(&s);
	flush(&s);
	idle = s.idle;
	all = s.idle + s.busy + s.isr;
	/* The new boot's first frames are lost: its sums since boot tell it all the same. */
	s.lose_percent = 100;
	reboot(&s);
	work(&s, HZ / 2);
	flush(&s);
	s.lose_percent = 0;
	work(&s, 5 * HZ);
	send_sync(&s);
	flush(&s);
	rep = report(&s);
	cr_assert_eq(rep.summary.resets, 1);
	cr_assert_float_eq(rep.loop.idle, (double)(s.idle + idle) / (double)(all + s.idle + s.busy + s.isr), 1e-9);
	cr_assert_eq(rep.n_tasks, 2 * (TASKS + 1u), "tasks of the first boot, and of the second");
	rep = report(&s);
	cr_assert_eq(rep.n_tasks, TASKS + 1u, "then only of the second");
}

Test(serial_loopscope, twenty_minutes_of_silence_over_a_wrap)
{
	static const unsigned bits[] = { 30, 32 };

	for (size_t i = 0; i < ARRAY_SIZE(bits); i++) {
		_cleanup_serial_run_ struct serial_run *r = serial_run_new(SERIAL_AUTO, NULL);
		struct board_report rep;
		struct sim s;

		begin(&s, r, bits[i]);
		work(&s, 3 * HZ);
		send_sync(&s);
		flush(&s);
		sleep_ticks(&s, 1200000000u);
		s.next_sync = s.t;
		work(&s, 3 * HZ);
		send_sync(&s);
		flush(&s);
		rep = report(&s);
		cr_assert_eq(r->last_t - s.boot_t, s.t - s.boot_t, "%u bits", bits[i]);
		cr_assert_float_eq(rep.loop.interval_s, (double)(s.t - s.boot_t) / HZ, 1e-6);
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

	begin(&s, r, 30);
	s.flags = LSW_FLAG_STOPS;
	send_sync(&s);
	flush(&s);
	report(&s);
	busy = (double)(s.busy + s.isr);
	wall = (double)host_ns(&s);
	for (int k = 0; k < 10; k++) {
		work(&s, HZ / 2);
		s.clock_stopped += 10 * HZ; /* asleep: the host's clock alone goes on */
		send_sync(&s);
		flush(&s);
	}
	rep = report(&s);
	wall = ((double)host_ns(&s) - wall) / NS_PER_TICK;
	cr_assert_float_eq(rep.loop.load, ((double)(s.busy + s.isr) - busy) / wall, 0.005, "%f", rep.loop.load);
	cr_assert_float_eq(rep.loop.interval_s, wall / HZ, 0.1);
}

Test(serial_loopscope, a_hog_is_seen_live_and_counted)
{
	_cleanup_serial_run_ struct serial_run *r = serial_run_new(SERIAL_AUTO, NULL);
	struct lsw_record open = { .type = LSW_OPEN, .id = 4 };
	const struct task_record *t;
	struct board_report rep;
	struct sim s;

	begin(&s, r, 32);
	work(&s, HZ);
	s.t += 60000;
	open.u.open.ran = 60000;
	put(&s, open);
	flush(&s);
	rep = report(&s);
	t = serial_task(&rep, TASK_RUNS, 4);
	cr_assert_float_eq(t->hog_open_us, 60000, 1);
	s.t -= 60000;
	step(&s, 4, 80000);
	flush(&s);
	rep = report(&s);
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

	begin(&s, r, 32);
	work(&s, HZ);
	s.dropped = 17;
	d.u.dropped.total = 17;
	put(&s, d);
	work(&s, 2 * HZ);
	s.dropped = 20; /* its DROPPED record is lost too: SYNC tells */
	send_sync(&s);
	flush(&s);
	rep = report(&s);
	cr_assert_eq(rep.summary.lost[LOSS_EVENTS], 20);
	cr_assert_eq(rep.summary.gaps, 2);
	cr_assert_eq(rep.summary.lost[LOSS_FRAMES], 0);
}

Test(serial_loopscope, withheld_steps_are_no_loss)
{
	_cleanup_serial_run_ struct serial_run *r = serial_run_new(SERIAL_AUTO, NULL);
	struct board_report rep;
	struct sim s;

	begin(&s, r, 32);
	s.rate = LSW_RATE_TOTALS;
	send_sync(&s);
	flush(&s);
	report(&s);
	work(&s, 10 * HZ);
	send_sync(&s);
	flush(&s);
	rep = report(&s);
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

	begin(&s, r, 32);
	s.lose_percent = 100; /* nobody listens yet */
	work(&s, 30 * HZ);
	flush(&s);
	s.lose_percent = 0;
	send_sync(&s);
	flush(&s);
	idle = s.idle;
	all = s.idle + s.busy + s.isr;
	runs = s.runs[1];
	/* The very first frame was heard, all the others were not: as if it had come from another boot. */
	serial_run_free(r);
	r = s.run = serial_run_new(SERIAL_AUTO, NULL);
	send_sync(&s);
	work(&s, 5 * HZ);
	send_sync(&s);
	flush(&s);
	rep = report(&s);
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

	begin(&s, r, 32);
	for (int k = 0; k < 600; k++) {
		work(&s, HZ / 20);
		flush(&s);
		/* The board's clock loses 200 ppm: the host's goes on that much more. */
		s.clock_stopped = s.t / 5000;
	}
	rep = report(&s);
	cr_assert_eq(rep.summary.clock.method, CLOCK_ONE_WAY);
	cr_assert_float_eq(rep.summary.clock.drift_ppm, -200, 20, "%f", rep.summary.clock.drift_ppm);
}

Test(serial_loopscope, pings_are_matched_by_nonce)
{
	_cleanup_serial_run_ struct serial_run *r = serial_run_new(SERIAL_AUTO, NULL);
	struct lsw_record a = { .type = LSW_TIME };
	struct board_report rep;
	struct sim s;

	begin(&s, r, 30);
	flush(&s);
	for (uint16_t nonce = 1; nonce <= 20; nonce++) {
		board_ping_sent(r->board, nonce, host_ns(&s));
		s.t += 2000; /* 2 ms there */
		a.u.time.nonce = nonce;
		a.u.time.rx = (uint32_t)s.t & 0x3FFFFFFF;
		s.t += 500;
		a.u.time.tx = (uint32_t)s.t & 0x3FFFFFFF;
		put(&s, a);
		s.t += 2000; /* and back */
		flush(&s);
		sleep_ticks(&s, 500000);
		a.u.time.nonce = 9999; /* an answer that nobody asked for */
		put(&s, a);
	}
	rep = report(&s);
	cr_assert_eq(rep.summary.clock.method, CLOCK_PINGS);
	cr_assert_eq(rep.summary.clock.samples, 20u, "%lu", rep.summary.clock.samples);
	cr_assert_float_eq((double)rep.summary.clock.offset_ns, (double)HOST0, 1000);
	cr_assert_float_eq((double)rep.summary.clock.error_ns, 2e6, 1);
}
