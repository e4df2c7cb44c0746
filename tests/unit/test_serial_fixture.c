/* SPDX-License-Identifier: BSD-2-Clause */
/* test_serial_fixture.c - see test_serial_fixture.h. */
#include "test_serial_fixture.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"

#define DATA LOOPSCOPE_SRCDIR "/tests/data/serial/"

static void keep_edge(void *arg, const struct board_edge *e)
{
	struct serial_run *r = arg;
	struct kept_edge *k;

	if (r->n_edges == r->room) {
		r->room = r->room ? 2 * r->room : 4096;
		r->edges = realloc(r->edges, r->room * sizeof(*r->edges));
		cr_assert_not_null(r->edges);
	}
	k = &r->edges[r->n_edges++];
	*k = (struct kept_edge){ .kind = e->kind, .class = e->class, .id = e->id, .start = e->start, .end = e->end,
				 .net = e->net, .value = e->value, .clean = e->clean, .open = e->open };
	snprintf(k->name, sizeof(k->name), "%s", e->name);
}

static void on_event(void *arg, const struct board_event *ev)
{
	struct serial_run *r = arg;

	r->n_events++;
	r->last_t = ev->t;
	if (ev->kind == BOARD_NAME && r->n_names < ARRAY_SIZE(r->names)) {
		struct kept_name *n = &r->names[r->n_names++];

		*n = (struct kept_name){ .class = ev->u.name.class, .id = ev->id, .address = ev->u.name.address };
		snprintf(n->text, sizeof(n->text), "%s", ev->u.name.text);
	}
	board_event(r->board, ev);
}

static void on_console(void *arg, const uint8_t *p, size_t n)
{
	struct serial_run *r = arg;

	r->console = realloc(r->console, r->n_console + n + 1);
	cr_assert_not_null(r->console);
	memcpy(r->console + r->n_console, p, n);
	r->n_console += n;
	r->console[r->n_console] = 0;
}

struct serial_run *serial_run_new(enum serial_protocol p, const struct board_options *o)
{
	struct serial_run *r = calloc(1, sizeof(*r));
	struct board_options bo = o ? *o : (struct board_options){ 0 };
	struct serial_out out = { .event = on_event, .console = on_console, .arg = r };

	cr_assert_not_null(r);
	if (!bo.label)
		bo.label = "board0";
	bo.edge = keep_edge;
	bo.arg = r;
	cr_assert_eq(board_new(&bo, &r->board), 0);
	cr_assert_eq(serial_stream_new(p, &out, &r->stream), 0);
	return r;
}

void serial_run_free(struct serial_run *r)
{
	if (!r)
		return;
	serial_stream_free(r->stream);
	board_free(r->board);
	free(r->edges);
	free(r->console);
	free(r);
}

uint8_t *serial_data(const char *name, size_t *ret_n)
{
	char path[512];
	_cleanup_fclose_ FILE *f = NULL;
	uint8_t *p;
	long n;

	snprintf(path, sizeof(path), DATA "%s", name);
	f = fopen(path, "rb");
	cr_assert_not_null(f, "%s", path);
	fseek(f, 0, SEEK_END);
	n = ftell(f);
	rewind(f);
	cr_assert_gt(n, 0);
	p = malloc((size_t)n);
	cr_assert_not_null(p);
	cr_assert_eq(fread(p, 1, (size_t)n, f), (size_t)n);
	*ret_n = (size_t)n;
	return p;
}

uint64_t *serial_times(const char *name, size_t n)
{
	char path[512];
	_cleanup_fclose_ FILE *f = NULL;
	uint64_t *t = calloc(n, sizeof(*t));

	cr_assert_not_null(t);
	snprintf(path, sizeof(path), DATA "%s", name);
	f = fopen(path, "r");
	cr_assert_not_null(f, "%s", path);
	for (size_t i = 0; i < n; i++)
		cr_assert_eq(fscanf(f, "%lu", &t[i]), 1, "%s line %zu", path, i + 1);
	return t;
}

json_t *serial_expect(const char *name)
{
	char path[512];
	json_error_t err;
	json_t *j;

	snprintf(path, sizeof(path), DATA "%s", name);
	j = json_load_file(path, 0, &err);
	cr_assert_not_null(j, "%s: %s", path, err.text);
	return j;
}

void serial_run_feed(struct serial_run *r, const uint8_t *p, size_t n, size_t piece)
{
	for (size_t i = 0; i < n; i += piece)
		serial_stream_feed(r->stream, p + i, n - i < piece ? n - i : piece, CLOCK_UNKNOWN);
	serial_stream_end(r->stream);
}

void serial_run_feed_timed(struct serial_run *r, const uint8_t *p, size_t n, const uint64_t *times, uint64_t t0)
{
	for (size_t i = 0; i < n; i++)
		serial_stream_feed(r->stream, p + i, 1, t0 + times[i]);
	serial_stream_end(r->stream);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

struct kept_stats serial_stats_of(const struct serial_run *r, enum board_edge_kind kind, uint32_t id, bool net)
{
	_cleanup_free_ uint64_t *v = calloc(r->n_edges + 1, sizeof(*v));
	struct kept_stats s = { 0 };

	cr_assert_not_null(v);
	for (size_t i = 0; i < r->n_edges; i++) {
		const struct kept_edge *e = &r->edges[i];

		if (e->kind != kind || !e->clean || e->open || e->id != id)
			continue;
		v[s.n] = net ? e->net : e->end - e->start;
		s.total += v[s.n++];
	}
	if (!s.n)
		return s;
	qsort(v, s.n, sizeof(*v), compare);
	s.min = v[0];
	s.max = v[s.n - 1];
	s.median = s.n % 2 ? (double)v[s.n / 2] : ((double)v[s.n / 2 - 1] + (double)v[s.n / 2]) / 2;
	return s;
}

static double number(const json_t *o, const char *key, const char *what)
{
	const json_t *v = json_object_get(o, key);

	cr_assert(json_is_number(v), "%s: no %s", what, key);
	return json_number_value(v);
}

static void check(const struct kept_stats *s, const json_t *want, double scale, double tolerance, const char *what)
{
	cr_assert_float_eq((double)s->total * scale, number(want, "total", what), tolerance, "%s total %lu", what, s->total);
	cr_assert_float_eq((double)s->min * scale, number(want, "min", what), tolerance, "%s min %lu", what, s->min);
	cr_assert_float_eq((double)s->max * scale, number(want, "max", what), tolerance, "%s max %lu", what, s->max);
	cr_assert_float_eq(s->median * scale, number(want, "median", what), tolerance, "%s median %f", what, s->median);
}

void serial_check_ticks(const struct kept_stats *s, const json_t *want, const char *what)
{
	cr_assert_eq(s->n, (size_t)number(want, "n", what), "%s n: %zu", what, s->n);
	if (s->n)
		check(s, json_object_get(want, "ticks"), 1, 0.01, what);
}

/* The files round microseconds to two decimals. */
void serial_check_us(const struct kept_stats *s, const json_t *want, double ns, const char *what)
{
	cr_assert_eq(s->n, (size_t)number(want, "n", what), "%s n: %zu", what, s->n);
	if (s->n)
		check(s, want, ns / 1000, 0.0051, what);
}

const struct task_record *serial_task(const struct board_report *r, enum task_kind kind, uint32_t id)
{
	for (size_t i = 0; i < r->n_tasks; i++)
		if (r->tasks[i].kind == kind && r->tasks[i].id == id)
			return &r->tasks[i];
	cr_assert_fail("no task %u", id);
	return NULL;
}
