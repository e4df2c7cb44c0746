/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * board_state.h - what board*.c share: the model's state. Nobody else includes this.
 *
 * Ticks everywhere, converted when a report is made: the clock's rate may become known late.
 */
#ifndef LOOPSCOPE_MODEL_BOARD_STATE_H
#define LOOPSCOPE_MODEL_BOARD_STATE_H

#include "model/board.h"
#include "model/hist.h"

#define TASK_INDEX_SIZE 1024 /* slots of the hash index: four times as many as tasks */

/* A task's cumulative sums at a moment. */
struct tally {
	uint64_t t, runs, busy;
};

struct task {
	bool used;
	bool gone;  /* no longer found by its id; freed once it has been reported */
	bool told;  /* its steps come as RUN: switches say nothing about them */
	enum board_class class;
	enum task_kind kind;
	uint32_t id, instance;
	char name[TASK_NAME_LEN]; /* "" until known */
	uint64_t last_t;          /* of its last event */

	/* this interval's, from events */
	uint64_t runs, busy, waited, alive, left_out, hogs;
	struct hist *run, *ready; /* NULL until needed; kept over intervals */

	/* from the board's sums */
	bool has_totals;
	bool behind; /* a gap lies between the last TOTALS and now: `since` is too small */
	struct tally totals, since, reported;
	uint64_t in_totals; /* of the step in progress: what totals.busy has of it already */

	bool blocked;  /* said that it cannot run on, since it got the CPU */
	bool is_ready, ready_clean; /* since ready_t; clean: from a READY that no gap followed */
	uint64_t ready_t;

	bool open; /* a step is known to last, since open_t */
	uint64_t open_t;

	uint32_t use; /* lifetimes open now */
	bool overlapped;
	uint64_t high_t; /* since when use is above 0 */
};

struct isr_frame {
	struct task *task; /* NULL: did not fit */
	uint32_t id;
	uint64_t start, net;
};

/* Outermost interrupts that ended, the latest ones: they lie within steps and sleeps of which only the net length is told. */
#define BOARD_INTERRUPTS 256
struct interrupts {
	struct {
		uint64_t start, end;
	} last[BOARD_INTERRUPTS];
	uint64_t n; /* ever: the latest is at (n - 1) % BOARD_INTERRUPTS */
};

struct sync_sums {
	uint64_t busy, idle, isr, arrival_ns;
};

struct board {
	struct board_options o;
	char name[TASK_NAME_LEN];
	uint64_t hz; /* 0 unknown */
	uint64_t now; /* the latest moment of the session */
	uint64_t interval_t; /* where this interval began */
	bool any;    /* there was an event in this session: now is set */
	bool from_zero;

	/* who has the CPU, below the interrupts: a task, idle, the scheduler, or nobody knows */
	struct task *cur;
	bool cur_idle, sched;
	uint64_t cur_start, cur_net;
	struct isr_frame isr[BOARD_ISR_DEPTH];
	unsigned depth;
	struct interrupts interrupts;
	bool isr_since_switch;
	bool switched;   /* this session's stream has switches */
	bool idle_known; /* ... or tellings of idle */

	/* this interval's ticks, by owner */
	struct {
		uint64_t idle, busy, isr, sched, unknown, untold, slept;
	} sum;

	bool awake_clean;
	uint64_t awake_t; /* the last idle stretch ended here */
	bool asleep;
	uint64_t asleep_t; /* an undisturbed idle stretch began here */
	struct hist tick, idle, sleep, pass; /* this interval's */

	/* sums */
	bool has_sync, no_idle, stops, withheld;
	struct sync_sums sync, sync_done, sync_window;
	uint64_t carry_idle, carry_total; /* of sessions that ended within this interval */

	/* margin windows */
	struct {
		uint64_t t, idle; /* the current one's beginning and what was idle in it */
		bool dirty, begun;
		uint64_t n, worst_t, worst_idle, worst_len, sum_idle, sum_len;
	} win;

	bool has_pulse, pass_open;
	uint64_t pulse_t;

	struct board_clock clock;
	struct {
		uint16_t nonce;
		uint64_t host_ns;
		bool used;
	} pings[BOARD_PINGS_MAX];
	unsigned next_ping;
	uint64_t last_arrival;
	struct {
		uint64_t t, host_ns;
	} first_stamp, last_stamp;

	int64_t lost[LOSS_KINDS], gaps, gaps_uncounted, resets, orphans, untracked;
	bool has_ready;
	uint64_t late_ns;
	bool has_lifetimes;

	struct task tasks[BOARD_TASKS_MAX];
	uint16_t index[TASK_INDEX_SIZE]; /* 1 + number of the task, 0 free */
	unsigned n_tasks, free_from; /* free_from: no slot below it is free */
	struct task_record records[BOARD_TASKS_MAX];
};

/* board_tasks.c */
/* The task of that id, made if need be; NULL (and counted) where the table is full. */
struct task *board_task(struct board *b, enum board_class class, uint32_t id);
struct task *board_task_find(struct board *b, enum board_class class, uint32_t id);
void board_task_name(struct board *b, const struct board_event *ev);
void board_task_gone(struct board *b, struct task *t);
void board_tasks_forget(struct board *b); /* all of them */
void board_tasks_next_interval(struct board *b);
struct hist *board_hist(struct hist **h); /* allocated at first use; NULL: no memory */

/* board.c */
void board_advance(struct board *b, uint64_t t);
void board_edge(struct board *b, enum board_edge_kind kind, const struct task *t, uint64_t start, uint64_t end,
		uint64_t net, int64_t value, bool clean, bool open);
uint64_t board_hog_ticks(const struct board *b); /* UINT64_MAX: not known yet */
void board_step(struct board *b, struct task *t, uint64_t start, uint64_t end, uint64_t net, bool clean);

/* board_switch.c */
void board_switch_event(struct board *b, const struct board_event *ev);
void board_leave(struct board *b, bool clean); /* what had the CPU ends now */
/* Where what ends now began, if it took so long without the interrupts. Of more of them than are remembered some are not known of. */
uint64_t board_began(const struct board *b, uint64_t net);
void board_fall_asleep(struct board *b, uint64_t t);
void board_wake_up(struct board *b, uint64_t t);
void board_task_turned_idle(struct board *b, struct task *t);

/* board_told.c */
void board_told_event(struct board *b, const struct board_event *ev);
void board_life_event(struct board *b, const struct board_event *ev);

/* board_margin.c */
void board_window_advance(struct board *b, uint64_t dt, bool idle, bool known);
void board_window_sync(struct board *b);
void board_window_restart(struct board *b);
struct margin board_margin(const struct board *b);
uint64_t board_hz(const struct board *b, bool *ret_measured);

#endif
