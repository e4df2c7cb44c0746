/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * otlp_encode.c - see otlp_encode.h. Units are UCUM's, as OpenTelemetry wants them. A count has none: with "1" a translation to
 * Prometheus' names would append "_ratio" to a gauge's.
 */
#include "sink/otlp_encode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/arena.h"
#include "lib/cleanup.h"
#include "sink/otlp.pb-c.h"

/* A message of the arena's, its fields unset; NULL where there is no memory. */
#define NEW(e, type, init)                                                       \
	({                                                                       \
		const type _initial = init;                                      \
		(type *)copy(e, &_initial, sizeof(_initial));                    \
	})

struct otlp_encoder {
	struct otlp_encode_options o;
	struct arena arena; /* all of one body */
	uint64_t wall_ns;
	otlp_body_fn fn;
	void *arg;
	/* the body that is being put together */
	void *points[OTLP_POINTS_MAX]; /* of all metrics, each metric's together */
	size_t n_points, n_body;       /* n_body: those of metrics that are complete */
	Otlp__Metric *metrics[OTLP_POINTS_MAX];
	size_t n_metrics;
	const struct metric_family *family; /* whose points are the last ones; NULL: none */
	const struct metric_label *labels;  /* whose attributes are below; of this body */
	Otlp__KeyValue **attributes;
};

int otlp_encoder_new(const struct otlp_encode_options *o, struct otlp_encoder **ret)
{
	struct otlp_encoder *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	e->o = *o;
	*ret = e;
	return 0;
}

void otlp_encoder_free(struct otlp_encoder *e)
{
	if (!e)
		return;
	arena_free(&e->arena);
	free(e);
}

static void *copy(struct otlp_encoder *e, const void *from, size_t n)
{
	void *p = arena_get(&e->arena, n);

	return p ? memcpy(p, from, n) : NULL;
}

/* --- attributes -----------------------------------------------------------------------------------------------------
 */

static Otlp__KeyValue *key_value(struct otlp_encoder *e, const char *key, const char *value)
{
	Otlp__AnyValue *v = NEW(e, Otlp__AnyValue, OTLP__ANY_VALUE__INIT);
	Otlp__KeyValue *kv = NEW(e, Otlp__KeyValue, OTLP__KEY_VALUE__INIT);

	if (!v || !kv)
		return NULL;
	v->string_value = arena_text(&e->arena, value, strlen(value));
	kv->key = arena_text(&e->arena, key, strlen(key));
	kv->value = v;
	return v->string_value && kv->key ? kv : NULL;
}

/* Those of a group are made once for all its points that follow each other. */
static int group_attributes(struct otlp_encoder *e, const struct metric_sample *s)
{
	Otlp__KeyValue **list;

	if (e->attributes && e->labels == s->labels)
		return 0;
	list = arena_get(&e->arena, (s->n_labels + 1) * sizeof(void *));
	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_labels; i++) {
		list[i] = key_value(e, s->labels[i].name, s->labels[i].value);
		if (!list[i])
			return -ENOMEM;
	}
	e->labels = s->labels;
	e->attributes = list;
	return 0;
}

static int attributes(struct otlp_encoder *e, const struct metric_sample *s, Otlp__KeyValue ***ret, size_t *ret_n)
{
	Otlp__KeyValue **list;

	if (group_attributes(e, s))
		return -ENOMEM;
	*ret = e->attributes;
	*ret_n = s->n_labels;
	if (!s->extra.name)
		return 0;
	list = arena_get(&e->arena, (s->n_labels + 1) * sizeof(void *));
	if (!list)
		return -ENOMEM;
	memcpy(list, e->attributes, s->n_labels * sizeof(void *));
	list[s->n_labels] = key_value(e, s->extra.name, s->extra.value);
	*ret = list;
	*ret_n = s->n_labels + 1;
	return list[s->n_labels] ? 0 : -ENOMEM;
}

/* --- points ---------------------------------------------------------------------------------------------------------
 */

static uint64_t unix_ns(double s)
{
	return s > 0 ? (uint64_t)(s * 1e9) : 0;
}

static void *number_point(struct otlp_encoder *e, const struct metric_family *f, const struct metric_sample *s)
{
	Otlp__NumberDataPoint *p = NEW(e, Otlp__NumberDataPoint, OTLP__NUMBER_DATA_POINT__INIT);

	if (!p || attributes(e, s, &p->attributes, &p->n_attributes))
		return NULL;
	p->has_start_time_unix_nano = f->type == METRIC_COUNTER;
	p->start_time_unix_nano = unix_ns(s->start_s);
	p->has_time_unix_nano = true;
	p->time_unix_nano = e->wall_ns;
	p->has_as_double = true;
	p->as_double = f->type == METRIC_INFO ? 1 : s->value;
	return p;
}

static void *histogram_point(struct otlp_encoder *e, const struct metric_sample *s)
{
	Otlp__HistogramDataPoint *p = NEW(e, Otlp__HistogramDataPoint, OTLP__HISTOGRAM_DATA_POINT__INIT);
	const struct metric_histogram *h = s->histogram;

	if (!p || attributes(e, s, &p->attributes, &p->n_attributes))
		return NULL;
	p->has_start_time_unix_nano = true;
	p->start_time_unix_nano = unix_ns(s->start_s);
	p->has_time_unix_nano = true;
	p->time_unix_nano = e->wall_ns;
	p->has_count = true;
	p->count = h->n;
	p->has_sum = true;
	p->sum = h->sum;
	p->n_bucket_counts = h->n_bounds + 1;
	p->bucket_counts = copy(e, h->count, p->n_bucket_counts * sizeof(h->count[0]));
	p->n_explicit_bounds = h->n_bounds;
	p->explicit_bounds = copy(e, h->bound, h->n_bounds * sizeof(h->bound[0]));
	return p->bucket_counts && p->explicit_bounds ? p : NULL;
}

/* --- metrics --------------------------------------------------------------------------------------------------------
 */

static const char *ucum(const char *unit)
{
	static const struct {
		const char *ours, *theirs;
	} units[] = {{"seconds", "s"}, {"bytes", "By"}, {"ratio", "1"}};

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (!strcmp(units[i].ours, unit))
			return units[i].theirs;
	return unit;
}

static char *metric_name(struct otlp_encoder *e, const struct metric_family *f)
{
	size_t n = strlen(f->name);
	char *name = arena_get(&e->arena, n + sizeof("_info"));

	if (name)
		stpcpy(stpcpy(name, f->name), f->type == METRIC_INFO ? "_info" : "");
	return name;
}

static int fill_data(struct otlp_encoder *e, Otlp__Metric *m, enum metric_type type, void **points, size_t n)
{
	const Otlp__AggregationTemporality cumulative = OTLP__AGGREGATION_TEMPORALITY__AGGREGATION_TEMPORALITY_CUMULATIVE;

	switch (type) {
	case METRIC_COUNTER:
		m->sum = NEW(e, Otlp__Sum, OTLP__SUM__INIT);
		if (!m->sum)
			return -ENOMEM;
		m->sum->data_points = (Otlp__NumberDataPoint **)points;
		m->sum->n_data_points = n;
		m->sum->has_aggregation_temporality = m->sum->has_is_monotonic = m->sum->is_monotonic = true;
		m->sum->aggregation_temporality = cumulative;
		return 0;
	case METRIC_HISTOGRAM:
		m->histogram = NEW(e, Otlp__Histogram, OTLP__HISTOGRAM__INIT);
		if (!m->histogram)
			return -ENOMEM;
		m->histogram->data_points = (Otlp__HistogramDataPoint **)points;
		m->histogram->n_data_points = n;
		m->histogram->has_aggregation_temporality = true;
		m->histogram->aggregation_temporality = cumulative;
		return 0;
	default:
		m->gauge = NEW(e, Otlp__Gauge, OTLP__GAUGE__INIT);
		if (!m->gauge)
			return -ENOMEM;
		m->gauge->data_points = (Otlp__NumberDataPoint **)points;
		m->gauge->n_data_points = n;
		return 0;
	}
}

/* The points that came since the last one become this family's metric. */
static int end_metric(struct otlp_encoder *e)
{
	const struct metric_family *f = e->family;
	Otlp__Metric *m;

	if (!f || e->n_points == e->n_body)
		return 0;
	m = NEW(e, Otlp__Metric, OTLP__METRIC__INIT);
	if (!m)
		return -ENOMEM;
	m->name = metric_name(e, f);
	m->description = arena_text(&e->arena, f->help, strlen(f->help));
	m->unit = arena_text(&e->arena, ucum(f->unit), strlen(ucum(f->unit)));
	if (!m->name || !m->description || !m->unit ||
	    fill_data(e, m, f->type, &e->points[e->n_body], e->n_points - e->n_body))
		return -ENOMEM;
	e->metrics[e->n_metrics++] = m;
	e->n_body = e->n_points;
	return 0;
}

/* --- bodies ---------------------------------------------------------------------------------------------------------
 */

static int hand_out(struct otlp_encoder *e, Otlp__ResourceMetrics *resource)
{
	Otlp__ExportMetricsServiceRequest request = OTLP__EXPORT_METRICS_SERVICE_REQUEST__INIT;
	uint8_t *bytes;
	size_t n;

	request.resource_metrics = &resource;
	request.n_resource_metrics = 1;
	n = otlp__export_metrics_service_request__get_packed_size(&request);
	bytes = malloc(n);
	if (!bytes)
		return -ENOMEM;
	otlp__export_metrics_service_request__pack(&request, bytes);
	return e->fn(e->arg, bytes, n, e->n_points);
}

static int pack(struct otlp_encoder *e)
{
	Otlp__InstrumentationScope scope = OTLP__INSTRUMENTATION_SCOPE__INIT;
	Otlp__ResourceMetrics of_resource = OTLP__RESOURCE_METRICS__INIT;
	Otlp__ScopeMetrics of_scope = OTLP__SCOPE_METRICS__INIT, *scopes[] = {&of_scope};
	Otlp__Resource resource = OTLP__RESOURCE__INIT;
	Otlp__KeyValue *list[OTLP_ATTRIBUTES_MAX];

	scope.name = (char *)"loopscope";
	scope.version = (char *)e->o.version;
	of_scope.scope = &scope;
	of_scope.metrics = e->metrics;
	of_scope.n_metrics = e->n_metrics;
	resource.attributes = list;
	while (resource.n_attributes < e->o.n_resource && resource.n_attributes < ARRAY_SIZE(list)) {
		const struct otlp_attribute *a = &e->o.resource[resource.n_attributes];

		list[resource.n_attributes] = key_value(e, a->key, a->value);
		if (!list[resource.n_attributes++])
			return -ENOMEM;
	}
	of_resource.resource = &resource;
	of_resource.scope_metrics = scopes;
	of_resource.n_scope_metrics = 1;
	return hand_out(e, &of_resource);
}

static void begin_body(struct otlp_encoder *e)
{
	arena_reset(&e->arena);
	e->n_points = e->n_body = e->n_metrics = 0;
	e->labels = NULL;
	e->attributes = NULL;
}

/* A request without points must not be sent. */
static int end_body(struct otlp_encoder *e)
{
	int err = end_metric(e);

	if (!err && e->n_points)
		err = pack(e);
	begin_body(e);
	return err;
}

static int on_family(void *arg, const struct metric_family *f)
{
	struct otlp_encoder *e = arg;
	int err = end_metric(e);

	e->family = f;
	return err;
}

static int on_sample(void *arg, const struct metric_family *f, const struct metric_sample *s)
{
	struct otlp_encoder *e = arg;
	void *point;
	int err;

	if (e->n_points == OTLP_POINTS_MAX) {
		err = end_body(e);
		if (err)
			return err;
	}
	point = f->type == METRIC_HISTOGRAM ? histogram_point(e, s) : number_point(e, f, s);
	if (!point)
		return -ENOMEM;
	e->points[e->n_points++] = point;
	return 0;
}

int otlp_encode(struct otlp_encoder *e, struct metrics *m, uint64_t now_ns, uint64_t wall_ns, otlp_body_fn fn, void *arg)
{
	static const struct metrics_visitor visitor = {.family = on_family, .sample = on_sample};
	int err;

	e->wall_ns = wall_ns;
	e->fn = fn;
	e->arg = arg;
	e->family = NULL;
	begin_body(e);
	err = metrics_visit(m, now_ns, &visitor, e);
	if (!err)
		err = end_body(e);
	e->family = NULL;
	return err;
}
