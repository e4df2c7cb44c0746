/* SPDX-License-Identifier: BSD-2-Clause */
/* test_sink_openmetrics_protobuf.c - Prometheus' messages say what a visit says; native buckets hold what they should. */
#include <criterion/criterion.h>

#include "sink/openmetrics.h"
#include "sink/prometheus.pb-c.h"
#include "test_metrics_fixture.h"

#define HALF_A_BUCKET (1.0 / 64) /* of struct hist, at most, relative */

TestSuite(sink_openmetrics_protobuf, .timeout = 30);

/* --- each family and sample of a visit, held against the messages --------------------------------------------------- */

struct messages {
	const uint8_t *at, *end;
	Prometheus__MetricFamily *family; /* NULL: none yet */
	size_t next;                      /* of its metrics */
	unsigned families, natives;
};

static size_t read_length(struct messages *ms)
{
	size_t n = 0;

	for (unsigned shift = 0;; shift += 7) {
		cr_assert_lt(ms->at, ms->end);
		n |= (size_t)(*ms->at & 0x7f) << shift;
		if (!(*ms->at++ & 0x80))
			return n;
	}
}

static void end_family(struct messages *ms)
{
	if (!ms->family)
		return;
	cr_assert_eq(ms->next, ms->family->n_metric);
	prometheus__metric_family__free_unpacked(ms->family, NULL);
	ms->family = NULL;
}

static int on_family(void *arg, const struct metric_family *f)
{
	struct messages *ms = arg;
	size_t n, name = strlen(f->name);

	end_family(ms);
	n = read_length(ms);
	cr_assert_leq(n, (size_t)(ms->end - ms->at));
	ms->family = prometheus__metric_family__unpack(NULL, n, ms->at);
	cr_assert_not_null(ms->family);
	cr_assert_eq(memcmp(ms->family->name, f->name, name), 0);
	cr_assert_str_eq(ms->family->name + name, f->type == METRIC_COUNTER ? "_total" : f->type == METRIC_INFO ? "_info" : "");
	cr_assert_str_eq(ms->family->help, f->help);
	ms->at += n;
	ms->next = 0;
	ms->families++;
	return 0;
}

static void check_label(const Prometheus__LabelPair *got, const struct metric_label *want)
{
	cr_assert_str_eq(got->name, want->name);
	cr_assert_str_eq(got->value, want->value);
}

static void check_native(const Prometheus__Histogram *got, const struct metric_native *want)
{
	int64_t count = 0;
	int index = 0;
	size_t n = 0;

	cr_assert_eq(got->schema, want->schema);
	cr_assert_gt(got->zero_threshold, 0);
	cr_assert_eq(got->zero_threshold, want->zero_threshold);
	cr_assert_eq(got->zero_count, want->zero_count);
	for (size_t s = 0; s < got->n_positive_span; s++) {
		index += got->positive_span[s]->offset;
		for (unsigned i = 0; i < got->positive_span[s]->length; i++, n++, index++) {
			cr_assert_lt(n, want->n);
			count += got->positive_delta[n];
			cr_assert_eq(index, want->bucket[n].index);
			cr_assert_eq((uint64_t)count, want->bucket[n].n);
		}
	}
	cr_assert_eq(n, want->n);
	cr_assert_eq(n, got->n_positive_delta);
}

static void check_histogram(struct messages *ms, const Prometheus__Histogram *got, const struct metric_histogram *want)
{
	uint64_t n = 0;

	cr_assert_eq(got->sample_count, want->n);
	cr_assert_eq(got->sample_sum, want->sum);
	cr_assert_eq(got->n_bucket, want->n_bounds + 1);
	for (size_t i = 0; i < got->n_bucket; i++) {
		n += want->count[i];
		cr_assert_eq(got->bucket[i]->cumulative_count, n);
		cr_assert_eq(got->bucket[i]->upper_bound, i < want->n_bounds ? want->bound[i] : INFINITY);
	}
	check_native(got, want->native);
	ms->natives++;
}

static int on_sample(void *arg, const struct metric_family *f, const struct metric_sample *s)
{
	struct messages *ms = arg;
	const Prometheus__Metric *m;

	cr_assert_lt(ms->next, ms->family->n_metric);
	m = ms->family->metric[ms->next++];
	cr_assert_eq(m->n_label, s->n_labels + !!s->extra.name);
	for (size_t i = 0; i < s->n_labels; i++)
		check_label(m->label[i], &s->labels[i]);
	if (s->extra.name)
		check_label(m->label[s->n_labels], &s->extra);
	cr_assert_eq(!!m->counter + !!m->gauge + !!m->histogram, 1);
	if (f->type == METRIC_HISTOGRAM)
		check_histogram(ms, m->histogram, s->histogram);
	else
		cr_assert_eq(f->type == METRIC_COUNTER ? m->counter->value : m->gauge->value, s->value);
	return 0;
}

static void check(struct metrics *m, unsigned natives)
{
	static const struct metrics_visitor v = { on_family, on_sample };
	struct metrics_text t = {};
	struct messages ms = {};

	cr_assert_eq(openmetrics_render(m, METRICS_SEC, METRICS_PROTOBUF, &t), 0);
	ms.at = (const uint8_t *)t.p;
	ms.end = ms.at + t.len;
	cr_assert_eq(metrics_visit(m, METRICS_SEC, &v, &ms), 0);
	end_family(&ms);
	cr_assert_eq(ms.at, ms.end);
	cr_assert_gt(ms.families, 10);
	cr_assert_eq(ms.natives, natives);
	free(t.p);
}

Test(sink_openmetrics_protobuf, says_what_a_visit_says)
{
	static const struct metric_family build = { "loopscope_build", "", METRIC_INFO, "What is running: \\ and \"quotes\"." };
	const struct metric_label labels[] = { { "version", "0.0\\\"\n" } };
	_cleanup_free_ struct hist *h = calloc(1, sizeof(*h));
	_cleanup_free_ struct hist_packed *p = NULL;
	struct metrics *m = new_metrics((struct metrics_options){ .slow_ticks = true, .n_cpus = 2 });
	struct loop_record loops[] = { a_record("redis", 10), a_measured_record("no\"de\n", 11, 100), a_measured_record("empty", 12, 0) };

	hist_add_n(h, 0, 2);
	hist_add_n(h, 3000, 40);
	hist_add_n(h, 3200, 3);
	hist_add_n(h, 3000000, 59);
	hist_add(h, UINT64_MAX / 2);
	p = hist_pack(h);
	loops[1].tick_hist = loops[1].io_hist = p;
	loops[2].tick_hist = &hist_packed_empty;
	take(m, loops, ARRAY_SIZE(loops), METRICS_SEC);
	cr_assert_eq(metrics_own(m, &build, labels, 1, 1), 0);
	check(m, 3);
	take(m, loops, ARRAY_SIZE(loops), 2 * METRICS_SEC);
	check(m, 3);
	metrics_free(m);
}

Test(sink_openmetrics_protobuf, of_nothing)
{
	struct metrics *m = new_metrics((struct metrics_options){});
	struct metrics_text t = {};

	cr_assert_eq(openmetrics_render(m, METRICS_SEC, METRICS_PROTOBUF, &t), 0);
	cr_assert_gt(t.len, 0u, "its own numbers");
	free(t.p);
	metrics_free(m);
}

/* --- native buckets ------------------------------------------------------------------------------------------------- */

struct one_value {
	uint64_t ns;
	unsigned seen;
};

static int no_family(void *arg, const struct metric_family *f)
{
	return 0;
}

static int check_value(void *arg, const struct metric_family *f, const struct metric_sample *s)
{
	struct one_value *v = arg;
	const struct metric_native *n = s->histogram ? s->histogram->native : NULL;
	double at = (double)v->ns / 1e9, base;

	if (!n)
		return 0;
	v->seen++;
	cr_assert_eq(n->zero_count + (n->n ? n->bucket[0].n : 0), 1);
	if (!v->ns) {
		cr_assert_eq(n->zero_count, 1);
		return 0;
	}
	cr_assert_eq(n->n, 1);
	base = pow(2, pow(2, -n->schema));
	if (v->ns < HIST_LIMIT)
		cr_assert_leq(at, pow(base, n->bucket[0].index) * (1 + HALF_A_BUCKET), "%llu ns", (unsigned long long)v->ns);
	cr_assert_geq(at, pow(base, n->bucket[0].index - 1) * (1 - HALF_A_BUCKET), "%llu ns", (unsigned long long)v->ns);
	return 0;
}

static void check_where(uint64_t ns)
{
	static const struct metrics_visitor v = { no_family, check_value };
	_cleanup_free_ struct hist *h = calloc(1, sizeof(*h));
	_cleanup_free_ struct hist_packed *p = NULL;
	struct metrics *m = new_metrics((struct metrics_options){});
	struct loop_record r = a_measured_record("node", 11, 1);
	struct one_value one = { .ns = ns };

	hist_add(h, ns);
	p = hist_pack(h);
	r.tick_hist = p;
	take(m, &r, 1, METRICS_SEC);
	cr_assert_eq(metrics_visit(m, 0, &v, &one), 0);
	cr_assert_eq(one.seen, 1);
	metrics_free(m);
}

Test(sink_openmetrics_protobuf, a_value_is_at_most_half_a_fine_bucket_beyond_its_native_one)
{
	check_where(0);
	for (uint64_t ns = 1; ns < 4 * HIST_LIMIT; ns += ns / 37 + 1)
		check_where(ns);
	check_where(UINT64_MAX);
}
