/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel_privilege.h - which capabilities observing this machine takes, as data: what each is for, and what there is without it.
 *
 * All of it was found by taking each away (tests/live/test_privilege.py). CAP_SYS_RESOURCE is not in it: since 5.11 maps and
 * programs count as the control group's memory, no longer against RLIMIT_MEMLOCK.
 */
#ifndef LOOPSCOPE_SOURCE_KERNEL_PRIVILEGE_H
#define LOOPSCOPE_SOURCE_KERNEL_PRIVILEGE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/fault.h"

struct kernel_privilege {
	int cap;
	int or_cap;    /* does as well; -1: none */
	bool required; /* nothing works without */
	bool at_start; /* not needed any more once the source is open */
	const char *what_for;
	const char *without;
};

extern const struct kernel_privilege kernel_privileges[];
extern const size_t kernel_privileges_n;

bool kernel_privilege_there(const struct kernel_privilege *p);

/* Before anything is opened: EXIT_IMPOSSIBLE, and a sentence that names every required one that is missing. */
int kernel_privilege_check(struct fault *f);

/* Once the source is open: gives up what it does not need to go on, and all that nobody here needs (lib/privilege.h). Where it goes on
 * to place uprobes, it needs all. */
int kernel_privilege_drop(bool places_uprobes, struct fault *f);

#endif
