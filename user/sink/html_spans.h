/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * html_spans.h - every span of the time line, packed into the page; gaps as rows.
 *
 * Spans of one lane are gathered, and written as one piece when there are enough: base64 of zlib of
 *
 *     u32 n   u8 bytes of a pause   u8 of a length   u8 of a value   u8 0   f64 first   u32 n_flags
 *     pauses, lengths, values: for each all the lowest bytes, then all the next ones, ...
 *     n_flags times u32 index, n_flags times u8 flags (HTML_SPAN_*)
 *
 * all little-endian, times in units of `unit_ns` of the page. A span begins its pause after the end of the one before, the first
 * after `first`. Values (zigzag) are there for marks only. Bytes of one weight stand together, as the low ones look random to a
 * compressor and the high ones hardly change: that is what brings a tick to some two bytes.
 */
#ifndef LOOPSCOPE_SINK_HTML_SPANS_H
#define LOOPSCOPE_SINK_HTML_SPANS_H

#include "sink/html_part.h"
#include "sink/html_survey.h"

enum html_span_flag {
	HTML_SPAN_SLOW = 1,
	HTML_SPAN_OPEN = 2,
	HTML_SPAN_UNSURE = 4,
	HTML_SPAN_READY = 8,
	HTML_SPAN_ALIVE = 16,
};

int html_spans(struct html_page *p, const struct html_survey *s, struct fault *f);
int html_gaps(struct html_page *p, struct fault *f); /* element "gaps" */

#endif
