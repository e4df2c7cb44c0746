/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * observe.h - the wiring that attach, run and scan share: kernel source -> tracker -> sink, and the event loop that
 * paces it.
 */
#ifndef LOOPSCOPE_CMD_OBSERVE_H
#define LOOPSCOPE_CMD_OBSERVE_H

#include "lib/evloop.h"
#include "lib/fault.h"
#include "model/loop_filter.h"
#include "sink/sink.h"
#include "source/kernel.h"

enum observe_format {
	OBSERVE_TABLE = 0,
	OBSERVE_JSON = 1,
	OBSERVE_FOLDED = 2,
};

enum observe_sort {
	OBSERVE_BY_LOAD = 0,
	OBSERVE_BY_BUSY = 1,
	OBSERVE_BY_WAIT = 2,
	OBSERVE_BY_PID = 3,
};

/* As the options spell them, in the order of the enums; NULL-terminated. */
extern const char *const observe_formats[];
extern const char *const observe_tick_formats[]; /* with those that only single ticks make */
extern const char *const observe_sorts[];

struct observe_options {
	struct kernel_source_options source;
	struct sink *sink; /* borrowed: where the reports go; NULL: one is made of what follows */
	FILE *out;
	int format; /* enum observe_format */
	int sort;   /* enum observe_sort */
	enum table_layout layout;
	const char *columns;
	uint64_t interval_ns; /* of the table's rows, as the pace will have it; 0: it has none */
	bool show_asleep, show_all;
	const struct loop_filter *filter; /* borrowed: which loops are wanted; NULL: all */
};

struct observation;

/* Everything that can be wrong is found here, before anything is printed. Takes the first snapshot: the start of the first
 * interval. */
int observation_open(const struct observe_options *o, struct observation **ret, struct fault *f);
/* Before the event loop is freed that it was started on. Accepts NULL. */
void observation_close(struct observation *ob);

struct kernel_source *observation_source(struct observation *ob);
/* Another filter from the next interval on, borrowed. */
void observation_set_filter(struct observation *ob, const struct loop_filter *filter);

/* Ends an interval: reads, computes and writes its report. */
int observation_report(struct observation *ob, bool last, struct fault *f);

/* For a command that runs its own event loop, with other sources beside this one: start() adds what the observation itself needs
 * (neither an interval nor signals) and begins to measure; the command ends intervals with observation_report(); finish() takes
 * what is left and removes what start() has added. What goes wrong in between is in the fault given to start(), which outlives
 * finish(). */
int observation_start(struct observation *ob, struct evloop *loop, struct fault *f);
int observation_finish(struct observation *ob, struct fault *f);

/* Runs until `count` reports (0: no limit), `duration_ns` (0: no limit), SIGINT, SIGTERM or observation_stop(); a report each
 * interval_ns, and one for the rest at the end. interval_ns 0: only the one at the end. */
struct observe_pace {
	uint64_t interval_ns, duration_ns, count;
	bool ignore_signals; /* the command sees to SIGINT and SIGTERM itself */
};
int observation_run(struct observation *ob, struct evloop *loop, const struct observe_pace *pace, struct fault *f);
void observation_stop(struct observation *ob);

/* `--columns help`: prints the columns and returns true. */
bool observe_columns_help(const char *columns);

/* The command's end: what went wrong, if anything, is said once. A reader that is gone (EPIPE) is no fault. */
int observe_exit(int err, const struct fault *f);

#endif
