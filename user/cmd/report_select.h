/* SPDX-License-Identifier: BSD-2-Clause */
/* report_select.h - what of a recording a report is about: a stretch of time, and loops with their tasks. */
#ifndef LOOPSCOPE_CMD_REPORT_SELECT_H
#define LOOPSCOPE_CMD_REPORT_SELECT_H

#include "lib/fault.h"
#include "lib/options.h"
#include "source/recording.h"

struct report_wishes {
	const char *from, *to; /* NULL: all; see lib/when.h */
	struct opt_pids pids;
	struct opt_strings names, include, exclude;
};

struct report_select {
	struct recording_select select;
	bool *lanes; /* owned */
};

/* EXIT_USAGE for a point in time that is none, EXIT_FAILED where nothing in the recording is meant. */
int report_select_make(const struct report_wishes *w, const struct recording *r, struct report_select *ret, struct fault *f);
void report_select_free(struct report_select *s); /* what it holds */

#endif
