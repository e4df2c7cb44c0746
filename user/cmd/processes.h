/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * processes.h - which processes a user means by -p and -n.
 *
 * A finder is for those who watch for long: what has a name is looked for again and again, and each process is handed out once,
 * whatever becomes of its PID.
 */
#ifndef LOOPSCOPE_CMD_PROCESSES_H
#define LOOPSCOPE_CMD_PROCESSES_H

#include <stddef.h>
#include <sys/types.h>

#include "lib/fault.h"
#include "lib/options.h"

/* Whether this PID's loops can be watched: a process, not a thread of one, not one of the kernel's. */
int processes_check(pid_t pid, struct fault *f);

/* Those of either option that run now, each once: *ret is to be freed. EXIT_FAILED for a PID that can't be watched and a name that
 * no process has. */
int processes_collect(const struct opt_pids *pids, const struct opt_strings *names, pid_t **ret, size_t *ret_n, struct fault *f);

struct process_finder;

/* names are borrowed, and patterns as for proc_find_by_name(). */
int process_finder_new(const struct opt_strings *names, struct process_finder **ret);
void process_finder_free(struct process_finder *p); /* accepts NULL */

/* Calls found() for each process of those names that was not there last time. A negative return of it ends the search. */
int process_finder_look(struct process_finder *p, int (*found)(void *arg, pid_t pid, struct fault *f), void *arg, struct fault *f);

#endif
