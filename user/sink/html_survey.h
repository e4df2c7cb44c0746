/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * html_survey.h - one look at all spans before they are written: what each lane's add up to, how fine their times can be shown in
 * a page of bearable size, and, on the way, the heat map of durations over time.
 *
 * Where there are so many spans that a page could not hold them, the shortest are left out of its time line, and how many is told;
 * sums, quantiles and the heat map are of all.
 */
#ifndef LOOPSCOPE_SINK_HTML_SURVEY_H
#define LOOPSCOPE_SINK_HTML_SURVEY_H

#include "model/hist.h"
#include "sink/html_part.h"

struct html_lane_sums {
	uint64_t spans;    /* high ones: html_is_wire() */
	uint64_t slow;
	uint64_t high_ns;  /* within what is shown */
	struct hist *all;  /* lengths in nanoseconds, net where that is known; NULL while there are none */
	struct hist *column;
};

struct html_survey {
	struct html_lane_sums *lanes; /* by lane index */
	size_t n_lanes;
	int64_t unit_ns;     /* times of spans are rounded down to this */
	int64_t shortest_ns; /* spans below it are not in the time line; 0: all are */
	uint64_t shown, left_out;
};

/* Writes the heat map as element "heat". *ret is freed by html_survey_free() also after an error. */
int html_survey(struct html_page *p, struct html_survey *ret, struct fault *f);
void html_survey_free(struct html_survey *s);

/* Of a column of the heat map. */
int64_t html_heat_width(const struct html_page *p);

#endif
