/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record.h - the neutral record: what a source says of a loop for one interval, and what every sink shows.
 *
 * Live, replayed and serial data meet here. Shares are fractions of the interval's wall time, 0 to 1 (busy may exceed
 * the interval by rounding only). A double that cannot be known by the source is NAN, a count is -1, a string is "":
 * sinks show null or "-", never 0.
 *
 *     load = busy + wait        busy + wait + idle = 1
 *     busy = io_cpu + tick_cpu + tick_blocked        wait = wait_io + wait_tick        throttled is a part of wait
 *
 * Where a source cannot tell io_cpu from tick_cpu, io_cpu is NAN and tick_cpu holds both.
 */
#ifndef LOOPSCOPE_MODEL_RECORD_H
#define LOOPSCOPE_MODEL_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define LOOP_COMM_LEN 16
#define LOOP_BLOCKED_MAX 8
#define LOOP_WAITED_MAX 8
#define LOOP_PHASES_MAX 8
#define LOOP_WAITED_QUOTA (-2)   /* pid of what is no process: the cgroup's CPU quota */
#define LOOP_WAITED_SEVERAL (-3) /* of several processes of one name, none of which had it for long */

/* Reaches JSON and disk by name: append only. */
enum record_source {
	SOURCE_KERNEL = 0,
	SOURCE_RECORDING = 1,
	SOURCE_SERIAL = 2,
};

enum cost_kind {
	COST_UNKNOWN = 0,
	COST_CALIBRATED = 1, /* events of this loop x mean cost of an event, measured at start */
	COST_KERNEL = 2,     /* the kernel's BPF run-time statistics over the whole interval, shared out by events */
};

/* How the IO wait's edges were found. */
enum edge_kind {
	EDGES_SCHED = 0, /* from the scheduler alone: waits that did not sleep are not seen */
	EDGES_TRACEPOINT = 1,
	EDGES_FENTRY = 2,
	EDGES_UPROBE = 3,
	EDGES_BOARD = 4, /* the board's own agent */
};

/* A loop's identity: a PID alone is reused, and exec turns a thread into another program. */
struct loop_id {
	uint32_t pid;        /* tgid in the root PID namespace; 0: no process (a board) */
	uint32_t tid;        /* thread in the root PID namespace */
	uint64_t start_ns;   /* thread's start, CLOCK_BOOTTIME */
	uint32_t generation; /* counts execs seen while watched */
};

struct quantiles {
	bool known;
	double p50, p90, p99, p999, max; /* microseconds */
};

struct blocked_share {
	char what[32]; /* syscall name, "page_fault", or "other" for what did not fit the table */
	double share;
};

struct waited_share {
	char comm[LOOP_COMM_LEN];
	int64_t pid; /* -1: "other", what did not fit the table; 0: the CPU was idle (wake-up latency); LOOP_WAITED_... */
	double share;
};

/* One of the phases that the runtime's ticks are made of: timers, polling, callbacks. A phase lasts until another begins; the loop's
 * own IO wait is no part of it. */
struct phase_share {
	const char *name; /* the registry's */
	double share;     /* NAN: its beginning can't be seen, and its time is with the phase before it */
	int64_t entries;  /* how often it began; -1 as above */
};

struct hist_packed; /* model/hist_packed.h */

struct loop_record {
	double ts;         /* unix seconds at the end of interval_s, which is this loop's own: when it was read, or ended */
	double interval_s; /* what this record really spans: shorter for a loop that began or ended within */
	enum record_source source;
	enum edge_kind edges;
	struct loop_id id;
	int64_t nspid; /* PID in the innermost namespace, -1 unknown */
	char comm[LOOP_COMM_LEN];   /* the process's (leader's) comm, raw bytes: hostile */
	char thread[LOOP_COMM_LEN]; /* the thread's comm, raw bytes: hostile */
	const char *cgroup;         /* path below the cgroup root, "" unknown; owned by the model until the next interval */
	const char *runtime;        /* "libuv", ..., "unknown"; owned by the registry */
	const char *wait_syscall;   /* static string, "" unknown */
	int wait_fd;                /* -1: no single fd (poll, select) or unknown */

	double load, busy, wait, idle, spin, naive_load;
	double io_cpu, tick_cpu, tick_blocked, wait_io, wait_tick, throttled;
	int64_t io_waits, ticks;   /* -1 unknown */
	double events_per_wait;    /* mean number of events that a wait returned; NAN unknown */
	double late_us, late_wait_us; /* mean time past the timeout of waits that ended by it; of that, waiting for the CPU */
	int64_t slow_ticks;        /* -1 unknown */
	bool over_budget;          /* the edges were let go: measuring them would have cost the loop too much */
	int64_t io_sleeps;         /* IO waits in which the loop really slept; -1 unknown */
	struct quantiles tick_us, io_us;
	/* Nanoseconds, of this interval; NULL: unknown, or not asked for. Borrowed until the next interval begins. */
	const struct hist_packed *tick_hist, *io_hist;

	struct blocked_share blocked_by[LOOP_BLOCKED_MAX + 1]; /* largest first */
	size_t n_blocked_by;
	struct waited_share waited_for[LOOP_WAITED_MAX + 1]; /* largest first */
	size_t n_waited_for;

	struct phase_share phases[LOOP_PHASES_MAX]; /* as the runtime's probe file orders them */
	size_t n_phases; /* 0: not asked for, or not known */

	int64_t lost;         /* contradictions seen in this loop's events: each may have misplaced a stretch of time */
	int64_t repaired;     /* missed switches whose time the scheduler's own record told: nothing is misplaced; -1 unknown */
	double observer_cost; /* share of the interval that observing took from this loop; NAN unknown */
	enum cost_kind cost_from;
	bool in_progress_only; /* asleep for the whole interval: taken from the state in progress, no event was seen */
	bool ended;            /* the loop ended within this interval */
};

struct task_record;   /* model/task.h */
struct source_record; /* model/source_record.h */

/* One reporting interval of one source: what a sink gets. */
struct interval {
	double ts;         /* unix seconds at its end */
	uint64_t mono_ns;  /* the same moment, CLOCK_MONOTONIC; 0: not known */
	double interval_s; /* wall time since the last one */
	unsigned seq;      /* from 0 */
	const struct loop_record *loops; /* sorted by the command */
	size_t n_loops;
	size_t n_asleep;   /* threads asleep in an IO wait throughout, not known to be loops: not in loops[] */
	size_t n_beyond;   /* loops beyond the limit of what is tracked: not in loops[] */
	size_t n_excluded; /* loops that the user's filter does not take: not in loops[] */
	double steal;      /* share of all CPUs' time that the hypervisor took; NAN unknown */
	int64_t lost;      /* events lost by the source as a whole in this interval, -1 unknown */
	bool last;         /* nothing follows */
	const struct task_record *tasks; /* of all loops; those of one loop stand together */
	size_t n_tasks;
	const struct source_record *sources; /* those that have something to say of themselves */
	size_t n_sources;
};

/* "kernel", "calibrated", "sched", ...: names as in JSON; static strings. */
const char *record_source_name(enum record_source s);
const char *cost_kind_name(enum cost_kind k); /* NULL for COST_UNKNOWN */
const char *edge_kind_name(enum edge_kind k);

#endif
