/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * html_slow.c - slow ticks with their causes and stacks as rows. Those beyond a number are left out, the shortest first, and
 * counted: a first visit finds the length from which on there is room.
 */
#include <errno.h>
#include <stdlib.h>

#include "model/hist.h"
#include "sink/html_records.h"

#define SLOW_MAX 10000u

static const char *const columns[] = {
	"lane", "start", "end", "in_progress", "cpu_ns", "blocked_ns", "wait_ns", "throttled_ns", "events", "suppressed", "causes", NULL,
};

struct slow {
	struct html_page *page;
	struct hist lengths; /* ns */
	uint64_t shortest;
	uint64_t left_out;
	struct fault *f;
};

static uint64_t length_of(const struct recording_slow *r)
{
	return (uint64_t)(r->end_ns > r->start_ns ? r->end_ns - r->start_ns : 0);
}

static int count_one(void *arg, const struct recording_slow *r)
{
	struct slow *s = arg;

	hist_add(&s->lengths, length_of(r));
	return 0;
}

static void choose_shortest(struct slow *s)
{
	uint64_t shown = s->lengths.n;

	for (unsigned b = 0; b < HIST_BUCKETS && shown > SLOW_MAX; b++) {
		shown -= s->lengths.bucket[b];
		s->shortest = hist_bucket_high(b) + 1;
	}
}

static void put_name(struct html_page *p, const char *bytes)
{
	int64_t number = html_names_number(&p->names, bytes, SIZE_MAX);

	if (number >= 0)
		json_put_integer(&p->json, NULL, number);
	else
		json_put_null(&p->json, NULL);
}

/* [kind, ns, what, samples or null, incomplete, [frames, innermost first]] */
static void put_cause(struct html_page *p, const struct slow_cause *c)
{
	struct json_writer *w = &p->json;

	json_array_begin(w, NULL);
	json_put_text(w, NULL, cause_kind_name(c->kind), SIZE_MAX);
	html_put_nanos(w, c->us);
	put_name(p, c->what);
	json_put_count(w, NULL, c->samples);
	json_put_boolean(w, NULL, c->stack.incomplete);
	json_array_begin(w, NULL);
	for (size_t i = 0; i < c->stack.n; i++)
		put_name(p, c->stack.frame[i]);
	json_array_end(w);
	json_array_end(w);
}

static int show_one(void *arg, const struct recording_slow *r)
{
	struct slow *s = arg;
	struct html_page *p = s->page;
	struct json_writer *w = &p->json;
	const struct slow_tick *t = r->tick;

	if (length_of(r) < s->shortest) {
		s->left_out++;
		return 0;
	}
	html_row_begin(p);
	json_put_integer(w, NULL, r->lane);
	json_put_integer(w, NULL, html_time(p, r->start_ns));
	json_put_integer(w, NULL, html_time(p, r->end_ns));
	json_put_boolean(w, NULL, t->in_progress);
	html_put_nanos(w, t->cpu_us);
	html_put_nanos(w, t->blocked_us);
	html_put_nanos(w, t->wait_us);
	html_put_nanos(w, t->throttled_us);
	json_put_count(w, NULL, t->events);
	json_put_integer(w, NULL, t->suppressed);
	json_array_begin(w, NULL);
	for (size_t i = 0; i < t->n_causes; i++)
		put_cause(p, &t->causes[i]);
	json_array_end(w);
	return html_row_end(p, s->f);
}

int html_slow(struct html_page *p, struct fault *f)
{
	struct slow *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return fault(f, -ENOMEM, EXIT_FAILED, "no memory for the HTML report; choose a shorter range, or free some");
	s->page = p;
	s->f = f;
	err = recording_slow_ticks(p->view, p->select, count_one, s, f);
	choose_shortest(s);
	if (!err)
		err = html_rows_begin(p, "slow", columns, f);
	if (!err)
		err = recording_slow_ticks(p->view, p->select, show_one, s, f);
	p->slow_left_out = s->left_out;
	free(s);
	return err ? err : html_rows_end(p, f);
}
