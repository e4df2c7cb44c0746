/* SPDX-License-Identifier: BSD-2-Clause */
/* observe_probes.h - where uprobes go: the kernel source asks, the registry knows. */
#ifndef LOOPSCOPE_CMD_OBSERVE_PROBES_H
#define LOOPSCOPE_CMD_OBSERVE_PROBES_H

#include "registry/registry.h"
#include "source/kernel.h"

/* A kernel_find_fn; needs no arg. In the process's libc, or in its executable, which then is linked statically. */
int observe_find_waits(void *arg, pid_t pid, const char *const *names, size_t n_names, kernel_place_fn place, void *place_arg);

/* For a kernel_phases_fn: the functions that the process's runtime names, in its executable and in the libraries that it may be in. tell:
 * those that are not found are said on standard error, once for the process. */
int observe_find_phases(struct registry *r, pid_t pid, bool tell, const char *const **ret_names, kernel_place_fn place, void *place_arg);

#endif
