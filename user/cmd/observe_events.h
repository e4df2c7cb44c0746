/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * observe_events.h - the event stream: each turn of a loop as the events that it stands for, with the loop's names and the time of day.
 */
#ifndef LOOPSCOPE_CMD_OBSERVE_EVENTS_H
#define LOOPSCOPE_CMD_OBSERVE_EVENTS_H

#include "cmd/observe_ticks.h"
#include "lib/fault.h"
#include "model/turn.h"
#include "sink/sink.h"

struct observe_events;

int observe_events_new(struct sink *sink, observe_who_fn who, void *arg, struct observe_events **ret); /* -ENOMEM */
void observe_events_free(struct observe_events *v); /* accepts NULL */

int observe_events_turn(struct observe_events *v, const struct loop_turn *t, struct fault *f);

#endif
