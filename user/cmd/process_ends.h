/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * process_ends.h - tells when the last of some processes has ended.
 *
 * Free it before the event loop. Errors: -errno with a sentence in *f.
 */
#ifndef LOOPSCOPE_CMD_PROCESS_ENDS_H
#define LOOPSCOPE_CMD_PROCESS_ENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/evloop.h"
#include "lib/fault.h"

struct process_ends;

/* -ESRCH where they have all ended already. */
int process_ends_new(const pid_t *pids, size_t n, struct evloop *loop, void (*all_ended)(void *arg), void *arg, struct process_ends **ret,
		     struct fault *f);
void process_ends_free(struct process_ends *p); /* accepts NULL */
/* On standard error, if they have: why the command ends. */
void process_ends_say(const struct process_ends *p);

#endif
