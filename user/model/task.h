/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * task.h - the neutral `task` record: what a source says of one named unit of a loop for one interval.
 *
 * As in record.h: what cannot be known is NAN for a double, -1 for a count, "" for a string; sinks show null or "-".
 * Names come from the board: hostile bytes, NUL-terminated, cut at TASK_NAME_LEN.
 */
#ifndef LOOPSCOPE_MODEL_TASK_H
#define LOOPSCOPE_MODEL_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/record.h"

#define TASK_NAME_LEN 64

/* Reaches JSON and disk by name: append only. */
enum task_kind {
	TASK_RUNS = 0,     /* has the CPU while it runs: coroutine step, RTOS task, function of a superloop */
	TASK_ISR = 1,      /* an interrupt handler: its time is neither idle nor any task's */
	TASK_LIFETIME = 2, /* only begin and end are known: alive, not necessarily on the CPU */
	TASK_AGENT = 3,    /* the tracer's own cost on the board */
	TASK_IDLE = 4,     /* the system's idle task: its time is the loop's margin, it has no record of its own */
};

/* A distribution in microseconds; nothing but n is known while n is 0. min and max are exact, the quantiles are within
 * 1.6 % (model/hist.h). */
struct span_stats {
	int64_t n;
	double min, p50, p90, p99, max, total; /* NAN while n is 0 */
};

/* How much more fits: the share of time that is still free. */
struct margin {
	double mean, worst;   /* shares; NAN unknown */
	double worst_ago_s;   /* board time since the worst window ended */
	double window_s;      /* length of the windows */
	int64_t windows;      /* wholly seen */
	double beyond;        /* at most this share of windows is worse than the worst, with 95 % confidence */
};

struct task_record {
	double ts;         /* unix seconds at the interval's end */
	double interval_s; /* what the shares below are shares of */
	enum record_source source;
	enum task_kind kind;
	const char *loop; /* the board's or loop's name; owned by the model until the next interval */
	char task[TASK_NAME_LEN];
	uint32_t id;       /* the source's own number for it */
	uint32_t instance; /* among those of the same name, from 0 */
	int64_t instances; /* alive now under this name, this one included */

	int64_t runs;   /* steps ended; for TASK_LIFETIME: lifetimes begun */
	double busy;    /* share of the interval on the CPU, interrupts taken out; NAN for lifetimes */
	double wait;    /* share spent ready to run while another had the CPU */
	double alive;   /* TASK_LIFETIME: share during which at least one instance was alive; else NAN */
	struct span_stats run_us;   /* steps wholly seen; TASK_LIFETIME: lifetimes that no other one overlapped */
	struct span_stats ready_us; /* from made ready to running */
	int64_t left_out; /* steps that a loss may have distorted: counted in runs, left out of run_us */

	int64_t hogs;          /* steps longer than the threshold */
	double hog_open_us;    /* one is running now, for so long; NAN: none */
	double last_seen_s;    /* age of its last event at the interval's end */
	double uncertainty_us; /* times are the host's, late by up to this; NAN: times are the board's own */
	bool ended;            /* it said good-bye within this interval */
};

const char *task_kind_name(enum task_kind k); /* as in JSON; static strings */

#endif
