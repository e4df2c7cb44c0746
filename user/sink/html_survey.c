/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * html_survey.c - see html_survey.h.
 *
 * The page's size is estimated from logarithms: a value of k bits below its leading one costs those k bits, which look random to
 * a compressor, and what it takes to tell k from the others. Halving the resolution saves a bit of each value.
 */
#include "sink/html_survey.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define HEAT_COLUMNS 160
#define HEAT_BIN_SHIFT 3 /* 8 of the histogram's buckets are one row: 4 rows an octave, as fine as the eye needs */
/* What the time line may take of the page, and how many spans a browser still moves about at ease. */
#define SPANS_BYTES 10e6
#define SPANS_MAX 8000000u
#define BASE64_BITS 6.0 /* of data in each byte of text */
#define OCTAVES 64

struct survey {
	struct html_page *page;
	struct html_survey *sum;
	int64_t width_ns;
	int64_t column; /* the one that is being filled */
	int64_t *ends;  /* by lane: where its last span ended */
	uint64_t lengths[OCTAVES], pauses[OCTAVES];
	struct hist all;
	struct fault *f;
};

static int no_memory(struct fault *f)
{
	return fault(f, -ENOMEM, EXIT_FAILED, "no memory for the HTML report; choose a shorter range, or free some");
}

static int octave(uint64_t v)
{
	return v ? 64 - __builtin_clzll(v) - 1 : 0;
}

/* --- heat map ---------------------------------------------------------------------------------------------------------- */

static void put_counts(struct json_writer *w, const struct hist *h)
{
	unsigned from = hist_bucket(h->min) >> HEAT_BIN_SHIFT, to = hist_bucket(h->max) >> HEAT_BIN_SHIFT;

	json_put_integer(w, NULL, from);
	for (unsigned bin = from; bin <= to; bin++) {
		uint64_t n = 0;

		for (unsigned i = bin << HEAT_BIN_SHIFT; i < (bin + 1) << HEAT_BIN_SHIFT && i < HIST_BUCKETS; i++)
			n += h->bucket[i];
		json_put_integer(w, NULL, (int64_t)n);
	}
}

static int column_end(struct survey *s)
{
	struct html_page *p = s->page;
	int err = 0;

	for (size_t i = 0; i < s->sum->n_lanes && !err; i++) {
		struct hist *h = s->sum->lanes[i].column;

		if (!h || !h->n)
			continue;
		html_row_begin(p);
		json_put_integer(&p->json, NULL, (int64_t)i);
		json_put_integer(&p->json, NULL, s->column);
		json_put_integer(&p->json, NULL, (int64_t)h->n);
		json_put_integer(&p->json, NULL, (int64_t)hist_quantile(h, 0.5));
		json_put_integer(&p->json, NULL, (int64_t)hist_quantile(h, 0.9));
		json_put_integer(&p->json, NULL, (int64_t)hist_quantile(h, 0.99));
		json_put_integer(&p->json, NULL, (int64_t)h->max);
		put_counts(&p->json, h);
		err = html_row_end(p, s->f);
		hist_reset(h);
	}
	return err;
}

/* --- spans ------------------------------------------------------------------------------------------------------------- */

static int lane_ready(struct survey *s, struct html_lane_sums *lane)
{
	if (!lane->all)
		lane->all = calloc(1, sizeof(*lane->all));
	if (!lane->column)
		lane->column = calloc(1, sizeof(*lane->column));
	return lane->all && lane->column ? 0 : no_memory(s->f);
}

static int64_t within(const struct html_page *p, const struct timeline_span *span)
{
	int64_t from = span->start_ns > p->from_ns ? span->start_ns : p->from_ns;
	int64_t to = span->end_ns < p->to_ns ? span->end_ns : p->to_ns;

	return to > from ? to - from : 0;
}

static int on_span(void *arg, const struct timeline_span *span)
{
	struct survey *s = arg;
	struct html_lane_sums *lane = &s->sum->lanes[span->lane];
	int64_t column = html_time(s->page, span->start_ns) / s->width_ns, length = span->end_ns - span->start_ns, pause;
	uint64_t own = (uint64_t)(span->net_ns >= 0 ? span->net_ns : length);
	int err;

	if (!html_is_wire(span->kind))
		return 0;
	err = lane_ready(s, lane);
	if (!err && column > s->column) {
		err = column_end(s);
		s->column = column;
	}
	if (err)
		return err;
	pause = span->start_ns - s->ends[span->lane];
	s->ends[span->lane] = span->end_ns;
	s->pauses[octave(pause > 0 ? (uint64_t)pause : 0)]++;
	s->lengths[octave((uint64_t)length)]++;
	hist_add(&s->all, (uint64_t)length);
	lane->spans++;
	lane->slow += span->slow;
	lane->high_ns += (uint64_t)within(s->page, span);
	if (span->kind == SPAN_MARK || span->kind == SPAN_READY)
		return 0;
	hist_add(lane->all, own);
	hist_add(lane->column, own);
	return 0;
}

/* --- how fine ---------------------------------------------------------------------------------------------------------- */

static double bits_of(const uint64_t n[OCTAVES], double unit)
{
	double total = 0, bits = 0;

	for (int k = 0; k < OCTAVES; k++)
		total += (double)n[k];
	for (int k = 0; k < OCTAVES; k++) {
		double below = k - log2(unit);

		if (n[k])
			bits += (double)n[k] * (log2(total / (double)n[k]) + (below > 0 ? below : 0));
	}
	return bits;
}

/* 1, 2, 5, 10, ... ns: the first at which the page is not too large. */
static int64_t choose_unit(const struct survey *s, double part)
{
	static const int64_t steps[] = { 1, 2, 5 };

	for (int64_t tens = 1; tens < 1000000; tens *= 10)
		for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
			double unit = (double)(tens * steps[i]);
			double bits = bits_of(s->lengths, unit) + bits_of(s->pauses, unit);

			if (bits * part / BASE64_BITS < SPANS_BYTES)
				return tens * steps[i];
		}
	return 1000000;
}

/* The longest are what somebody looks for. */
static void choose_shortest(const struct survey *s)
{
	struct html_survey *sum = s->sum;

	sum->shown = s->all.n;
	if (s->all.n <= SPANS_MAX)
		return;
	for (unsigned b = 0; b < HIST_BUCKETS && sum->shown > SPANS_MAX; b++) {
		sum->shown -= s->all.bucket[b];
		sum->shortest_ns = (int64_t)hist_bucket_high(b) + 1;
	}
	sum->left_out = s->all.n - sum->shown;
}

static int survey_spans(struct survey *s)
{
	static const char *const columns[] = { "lane", "column", "n", "p50", "p90", "p99", "max", "first", "counts", NULL };
	int err = html_rows_begin(s->page, "heat", columns, s->f);

	if (!err)
		err = recording_spans(s->page->view, s->page->select, on_span, s, s->f);
	if (!err)
		err = column_end(s);
	return err ? err : html_rows_end(s->page, s->f);
}

int html_survey(struct html_page *p, struct html_survey *ret, struct fault *f)
{
	struct survey *s = calloc(1, sizeof(*s));
	int err;

	*ret = (struct html_survey){ 0 };
	(void)recording_lanes(p->view, &ret->n_lanes);
	ret->lanes = calloc(ret->n_lanes + 1, sizeof(*ret->lanes));
	if (s)
		s->ends = calloc(ret->n_lanes + 1, sizeof(*s->ends));
	if (!s || !s->ends || !ret->lanes) {
		err = no_memory(f);
	} else {
		s->page = p;
		s->sum = ret;
		s->f = f;
		s->width_ns = html_heat_width(p);
		for (size_t i = 0; i < ret->n_lanes; i++)
			s->ends[i] = p->from_ns;
		err = survey_spans(s);
		choose_shortest(s);
		ret->unit_ns = choose_unit(s, s->all.n ? (double)ret->shown / (double)s->all.n : 1);
	}
	if (s)
		free(s->ends);
	free(s);
	return err;
}

int64_t html_heat_width(const struct html_page *p)
{
	int64_t width = (p->to_ns - p->from_ns) / HEAT_COLUMNS;

	return width > 0 ? width : 1;
}

void html_survey_free(struct html_survey *s)
{
	for (size_t i = 0; s->lanes && i < s->n_lanes; i++) {
		free(s->lanes[i].all);
		free(s->lanes[i].column);
	}
	free(s->lanes);
	*s = (struct html_survey){ 0 };
}
