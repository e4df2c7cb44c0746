/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * target_sim.h - a simulated processor for the C agent, which is compiled into whoever includes this: time that the
 * test alone moves, interrupts that come wherever the agent lets them, a line whose bytes go through the codec's parser.
 */
#ifndef TESTS_TARGET_SIM_H
#define TESTS_TARGET_SIM_H

#include <criterion/criterion.h>
#include <string.h>

/* The agent's port: each place where interrupts are let in again is one where they come. */
static unsigned sim_lock(void);
static void sim_unlock(unsigned was);
#define LSA_LOCK() sim_lock()
#define LSA_UNLOCK(s) sim_unlock(s)

#include "targets/c/lsagent.c"
#include "targets/c/lsagent_command.c"
#include "targets/c/lsagent_send.c"
#include "codec_channel.h"

#define RING 64
#define TASKS 8
#define HZ 1000000u
#define TRUTHS (TASKS + 1)

/* What the host makes of the stream. */
struct heard {
	struct lsw_parser parser;
	struct lsw_link link;
	uint64_t t; /* of the last record */
	uint64_t run_sum[TRUTHS], runs[TRUTHS], isr_in[TRUTHS], isr_out[TRUTHS];
	struct lsw_record totals[TRUTHS], sync, first_sync, open, mark, idle, time;
	uint64_t sync_t, first_sync_t;
	uint32_t syncs, opens, ends, marks, idles, times, switches, drops, boards;
	uint32_t dropped_total;
	char names[TRUTHS][LSW_NAME_MAX + 1];
	uint16_t insts[TRUTHS];
	uint8_t kinds[TRUTHS];
	uint64_t writes, bytes;
};

static struct sim {
	struct lsa agent;
	struct lsa_event ring[RING];
	struct lsa_task tasks[TASKS];
	struct heard heard;
	struct rng rng;
	uint64_t now;
	uint8_t bits;
	bool locked, in_isr;
	uint16_t isr_of_256; /* how often an interrupt comes when it may */
	uint16_t isr_id, isr_max, write_us;
	uint64_t isr_ticks, isr_runs;
} sim;

static uint32_t sim_clock(void)
{
	return (uint32_t)(sim.now & (((uint64_t)1 << sim.bits) - 1));
}

static void sim_isr(void)
{
	uint32_t took = rng_below(&sim.rng, sim.isr_max);

	sim.in_isr = true;
	lsa_isr_enter(&sim.agent, sim.isr_id);
	sim.now += took;
	sim.isr_ticks += took;
	sim.isr_runs++;
	lsa_tick(&sim.agent);
	lsa_isr_exit(&sim.agent);
	sim.in_isr = false;
}

static void maybe_interrupt(void)
{
	if (!sim.locked && !sim.in_isr && sim.isr_id && rng_below(&sim.rng, 256) < sim.isr_of_256)
		sim_isr();
}

static unsigned sim_lock(void)
{
	unsigned was = sim.locked;

	maybe_interrupt();
	sim.locked = true;
	return was;
}

static void sim_unlock(unsigned was)
{
	sim.locked = was;
	maybe_interrupt();
}

/* CPU time of the program's own, interrupts on top of it. */
static void work(uint32_t ticks)
{
	sim.now += ticks / 2;
	maybe_interrupt();
	sim.now += ticks - ticks / 2;
}

static void on_record(struct heard *h, const struct lsw_record *r)
{
	switch (r->type) {
	case LSW_RUN:
		h->run_sum[r->id] += r->u.run.dur;
		h->runs[r->id]++;
		break;
	case LSW_NAME:
		if (!r->id)
			h->boards++;
		memcpy(h->names[r->id], r->u.name.text, r->u.name.len);
		h->names[r->id][r->u.name.len] = 0;
		h->insts[r->id] = r->u.name.inst;
		h->kinds[r->id] = r->u.name.kind;
		break;
	case LSW_ISR_IN:
		h->isr_in[r->id]++;
		break;
	case LSW_ISR_OUT:
		h->isr_out[r->id]++;
		break;
	case LSW_TOTALS:
		h->totals[r->id] = *r;
		break;
	case LSW_SYNC:
		h->sync = *r;
		h->sync_t = h->t;
		if (!h->syncs++) {
			h->first_sync = *r;
			h->first_sync_t = h->t;
		}
		cr_assert_eq(r->u.sync.busy + r->u.sync.idle + r->u.sync.isr - h->first_sync.u.sync.busy -
			     h->first_sync.u.sync.idle - h->first_sync.u.sync.isr, h->t - h->first_sync_t,
			     "busy + idle + isr is not the time");
		break;
	case LSW_OPEN:
		h->open = *r;
		h->opens++;
		break;
	case LSW_MARK:
		h->mark = *r;
		h->marks++;
		break;
	case LSW_IDLE:
		h->idle = *r;
		h->idles++;
		break;
	case LSW_TIME:
		h->time = *r;
		h->times++;
		break;
	case LSW_DROPPED:
		cr_assert_gt(r->u.dropped.total, h->dropped_total);
		h->dropped_total = r->u.dropped.total;
		h->drops++;
		break;
	case LSW_END:
		h->ends++;
		break;
	case LSW_SWITCH:
		h->switches++;
		break;
	default:
		cr_assert_eq(r->type, LSW_ADVANCE);
	}
}

static void on_frame(void *ctx, const struct lsw_frame *f)
{
	struct heard *h = ctx;
	struct lsw_record r;
	struct lsw_step step;
	size_t pos = 0;

	lsw_link_frame(&h->link, f, sim.now * 1000, &step);
	cr_assert_eq(step.lost, 0);
	cr_assert_geq(step.t0, h->t, "time goes forward");
	h->t = step.t0;
	while (lsw_record_next(f, &pos, &r)) {
		h->t += r.dt;
		on_record(h, &r);
	}
	cr_assert_leq(h->t, sim.now, "nothing is told before it was");
}

static void sim_write(const uint8_t *bytes, size_t n)
{
	struct lsw_handler h = { .frame = on_frame, .ctx = &sim.heard };

	cr_assert(!sim.locked, "interrupts are off while the line is written to");
	sim.now += n * sim.write_us;
	lsw_parser_feed(&sim.heard.parser, bytes, n, &h);
	cr_assert_eq(sim.heard.parser.noise_bytes + sim.heard.parser.text_bytes, 0);
	cr_assert_eq(sim.heard.parser.frames, sim.heard.writes + 1, "a frame a call");
	sim.heard.writes++;
	sim.heard.bytes += n;
}

static struct lsa_config config(void)
{
	return (struct lsa_config){ .clock = sim_clock, .write = sim_write, .hz = HZ, .bits = sim.bits,
				    .rate = LSW_RATE_ALL, .ring = sim.ring, .ring_len = RING, .tasks = sim.tasks,
				    .tasks_len = TASKS,
				    .name = "sim", .boot = 3 };
}

static void boot_with(uint8_t bits, struct lsa_config c)
{
	struct lsa_config with = c;

	lsw_parser_init(&sim.heard.parser);
	lsw_link_init(&sim.heard.link);
	with.bits = bits;
	lsa_init(&sim.agent, &with);
}

static void boot(uint8_t bits)
{
	sim = (struct sim){ .rng = { 4711 }, .now = 12345, .bits = bits };
	boot_with(bits, config());
}

static void rx(const char *line)
{
	while (*line)
		lsa_rx(&sim.agent, (uint8_t)*line++);
}

static void sleep_ticks(uint32_t ticks)
{
	lsa_idle_begin(&sim.agent, (uint16_t)(ticks / 1000));
	work(ticks);
	lsa_idle_end(&sim.agent);
}

#endif
