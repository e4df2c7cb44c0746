/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * html_records.h - interval records of loops and tasks, slow ticks and what sources say of themselves, as rows of the page.
 *
 * Intervals are merged where there are more than a screen could show: shares weighted by time, counts added, of quantiles the
 * worst, as the whole's can't be known from the parts'; how many are in a row stands in it. Unknown is null.
 */
#ifndef LOOPSCOPE_SINK_HTML_RECORDS_H
#define LOOPSCOPE_SINK_HTML_RECORDS_H

#include "sink/html_part.h"

int html_loops(struct html_page *p, struct fault *f);  /* element "loops" */
int html_tasks(struct html_page *p, struct fault *f);  /* element "tasks" */
int html_slow(struct html_page *p, struct fault *f);   /* element "slow" */
int html_states(struct html_page *p, struct fault *f); /* element "states": the last of each source */

/* A share of time that is taken from several intervals. */
struct html_mean {
	double sum, weight;
};

static inline void html_mean_add(struct html_mean *m, double share, double seconds)
{
	if (share != share) /* NAN: unknown */
		return;
	m->sum += share * seconds;
	m->weight += seconds;
}

void html_put_mean(struct json_writer *w, const struct html_mean *m); /* in units of 1e-5 */
void html_put_nanos(struct json_writer *w, double us);               /* microseconds as nanoseconds */

/* Which stretch of the page a record belongs to: those of one number are merged. */
int64_t html_stretch(const struct html_page *p, int64_t end_ns);

/* The worse of two, either may be unknown. */
static inline double html_worse(double a, double b)
{
	return a != a || b > a ? b : a;
}

static inline int64_t html_total(int64_t a, int64_t b)
{
	return b < 0 ? a : a < 0 ? b : a + b;
}

#endif
