/* SPDX-License-Identifier: BSD-2-Clause */
/* test_serial_sim.h - a simulated board that sends our own frames over a damaging line, and knows its truth. */
#ifndef TEST_SERIAL_SIM_H
#define TEST_SERIAL_SIM_H

#include "targets/codec/lswire.h"
#include "test_serial_fixture.h"

#define SIM_HZ 1000000u
#define SIM_TASKS 4 /* ids 1 to 4: "blink" 0 and 1, "net", "hogger"; 9: an interrupt */
#define SIM_NS_PER_TICK (1000000000u / SIM_HZ)
#define SIM_HOST0 50000000000ull

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
	uint64_t busy, idle, isr, runs[SIM_TASKS + 1], task_busy[SIM_TASKS + 1], next_sync;
	uint64_t clock_stopped; /* ticks of host time that the board's clock missed */

	/* what the line does to a frame */
	unsigned lose_percent, flip_percent;
	bool text; /* console text between frames */
	uint64_t lost_frames;
};

/* The host's clock at the board's present moment. */
uint64_t sim_host_ns(const struct sim *s);
/* Ends the frame and puts it on the line. */
void sim_flush(struct sim *s);
/* A record at the present moment. */
void sim_put(struct sim *s, struct lsw_record r);
/* SYNC, TOTALS and all names. */
void sim_send_sync(struct sim *s);
/* A task's step, a sleep: time passes, sums grow, records follow as the rate allows. */
void sim_step(struct sim *s, uint16_t id, uint32_t dur);
void sim_sleep_ticks(struct sim *s, uint32_t dur);
/* A board that boots now, at full detail. */
void sim_begin(struct sim *s, struct serial_run *run, unsigned bits);
void sim_reboot(struct sim *s);
/* About `ticks` of a loop with three short steps, an interrupt now and then, and a sleep. */
void sim_work(struct sim *s, uint64_t ticks);
struct board_report sim_report(struct sim *s);

#endif
