/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slow_tick.h - the neutral records of single ticks: a tick over the threshold with what made it slow, and the event stream.
 *
 * Times are microseconds where a name says us, else nanoseconds of the source's monotonic clock. As in record.h, what can't
 * be known is NAN, -1 or "".
 */
#ifndef LOOPSCOPE_MODEL_SLOW_TICK_H
#define LOOPSCOPE_MODEL_SLOW_TICK_H

#include "model/record.h"

#define SLOW_CAUSES_MAX 24
#define STACK_FRAMES_MAX 64

/* Reaches JSON by name: append only. */
enum cause_kind {
	CAUSE_CPU = 0,        /* computing: stacks sampled while the tick ran */
	CAUSE_SYSCALL = 1,    /* asleep in a system call */
	CAUSE_PAGE_FAULT = 2, /* asleep in a page fault */
	CAUSE_WAIT = 3,       /* runnable, another task had the CPU */
	CAUSE_THROTTLE = 4,   /* runnable, the cgroup's quota was used up */
	CAUSE_OTHER = 5,      /* off the CPU, and neither of these can be told */
};

/* A frame as a name: "json_parse", "parse /app/x.js:12", "libfoo.so+0x1234"; never garbage. Owned by the symbolizer, valid
 * until the sink returns. */
struct stack_names {
	const char *frame[STACK_FRAMES_MAX]; /* innermost first */
	size_t n;
	bool incomplete; /* the unwinder could not reach the outermost frame */
};

struct slow_cause {
	enum cause_kind kind;
	double us;
	const char *what; /* "fsync(/var/lib/x)", "ffmpeg (pid 99)", a cgroup's path, a page fault's file; "" unknown */
	struct stack_names stack; /* n == 0: none taken */
	int64_t samples;          /* CAUSE_CPU: how many stand behind it; else -1 */
};

struct slow_tick {
	double ts; /* unix seconds at its end, or now while in progress */
	enum record_source source;
	struct loop_id id;
	char comm[LOOP_COMM_LEN];
	char thread[LOOP_COMM_LEN];
	const char *runtime;
	uint64_t start_ns;
	double duration_us;
	bool in_progress;
	double cpu_us, blocked_us, wait_us, throttled_us; /* throttled is a part of wait */
	int64_t events;     /* that the IO wait before it had returned; -1 unknown */
	int64_t suppressed; /* slow ticks of this loop held back by the rate limit since the last one shown */
	const struct slow_cause *causes; /* largest first */
	size_t n_causes;
};

/* The event stream: the proposal's six events, and gaps. Names reach JSON: append only. */
enum loop_event_kind {
	EVENT_LOOP_START = 0, /* "loop_start" */
	EVENT_TICK_START = 1,
	EVENT_IO_START = 2,
	EVENT_IO_END = 3,
	EVENT_TICK_END = 4,
	EVENT_LOOP_STOP = 5,
	EVENT_GAP = 6, /* records lost at this place: `count` */
};

struct loop_event {
	enum loop_event_kind kind;
	double ts;        /* unix seconds */
	uint64_t mono_ns; /* CLOCK_MONOTONIC */
	enum record_source source;
	struct loop_id id;
	char comm[LOOP_COMM_LEN];
	char thread[LOOP_COMM_LEN];
	const char *runtime;
	double timeout_us; /* IO_START: NAN where the call has none */
	int64_t count;     /* IO_END: events returned, -1 on error; GAP: records lost, -1 unknown */
	const char *what;  /* GAP: of what kind they are, where the source tells; else NULL */
};

/* Where slow time went, over a whole run: for the summary at the end and for folded stacks. */
struct slow_sum {
	enum cause_kind kind;
	const char *what;
	const struct stack_names *stack; /* may be NULL */
	double us;
	uint64_t ticks;
};

struct slow_summary {
	const struct slow_sum *causes; /* largest first */
	size_t n_causes;
	uint64_t ticks;     /* slow ones that ended */
	double us;          /* all their time */
	uint64_t held_back; /* not in the sums */
};

const char *cause_kind_name(enum cause_kind k); /* "cpu", "syscall", "page_fault", "wait", "throttle", "other" */
const char *loop_event_name(enum loop_event_kind k);

#endif
