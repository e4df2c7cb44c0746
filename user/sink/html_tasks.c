/* SPDX-License-Identifier: BSD-2-Clause */
/* html_tasks.c - tasks' interval records as rows, merged as those of loops are; see html_records.h. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "sink/html_records.h"

enum share { BUSY, WAIT, ALIVE, N_SHARES };
enum count { RUNS, HOGS, LEFT_OUT, N_COUNTS };

static const char *const columns[] = {
	"lane", "start", "end", "merged", "busy", "wait", "alive", "runs", "hogs", "left_out", "min", "p50", "p90", "p99", "max",
	"total", "kind", "instances", "ended", NULL,
};

struct stretch {
	int64_t number, start_ns, end_ns, merged; /* merged 0: empty */
	struct html_mean share[N_SHARES];
	int64_t count[N_COUNTS];
	double min, p50, p90, p99, max, total;
	enum task_kind kind;
	int64_t instances;
	bool ended;
};

struct tasks {
	struct html_page *page;
	struct stretch *open; /* by lane */
	struct fault *f;
};

static void add_spans(struct stretch *s, const struct span_stats *r)
{
	if (r->n <= 0)
		return;
	s->min = isnan(s->min) || r->min < s->min ? r->min : s->min;
	s->p50 = html_worse(s->p50, r->p50);
	s->p90 = html_worse(s->p90, r->p90);
	s->p99 = html_worse(s->p99, r->p99);
	s->max = html_worse(s->max, r->max);
	s->total = isnan(s->total) ? r->total : s->total + r->total;
}

static void stretch_add(struct stretch *s, const struct recording_task *at)
{
	const struct task_record *r = at->record;

	if (!s->merged++) {
		s->start_ns = at->start_ns;
		s->min = s->p50 = s->p90 = s->p99 = s->max = s->total = NAN;
		for (int i = 0; i < N_COUNTS; i++)
			s->count[i] = -1;
	}
	s->end_ns = at->end_ns;
	html_mean_add(&s->share[BUSY], r->busy, r->interval_s);
	html_mean_add(&s->share[WAIT], r->wait, r->interval_s);
	html_mean_add(&s->share[ALIVE], r->alive, r->interval_s);
	s->count[RUNS] = html_total(s->count[RUNS], r->runs);
	s->count[HOGS] = html_total(s->count[HOGS], r->hogs);
	s->count[LEFT_OUT] = html_total(s->count[LEFT_OUT], r->left_out);
	add_spans(s, &r->run_us);
	s->kind = r->kind;
	s->instances = r->instances;
	s->ended = r->ended;
}

static int stretch_end(struct tasks *t, size_t lane)
{
	struct stretch *s = &t->open[lane];
	struct json_writer *w = &t->page->json;

	if (!s->merged)
		return 0;
	html_row_begin(t->page);
	json_put_integer(w, NULL, (int64_t)lane);
	json_put_integer(w, NULL, html_time(t->page, s->start_ns));
	json_put_integer(w, NULL, html_time(t->page, s->end_ns));
	json_put_integer(w, NULL, s->merged);
	for (int i = 0; i < N_SHARES; i++)
		html_put_mean(w, &s->share[i]);
	for (int i = 0; i < N_COUNTS; i++)
		json_put_count(w, NULL, s->count[i]);
	html_put_nanos(w, s->min);
	html_put_nanos(w, s->p50);
	html_put_nanos(w, s->p90);
	html_put_nanos(w, s->p99);
	html_put_nanos(w, s->max);
	html_put_nanos(w, s->total);
	json_put_text(w, NULL, task_kind_name(s->kind), SIZE_MAX);
	json_put_count(w, NULL, s->instances);
	json_put_boolean(w, NULL, s->ended);
	*s = (struct stretch){ 0 };
	return html_row_end(t->page, t->f);
}

static int on_task(void *arg, const struct recording_task *r)
{
	struct tasks *t = arg;
	struct stretch *s = &t->open[r->lane];
	int64_t number = html_stretch(t->page, r->end_ns);
	int err = 0;

	if (s->merged && s->number != number)
		err = stretch_end(t, r->lane);
	s->number = number;
	stretch_add(s, r);
	return err;
}

int html_tasks(struct html_page *p, struct fault *f)
{
	struct tasks t = { .page = p, .f = f };
	size_t n_lanes;
	int err;

	(void)recording_lanes(p->view, &n_lanes);
	t.open = calloc(n_lanes + 1, sizeof(*t.open));
	if (!t.open)
		return fault(f, -ENOMEM, EXIT_FAILED, "no memory for the HTML report; choose a shorter range, or free some");
	err = html_rows_begin(p, "tasks", columns, f);
	if (!err)
		err = recording_tasks(p->view, p->select, on_task, &t, f);
	for (size_t i = 0; i < n_lanes && !err; i++)
		err = stretch_end(&t, i);
	free(t.open);
	return err ? err : html_rows_end(p, f);
}
