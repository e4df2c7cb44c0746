/* SPDX-License-Identifier: BSD-2-Clause */
/* test_target_agent.c - what the C agent says is held against the simulation's own count, to the tick. */
#include "target_sim.h"

TestSuite(target_agent, .timeout = 60);

Test(target_agent, says_what_happened)
{
	boot(32);
	struct lsa *a = &sim.agent;
	uint16_t x = lsa_task(a, "x"), y = lsa_task(a, "x"), m = lsa_name(a, "level", LSW_KIND_MARK);

	lsa_begin(a, x);
	work(700);
	lsa_end(a);
	lsa_begin(a, y);
	work(70000);
	lsa_mark(a, m, -5);
	lsa_end(a);
	sleep_ticks(3000000);
	lsa_poll(a, 1000);
	const struct heard *h = &sim.heard;

	cr_assert_eq(h->run_sum[x], 700);
	cr_assert_eq(h->run_sum[y], 70000);
	cr_assert_str_eq(h->names[0], "sim");
	cr_assert_str_eq(h->names[x], "x");
	cr_assert_str_eq(h->names[y], "x");
	cr_assert_eq(h->insts[x], 0);
	cr_assert_eq(h->insts[y], 1);
	cr_assert_eq(h->kinds[m], LSW_KIND_MARK);
	cr_assert_eq(h->kinds[a->agent], LSW_KIND_AGENT);
	cr_assert_eq(h->mark.id, m);
	cr_assert_eq(h->mark.u.mark.value, -5);
	cr_assert_eq(h->idle.u.idle.slept, 3000000);
	cr_assert_eq(h->idle.u.idle.asked_ms, 3000);
	cr_assert_eq(h->sync.u.sync.idle, 3000000);
	cr_assert_eq(h->sync.u.sync.busy, 70700);
	cr_assert_eq(h->totals[y].u.totals.busy, 70000);
	cr_assert_eq(h->totals[y].u.totals.max, 70000);
	cr_assert_eq(h->totals[y].u.totals.runs, 1);
	cr_assert_eq(h->parser.noise_bytes, 0);
}

/* A program at random, interrupted wherever it can be: every sum to the tick. */
static void random_program(uint8_t bits, uint16_t isr_of_256, uint32_t rounds)
{
	boot(bits);
	struct lsa *a = &sim.agent;
	uint16_t ids[3] = { lsa_task(a, "a"), lsa_task(a, "b"), lsa_task(a, "b") };
	uint64_t busy[3] = { 0 }, runs[3] = { 0 }, idle = 0;

	sim.isr_id = lsa_name(a, "timer", LSW_KIND_ISR);
	sim.isr_of_256 = isr_of_256;
	sim.isr_max = 50;
	for (uint32_t i = 0; i < rounds; i++) {
		uint32_t k = rng_below(&sim.rng, 3), ticks = rng_below(&sim.rng, 3000);

		lsa_begin(a, ids[k]);
		work(ticks);
		lsa_end(a);
		busy[k] += ticks;
		runs[k]++;
		if (rng_below(&sim.rng, 4) == 0) {
			ticks = rng_below(&sim.rng, 20000);
			sleep_ticks(ticks);
			idle += ticks;
		}
		lsa_poll(a, 5);
	}
	sim.isr_of_256 = 0;
	rx("~r3\n");
	lsa_poll(a, 1000);
	const struct heard *h = &sim.heard;

	cr_assert_eq(h->sync.u.sync.dropped, 0);
	cr_assert_eq(h->sync.u.sync.idle, idle);
	cr_assert_eq(h->sync.u.sync.isr, sim.isr_ticks);
	cr_assert_eq(h->sync.u.sync.busy, busy[0] + busy[1] + busy[2]);
	cr_assert_eq(h->totals[sim.isr_id].u.totals.busy, sim.isr_ticks);
	cr_assert_eq(h->totals[sim.isr_id].u.totals.runs, sim.isr_runs);
	cr_assert_eq(h->isr_out[sim.isr_id], sim.isr_runs);
	for (int k = 0; k < 3; k++) {
		cr_assert_eq(h->totals[ids[k]].u.totals.busy, busy[k]);
		cr_assert_eq(h->totals[ids[k]].u.totals.runs, runs[k]);
		cr_assert_eq(h->run_sum[ids[k]], busy[k], "each step arrived, and is its own");
		cr_assert_eq(h->runs[ids[k]], runs[k]);
	}
	cr_assert_eq(h->link.lost, 0);
	cr_assert_gt(h->syncs, 10);
}

Test(target_agent, sums_are_exact)
{
	random_program(32, 0, 20000);
}

Test(target_agent, sums_are_exact_under_interrupts)
{
	random_program(32, 20, 20000);
}

Test(target_agent, sums_are_exact_over_wraps_of_24_bits)
{
	random_program(24, 10, 40000);
	cr_assert_gt(sim.now, 4u << 24);
}

Test(target_agent, sums_are_exact_over_wraps_of_16_bits)
{
	random_program(16, 10, 5000); /* a clock that wraps 15 times a second: SYNC still comes once a second */
	cr_assert_leq(sim.heard.syncs, sim.now / HZ + 3);
}

Test(target_agent, a_full_ring_drops_whole_records_and_says_how_many)
{
	boot(32);
	struct lsa *a = &sim.agent;
	uint16_t x = lsa_task(a, "x");

	lsa_poll(a, 1000);
	for (int i = 0; i < 1000; i++) {
		lsa_begin(a, x);
		work(10);
		lsa_end(a);
	}
	for (int i = 0; i < 40; i++) {
		lsa_poll(a, 1000);
		lsa_begin(a, x);
		work(10);
		lsa_end(a);
	}
	sleep_ticks(HZ);
	lsa_poll(a, 1000);
	const struct heard *h = &sim.heard;

	cr_assert_eq(h->runs[x] + h->sync.u.sync.dropped, 1040);
	cr_assert_eq(h->sync.u.sync.dropped, 1000 - RING);
	cr_assert_eq(h->drops, 1);
	cr_assert_eq(h->dropped_total, 1000 - RING);
	cr_assert_eq(h->totals[x].u.totals.busy, 10400, "the sums lose nothing");
}

Test(target_agent, a_hog_is_seen_while_it_runs)
{
	boot(32);
	struct lsa *a = &sim.agent;
	uint16_t x = lsa_task(a, "x");

	sim.isr_id = lsa_name(a, "timer", LSW_KIND_ISR);
	sim.isr_max = 1; /* takes no time */
	lsa_poll(a, 1000);
	lsa_begin(a, x);
	for (int ms = 1; ms <= 2500; ms++) {
		sim.now += 1000;
		sim_isr();
		if (ms < 200)
			cr_assert_eq(sim.heard.opens, ms < 50 ? 0 : ms < 100 ? 1 : 2, "at %d ms", ms);
	}
	cr_assert_eq(sim.heard.opens, 6, "at 50, 100, 200, 400, 800, 1600 ms");
	cr_assert_eq(sim.heard.open.id, x);
	cr_assert_geq(sim.heard.open.u.open.ran, 1600000);
	cr_assert_leq(sim.heard.open.u.open.ran, 1700000);
	cr_assert_geq(sim.heard.syncs, 3, "SYNC goes on too");
	cr_assert_geq(sim.heard.totals[x].u.totals.busy, 1000000, "and counts the step in progress");
	cr_assert_eq(sim.heard.runs[x], 0);
	lsa_end(a);
	lsa_poll(a, 1000);
	cr_assert_eq(sim.heard.runs[x], 1);
	cr_assert_eq(sim.heard.run_sum[x], 2500000);
}

Test(target_agent, obeys)
{
	boot(32);
	struct lsa *a = &sim.agent;
	uint16_t x = lsa_task(a, "x"), y = lsa_task(a, "y");
	const struct heard *h = &sim.heard;

	lsa_poll(a, 1000);
	rx("help()\n~r1\n");
	lsa_poll(a, 0);
	cr_assert_eq(h->sync.u.sync.rate, 1);
	lsa_begin(a, x);
	work(10);
	lsa_end(a);
	rx("~r3\n~f100\n");
	lsa_poll(a, 0);
	cr_assert_eq(h->sync.u.sync.flags, LSW_FLAG_MIN_STEP);
	cr_assert_eq(h->runs[x], 0, "withheld at rate 1");
	for (uint32_t ticks = 98; ticks < 103; ticks++) {
		lsa_begin(a, x);
		work(ticks);
		lsa_end(a);
	}
	lsa_poll(a, 1000);
	cr_assert_eq(h->runs[x], 3, "100, 101, 102");
	rx("~f0\n~i2,77\n");
	lsa_begin(a, x);
	lsa_begin(a, y);
	lsa_end(a);
	uint16_t z = lsa_task(a, "z");

	lsa_begin(a, z);
	lsa_end(a);
	rx("~i\n");
	lsa_begin(a, y);
	lsa_end(a);
	lsa_poll(a, 1000);
	cr_assert_eq(x, 2);
	cr_assert_eq(h->runs[x], 4);
	cr_assert_eq(h->runs[y], 1, "one before, none while filtered");
	cr_assert_eq(h->runs[z], 0, "a new task is not among those asked for");
	sim.now += 5;
	rx("~t513\n");
	sim.now += 7;
	lsa_poll(a, 0);
	cr_assert_eq(h->times, 1);
	cr_assert_eq(h->time.u.time.nonce, 513);
	cr_assert_eq(h->time.u.time.tx - h->time.u.time.rx, 7);
	uint32_t boards = h->boards;

	rx("~n\n");
	lsa_poll(a, 0);
	cr_assert_eq(h->boards, boards + 1);
}

Test(target_agent, stops_and_starts)
{
	boot(32);
	struct lsa *a = &sim.agent;
	uint16_t x = lsa_task(a, "x");
	struct heard *h = &sim.heard;

	lsa_poll(a, 1000);
	rx("~-\n");
	lsa_poll(a, 1000);
	uint64_t bytes = h->bytes;

	for (int i = 0; i < 500; i++) {
		lsa_begin(a, x);
		work(10000);
		lsa_end(a);
		lsa_poll(a, 1000);
	}
	cr_assert_eq(h->bytes, bytes, "stopped is silent");
	rx("~t1\n");
	lsa_poll(a, 1000);
	cr_assert_eq(h->times, 1, "but answers");
	uint32_t syncs = h->syncs, boards = h->boards;

	rx("~+\n");
	lsa_poll(a, 0);
	cr_assert_eq(h->syncs, syncs + 1);
	cr_assert_eq(h->boards, boards + 1);
	cr_assert_eq(h->totals[x].u.totals.runs, 500, "the sums went on");
	cr_assert_eq(h->sync.u.sync.dropped, 0, "what was not asked for is not lost");
}

Test(target_agent, the_first_frame_has_sync)
{
	boot(32);
	for (int i = 0; i < 5; i++)
		lsa_task(&sim.agent, "a task whose name is long enough to fill it");
	lsa_poll(&sim.agent, 0);
	cr_assert_gt(sim.heard.writes, 1);
	cr_assert_eq(sim.heard.syncs, 1);
	cr_assert_eq(sim.heard.sync.u.sync.frames, 0);
}

Test(target_agent, a_frame_has_but_one_sync)
{
	boot(32);
	lsa_poll(&sim.agent, 1000);
	work(HZ);
	lsa_poll(&sim.agent, 0); /* one for the second, kept back in a frame that is not full */
	rx("~r2\n");
	lsa_poll(&sim.agent, 0); /* one for the command */
	rx("~r3\n");
	lsa_poll(&sim.agent, 0);
	cr_assert_eq(sim.heard.syncs, 4);
}

Test(target_agent, waits_for_the_host_if_told_so)
{
	sim = (struct sim){ .rng = { 1 }, .bits = 32 };
	struct lsa_config c = config();

	c.stopped = true;
	boot_with(32, c);
	lsa_poll(&sim.agent, 1000);
	cr_assert_eq(sim.heard.bytes, 0);
	rx("~+\n");
	lsa_poll(&sim.agent, 0);
	cr_assert_eq(sim.heard.syncs, 1);
	cr_assert_eq(sim.heard.boards, 1);
}

Test(target_agent, a_slow_line_is_written_to_when_there_is_time)
{
	sim = (struct sim){ .rng = { 1 }, .bits = 32, .write_us = 87 };
	struct lsa_config c = config();

	c.byte_us = 87;
	boot_with(32, c);
	struct lsa *a = &sim.agent;
	uint16_t x = lsa_task(a, "x");

	lsa_poll(a, 1000);
	cr_assert_gt(sim.heard.writes, 0);
	uint64_t writes = sim.heard.writes;

	for (int i = 0; i < 40; i++) {
		lsa_begin(a, x);
		work(8000);
		lsa_end(a);
		lsa_poll(a, 5);
	}
	cr_assert_eq(sim.heard.writes, writes, "5 ms are not enough for a frame of 22 ms");
	lsa_poll(a, 30);
	cr_assert_gt(sim.heard.writes, writes);
	cr_assert_eq(sim.heard.runs[x], 40);
	cr_assert_gt(sim.agent.cfg.tasks[a->agent - 1].busy, 22 * 87, "the time for it is on the agent's account");
	for (int i = 0; i < 300; i++) {
		lsa_begin(a, x);
		work(10);
		lsa_end(a);
		lsa_poll(a, 0);
	}
	lsa_poll(a, 1000);
	cr_assert_eq(sim.heard.sync.u.sync.dropped, 0, "before the ring is full it is written to all the same");
	cr_assert_eq(sim.heard.runs[x], 340);
}

Test(target_agent, tasks_come_and_go)
{
	boot(32);
	struct lsa *a = &sim.agent;
	uint16_t ids[TASKS] = { 0 };

	for (int i = 0; i < TASKS - 1; i++)
		cr_assert_eq(ids[i] = lsa_task(a, i % 2 ? "odd" : "even"), i + 2);
	cr_assert_eq(lsa_task(a, "one too many"), 0);
	lsa_begin(a, 0);
	work(50);
	lsa_end(a);
	lsa_begin(a, ids[2]);
	work(20);
	lsa_task_gone(a, ids[2]);
	lsa_task_gone(a, ids[2]);
	lsa_task_gone(a, a->agent);
	lsa_task_gone(a, 4000);
	lsa_poll(a, 1000);
	cr_assert_eq(sim.heard.ends, 1);
	cr_assert_eq(sim.heard.run_sum[ids[2]], 20);
	cr_assert_eq(lsa_task(a, "late"), ids[2], "the id is given again");
	rx("~r3\n");
	lsa_poll(a, 1000);
	cr_assert_str_eq(sim.heard.names[ids[2]], "late");
	cr_assert_eq(sim.heard.insts[ids[2]], 0);
	cr_assert_eq(sim.heard.sync.u.sync.busy, 70);
}

Test(target_agent, preemptive_switches)
{
	boot(32);
	struct lsa *a = &sim.agent;
	uint16_t x = lsa_task(a, "x"), y = lsa_task(a, "y");

	lsa_switch(a, 0);
	for (int i = 0; i < 100; i++) {
		work(500);
		lsa_switch(a, x);
		work(100);
		lsa_switch(a, y);
		work(30);
		lsa_switch(a, x);
		work(20);
		lsa_switch(a, 0);
		if (i % 10 == 0)
			lsa_poll(a, 1000);
	}
	rx("~r3\n");
	lsa_poll(a, 1000);
	cr_assert_eq(sim.heard.totals[x].u.totals.busy, 12000);
	cr_assert_eq(sim.heard.totals[x].u.totals.runs, 200);
	cr_assert_eq(sim.heard.totals[x].u.totals.max, 100);
	cr_assert_eq(sim.heard.totals[y].u.totals.busy, 3000);
	cr_assert_eq(sim.heard.sync.u.sync.idle, 50000);
	cr_assert_eq(sim.heard.sync.u.sync.busy, 15000);
	cr_assert_eq(sim.heard.switches, 401);
}

Test(target_agent, nested_interrupts_are_told_apart)
{
	boot(32);
	struct lsa *a = &sim.agent;
	uint16_t x = lsa_task(a, "x"), i1 = lsa_name(a, "low", LSW_KIND_ISR), i2 = lsa_name(a, "high", LSW_KIND_ISR);

	lsa_begin(a, x);
	work(100);
	lsa_isr_enter(a, i1);
	work(10);
	lsa_isr_enter(a, i2);
	work(3);
	lsa_isr_exit(a);
	work(5);
	lsa_isr_exit(a);
	work(100);
	lsa_end(a);
	lsa_isr_exit(a); /* one too many does no harm */
	for (int i = 0; i < 300; i++)
		lsa_isr_enter(a, i2);
	work(7);
	for (int i = 0; i < 300; i++)
		lsa_isr_exit(a);
	rx("~r3\n");
	lsa_poll(a, 1000);
	cr_assert_eq(sim.heard.run_sum[x], 200);
	cr_assert_eq(sim.heard.totals[i1].u.totals.busy, 15);
	cr_assert_eq(sim.heard.totals[i2].u.totals.busy, 10);
	cr_assert_eq(sim.heard.sync.u.sync.isr, 25);
}
