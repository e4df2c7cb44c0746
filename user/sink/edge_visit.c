/* SPDX-License-Identifier: BSD-2-Clause */
/* edge_visit.c - see edge_visit.h. */
#include "sink/edge_visit.h"

#include <errno.h>

int edge_visit(struct recording_view *v, const struct recording_select *s, timeline_edge_fn fn, void *arg, struct fault *f)
{
	struct timeline_edges *edges;
	int err, end = 0;

	if (timeline_edges_new(fn, arg, &edges))
		return fault(f, -ENOMEM, EXIT_FAILED, "no memory for the time line");
	err = recording_spans(v, s, timeline_edges_span, edges, f);
	if (!err || err == -EINTR)
		end = timeline_edges_end(edges);
	timeline_edges_free(edges);
	err = end ? end : err;
	if (err == -EINVAL)
		return fault(f, err, EXIT_FAILED, "the recording's time line is out of order: it can't be shown as a trace");
	if (err == -ENOMEM)
		return fault(f, err, EXIT_FAILED, "no memory for the spans that are open at one time");
	return err;
}
