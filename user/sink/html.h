/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * html.h - a recording as one page that opens anywhere, offline: `report -o html`.
 *
 * The page is written from front to end in one go: its program, facts and intervals as JSON, every span of the time line in packed
 * columns (html_spans.c). Memory does not grow with the length of the recording, only with the number of its lanes and of the
 * different names in it, and those are bounded: what does not fit is counted and shown in the page.
 *
 * Text in a recording is hostile. It reaches the page as JSON data alone, with '<' escaped, and the page forbids itself by its own
 * policy all scripts but its own and every connection.
 *
 * sel: what to show. Errors: as in output.h and recording.h.
 */
#ifndef LOOPSCOPE_SINK_HTML_H
#define LOOPSCOPE_SINK_HTML_H

#include <stdio.h>

#include "lib/fault.h"
#include "model/recording.h"

int html_write(struct recording_view *v, const struct recording_select *sel, FILE *out, struct fault *f);

#endif
