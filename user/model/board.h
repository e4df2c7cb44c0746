/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * board.h - a microcontroller's loop: neutral events in, loop and task records out.
 *
 * A decoder (source/serial*) turns its protocol into struct board_event, in the order of the stream. The model knows
 * no protocol, has no clock and does no I/O. Times are ticks of the board's clock, hz of them a second, unwrapped to
 * 64 bits; within a session they never decrease (an earlier one counts as the latest).
 *
 * Two ways lead to the same figures, and an event stream may mix them:
 *   - switches: the CPU goes to a task, to idle or to the scheduler, interrupts come and go. What each had is what
 *     lies between, and an interrupt's time belongs to nobody else;
 *   - tellings: RUN and IDLE say at their end how long something lasted.
 * Where the board also sends cumulative sums (TOTALS, SYNC), load, margin, busy shares and runs come from their
 * differences and are exact whatever was lost between two that arrived. Otherwise a gap's time is left out: shares
 * are shares of what was seen. Steps that span a gap are counted, but stay out of min, median and max.
 *
 * "Margin" is idle: the share of time that is still free. Over its windows (about window_ns each) the model also keeps
 * the worst one, with what n windows say about the next: with 95 % confidence at most a share of 1 - 0.05^(1/n) of all
 * windows is worse (rank statistics: no distribution is assumed).
 *
 * Memory is bounded: BOARD_TASKS_MAX tasks and interrupts of at most 20 KiB each; what does not fit is counted in
 * `untracked` and still is part of the loop's sums.
 */
#ifndef LOOPSCOPE_MODEL_BOARD_H
#define LOOPSCOPE_MODEL_BOARD_H

#include <stdbool.h>
#include <stdint.h>

#include "model/clock.h"
#include "model/record.h"
#include "model/task.h"

#define BOARD_TASKS_MAX 256
#define BOARD_ISR_DEPTH 32
#define BOARD_PINGS_MAX 16

enum board_event_kind {
	BOARD_RESET,   /* a new session: the board restarted, or another one answers. All names and sums are forgotten */
	BOARD_COUNTER, /* hz and bits of the clock */
	BOARD_NAME,    /* who an id is */
	BOARD_END,     /* a task is gone */
	BOARD_STAMP,   /* t is the latest moment in what arrived at arrival_ns: compares the clocks */
	BOARD_STOP,    /* tracing stops: what is open ends here, seen whole */

	/* tellings; t is the end */
	BOARD_RUN,
	BOARD_SLEPT,
	BOARD_OPEN, /* a step is still running */

	/* switches; t is the moment */
	BOARD_SWITCH,    /* the CPU goes to task id */
	BOARD_IDLE,      /* ... to idle */
	BOARD_NOBODY,    /* ... to something that is neither a task nor idle */
	BOARD_SCHED,     /* ... to the scheduler: whoever was running stops */
	BOARD_READY,     /* task id could run now */
	BOARD_BLOCKED,   /* task id cannot run any more */
	BOARD_ISR_IN,    /* interrupt id */
	BOARD_ISR_OUT,   /* the innermost interrupt ends */
	BOARD_ISR_SCHED, /* the same, and if it was the outermost the scheduler follows */

	/* sums */
	BOARD_TOTALS,
	BOARD_SYNC,

	/* lifetimes */
	BOARD_ALIVE, /* one more instance of id is alive */
	BOARD_GONE,  /* one less */
	BOARD_PULSE, /* the loop came round: the time between two is one pass */

	BOARD_MARK, /* the user's own event or value */
	BOARD_GAP,  /* something was lost before this */
	BOARD_TIME, /* answer to a ping */
};

enum board_class { /* ids of one class are one name space */
	BOARD_TASK = 0,
	BOARD_ISR = 1,
	BOARD_MARKER = 2,
	BOARD_SELF = 3, /* the board's own name; id 0 */
};

enum board_loss {
	LOSS_FRAMES, /* on the wire */
	LOSS_EVENTS, /* on the board: its buffer was full */
	LOSS_BYTES,  /* in the decoder: bytes that made no sense */
	LOSS_KINDS,
};

struct board_event {
	enum board_event_kind kind;
	uint32_t id;
	uint64_t t;          /* ticks */
	uint64_t arrival_ns; /* host, monotonic; CLOCK_UNKNOWN */
	union {
		struct { bool from_zero; } reset; /* its sums began at 0 under our eyes: differences may start there */
		struct { uint64_t hz; unsigned bits; } counter;
		struct {
			enum board_class class;
			enum task_kind kind;
			const char *text; /* NUL-terminated, hostile; valid during the call */
			uint32_t instance;
			uint64_t address; /* of the task's control block on the board, 0 unknown */
		} name;
		struct { uint32_t bytes; } stamp; /* that followed t on the line, this moment's included */
		struct { uint64_t ticks; } run;   /* the task's own */
		struct { uint64_t ticks; uint32_t asked_ms; } slept;
		struct { uint64_t ticks; } open;  /* so far */
		struct { uint32_t runs; uint64_t busy, max; } totals; /* since boot */
		struct {
			uint64_t busy, idle, isr; /* since boot: together all the time there was */
			bool no_idle;  /* idle cannot be known */
			bool stops;    /* the clock stops in sleep */
			bool withheld; /* not every step and sleep is told: sums alone count */
		} sync;
		struct { int64_t value; } mark;
		struct { int64_t count; enum board_loss what; } gap; /* count -1: unknown, at least one */
		struct { uint16_t nonce; uint64_t rx, tx; uint32_t bytes; } time;
		struct { uint64_t late_ns; } alive; /* how much earlier than t it may have been */
	} u;
};

/* What a recording, a time line or a wave file wants: finished stretches, in the order of their ends. */
enum board_edge_kind {
	EDGE_RUN,   /* a task's step */
	EDGE_ISR,
	EDGE_IDLE,  /* from the switch to idle to the next one */
	EDGE_ALIVE, /* a lifetime that no other of the same id overlapped */
	EDGE_READY, /* from ready to running */
	EDGE_PASS,  /* once round the loop, from PULSE */
	EDGE_HOG,   /* a step or pass longer than the threshold; open: it still lasts */
	EDGE_MARK,  /* a moment, with a value */
	EDGE_GAP,   /* nothing is known in between; value: how many were lost, -1 unknown */
	EDGE_RESET,
};

struct board_edge {
	enum board_edge_kind kind;
	enum board_class class;
	uint32_t id, instance;
	const char *name; /* "" unknown; valid during the call */
	uint64_t start, end; /* ticks */
	uint64_t net;        /* ticks without interrupts and scheduler */
	uint64_t hz;         /* 0 unknown */
	int64_t value;
	bool clean; /* no gap between start and end */
	bool open;  /* still going on */
};

/* The same with what places it on the host's clock: clock_fit_host() of its ticks as nanoseconds. A fit gets better with
 * time, so a place may move; while there is none, all that is known is when the bytes came that told of it. */
struct board_stretch {
	const struct board_edge *edge;
	const struct clock_fit *clock; /* CLOCK_NONE: not known (yet) */
	uint64_t arrival_ns;           /* host, monotonic; CLOCK_UNKNOWN for a file */
};

struct board_options {
	const char *label;    /* the loop's name in all records; borrowed for the model's life */
	uint64_t hog_ns;      /* a step longer than this is a hog; 0: 50 ms */
	uint64_t window_ns;   /* of the worst margin; 0: 1 s */
	uint64_t byte_ns;     /* time of a byte on the line, 0 unknown: taken out of the clock's delays */
	void (*edge)(void *arg, const struct board_edge *e); /* may be NULL */
	void *arg;
};

/* What a loop record has no place for. */
struct board_summary {
	const char *name;     /* what the board calls itself, "" unknown */
	struct margin margin; /* since the session began */
	struct span_stats sleep_us; /* idle stretches that nothing interrupted, in this interval */
	struct span_stats pass_us;  /* once round the loop, from PULSE, in this interval */
	struct clock_fit clock;
	uint64_t hz;          /* 0 unknown */
	bool hz_measured;     /* not told by the board: from the host's clock */
	int64_t lost[LOSS_KINDS]; /* since the model was made: known losses */
	int64_t gaps;         /* since the model was made: how often */
	int64_t gaps_uncounted; /* of them, with an unknown number of losses: `lost` is a lower bound */
	int64_t resets;       /* since the model was made */
	int64_t orphans;      /* ends without a beginning: the stream began in between */
	int64_t untracked;    /* events of tasks that did not fit the table */
	double uncertainty_us; /* lifetimes: the host's times may be late by this; NAN: none seen */
	double silent_s;      /* since anything arrived; NAN unknown */
	bool from_sums;       /* load and margin come from the board's sums: exact under loss */
};

struct board_report {
	struct loop_record loop;
	const struct task_record *tasks; /* by busy share, lifetimes after; valid until the next call */
	size_t n_tasks;
	struct board_summary summary;
};

struct board;

int board_new(const struct board_options *o, struct board **ret); /* -ENOMEM */
void board_free(struct board *b); /* accepts NULL */

void board_event(struct board *b, const struct board_event *ev);
/* `~t<nonce>` was sent at host_ns: the answer is matched by its nonce, the oldest of too many is forgotten. */
void board_ping_sent(struct board *b, uint16_t nonce, uint64_t host_ns);
/* The line's pace, where it was not known to begin with. */
void board_set_byte_ns(struct board *b, uint64_t byte_ns);
/* How this session's time stands to the host's; false (and CLOCK_NONE) while that is not known. Lifetimes and passes are
 * on the host's clock already. */
bool board_host_clock(const struct board *b, struct clock_fit *ret);
/* Nothing arrived up to host_ns: a pass that has lasted too long becomes a hog while it still does. Lifetimes and
 * passes live on the host's clock: their ticks are its nanoseconds. */
void board_quiet(struct board *b, uint64_t host_ns);
/* Ends an interval and begins the next. ts: unix time; interval_s: wall time since the last call, the interval where
 * the board's own time is not known; host_ns: monotonic, or CLOCK_UNKNOWN. */
void board_interval(struct board *b, double ts, double interval_s, uint64_t host_ns, struct board_report *ret_r);

#endif
