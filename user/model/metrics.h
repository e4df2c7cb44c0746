/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * metrics.h - what is exported of all loops: interval records in, families of counters and gauges out.
 *
 * Loops are summed into groups of the same labels: source, comm, thread (where it has another name than the program), runtime,
 * cgroup, container_id, pod_uid, on request pid. A group's counters outlive its loops, so that a rate over them never sees a step back: a loop that ends leaves its sums
 * there. A group without a living loop for keep_s is dropped, with its series; should its like come again, it counts from 0
 * and has a new start. Beyond max_groups further loops are summed into one group of their own (label overflow="true"), which
 * is never dropped.
 *
 * Sums are whole nanoseconds in 64 bits (584 years of one loop); the states of a record add up to its interval exactly.
 *
 * Several origins (the kernel, boards) may each hand in intervals of their own. No clock: points in time are handed in,
 * nanoseconds of the host's CLOCK_MONOTONIC. Not for several threads at once.
 * Errors: -ENOMEM only.
 */
#ifndef LOOPSCOPE_MODEL_METRICS_H
#define LOOPSCOPE_MODEL_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/metric.h"
#include "model/record.h"
#include "model/slow_tick.h"

struct metrics;

/* What the host knows of a process that had the CPU while a loop waited. */
struct metrics_culprit {
	bool kernel_thread;
	char *cgroup; /* handed over; NULL: unknown */
};

/* Asked once per process and interval; fills *ret, which is zeroed, as far as it can. */
typedef void (*metrics_culprit_fn)(void *arg, int64_t pid, struct metrics_culprit *ret);

struct metrics_options {
	size_t max_groups;  /* 0: METRICS_MAX_GROUPS */
	uint64_t keep_ns;   /* 0: METRICS_KEEP_NS */
	bool pid_label;
	bool slow_ticks;    /* they are reported one by one: 0 of them is knowledge */
	unsigned n_cpus;    /* for the seconds stolen; 0: unknown */
	double start_s;     /* unix seconds: now */
	metrics_culprit_fn culprit; /* NULL: nothing is known of others */
	void *arg;
};

#define METRICS_MAX_GROUPS 2000
#define METRICS_KEEP_NS 300000000000ull /* as long as Prometheus looks back for a sample */
#define METRICS_KERNEL 0u               /* the origin; boards: 1, 2, ... */
#define METRICS_ORIGINS_MAX 64

int metrics_new(const struct metrics_options *o, struct metrics **ret);
void metrics_free(struct metrics *m); /* accepts NULL */

/* An interval of one origin (below METRICS_ORIGINS_MAX): all its loops, tasks and sources. */
int metrics_interval(struct metrics *m, unsigned origin, const struct interval *iv, uint64_t now_ns);
/* Also of a loop that has not been in an interval yet: it is counted when its group is known. */
int metrics_slow_tick(struct metrics *m, unsigned origin, const struct slow_tick *t, uint64_t now_ns);

/* A number of the program's own: what a sink has sent, what a scrape took. Set as a whole: the value replaces that of the same
 * family and labels; a counter's may not shrink; NAN takes it away. The family and label names are static; label values are
 * copied and made safe. At most METRICS_OWN_MAX of them: -ENOSPC beyond. */
#define METRICS_OWN_MAX 128
#define METRICS_OWN_LABELS 6
int metrics_own(struct metrics *m, const struct metric_family *f, const struct metric_label *labels, size_t n_labels, double value);

/* Every family that has samples, with all of them; the program's own last. Labels and what they point to are valid until the
 * next call of any function here. now_ns: for the age of what goes on. Returns what the visitor returned, or 0. */
int metrics_visit(struct metrics *m, uint64_t now_ns, const struct metrics_visitor *v, void *arg);

/* Counts intervals and slow ticks taken: what was rendered at the same number is still right, but for the ages of stalls and
 * for the program's own numbers. */
uint64_t metrics_version(const struct metrics *m);

#endif
