/* SPDX-License-Identifier: BSD-2-Clause */
/* html_states.c - what sources said of themselves last, as the JSON report has it: counts are since they were opened. */
#include <errno.h>
#include <stdlib.h>

#include "sink/html_records.h"
#include "sink/json_record.h"

struct states {
	struct html_page *page;
	int64_t *last; /* by source: when it spoke last; INT64_MIN never */
	size_t n;
	bool show;
	struct fault *f;
};

static int on_state(void *arg, const struct recording_state *r)
{
	struct states *s = arg;
	struct html_page *p = s->page;

	if (r->source >= s->n)
		return 0;
	if (!s->show) {
		s->last[r->source] = r->at_ns;
		return 0;
	}
	if (r->at_ns != s->last[r->source])
		return 0;
	s->last[r->source] = INT64_MIN; /* once */
	html_row_begin(p);
	json_put_integer(&p->json, NULL, r->source);
	json_put_integer(&p->json, NULL, html_time(p, r->at_ns));
	json_object_begin(&p->json, NULL);
	json_source_fields(&p->json, r->record);
	json_object_end(&p->json);
	return html_row_end(p, s->f);
}

int html_states(struct html_page *p, struct fault *f)
{
	static const char *const columns[] = { "source", "at", "state", NULL };
	struct states s = { .page = p, .f = f };
	int err;

	(void)recording_sources(p->view, &s.n);
	s.last = malloc((s.n + 1) * sizeof(*s.last));
	if (!s.last)
		return fault(f, -ENOMEM, EXIT_FAILED, "no memory for the HTML report; choose a shorter range, or free some");
	for (size_t i = 0; i < s.n; i++)
		s.last[i] = INT64_MIN;
	err = html_rows_begin(p, "states", columns, f);
	if (!err)
		err = recording_states(p->view, p->select, on_state, &s, f);
	s.show = true;
	if (!err)
		err = recording_states(p->view, p->select, on_state, &s, f);
	free(s.last);
	return err ? err : html_rows_end(p, f);
}
