/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_sink_otlp_encode.c - what a receiver finds in the requests' bodies. (That names and numbers are OpenTelemetry's own is held
 * against definitions written apart from ours in tests/live/test_export_otlp.py.)
 */
#include <errno.h>

#include "sink/otlp.pb-c.h"
#include "sink/otlp_encode.h"
#include "test_metrics_fixture.h"

TestSuite(sink_otlp_encode, .timeout = 60);

#define WALL_NS UINT64_C(1700000005000000000)
#define BODIES_MAX 200

struct bodies {
	Otlp__ExportMetricsServiceRequest *v[BODIES_MAX];
	size_t n, points, largest, fail_at;
};

static int on_body(void *arg, void *bytes, size_t n, size_t points)
{
	struct bodies *b = arg;

	cr_assert_lt(b->n, BODIES_MAX);
	if (b->fail_at && b->n + 1 == b->fail_at) {
		free(bytes);
		return -EIO;
	}
	b->v[b->n] = otlp__export_metrics_service_request__unpack(NULL, n, bytes);
	cr_assert(b->v[b->n], "a body that can't be read");
	cr_assert_gt(points, 0);
	b->n++;
	b->points += points;
	b->largest = n > b->largest ? n : b->largest;
	free(bytes);
	return 0;
}

static struct bodies encode(struct metrics *m)
{
	static const struct otlp_attribute resource[] = {{"service.name", "loopscope"}, {"host.name", "h\"1\""}};
	struct otlp_encode_options o = {.version = "9.9", .resource = resource, .n_resource = 2};
	struct otlp_encoder *e = NULL;
	struct bodies b = {0};

	cr_assert_eq(otlp_encoder_new(&o, &e), 0);
	cr_assert_eq(otlp_encode(e, m, 2 * METRICS_SEC, WALL_NS, on_body, &b), 0);
	otlp_encoder_free(e);
	return b;
}

static void free_bodies(struct bodies *b)
{
	for (size_t i = 0; i < b->n; i++)
		otlp__export_metrics_service_request__free_unpacked(b->v[i], NULL);
}

static const Otlp__Metric *find(const struct bodies *b, size_t body, const char *name)
{
	const Otlp__ScopeMetrics *s = b->v[body]->resource_metrics[0]->scope_metrics[0];

	for (size_t i = 0; i < s->n_metrics; i++)
		if (!strcmp(s->metrics[i]->name, name))
			return s->metrics[i];
	return NULL;
}

static const char *attribute(Otlp__KeyValue **list, size_t n, const char *key)
{
	const char *found = NULL;

	for (size_t i = 0; i < n; i++) {
		if (strcmp(list[i]->key, key))
			continue;
		cr_assert_null(found, "'%s' twice", key);
		found = list[i]->value->string_value;
	}
	return found;
}

Test(sink_otlp_encode, who_sends)
{
	struct metrics *m = new_metrics((struct metrics_options){0});
	struct loop_record r = a_record("redis", 10);
	struct bodies b;
	Otlp__ResourceMetrics *rm;

	take(m, &r, 1, METRICS_SEC);
	b = encode(m);
	cr_assert_eq(b.n, 1);
	cr_assert_eq(b.v[0]->n_resource_metrics, 1);
	rm = b.v[0]->resource_metrics[0];
	cr_assert_str_eq(attribute(rm->resource->attributes, rm->resource->n_attributes, "service.name"), "loopscope");
	cr_assert_str_eq(attribute(rm->resource->attributes, rm->resource->n_attributes, "host.name"), "h\"1\"");
	cr_assert_eq(rm->n_scope_metrics, 1);
	cr_assert_str_eq(rm->scope_metrics[0]->scope->name, "loopscope");
	cr_assert_str_eq(rm->scope_metrics[0]->scope->version, "9.9");
	free_bodies(&b);
	metrics_free(m);
}

Test(sink_otlp_encode, counters_are_monotonic_sums_since_their_start)
{
	struct metrics *m = new_metrics((struct metrics_options){0});
	struct loop_record r = a_record("redis", 10);
	const Otlp__Metric *s;
	struct bodies b;
	double sum = 0;

	take(m, &r, 1, METRICS_SEC);
	take(m, &r, 1, 2 * METRICS_SEC);
	b = encode(m);
	s = find(&b, 0, "loopscope_loop_seconds");
	cr_assert(s && s->sum && !s->gauge && !s->histogram);
	cr_assert_str_eq(s->unit, "s");
	cr_assert(*s->description);
	cr_assert(s->sum->is_monotonic);
	cr_assert_eq(s->sum->aggregation_temporality, OTLP__AGGREGATION_TEMPORALITY__AGGREGATION_TEMPORALITY_CUMULATIVE);
	for (size_t i = 0; i < s->sum->n_data_points; i++) {
		const Otlp__NumberDataPoint *p = s->sum->data_points[i];

		cr_assert_str_eq(attribute(p->attributes, p->n_attributes, "comm"), "redis");
		cr_assert(attribute(p->attributes, p->n_attributes, "state"));
		cr_assert_eq(p->time_unix_nano, WALL_NS);
		cr_assert(p->start_time_unix_nano >= UINT64_C(1700000000000000000) && p->start_time_unix_nano < WALL_NS);
		sum += p->as_double;
		if (!strcmp(attribute(p->attributes, p->n_attributes, "state"), "idle"))
			assert_value(p->as_double, 1.2);
	}
	assert_value(sum, 2.0);
	free_bodies(&b);
	metrics_free(m);
}

Test(sink_otlp_encode, gauges_have_no_start_and_infos_are_one)
{
	static const struct metric_family build = {"loopscope_build", "", METRIC_INFO, "What this is."},
					   ratio = {"loopscope_fill_ratio", "ratio", METRIC_GAUGE, "How full."};
	static const struct metric_label labels[] = {{"version", "1.2"}};
	struct metrics *m = new_metrics((struct metrics_options){0});
	const Otlp__Metric *g;
	struct bodies b;

	cr_assert_eq(metrics_own(m, &build, labels, 1, 1), 0);
	cr_assert_eq(metrics_own(m, &ratio, NULL, 0, .25), 0);
	b = encode(m);
	g = find(&b, 0, "loopscope_build_info");
	cr_assert(g && g->gauge && !g->sum);
	cr_assert_eq(g->gauge->data_points[0]->as_double, 1);
	cr_assert_str_eq(attribute(g->gauge->data_points[0]->attributes, 1, "version"), "1.2");
	g = find(&b, 0, "loopscope_fill_ratio");
	cr_assert(g && g->gauge);
	cr_assert_str_eq(g->unit, "1");
	cr_assert_eq(g->gauge->n_data_points, 1);
	cr_assert_eq(g->gauge->data_points[0]->n_attributes, 0);
	cr_assert_not(g->gauge->data_points[0]->has_start_time_unix_nano);
	cr_assert_float_eq(g->gauge->data_points[0]->as_double, .25, 0);
	free_bodies(&b);
	metrics_free(m);
}

Test(sink_otlp_encode, histograms_bucket_by_bucket)
{
	_cleanup_free_ struct hist *h = calloc(1, sizeof(*h));
	_cleanup_free_ struct hist_packed *p = NULL;
	struct metrics *m = new_metrics((struct metrics_options){0});
	struct loop_record r = a_measured_record("node", 11, 50);
	const Otlp__HistogramDataPoint *point;
	const Otlp__Metric *s;
	struct bodies b;
	uint64_t sum = 0;

	hist_add_n(h, 1000, 30);
	hist_add_n(h, 5000000, 20);
	p = hist_pack(h);
	r.tick_hist = p;
	take(m, &r, 1, METRICS_SEC);
	b = encode(m);
	s = find(&b, 0, "loopscope_loop_tick_duration_seconds");
	cr_assert(s && s->histogram && !s->sum && !s->gauge);
	cr_assert_eq(s->histogram->aggregation_temporality, OTLP__AGGREGATION_TEMPORALITY__AGGREGATION_TEMPORALITY_CUMULATIVE);
	cr_assert_eq(s->histogram->n_data_points, 1);
	point = s->histogram->data_points[0];
	cr_assert_eq(point->count, 50);
	cr_assert_float_eq(point->sum, .10003, 2e-3);
	cr_assert_eq(point->n_bucket_counts, point->n_explicit_bounds + 1);
	for (size_t i = 0; i < point->n_bucket_counts; i++)
		sum += point->bucket_counts[i];
	cr_assert_eq(sum, 50);
	cr_assert_eq(point->bucket_counts[0], 30, "1 us is below the first bound");
	for (size_t i = 1; i < point->n_explicit_bounds; i++)
		cr_assert_gt(point->explicit_bounds[i], point->explicit_bounds[i - 1]);
	for (size_t i = 1; i < point->n_explicit_bounds; i++)
		if (point->bucket_counts[i])
			cr_assert(point->explicit_bounds[i - 1] < .005 && point->explicit_bounds[i] >= .005);
	free_bodies(&b);
	metrics_free(m);
}

#define MANY 900

/* Bodies are bounded, hold every point once, and a metric that goes on in the next one has its head again. */
Test(sink_otlp_encode, many_loops_in_several_bodies)
{
	struct metrics *m = new_metrics((struct metrics_options){.pid_label = true});
	_cleanup_free_ struct loop_record *loops = calloc(MANY, sizeof(*loops));
	struct shown sh;
	struct bodies b;
	double sum = 0;
	size_t points = 0;

	for (uint32_t i = 0; i < MANY; i++)
		loops[i] = a_record("a name\"\\\n\x1b\xff", 100 + i);
	take(m, loops, MANY, METRICS_SEC);
	sh = show(m, 2 * METRICS_SEC);
	b = encode(m);
	cr_assert_eq(b.points, sh.samples);
	cr_assert_geq(b.n, sh.samples / OTLP_POINTS_MAX);
	cr_assert_lt(b.largest, 4 * 1024 * 1024);
	for (size_t i = 0; i < b.n; i++) {
		const Otlp__Metric *s = find(&b, i, "loopscope_loop_seconds");

		for (size_t j = 0; s && j < s->sum->n_data_points; j++, points++)
			sum += s->sum->data_points[j]->as_double;
	}
	cr_assert_eq(points, 5 * MANY);
	cr_assert_float_eq(sum, MANY, 1e-6);
	free(sh.text);
	free_bodies(&b);
	metrics_free(m);
}

Test(sink_otlp_encode, nothing_to_say_is_no_body)
{
	static const struct metric_family none = {"loopscope_none", "", METRIC_GAUGE, "Nothing."};
	struct metrics *m = new_metrics((struct metrics_options){0});
	struct shown sh = show(m, METRICS_SEC);
	struct bodies b = encode(m);

	cr_assert_eq(metrics_own(m, &none, NULL, 0, NAN), 0);
	cr_assert_eq(b.points, sh.samples);
	cr_assert_eq(b.n, sh.samples ? 1 : 0);
	free(sh.text);
	free_bodies(&b);
	metrics_free(m);
}

Test(sink_otlp_encode, goes_on_after_a_failure)
{
	struct metrics *m = new_metrics((struct metrics_options){.pid_label = true});
	_cleanup_free_ struct loop_record *loops = calloc(MANY, sizeof(*loops));
	struct otlp_encode_options o = {.version = "1"};
	struct bodies b = {.fail_at = 2}, again = {0};
	struct otlp_encoder *e = NULL;

	for (uint32_t i = 0; i < MANY; i++)
		loops[i] = a_record("redis", 100 + i);
	take(m, loops, MANY, METRICS_SEC);
	cr_assert_eq(otlp_encoder_new(&o, &e), 0);
	cr_assert_eq(otlp_encode(e, m, 2 * METRICS_SEC, WALL_NS, on_body, &b), -EIO);
	cr_assert_eq(b.n, 1);
	cr_assert_eq(otlp_encode(e, m, 2 * METRICS_SEC, WALL_NS, on_body, &again), 0);
	cr_assert_gt(again.points, 5 * MANY);
	otlp_encoder_free(e);
	free_bodies(&b);
	free_bodies(&again);
	metrics_free(m);
}
