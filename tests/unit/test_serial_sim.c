/* SPDX-License-Identifier: BSD-2-Clause */
/* test_serial_sim.c - see test_serial_sim.h. */
#include "test_serial_sim.h"

#include <criterion/criterion.h>
#include <string.h>

static uint64_t next_random(struct sim *s)
{
	s->seed ^= s->seed << 13;
	s->seed ^= s->seed >> 7;
	s->seed ^= s->seed << 17;
	return s->seed;
}

uint64_t sim_host_ns(const struct sim *s)
{
	return SIM_HOST0 + (s->t + s->clock_stopped) * SIM_NS_PER_TICK;
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

		serial_stream_feed(s->run->stream, (const uint8_t *)t, strlen(t), sim_host_ns(s));
	}
	serial_stream_feed(s->run->stream, p, n, sim_host_ns(s));
}

void sim_flush(struct sim *s)
{
	size_t n = s->open ? lsw_frame_end(&s->b) : 0;

	s->open = false;
	if (!n)
		return;
	s->frames++;
	line(s, s->b.wire, n);
}

void sim_put(struct sim *s, struct lsw_record r)
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
		sim_flush(s);
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
	sim_put(s, r);
}

void sim_send_sync(struct sim *s)
{
	struct lsw_record r = { .type = LSW_SYNC };

	sim_flush(s); /* at most one in a frame, and first in it */
	r.u.sync.version = LSW_VERSION;
	r.u.sync.bits = (uint8_t)s->bits;
	r.u.sync.rate = s->rate;
	r.u.sync.flags = s->flags;
	r.u.sync.hz = SIM_HZ;
	r.u.sync.dropped = s->dropped;
	r.u.sync.busy = s->busy;
	r.u.sync.idle = s->idle;
	r.u.sync.isr = s->isr;
	sim_put(s, r);
	for (uint16_t id = 1; id <= SIM_TASKS; id++) {
		r = (struct lsw_record){ .type = LSW_TOTALS, .id = id };
		r.u.totals.runs = (uint32_t)s->runs[id];
		r.u.totals.busy = s->task_busy[id];
		sim_put(s, r);
	}
	name(s, 1, LSW_KIND_TASK, 0, "blink");
	name(s, 2, LSW_KIND_TASK, 1, "blink");
	name(s, 3, LSW_KIND_TASK, 0, "net");
	name(s, 4, LSW_KIND_TASK, 0, "hogger");
	name(s, 9, LSW_KIND_ISR, 0, "SysTick");
	name(s, 0, LSW_KIND_BOARD, 0, "sim");
	s->next_sync = s->t + SIM_HZ;
}

void sim_step(struct sim *s, uint16_t id, uint32_t dur)
{
	struct lsw_record r = { .type = LSW_RUN, .id = id };

	s->t += dur;
	s->busy += dur;
	s->runs[id]++;
	s->task_busy[id] += dur;
	r.u.run.dur = dur;
	if (s->rate >= LSW_RATE_RUNS)
		sim_put(s, r);
}

void sim_sleep_ticks(struct sim *s, uint32_t dur)
{
	struct lsw_record r = { .type = LSW_IDLE };

	s->t += dur;
	s->idle += dur;
	r.u.idle.slept = dur;
	r.u.idle.asked_ms = (uint16_t)(dur / 1000);
	if (s->rate >= LSW_RATE_ALL)
		sim_put(s, r);
}

static void sim_interrupt(struct sim *s, uint32_t dur)
{
	struct lsw_record r = { .type = LSW_ISR_IN, .id = 9 };

	sim_put(s, r);
	s->t += dur;
	s->isr += dur;
	r.type = LSW_ISR_OUT;
	sim_put(s, r);
}

void sim_begin(struct sim *s, struct serial_run *run, unsigned bits)
{
	*s = (struct sim){ .run = run, .seed = 88172645463325252ull, .bits = bits, .boot = 0x1234, .rate = LSW_RATE_ALL,
			   .t = 777 };
	s->boot_t = s->t;
	sim_send_sync(s);
}

void sim_reboot(struct sim *s)
{
	s->open = false;
	s->boot++;
	s->frames = 0;
	s->busy = s->idle = s->isr = 0;
	memset(s->runs, 0, sizeof(s->runs));
	memset(s->task_busy, 0, sizeof(s->task_busy));
	s->t += SIM_HZ / 5;
	s->boot_t = s->t;
	sim_send_sync(s);
}

void sim_work(struct sim *s, uint64_t ticks)
{
	uint64_t end = s->t + ticks;

	while (s->t < end) {
		sim_step(s, 1, 100 + next_random(s) % 400);
		sim_step(s, 2, 100 + next_random(s) % 100);
		if (next_random(s) % 4 == 0)
			sim_interrupt(s, 30);
		sim_step(s, 3, 200 + next_random(s) % 2000);
		sim_sleep_ticks(s, 500 + next_random(s) % 5000);
		if (s->t >= s->next_sync)
			sim_send_sync(s);
	}
}

struct board_report sim_report(struct sim *s)
{
	struct board_report rep;

	board_interval(s->run->board, 0, 1, sim_host_ns(s), &rep);
	return rep;
}
