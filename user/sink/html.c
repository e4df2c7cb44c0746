/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * html.c - the order of the page; see html.h.
 *
 * The data that the first picture needs stands before the page's program, the spans after it: a browser shows the loops and their
 * load while it still reads the time line.
 */
#include "sink/html.h"

#include "sink/html_facts.h"
#include "sink/html_part.h"
#include "sink/html_records.h"
#include "sink/html_spans.h"
#include "sink/html_survey.h"
#include "sink/output.h"

static int piece(struct html_page *p, const struct html_piece *of, struct fault *f)
{
	return output_write(p->out, (const char *)of->bytes, of->n, f);
}

static int data(struct html_page *p, struct html_survey *survey, struct fault *f)
{
	int err = html_survey(p, survey, f);

	if (!err)
		err = html_loops(p, f);
	if (!err)
		err = html_tasks(p, f);
	if (!err)
		err = html_slow(p, f);
	if (!err)
		err = html_states(p, f);
	if (!err)
		err = html_gaps(p, f);
	if (!err)
		err = html_names_rows(p, f);
	return err ? err : html_facts(p, survey, f);
}

int html_write(struct recording_view *v, const struct recording_select *sel, FILE *out, struct fault *f)
{
	const struct recording_host *host = recording_host(v);
	struct html_page p = { .out = out, .view = v, .select = sel };
	struct html_survey survey = { 0 };
	int err;

	p.from_ns = sel->from_ns > host->start_ns ? sel->from_ns : host->start_ns;
	p.to_ns = sel->to_ns < host->end_ns ? sel->to_ns : host->end_ns;
	if (p.to_ns <= p.from_ns)
		p.to_ns = p.from_ns + 1;
	err = piece(&p, &html_head, f);
	if (!err)
		err = data(&p, &survey, f);
	if (!err)
		err = piece(&p, &html_middle, f);
	if (!err)
		err = html_spans(&p, &survey, f);
	if (!err)
		err = piece(&p, &html_tail, f);
	if (!err)
		err = output_flush(out, f);
	html_survey_free(&survey);
	html_names_free(&p.names);
	json_writer_free(&p.json);
	return err;
}
