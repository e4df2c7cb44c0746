/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * html_part.h - what the parts of the HTML report share: the page that is being written, and how data is put into it.
 *
 * Data stands in <script> elements that are never run, as JSON or as base64. JSON is put together with json_value.h and leaves
 * here with each '<' as an escape, so that no name can end its element. What the page reads is said in user/sink/html/README.md.
 */
#ifndef LOOPSCOPE_SINK_HTML_PART_H
#define LOOPSCOPE_SINK_HTML_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/fault.h"
#include "model/recording.h"
#include "sink/html_names.h"
#include "sink/json_value.h"

struct html_page {
	FILE *out;
	struct json_writer json; /* what is being put together */
	bool comma;              /* an element of the array stands before */
	struct html_names names;
	struct recording_view *view;
	const struct recording_select *select;
	int64_t from_ns, to_ns; /* of what is shown; times in the page count from from_ns */
	uint64_t slow_left_out; /* slow ticks for which there was no room */
};

/* The page's own parts, made at build time by user/sink/html/build.py: up to the data, from there to the spans, the rest. */
struct html_piece {
	const unsigned char *bytes;
	size_t n;
};
extern const struct html_piece html_head, html_middle, html_tail;

/* An element of data named id: {"columns":[...],"rows":[ */
int html_rows_begin(struct html_page *p, const char *id, const char *const *columns, struct fault *f);
/* One row: begin, put values with p->json, end. */
void html_row_begin(struct html_page *p);
int html_row_end(struct html_page *p, struct fault *f);
int html_rows_end(struct html_page *p, struct fault *f);

/* An element of data that is one object. */
int html_object_begin(struct html_page *p, const char *id, struct fault *f);
int html_object_end(struct html_page *p, struct fault *f);

/* Writes what has been put together so far. */
int html_json_flush(struct html_page *p, struct fault *f);

/* Time in the page: nanoseconds from its begin. */
static inline int64_t html_time(const struct html_page *p, int64_t ns)
{
	return ns - p->from_ns;
}

/* What a lane's time line is made of: spans during which its wire is high. Gaps are shown beside them. */
static inline bool html_is_wire(enum span_kind k)
{
	return k != SPAN_IO_WAIT && k != SPAN_GAP;
}

#endif
