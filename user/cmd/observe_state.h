/* SPDX-License-Identifier: BSD-2-Clause */
/* observe_state.h - what the files of an observation share: observe.c, which reads and reports, and observe_run.c, which paces it. */
#ifndef LOOPSCOPE_CMD_OBSERVE_STATE_H
#define LOOPSCOPE_CMD_OBSERVE_STATE_H

#include "cmd/observe.h"
#include "cmd/observe_events.h"
#include "cmd/observe_facts.h"
#include "cmd/observe_order.h"
#include "cmd/observe_ticks.h"
#include "model/tracker.h"

struct observation {
	struct observe_options o;
	struct observe_facts facts;
	struct kernel_source *source;
	struct tracker *tracker;
	struct sink *sink, *own_sink;
	struct observe_ticks *ticks;
	struct observe_events *events;
	struct steal_meter steal;
	bool phases_told; /* which of them can't be seen */
	struct observe_order order;
	/* while running */
	struct evloop *loop;
	struct ev_source *pulse, *ring, *batch, *calibration;
	struct observe_pace pace;
	uint64_t asked_ns; /* when it was opened */
	uint64_t reports, pulses;
	struct fault *f;
};

/* One round: all samples into the tracker, the interval out of it; it is the tracker's until the next round. */
int observe_round(struct observation *ob, struct interval *ret, struct fault *f);
/* Tells the loops of an interval, of those that are wanted. */
int observe_tell(struct observation *ob, struct interval *iv, struct fault *f);

/* Observing costs what it costs: measured in steps of its own, as an interval may last for minutes. */
int observe_continue_calibration(struct observation *ob, struct fault *f);
/* Takes out of the event loop what belongs to the observation. */
void observe_leave_loop(struct observation *ob);

#endif
