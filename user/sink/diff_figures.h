/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_figures.h - the figures of two recordings, side by side: collected here, shown by diff.c. */
#ifndef LOOPSCOPE_SINK_DIFF_FIGURES_H
#define LOOPSCOPE_SINK_DIFF_FIGURES_H

#include <uthash.h>

#include "lib/fault.h"
#include "model/noise.h"
#include "model/recording.h"

#define DIFF_TEXT 160
#define DIFF_PARTS_MAX 20000 /* of all loops; what is beyond is counted */

enum diff_side { DIFF_BEFORE, DIFF_AFTER, DIFF_SIDES };

enum diff_figure { DIFF_LOAD, DIFF_BUSY, DIFF_WAIT, DIFF_TICK_P50, DIFF_TICK_P99, DIFF_FIGURES };

/* Where slow time went: a cause, or a function with what it called. Its series are shares of the time. */
struct diff_part {
	char text[DIFF_TEXT]; /* key */
	bool function;
	double depth; /* summed over the times it was met: the mean tells which function is further in */
	double times;
	struct {
		struct series series;
		int64_t bin; /* that is summed up now */
		double sum;
	} side[DIFF_SIDES];
	UT_hash_handle hh;
};

struct diff_loop {
	char text[DIFF_TEXT]; /* key: process, thread, runtime */
	struct series figure[DIFF_FIGURES][DIFF_SIDES];
	struct diff_part *parts;
	UT_hash_handle hh;
};

struct diff_figures {
	struct diff_loop *loops;
	size_t n_parts, left_out;
	size_t bins[DIFF_SIDES];
	/* of the recording that is read now */
	enum diff_side side;
	const struct lane *lanes;
	int64_t from_ns, to_ns, interval_ns; /* of whole intervals of loops */
	struct fault *f;
};

int diff_collect(struct diff_figures *d, enum diff_side side, struct recording_view *v, const struct recording_select *s);
void diff_figures_free(struct diff_figures *d); /* what it holds */

#endif
