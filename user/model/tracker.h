/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tracker.h - remembers every loop between two reports: takes samples, gives records.
 *
 * One round: tracker_begin(), any number of tracker_sample(), tracker_end(). A loop not sampled in a round is kept for the
 * next one (its snapshot may have been torn) and forgotten after three; one that ended is forgotten with the next round.
 * Memory is bounded by max_loops: further loops are counted in interval.n_beyond.
 */
#ifndef LOOPSCOPE_MODEL_TRACKER_H
#define LOOPSCOPE_MODEL_TRACKER_H

#include "model/loop.h"

struct tracker;

/* Fills *ret for a loop that is new or whose facts may have changed (exec, thread renamed). Strings that it sets: cgroup
 * is handed over, runtime stays the callee's. */
typedef void (*tracker_facts_fn)(void *arg, const struct loop_sample *s, struct loop_facts *ret);

struct tracker_options {
	tracker_facts_fn facts;
	void *arg;
	size_t max_loops;  /* 0: 65536 */
	bool show_asleep;  /* threads only known to be asleep in an IO wait become records too */
	bool show_all;     /* so do those that are no loops */
};

int tracker_new(const struct tracker_options *o, struct tracker **ret);
void tracker_free(struct tracker *t);

/* wall_ts: unix seconds; mono_ns: the source's clock. The first round sets the start; its interval has no length. */
void tracker_begin(struct tracker *t, double wall_ts, uint64_t mono_ns);
int tracker_sample(struct tracker *t, const struct loop_sample *s);
/* Between two rounds: reads the facts of a loop that is new, or whose runtime is not known, while they can be read. No record
 * comes of it. */
int tracker_learn(struct tracker *t, const struct loop_sample *s);
/* Records of the round, unsorted, valid until the next tracker_begin(). ret->steal and ret->lost are left unknown. */
int tracker_end(struct tracker *t, struct interval *ret);

/* What is known of that loop, valid until the next tracker_begin(); NULL: it was in no round yet. */
const struct loop_facts *tracker_facts(const struct tracker *t, const struct loop_id *id);

/* What observing one event costs, ns; NAN unknown: fills observer_cost from the loop's events. */
void tracker_set_event_cost(struct tracker *t, double ns, enum cost_kind kind);
/* What measuring the edges adds to one IO wait, ns; 0 where they are not measured. */
void tracker_set_wait_cost(struct tracker *t, double ns);
/* The same for each beginning of a phase. */
void tracker_set_entry_cost(struct tracker *t, double ns);

#endif
