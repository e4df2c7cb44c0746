/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * observe_ticks.h - from what the source knows of a single slow tick to what a sink shows: names for addresses, words for arguments,
 * who the loop is; the sums for the end.
 */
#ifndef LOOPSCOPE_CMD_OBSERVE_TICKS_H
#define LOOPSCOPE_CMD_OBSERVE_TICKS_H

#include "lib/fault.h"
#include "model/tick_report.h"
#include "sink/sink.h"
#include "source/kernel.h"

struct observe_ticks;

/* Who a loop is: filled by the caller's registry; left as it is where nothing is known. wait_syscall, thread: where it waits, what
 * its thread is called; "" unknown. */
typedef void (*observe_who_fn)(void *arg, const struct loop_id *id, const char *wait_syscall, const char *thread,
			       char comm[LOOP_COMM_LEN], const char **runtime);

int observe_ticks_new(struct sink *sink, observe_who_fn who, void *arg, struct observe_ticks **ret);
void observe_ticks_free(struct observe_ticks *t);

/* The source's callback; a negative return ends the command. */
int observe_ticks_slow(struct observe_ticks *t, const struct tick_report *r, struct fault *f);
/* At the end: where slow time went. */
int observe_ticks_finish(struct observe_ticks *t, struct fault *f);

#endif
