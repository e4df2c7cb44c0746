/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * observe_facts.h - what the host knows of a loop beyond its sums: of which process it is, and of which runtime.
 *
 * Threads of one process that follow each other in a round are asked for once. Rounds begin and end with those of the tracker.
 */
#ifndef LOOPSCOPE_CMD_OBSERVE_FACTS_H
#define LOOPSCOPE_CMD_OBSERVE_FACTS_H

#include "model/loop.h"
#include "registry/proc.h"
#include "registry/registry.h"

struct observe_facts { /* all zeros: the registry is loaded later */
	struct registry *registry; /* owned by who made it */
	/* Of the process asked about last, in this round. */
	bool known;
	uint32_t pid;
	struct proc_info info;
	bool has_info;
	char *cgroup;     /* owned; may be NULL */
	int stdin_is_tty; /* -1: not looked at yet */
};

/* A tracker_facts_fn; arg is a struct observe_facts. */
void observe_facts_read(void *arg, const struct loop_sample *s, struct loop_facts *ret);

void observe_facts_round_begin(struct observe_facts *x);
void observe_facts_round_end(struct observe_facts *x);

#endif
