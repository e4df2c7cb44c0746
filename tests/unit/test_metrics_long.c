/* SPDX-License-Identifier: BSD-2-Clause */
/* test_metrics_long.c - what a daemon lives through: churn, a full table, a day of ticking. No counter ever steps back. */
#include "test_metrics_fixture.h"

TestSuite(metrics_long, .timeout = 60);

/* --- no counter goes backwards ---------------------------------------------------------------------------------------------------- */

#define SERIES_MAX 8192

struct series {
	char name[768];
	double value;
	unsigned visit;
};

struct watch {
	struct series *series; /* open addressing by the name's hash */
	unsigned visit;
	size_t samples, most_samples, backwards;
};

static uint64_t hash(const char *s)
{
	uint64_t h = 1469598103934665603ull;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 1099511628211ull;
	return h;
}

/* A series that was not there in the last visit begins anew, as a scraper sees it. */
static void look(struct watch *w, const char *name, double value)
{
	size_t at = hash(name) % SERIES_MAX;
	struct series *s = &w->series[at];

	for (size_t tries = 0; s->name[0] && strcmp(s->name, name) && s->visit + 1 >= w->visit; tries++) {
		cr_assert_lt(tries, (size_t)SERIES_MAX, "more series at once than there may be");
		at = (at + 1) % SERIES_MAX;
		s = &w->series[at];
	}
	if (!strcmp(s->name, name) && s->visit + 1 == w->visit && value < s->value)
		w->backwards++;
	snprintf(s->name, sizeof(s->name), "%s", name);
	s->value = value;
	s->visit = w->visit;
}

static int watched_sample(void *arg, const struct metric_family *f, const struct metric_sample *s)
{
	struct watch *w = arg;
	char name[768];
	size_t n;

	w->samples++;
	if (f->type != METRIC_COUNTER)
		return 0;
	n = (size_t)snprintf(name, sizeof(name), "%s", f->name);
	for (size_t i = 0; i < s->n_labels; i++)
		n += (size_t)snprintf(name + n, sizeof(name) - n, ",%s=%s", s->labels[i].name, s->labels[i].value);
	if (s->extra.name)
		snprintf(name + n, sizeof(name) - n, ",%s=%s", s->extra.name, s->extra.value);
	look(w, name, s->value);
	return 0;
}

static const struct metrics_visitor watcher = { wanted_family, watched_sample };

static void watch(struct watch *w, struct metrics *m, uint64_t now_ns)
{
	w->visit++;
	w->samples = 0;
	cr_assert_eq(metrics_visit(m, now_ns, &watcher, w), 0);
	if (w->samples > w->most_samples)
		w->most_samples = w->samples;
}

/* --- churn ------------------------------------------------------------------------------------------------------------------------ */

/* Half an hour in which 5,000 loops come and go, each two intervals long; every third has a name of its own. */
Test(metrics_long, churn)
{
	struct metrics *m = new_metrics((struct metrics_options){ .max_groups = 200 });
	struct watch w = { .series = calloc(SERIES_MAX, sizeof(*w.series)) };
	unsigned born = 0, most_groups = 0;
	double sleeps = 0;

	cr_assert_not_null(w.series);
	for (unsigned second = 1; second <= 1800; second += 5) {
		struct loop_record r[150];
		size_t n = 0;

		for (unsigned i = 0; i < 2 * 70 && born + i / 2 < 5000 + 70; i++) {
			unsigned number = born + i / 2 - (i % 2 && born >= 70 ? 70 : 0);
			char name[16];

			if (number >= 5000)
				continue;
			snprintf(name, sizeof(name), number % 3 ? "worker" : "w-%u", number);
			r[n] = a_record(name, 1000 + number);
			r[n].ended = i % 2 && born >= 70;
			sleeps += 100;
			n++;
		}
		born += 70;
		take(m, r, n, second * METRICS_SEC);
		watch(&w, m, second * METRICS_SEC);
		cr_assert_leq(value_of(m, 0, "loopscope_groups", NULL), 200.0);
		if (value_of(m, 0, "loopscope_groups", NULL) > most_groups)
			most_groups = (unsigned)value_of(m, 0, "loopscope_groups", NULL);
	}
	cr_assert_eq(w.backwards, 0u);
	cr_assert_leq(w.most_samples, 201u * 20 + 10, "series are bounded: %zu", w.most_samples);
	cr_assert_eq(most_groups, 200u, "the table was full: %u", most_groups);
	cr_assert_gt(value_of(m, 0, "loopscope_groups_dropped", NULL), 200.0);
	assert_value(value_of(m, 0, "loopscope_loops", NULL), 0.0);
	cr_assert_leq(value_of(m, 0, "loopscope_groups", NULL), 5.0, "what is long gone has no series");
	cr_assert_gt(sleeps, 100.0 * 5000);
	free(w.series);
	metrics_free(m);
}

/* What ends leaves its sums: the group's counter is the sum of all its loops'. */
Test(metrics_long, the_sums_of_the_dead_stay)
{
	struct metrics *m = new_metrics((struct metrics_options){});

	for (unsigned i = 0; i < 5000; i++) {
		struct loop_record r = a_record("worker", 1000 + i);

		r.ended = true;
		take(m, &r, 1, (i + 1) * METRICS_SEC / 10);
		assert_value(value_of(m, 0, "loopscope_loop_io_sleeps", NULL), 100.0 * (i + 1));
		assert_value(value_of(m, 0, "loopscope_groups", NULL), 1.0);
	}
	assert_value(value_of(m, 0, "loopscope_loop_seconds", NULL), 5000.0);
	metrics_free(m);
}

Test(metrics_long, groups_without_loops_are_dropped_after_a_while)
{
	struct metrics *m = new_metrics((struct metrics_options){ .keep_ns = 60 * METRICS_SEC });
	struct loop_record r = a_record("short", 1);

	r.ended = true;
	take(m, &r, 1, 1 * METRICS_SEC);
	take(m, NULL, 0, 2 * METRICS_SEC);
	take(m, NULL, 0, 60 * METRICS_SEC);
	assert_value(value_of(m, 0, "loopscope_loop_io_sleeps", NULL), 100.0);
	r.id.pid = r.id.tid = 2;
	take(m, &r, 1, 61 * METRICS_SEC);
	take(m, NULL, 0, 100 * METRICS_SEC);
	assert_value(value_of(m, 0, "loopscope_loop_io_sleeps", NULL), 200.0);
	take(m, NULL, 0, 122 * METRICS_SEC);
	cr_assert(isnan(value_of(m, 0, "loopscope_loop_io_sleeps", NULL)));
	assert_value(value_of(m, 0, "loopscope_groups", NULL), 0.0);
	assert_value(value_of(m, 0, "loopscope_groups_dropped", NULL), 1.0);
	metrics_free(m);
}

/* --- the limit --------------------------------------------------------------------------------------------------------------------- */

Test(metrics_long, beyond_the_limit_loops_are_summed_up)
{
	struct metrics *m = new_metrics((struct metrics_options){ .max_groups = 3, .pid_label = true });
	struct loop_record r[10];

	for (uint32_t i = 0; i < 10; i++)
		r[i] = a_record("worker", 100 + i);
	take(m, r, 10, 1 * METRICS_SEC);
	take(m, r, 10, 2 * METRICS_SEC);
	assert_value(value_of(m, 0, "loopscope_groups", NULL), 3.0);
	assert_value(value_of(m, 0, "loopscope_loops", "overflow=\"true\""), 7.0);
	assert_value(value_of(m, 0, "loopscope_overflow_loops", NULL), 7.0);
	assert_value(value_of(m, 0, "loopscope_loop_seconds", NULL), 20.0);
	assert_value(value_of(m, 0, "loopscope_loop_io_sleeps", "overflow=\"true\""), 1400.0);
	assert_value(value_of(m, 0, "loopscope_loop_io_sleeps", "pid=\"101\""), 200.0);
	metrics_free(m);
}

Test(metrics_long, the_pid_is_a_label_on_request_only)
{
	struct loop_record r[2] = { a_record("worker", 1), a_record("worker", 2) };
	struct metrics *m = new_metrics((struct metrics_options){});

	take(m, r, 2, METRICS_SEC);
	assert_value(value_of(m, 0, "loopscope_loops", "comm=\"worker\""), 2.0);
	cr_assert(isnan(value_of(m, 0, "loopscope_loops", "pid=\"1\"")));
	metrics_free(m);
}

/* --- a day ------------------------------------------------------------------------------------------------------------------------- */

/* 24 hours of a busy loop in uneven intervals: what is counted is what passed, to the nanosecond an interval. */
Test(metrics_long, a_day)
{
	_cleanup_free_ struct hist *h = calloc(1, sizeof(*h));
	_cleanup_free_ struct hist_packed *p = NULL;
	struct metrics *m = new_metrics((struct metrics_options){ .n_cpus = 2 });
	struct loop_record r = a_measured_record("busy", 1, 400000);
	uint64_t now = 0, seed = 88172645463325252ull, intervals = 0;
	double idle = 0, before = -1;

	hist_add_n(h, 10000, 400000);
	p = hist_pack(h);
	r.tick_hist = p;
	while (now < 86400 * METRICS_SEC) {
		uint64_t wall = 4 * METRICS_SEC;

		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		wall += seed % (2 * METRICS_SEC);
		now += wall;
		r.interval_s = (double)wall / 1e9;
		r.idle = (double)(seed % 1000) / 1000;
		r.tick_cpu = 1 - r.idle - r.io_cpu - r.tick_blocked - r.wait_io - r.wait_tick;
		if (r.tick_cpu < 0)
			r.idle += r.tick_cpu, r.tick_cpu = 0;
		idle += r.idle * r.interval_s;
		take(m, &r, 1, now);
		intervals++;
		if (intervals % 100 == 0) {
			double seen = value_of(m, now, "loopscope_loop_seconds", "state=\"idle\"");

			cr_assert_geq(seen, before);
			before = seen;
		}
	}
	cr_assert(fabs(value_of(m, now, "loopscope_loop_seconds", NULL) - (double)now / 1e9) < 1e-9 * (double)intervals, "%.9f of %.9f s",
		  value_of(m, now, "loopscope_loop_seconds", NULL), (double)now / 1e9);
	cr_assert(fabs(value_of(m, now, "loopscope_loop_seconds", "state=\"idle\"") - idle) < 1e-8 * (double)intervals);
	assert_value(value_of(m, now, "loopscope_loop_ticks", NULL), 400000.0 * (double)intervals);
	assert_value(value_of(m, now, "loopscope_loop_tick_duration_seconds", NULL), 400000.0 * (double)intervals);
	metrics_free(m);
}

/* The same for a hundred years of 64 loops: far from the end of 64 bits. */
Test(metrics_long, a_century)
{
	struct metrics *m = new_metrics((struct metrics_options){});
	double before = -1;

	for (unsigned year = 1; year <= 100; year++) {
		struct loop_record r = a_measured_record("old", 1, 1000000000);

		r.interval_s = 365.25 * 86400;
		for (unsigned i = 0; i < 5; i++)
			take(m, &r, 1, (uint64_t)(year * 365.25 * 86400 * 1e9));
		cr_assert_gt(value_of(m, 0, "loopscope_loop_seconds", NULL), before);
		before = value_of(m, 0, "loopscope_loop_seconds", NULL);
	}
	cr_assert_float_eq(before, 500 * 365.25 * 86400, 1);
	metrics_free(m);
}
