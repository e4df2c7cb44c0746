/* SPDX-License-Identifier: BSD-2-Clause */
/* metrics_board.c - tasks, and what sources say of themselves: see metrics_internal.h. Instances of one task are summed. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "model/metrics_internal.h"

/* --- tasks ---------------------------------------------------------------------------------------------------------------- */

struct task_group {
	char key[3 * METRIC_LABEL_MAX]; /* loop, task, kind: what the labels point to, a NUL after each */
	struct metric_label labels[3];
	size_t n_labels;
	double busy_s, wait_s, alive_s;
	bool busy_known, wait_known, alive_known, runs_known, hogs_known;
	uint64_t runs, hogs;
	int64_t instances;
	double hog_open_s; /* NAN: none */
	unsigned origin, round;
	uint64_t live_ns;
	double start_s;
	UT_hash_handle hh;
};

static void free_task(struct metrics *m, struct task_group *g)
{
	HASH_DEL(m->tasks, g);
	free(g);
}

static void name_task(struct task_group *g, const struct task_record *t)
{
	static const char *const names[] = { "loop", "task", "kind" };
	const char *values[] = { t->loop ? t->loop : "", t->task, task_kind_name(t->kind) };
	const size_t limits[] = { SIZE_MAX, sizeof(t->task), SIZE_MAX };
	char *at = g->key;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t n = label_value(at, values[i], limits[i]);

		if (n)
			g->labels[g->n_labels++] = (struct metric_label){ names[i], at };
		at += n + 1;
	}
}

static struct task_group *task_group_of(struct metrics *m, const struct task_record *t)
{
	struct task_group *g = calloc(1, sizeof(*g)), *known;

	if (!g)
		return NULL;
	name_task(g, t);
	HASH_FIND(hh, m->tasks, g->key, sizeof(g->key), known);
	if (known || HASH_COUNT(m->tasks) >= METRICS_MAX_TASKS) {
		m->tasks_beyond += !known;
		free(g);
		return known;
	}
	g->hog_open_s = NAN;
	g->start_s = t->ts - (t->interval_s > 0 ? t->interval_s : 0);
	HASH_ADD(hh, m->tasks, key, sizeof(g->key), g);
	if (g->hh.tbl)
		return g;
	free(g);
	return NULL;
}

static void add_seconds(double *sum, bool *known, double share, double interval_s)
{
	if (isnan(share) || !(share >= 0 && share <= 1) || !(interval_s > 0))
		return;
	*sum += share * interval_s;
	*known = true;
}

static void add_count(uint64_t *sum, bool *known, int64_t n)
{
	if (n < 0)
		return;
	*sum += (uint64_t)n;
	*known = true;
}

static void add_task(struct task_group *g, const struct task_record *t, bool first_of_round)
{
	if (first_of_round) {
		g->hog_open_s = NAN;
		g->instances = t->instances;
	}
	add_seconds(&g->busy_s, &g->busy_known, t->busy, t->interval_s);
	add_seconds(&g->wait_s, &g->wait_known, t->wait, t->interval_s);
	if (first_of_round) /* at least one instance: the same for each of them */
		add_seconds(&g->alive_s, &g->alive_known, t->alive, t->interval_s);
	add_count(&g->runs, &g->runs_known, t->runs);
	add_count(&g->hogs, &g->hogs_known, t->hogs);
	if (t->hog_open_us > 0 && !(t->hog_open_us / 1e6 < g->hog_open_s))
		g->hog_open_s = t->hog_open_us / 1e6;
}

int metrics_tasks(struct metrics *m, unsigned origin, const struct interval *iv, uint64_t now_ns)
{
	unsigned round = m->origins[origin].round;
	struct task_group *g, *tmp;

	m->tasks_beyond = 0;
	for (size_t i = 0; i < iv->n_tasks; i++) {
		g = task_group_of(m, &iv->tasks[i]);
		if (!g)
			continue;
		add_task(g, &iv->tasks[i], g->round != round);
		g->origin = origin;
		g->round = round;
		g->live_ns = now_ns;
	}
	HASH_ITER(hh, m->tasks, g, tmp) {
		if (g->origin == origin && g->round != round) {
			g->hog_open_s = NAN;
			g->instances = 0;
		}
		if (now_ns > g->live_ns && now_ns - g->live_ns >= m->o.keep_ns)
			free_task(m, g);
	}
	return 0;
}

/* --- sources -------------------------------------------------------------------------------------------------------------- */

enum source_counter { LOST_FRAMES, LOST_EVENTS, LOST_BYTES, GAPS, RESETS, RECEIVED_BYTES, RECEIVED_EVENTS, SOURCE_COUNTERS };

struct source_group {
	char loop[METRIC_LABEL_MAX];
	char where[METRIC_LABEL_MAX], protocol[METRIC_LABEL_MAX], name[METRIC_LABEL_MAX];
	struct metric_label label, info[4];
	size_t n_info;
	bool present;
	double margin_mean, margin_worst, silent_s;
	struct clock_fit clock;
	int64_t counter[SOURCE_COUNTERS]; /* since it was opened; -1 unknown; never shrinks */
	double start_s;
	UT_hash_handle hh;
};

static struct source_group *source_group_of(struct metrics *m, const struct source_record *s)
{
	char loop[METRIC_LABEL_MAX] = "";
	struct source_group *g;

	label_value(loop, s->loop ? s->loop : "", SIZE_MAX);
	HASH_FIND(hh, m->sources, loop, sizeof(loop), g);
	if (g || HASH_COUNT(m->sources) >= METRICS_MAX_SOURCES)
		return g;
	g = calloc(1, sizeof(*g));
	if (!g)
		return NULL;
	memcpy(g->loop, loop, sizeof(loop));
	g->label = (struct metric_label){ "loop", g->loop };
	g->start_s = m->o.start_s;
	for (int i = 0; i < SOURCE_COUNTERS; i++)
		g->counter[i] = -1;
	HASH_ADD(hh, m->sources, loop, sizeof(g->loop), g);
	if (g->hh.tbl)
		return g;
	free(g);
	return NULL;
}

static void add_info(struct source_group *g, const char *name, char copy[METRIC_LABEL_MAX], const char *value)
{
	if (label_value(copy, value ? value : "", SIZE_MAX))
		g->info[g->n_info++] = (struct metric_label){ name, copy };
}

int metrics_sources(struct metrics *m, const struct interval *iv)
{
	for (size_t i = 0; i < iv->n_sources; i++) {
		const struct source_record *s = &iv->sources[i];
		const int64_t now[SOURCE_COUNTERS] = { s->lost_frames, s->lost_events,	  s->lost_bytes,     s->gaps,
						       s->resets,      (int64_t)s->bytes, (int64_t)s->events };
		struct source_group *g = source_group_of(m, s);

		if (!g)
			return -ENOMEM;
		g->n_info = 0;
		g->info[g->n_info++] = g->label;
		add_info(g, "where", g->where, s->where);
		add_info(g, "protocol", g->protocol, s->protocol);
		add_info(g, "name", g->name, s->name);
		g->present = s->present;
		g->margin_mean = s->margin.mean;
		g->margin_worst = s->margin.worst;
		g->silent_s = s->silent_s;
		g->clock = s->clock;
		for (int c = 0; c < SOURCE_COUNTERS; c++)
			if (now[c] > g->counter[c])
				g->counter[c] = now[c];
	}
	return 0;
}

void metrics_boards_free(struct metrics *m)
{
	struct source_group *s, *stmp;
	struct task_group *t, *ttmp;

	HASH_ITER(hh, m->tasks, t, ttmp)
		free_task(m, t);
	HASH_ITER(hh, m->sources, s, stmp) {
		HASH_DEL(m->sources, s);
		free(s);
	}
}

/* --- what is shown -------------------------------------------------------------------------------------------------------- */

static void show_task(struct family_visit *fv, const struct task_group *g, bool known, double value)
{
	if (known)
		family_value(fv, g->labels, g->n_labels, NULL, NULL, value, g->start_s);
}

static int visit_tasks(struct metrics *m, const struct metrics_visitor *v, void *arg)
{
	static const struct metric_family families[] = {
		{ "loopscope_task_busy_seconds", "seconds", METRIC_COUNTER, "Time that a task had its CPU." },
		{ "loopscope_task_wait_seconds", "seconds", METRIC_COUNTER, "Time that a task was ready to run while another one had the CPU." },
		{ "loopscope_task_alive_seconds", "seconds", METRIC_COUNTER, "Time during which an instance was alive, where only lives are known." },
		{ "loopscope_task_runs", "", METRIC_COUNTER, "Steps of a task that have ended; of lives, those begun." },
		{ "loopscope_task_hogs", "", METRIC_COUNTER, "Steps over the threshold." },
		{ "loopscope_task_hog_seconds", "seconds", METRIC_GAUGE, "How long a step over the threshold has been running; 0: none is." },
		{ "loopscope_task_instances", "", METRIC_GAUGE, "Instances of a task that are alive." },
	};
	static const struct metric_family beyond = { "loopscope_untracked_tasks", "", METRIC_GAUGE,
						     "Tasks beyond what is exposed: in no series." };
	struct family_visit fv = { .v = v, .arg = arg };
	struct task_group *g, *tmp;

	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		family_visit(&fv, &families[i]);
		HASH_ITER(hh, m->tasks, g, tmp) {
			const struct {
				bool known;
				double value;
			} values[] = { { g->busy_known, g->busy_s },
				       { g->wait_known, g->wait_s },
				       { g->alive_known, g->alive_s },
				       { g->runs_known, (double)g->runs },
				       { g->hogs_known, (double)g->hogs },
				       { g->hogs_known, isnan(g->hog_open_s) ? 0 : g->hog_open_s },
				       { g->instances >= 0, (double)g->instances } };

			show_task(&fv, g, values[i].known, values[i].value);
		}
	}
	family_visit(&fv, &beyond);
	if (m->tasks)
		family_value(&fv, NULL, 0, NULL, NULL, (double)m->tasks_beyond, 0);
	return fv.err;
}

static void show_source(struct family_visit *fv, const struct source_group *g, const char *extra, const char *extra_value, double value)
{
	if (!isnan(value))
		family_value(fv, &g->label, g->loop[0] ? 1 : 0, extra, extra_value, value, g->start_s);
}

static void visit_counters(struct metrics *m, struct family_visit *fv)
{
	static const struct metric_family families[SOURCE_COUNTERS] = {
		[LOST_FRAMES] = { "loopscope_source_lost_frames", "", METRIC_COUNTER, "Frames lost on the way." },
		[LOST_EVENTS] = { "loopscope_source_lost_events", "", METRIC_COUNTER, "Events lost at the other end, whose buffer was full." },
		[LOST_BYTES] = { "loopscope_source_lost_bytes", "bytes", METRIC_COUNTER, "Bytes that made no sense." },
		[GAPS] = { "loopscope_source_gaps", "", METRIC_COUNTER, "Places in the stream where something is missing." },
		[RESETS] = { "loopscope_source_resets", "", METRIC_COUNTER, "Times that the board was reset." },
		[RECEIVED_BYTES] = { "loopscope_source_received_bytes", "bytes", METRIC_COUNTER, "Bytes received." },
		[RECEIVED_EVENTS] = { "loopscope_source_received_events", "", METRIC_COUNTER, "Events received." },
	};
	struct source_group *g, *tmp;

	for (int i = 0; i < SOURCE_COUNTERS; i++) {
		family_visit(fv, &families[i]);
		HASH_ITER(hh, m->sources, g, tmp)
			show_source(fv, g, NULL, NULL, g->counter[i] < 0 ? NAN : (double)g->counter[i]);
	}
}

static void show_margin(struct family_visit *fv, const struct source_group *g)
{
	show_source(fv, g, "of", "mean", g->margin_mean);
	show_source(fv, g, "of", "worst_window", g->margin_worst);
}

static void visit_gauges(struct metrics *m, struct family_visit *fv)
{
	static const struct metric_family up = { "loopscope_source_up", "", METRIC_GAUGE, "1 while the source is there, 0 while it is waited for." },
		margin = { "loopscope_source_margin_ratio", "ratio", METRIC_GAUGE,
			   "Share of time that is free, since the session began: the mean, and in the worst window." },
		silent = { "loopscope_source_silent_seconds", "seconds", METRIC_GAUGE, "Time since anything arrived." },
		offset = { "loopscope_source_clock_offset_seconds", "seconds", METRIC_GAUGE, "The host's monotonic clock minus the source's." },
		error = { "loopscope_source_clock_error_seconds", "seconds", METRIC_GAUGE, "What the offset may be off by." },
		drift = { "loopscope_source_clock_drift_ratio", "ratio", METRIC_GAUGE, "How much faster than ours the source's clock runs." },
		drift_error = { "loopscope_source_clock_drift_error_ratio", "ratio", METRIC_GAUGE, "What the drift may be off by." },
		info = { "loopscope_source", "", METRIC_INFO, "Where a source is, what it speaks and what it calls itself." };
	static const struct metric_family *const families[] = { &info, &up, &margin, &silent, &offset, &error, &drift, &drift_error };
	struct source_group *g, *tmp;

	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		const struct metric_family *f = families[i];

		family_visit(fv, f);
		HASH_ITER(hh, m->sources, g, tmp) {
			bool timed = clock_fit_compares(&g->clock);

			if (f == &info)
				family_value(fv, g->info, g->n_info, NULL, NULL, 1, 0);
			else if (f == &up)
				show_source(fv, g, NULL, NULL, g->present);
			else if (f == &margin)
				show_margin(fv, g);
			else if (f == &silent)
				show_source(fv, g, NULL, NULL, g->silent_s);
			else if (f == &offset)
				show_source(fv, g, NULL, NULL, timed ? (double)g->clock.offset_ns / 1e9 : NAN);
			else if (f == &error)
				show_source(fv, g, NULL, NULL, timed && g->clock.error_ns >= 0 ? (double)g->clock.error_ns / 1e9 : NAN);
			else if (f == &drift)
				show_source(fv, g, NULL, NULL, timed ? g->clock.drift_ppm / 1e6 : NAN);
			else
				show_source(fv, g, NULL, NULL, timed ? g->clock.drift_error_ppm / 1e6 : NAN);
		}
	}
}

int metrics_boards_visit(struct metrics *m, const struct metrics_visitor *v, void *arg)
{
	struct family_visit fv = { .v = v, .arg = arg };
	int err = visit_tasks(m, v, arg);

	if (err)
		return err;
	visit_gauges(m, &fv);
	visit_counters(m, &fv);
	return fv.err;
}
