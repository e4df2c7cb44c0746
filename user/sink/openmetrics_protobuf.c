/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * openmetrics_protobuf.c - metrics as Prometheus' protobuf exposition: each family a message of prometheus.proto after its length.
 *
 * Names are those of the text format. A histogram is both a classic one and a native one, of the same values: a reader takes what it
 * has been told to.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/arena.h"
#include "lib/varint.h"
#include "sink/openmetrics_internal.h"
#include "sink/prometheus.pb-c.h"

/* A message of the arena's, its fields unset; NULL where there is no memory. */
#define NEW(w, type, init)                                                       \
	({                                                                       \
		const type _initial = init;                                      \
		type *_p = arena_get(&(w)->arena, sizeof(_initial));             \
		if (_p)                                                          \
			*_p = _initial;                                          \
		_p;                                                              \
	})

struct writer {
	struct metrics_text *out;
	struct arena arena; /* all of one family */
	const struct metric_family *family; /* NULL: none yet */
	Prometheus__Metric **metrics;
	size_t n_metrics, room;
	const struct metric_label *labels; /* whose pairs are below; of this family */
	Prometheus__LabelPair **pairs;
};

/* --- labels: what they point to is good for the visit -------------------------------------------------------------- */

static Prometheus__LabelPair *pair(struct writer *w, const struct metric_label *l)
{
	Prometheus__LabelPair *p = NEW(w, Prometheus__LabelPair, PROMETHEUS__LABEL_PAIR__INIT);

	if (p) {
		p->name = (char *)l->name;
		p->value = (char *)l->value;
	}
	return p;
}

/* Those of a group are made once for all its samples that follow each other. There is room for one more. */
static Prometheus__LabelPair **group_pairs(struct writer *w, const struct metric_sample *s)
{
	Prometheus__LabelPair **list;

	if (w->pairs && w->labels == s->labels)
		return w->pairs;
	list = arena_get(&w->arena, (s->n_labels + 1) * sizeof(void *));
	for (size_t i = 0; list && i < s->n_labels; i++) {
		list[i] = pair(w, &s->labels[i]);
		if (!list[i])
			return NULL;
	}
	w->labels = s->labels;
	w->pairs = list;
	return list;
}

static int set_labels(struct writer *w, const struct metric_sample *s, Prometheus__Metric *m)
{
	Prometheus__LabelPair **list = group_pairs(w, s);

	if (!list)
		return -ENOMEM;
	m->label = list;
	m->n_label = s->n_labels;
	if (!s->extra.name)
		return 0;
	m->label = arena_get(&w->arena, (s->n_labels + 1) * sizeof(void *));
	if (!m->label)
		return -ENOMEM;
	memcpy(m->label, list, s->n_labels * sizeof(void *));
	m->label[s->n_labels] = pair(w, &s->extra);
	m->n_label = s->n_labels + 1;
	return m->label[s->n_labels] ? 0 : -ENOMEM;
}

/* --- histograms ----------------------------------------------------------------------------------------------------- */

static int set_classic(struct writer *w, const struct metric_histogram *h, Prometheus__Histogram *to)
{
	uint64_t n = 0;

	to->bucket = arena_get(&w->arena, (h->n_bounds + 1) * sizeof(void *));
	for (; to->bucket && to->n_bucket <= h->n_bounds; to->n_bucket++) {
		Prometheus__Bucket *b = NEW(w, Prometheus__Bucket, PROMETHEUS__BUCKET__INIT);

		if (!b)
			return -ENOMEM;
		n += h->count[to->n_bucket];
		b->has_cumulative_count = b->has_upper_bound = true;
		b->cumulative_count = n;
		b->upper_bound = to->n_bucket < h->n_bounds ? h->bound[to->n_bucket] : INFINITY;
		to->bucket[to->n_bucket] = b;
	}
	return to->bucket ? 0 : -ENOMEM;
}

/* A span is a run of buckets without a gap. */
static int add_to_span(struct writer *w, Prometheus__Histogram *to, int gap)
{
	Prometheus__BucketSpan *span;

	if (to->n_positive_span && !gap) {
		to->positive_span[to->n_positive_span - 1]->length++;
		return 0;
	}
	span = NEW(w, Prometheus__BucketSpan, PROMETHEUS__BUCKET_SPAN__INIT);
	if (!span)
		return -ENOMEM;
	span->has_offset = span->has_length = true;
	span->offset = gap;
	span->length = 1;
	to->positive_span[to->n_positive_span++] = span;
	return 0;
}

static int set_native(struct writer *w, const struct metric_native *n, Prometheus__Histogram *to)
{
	int64_t before = 0;
	int next = 0;

	to->has_schema = to->has_zero_threshold = to->has_zero_count = true;
	to->schema = n->schema;
	to->zero_threshold = n->zero_threshold; /* above 0: what tells an empty native histogram from a classic one */
	to->zero_count = n->zero_count;
	to->positive_span = arena_get(&w->arena, n->n * sizeof(void *));
	to->positive_delta = arena_get(&w->arena, n->n * sizeof(int64_t));
	if (!to->positive_span || !to->positive_delta)
		return -ENOMEM;
	for (size_t i = 0; i < n->n; i++) {
		if (add_to_span(w, to, n->bucket[i].index - next))
			return -ENOMEM;
		to->positive_delta[i] = (int64_t)n->bucket[i].n - before;
		before = (int64_t)n->bucket[i].n;
		next = n->bucket[i].index + 1;
	}
	to->n_positive_delta = n->n;
	return 0;
}

static int set_histogram(struct writer *w, const struct metric_histogram *h, Prometheus__Metric *m)
{
	Prometheus__Histogram *to = NEW(w, Prometheus__Histogram, PROMETHEUS__HISTOGRAM__INIT);
	int err;

	if (!to)
		return -ENOMEM;
	m->histogram = to;
	to->has_sample_count = to->has_sample_sum = true;
	to->sample_count = h->n;
	to->sample_sum = h->sum;
	err = set_classic(w, h, to);
	return err || !h->native ? err : set_native(w, h->native, to);
}

/* --- samples -------------------------------------------------------------------------------------------------------- */

static int set_counter(struct writer *w, double value, Prometheus__Metric *m)
{
	m->counter = NEW(w, Prometheus__Counter, PROMETHEUS__COUNTER__INIT);
	if (!m->counter)
		return -ENOMEM;
	m->counter->has_value = true;
	m->counter->value = value;
	return 0;
}

static int set_gauge(struct writer *w, double value, Prometheus__Metric *m)
{
	m->gauge = NEW(w, Prometheus__Gauge, PROMETHEUS__GAUGE__INIT);
	if (!m->gauge)
		return -ENOMEM;
	m->gauge->has_value = true;
	m->gauge->value = value;
	return 0;
}

static int add_metric(struct writer *w, Prometheus__Metric *m)
{
	size_t room = w->room ? w->room : 64;
	Prometheus__Metric **more;

	if (w->n_metrics == w->room) {
		more = reallocarray(w->metrics, 2 * room, sizeof(void *));
		if (!more)
			return -ENOMEM;
		w->metrics = more;
		w->room = 2 * room;
	}
	w->metrics[w->n_metrics++] = m;
	return 0;
}

static int on_sample(void *arg, const struct metric_family *f, const struct metric_sample *s)
{
	struct writer *w = arg;
	Prometheus__Metric *m = NEW(w, Prometheus__Metric, PROMETHEUS__METRIC__INIT);
	int err = m ? set_labels(w, s, m) : -ENOMEM;

	if (err)
		return err;
	if (f->type == METRIC_HISTOGRAM)
		err = set_histogram(w, s->histogram, m);
	else if (f->type == METRIC_COUNTER)
		err = set_counter(w, s->value, m);
	else
		err = set_gauge(w, s->value, m);
	return err ? err : add_metric(w, m);
}

/* --- families ------------------------------------------------------------------------------------------------------- */

static int pack(struct writer *w, const Prometheus__MetricFamily *family)
{
	size_t n = prometheus__metric_family__get_packed_size(family);
	struct metrics_text *t = w->out;
	int err = metrics_text_room(t, n + VARINT_MAX);
	uint8_t *at;

	if (err)
		return err;
	at = varint_put((uint8_t *)t->p + t->len, n);
	at += prometheus__metric_family__pack(family, at);
	t->len = (size_t)(at - (uint8_t *)t->p);
	return 0;
}

static int end_family(struct writer *w)
{
	Prometheus__MetricFamily family = PROMETHEUS__METRIC_FAMILY__INIT;
	const struct metric_family *f = w->family;
	char *name;

	if (!f)
		return 0;
	name = arena_get(&w->arena, strlen(f->name) + sizeof("_total"));
	if (!name)
		return -ENOMEM;
	stpcpy(stpcpy(name, f->name), openmetrics_suffix(f->type));
	family.name = name;
	family.help = (char *)f->help;
	family.has_type = true;
	family.type = f->type == METRIC_COUNTER	  ? PROMETHEUS__METRIC_TYPE__COUNTER :
		      f->type == METRIC_HISTOGRAM ? PROMETHEUS__METRIC_TYPE__HISTOGRAM :
						    PROMETHEUS__METRIC_TYPE__GAUGE;
	family.metric = w->metrics;
	family.n_metric = w->n_metrics;
	return pack(w, &family);
}

static int on_family(void *arg, const struct metric_family *f)
{
	struct writer *w = arg;
	int err = end_family(w);

	arena_reset(&w->arena);
	w->family = f;
	w->n_metrics = 0;
	w->labels = NULL;
	w->pairs = NULL;
	return err;
}

int openmetrics_protobuf(struct metrics *m, uint64_t now_ns, struct metrics_text *ret)
{
	static const struct metrics_visitor visitor = {on_family, on_sample};
	struct writer w = {.out = ret};
	int err = metrics_visit(m, now_ns, &visitor, &w);

	if (!err)
		err = end_family(&w);
	arena_free(&w.arena);
	free(w.metrics);
	return err;
}
