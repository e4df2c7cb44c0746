/* SPDX-License-Identifier: BSD-2-Clause */
/* test_metrics_fixture.h - records to count, and what a visit shows, as lines and as numbers. */
#ifndef TEST_METRICS_FIXTURE_H
#define TEST_METRICS_FIXTURE_H

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "model/hist_packed.h"
#include "model/metrics.h"

#define METRICS_SEC 1000000000ull

/* One second of a loop found by the scheduler alone: 60 % idle, 25 % on the CPU, 5 % blocked, 4 % and 6 % waiting. */
static inline struct loop_record a_record(const char *comm, uint32_t pid)
{
	struct loop_record r = {
		.ts = 1700000001, .interval_s = 1, .source = SOURCE_KERNEL, .edges = EDGES_SCHED,
		.id = { .pid = pid, .tid = pid, .start_ns = 1000 + pid }, .nspid = pid, .cgroup = "", .runtime = "unknown",
		.wait_syscall = "epoll_wait", .wait_fd = 3, .idle = .6, .io_cpu = NAN, .tick_cpu = .25, .tick_blocked = .05,
		.wait_io = .04, .wait_tick = .06, .busy = .3, .wait = .1, .load = .4, .naive_load = .4, .spin = NAN, .throttled = .01,
		.io_waits = -1, .ticks = -1, .slow_ticks = -1, .io_sleeps = 100, .events_per_wait = NAN, .late_us = NAN,
		.late_wait_us = NAN, .lost = 0, .repaired = 0, .observer_cost = .001, .cost_from = COST_CALIBRATED,
	};

	for (size_t i = 0; i < sizeof(r.comm) && comm[i]; i++)
		r.comm[i] = r.thread[i] = comm[i];
	return r;
}

/* The same with measured edges. */
static inline struct loop_record a_measured_record(const char *comm, uint32_t pid, int64_t ticks)
{
	struct loop_record r = a_record(comm, pid);

	r.edges = EDGES_FENTRY;
	r.io_cpu = .05;
	r.tick_cpu = .2;
	r.spin = 0;
	r.io_waits = r.ticks = ticks;
	r.slow_ticks = 0;
	return r;
}

static inline struct metrics *new_metrics(struct metrics_options o)
{
	struct metrics *m = NULL;

	if (!o.start_s)
		o.start_s = 1700000000;
	cr_assert_eq(metrics_new(&o, &m), 0);
	return m;
}

static inline void take(struct metrics *m, const struct loop_record *loops, size_t n, uint64_t now_ns)
{
	struct interval iv = { .ts = 1700000000 + (double)now_ns / 1e9, .interval_s = 1, .loops = loops, .n_loops = n, .steal = NAN,
			       .lost = -1 };

	cr_assert_eq(metrics_interval(m, METRICS_KERNEL, &iv, now_ns), 0);
}

/* What a visit shows: "family{label="value",...} value", a line each, labels in their order. */
struct shown {
	char *text;
	size_t size, families, samples;
	FILE *out;
};

static inline int shown_family(void *arg, const struct metric_family *f)
{
	((struct shown *)arg)->families++;
	return 0;
}

static inline int shown_sample(void *arg, const struct metric_family *f, const struct metric_sample *s)
{
	struct shown *sh = arg;

	sh->samples++;
	fprintf(sh->out, "%s{", f->name);
	for (size_t i = 0; i < s->n_labels; i++)
		fprintf(sh->out, "%s%s=\"%s\"", i ? "," : "", s->labels[i].name, s->labels[i].value);
	if (s->extra.name)
		fprintf(sh->out, "%s%s=\"%s\"", s->n_labels ? "," : "", s->extra.name, s->extra.value);
	if (s->histogram)
		fprintf(sh->out, "} n=%llu sum=%.9g\n", (unsigned long long)s->histogram->n, s->histogram->sum);
	else
		fprintf(sh->out, "} %.12g\n", s->value);
	return 0;
}

static inline struct shown show(struct metrics *m, uint64_t now_ns)
{
	static const struct metrics_visitor v = { shown_family, shown_sample };
	struct shown sh = {};

	sh.out = open_memstream(&sh.text, &sh.size);
	cr_assert_not_null(sh.out);
	cr_assert_eq(metrics_visit(m, now_ns, &v, &sh), 0);
	fclose(sh.out);
	return sh;
}

/* The sum over all samples of a family whose labels hold all of `parts` (each `name="value"`, up to a NULL); NAN: none. */
struct wanted {
	const char *family;
	const char *parts[4];
	double sum;
	size_t n;
};

static inline int wanted_family(void *arg, const struct metric_family *f)
{
	return 0;
}

static inline int has_label(const struct metric_sample *s, const char *part)
{
	char pair[METRIC_LABEL_MAX + 64];

	for (size_t i = 0; i < s->n_labels; i++) {
		snprintf(pair, sizeof(pair), "%s=\"%s\"", s->labels[i].name, s->labels[i].value);
		if (!strcmp(pair, part))
			return 1;
	}
	if (!s->extra.name)
		return 0;
	snprintf(pair, sizeof(pair), "%s=\"%s\"", s->extra.name, s->extra.value);
	return !strcmp(pair, part);
}

static inline int wanted_sample(void *arg, const struct metric_family *f, const struct metric_sample *s)
{
	struct wanted *w = arg;

	if (strcmp(f->name, w->family))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(w->parts) && w->parts[i]; i++)
		if (!has_label(s, w->parts[i]))
			return 0;
	w->sum += s->histogram ? (double)s->histogram->n : s->value;
	w->n++;
	return 0;
}

#define value_of(m, now, family, ...) value_of_parts(m, now, &(struct wanted){ family, { __VA_ARGS__ }, 0, 0 })
static inline double value_of_parts(struct metrics *m, uint64_t now_ns, struct wanted *w)
{
	static const struct metrics_visitor v = { wanted_family, wanted_sample };

	cr_assert_eq(metrics_visit(m, now_ns, &v, w), 0);
	return w->n ? w->sum : NAN;
}

#define assert_value(have, want) cr_assert(fabs((have) - (want)) <= 1e-9, "%s: %.12f, not %.12f", #have, (double)(have), (double)(want))

#endif
