/* SPDX-License-Identifier: BSD-2-Clause */
/* html_facts.c - see html_facts.h. */
#include "sink/html_facts.h"

#include <string.h>

static void put_host(struct html_page *p)
{
	const struct recording_host *h = recording_host(p->view);
	struct json_writer *w = &p->json;

	json_put_text(w, "hostname", h->hostname, SIZE_MAX);
	json_put_text(w, "kernel", h->kernel, SIZE_MAX);
	json_put_text(w, "machine", h->machine, SIZE_MAX);
	json_put_text(w, "version", h->version, SIZE_MAX);
	json_put_text(w, "command", h->command, SIZE_MAX);
	json_put_count(w, "cpus", h->cpus);
	json_put_integer(w, "recorded_from", html_time(p, h->start_ns));
	json_put_integer(w, "recorded_to", html_time(p, h->end_ns));
	json_put_integer(w, "interval", h->interval_ns);
	json_put_count(w, "threshold", h->slow_ns);
	json_put_boolean(w, "has_ticks", h->has_ticks);
	json_put_boolean(w, "complete", h->complete);
	if (h->dropped_until_ns == INT64_MIN)
		json_put_null(w, "dropped_until");
	else
		json_put_integer(w, "dropped_until", html_time(p, h->dropped_until_ns));
}

static void put_quantiles(struct json_writer *w, const struct hist *h)
{
	json_put_integer(w, "min", (int64_t)h->min);
	json_put_integer(w, "p50", (int64_t)hist_quantile(h, 0.5));
	json_put_integer(w, "p90", (int64_t)hist_quantile(h, 0.9));
	json_put_integer(w, "p99", (int64_t)hist_quantile(h, 0.99));
	json_put_integer(w, "p999", (int64_t)hist_quantile(h, 0.999));
	json_put_integer(w, "max", (int64_t)h->max);
}

static void put_sums(struct json_writer *w, const struct html_lane_sums *s)
{
	json_object_begin(w, "sums");
	json_put_integer(w, "spans", (int64_t)s->spans);
	json_put_integer(w, "slow", (int64_t)s->slow);
	json_put_integer(w, "high", (int64_t)s->high_ns);
	if (s->all && s->all->n)
		put_quantiles(w, s->all);
	json_object_end(w);
}

static void put_lane(struct html_page *p, const struct lane *l, const struct html_lane_sums *sums)
{
	struct json_writer *w = &p->json;

	json_object_begin(w, NULL);
	json_put_text(w, "kind", lane_kind_name(l->kind), SIZE_MAX);
	json_put_count(w, "parent", l->parent == LANE_NONE ? -1 : (int64_t)l->parent);
	json_put_integer(w, "source", l->source);
	json_put_count(w, "pid", l->id.pid ? (int64_t)l->id.pid : -1);
	json_put_count(w, "tid", l->id.tid ? (int64_t)l->id.tid : -1);
	json_put_text(w, "name", l->name, SIZE_MAX);
	json_put_text(w, "process", l->process, SIZE_MAX);
	json_put_text(w, "runtime", l->runtime, SIZE_MAX);
	json_put_integer(w, "number", l->number);
	json_put_integer(w, "instance", l->instance);
	put_sums(w, sums);
	json_object_end(w);
}

static void put_sources(struct html_page *p)
{
	size_t n;
	const struct recording_source *sources = recording_sources(p->view, &n);

	json_array_begin(&p->json, "sources");
	for (size_t i = 0; i < n; i++) {
		json_object_begin(&p->json, NULL);
		json_put_text(&p->json, "kind", record_source_name(sources[i].kind), SIZE_MAX);
		json_put_text(&p->json, "name", sources[i].name, SIZE_MAX);
		json_put_text(&p->json, "where", sources[i].where, SIZE_MAX);
		json_put_text(&p->json, "protocol", sources[i].protocol, SIZE_MAX);
		json_object_end(&p->json);
	}
	json_array_end(&p->json);
}

static bool is_wanted(const struct html_page *p, size_t lane)
{
	return !p->select->lanes || p->select->lanes[lane];
}

int html_facts(struct html_page *p, const struct html_survey *s, struct fault *f)
{
	struct json_writer *w = &p->json;
	const struct lane *lanes;
	size_t n;
	int err = html_object_begin(p, "facts", f);

	json_put_integer(w, "v", 1);
	put_host(p);
	json_put_decimal(w, "from_s", (double)p->from_ns / 1e9, 6);
	json_put_integer(w, "span", p->to_ns - p->from_ns);
	json_put_integer(w, "unit", s->unit_ns);
	json_put_integer(w, "heat_width", html_heat_width(p));
	json_put_integer(w, "spans_shown", (int64_t)s->shown);
	json_put_integer(w, "spans_left_out", (int64_t)s->left_out);
	json_put_integer(w, "spans_shortest", s->shortest_ns);
	json_put_integer(w, "slow_left_out", (int64_t)p->slow_left_out);
	json_put_integer(w, "names_left_out", p->names.left_out);
	put_sources(p);
	json_array_begin(w, "lanes");
	lanes = recording_lanes(p->view, &n);
	for (size_t i = 0; i < n && !err; i++) {
		if (is_wanted(p, i))
			put_lane(p, &lanes[i], &s->lanes[i]);
		else
			json_put_null(w, NULL);
		err = html_json_flush(p, f);
	}
	json_array_end(w);
	return err ? err : html_object_end(p, f);
}

struct names_out {
	struct html_page *page;
	struct fault *f;
};

static int put_name(void *arg, const char *name)
{
	struct names_out *o = arg;

	html_row_begin(o->page);
	json_put_text(&o->page->json, NULL, name, SIZE_MAX);
	return html_row_end(o->page, o->f);
}

int html_names_rows(struct html_page *p, struct fault *f)
{
	static const char *const columns[] = { "name", NULL };
	struct names_out o = { p, f };
	int err = html_rows_begin(p, "names", columns, f);

	if (!err)
		err = html_names_each(&p->names, put_name, &o);
	return err ? err : html_rows_end(p, f);
}
