/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * html_gaps.c - stretches of which nothing is known, as rows. A line that is nothing but gaps must not make a page that is nothing
 * but rows: those beyond a number come as one row for the rest of their lane, with what was lost and how often.
 */
#include <errno.h>
#include <stdlib.h>

#include "sink/html_spans.h"

#define GAPS_MAX 20000

struct rest {
	int64_t start_ns, end_ns, lost, n;
};

struct gaps {
	struct html_page *page;
	struct rest *rest; /* by lane */
	uint64_t n;
	struct fault *f;
};

static int gap_row(struct gaps *g, size_t lane, const struct rest *r)
{
	struct json_writer *w = &g->page->json;

	html_row_begin(g->page);
	json_put_integer(w, NULL, (int64_t)lane);
	json_put_integer(w, NULL, html_time(g->page, r->start_ns));
	json_put_integer(w, NULL, html_time(g->page, r->end_ns));
	json_put_count(w, NULL, r->lost);
	json_put_integer(w, NULL, r->n);
	return html_row_end(g->page, g->f);
}

static int on_span(void *arg, const struct timeline_span *s)
{
	struct gaps *g = arg;
	struct rest *r = &g->rest[s->lane];

	if (s->kind != SPAN_GAP)
		return 0;
	if (g->n++ < GAPS_MAX)
		return gap_row(g, s->lane, &(struct rest){ s->start_ns, s->end_ns, s->value, 1 });
	if (!r->n++)
		*r = (struct rest){ s->start_ns, s->end_ns, s->value, 1 };
	if (s->end_ns > r->end_ns)
		r->end_ns = s->end_ns;
	if (r->n > 1)
		r->lost = r->lost < 0 || s->value < 0 ? -1 : r->lost + s->value;
	return 0;
}

int html_gaps(struct html_page *p, struct fault *f)
{
	static const char *const columns[] = { "lane", "start", "end", "lost", "times", NULL };
	struct gaps g = { .page = p, .f = f };
	size_t n_lanes;
	int err;

	(void)recording_lanes(p->view, &n_lanes);
	g.rest = calloc(n_lanes + 1, sizeof(*g.rest));
	if (!g.rest)
		return fault(f, -ENOMEM, EXIT_FAILED, "no memory for the HTML report; choose a shorter range, or free some");
	err = html_rows_begin(p, "gaps", columns, f);
	if (!err)
		err = recording_spans(p->view, p->select, on_span, &g, f);
	for (size_t i = 0; i < n_lanes && !err; i++)
		if (g.rest[i].n)
			err = gap_row(&g, i, &g.rest[i]);
	free(g.rest);
	return err ? err : html_rows_end(p, f);
}
