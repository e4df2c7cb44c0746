/* SPDX-License-Identifier: BSD-2-Clause */
/* html_facts.h - what the recording is, its sources and lanes with their sums, and the names that other elements number. */
#ifndef LOOPSCOPE_SINK_HTML_FACTS_H
#define LOOPSCOPE_SINK_HTML_FACTS_H

#include "sink/html_part.h"
#include "sink/html_survey.h"

int html_facts(struct html_page *p, const struct html_survey *s, struct fault *f); /* element "facts"; after all rows */
int html_names_rows(struct html_page *p, struct fault *f);                         /* element "names"; after all rows */

#endif
