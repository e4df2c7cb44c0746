/* SPDX-License-Identifier: BSD-2-Clause */
/* observe_probes.h - where uprobes go: the kernel source asks, the registry knows. */
#ifndef LOOPSCOPE_CMD_OBSERVE_PROBES_H
#define LOOPSCOPE_CMD_OBSERVE_PROBES_H

#include "source/kernel.h"

/* A kernel_find_fn; needs no arg. In the process's libc, or in its executable, which then is linked statically. */
int observe_find_waits(void *arg, pid_t pid, const char *const *names, size_t n_names, kernel_place_fn place, void *place_arg);

#endif
