/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recording.h - a recording as a source: what was reported, once more and in the same order; or the whole of it as a view.
 *
 * The file is hostile: it is opened read-only, everything in it is checked or bounded, its tables have to be ours to the letter,
 * and nothing in it is run. A recording that is still written, or whose writer was killed, is read up to its last commit.
 * One that is damaged is told as such, when it is opened or when the damage is met: -EBADMSG with a sentence.
 */
#ifndef LOOPSCOPE_SOURCE_RECORDING_H
#define LOOPSCOPE_SOURCE_RECORDING_H

#include "lib/fault.h"
#include "model/recording.h"

struct recording;

int recording_open(const char *path, struct recording **ret, struct fault *f);
void recording_close(struct recording *r); /* accepts NULL */

/* Called now and then while something is read; done: how much of what is read now, 0 to 1. A negative return ends it and becomes
 * its result: -EINTR where the user has had enough. */
typedef int (*recording_progress_fn)(void *arg, double done);
void recording_set_progress(struct recording *r, recording_progress_fn fn, void *arg);

/* For whoever looks at the whole; lives as long as r. Reads all spans once, to know what lanes there are and how full. */
int recording_look(struct recording *r, struct recording_view **ret, struct fault *f);

/* The same without that pass: lanes know neither their reach nor their number of spans. */
struct recording_view *recording_view(struct recording *r);

/* Known without that, too. */
const struct recording_host *recording_facts(const struct recording *r);
const struct recording_source *recording_source_list(const struct recording *r, size_t *ret_n);
const struct lane *recording_lane_list(const struct recording *r, size_t *ret_n); /* without reach and number of spans */
/* Whether the live command of that source ends with where slow time went. */
bool recording_has_summary(const struct recording *r, uint32_t source);

/* What a live command would have given to its sink, in that order. What is not asked for is left out: loops and tasks of other
 * lanes, intervals and ticks of other times. A negative return ends it and becomes its result. */
struct recording_replay {
	int (*interval)(void *arg, uint32_t source, const struct interval *iv);
	int (*slow_tick)(void *arg, uint32_t source, const struct slow_tick *t);
	int (*event)(void *arg, uint32_t source, const struct loop_event *e);
	void *arg;
};

int recording_replay(struct recording *r, const struct recording_select *s, const struct recording_replay *to, struct fault *f);

#endif
