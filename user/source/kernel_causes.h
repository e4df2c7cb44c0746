/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel_causes.h - what a slow tick's time went to, from what the kernel side has remembered of it.
 */
#ifndef LOOPSCOPE_SOURCE_KERNEL_CAUSES_H
#define LOOPSCOPE_SOURCE_KERNEL_CAUSES_H

#include "bpf/wire.h"
#include "model/tick_report.h"

/* Adds the causes to r, which has the rest of it already, largest first: all that make up its time, or, where the tick was told
 * (r->told), only what it is held up by now. stacks_fd: of the map of stacks. */
void kernel_causes(int stacks_fd, const struct ls_slow *s, struct tick_report *r);

#endif
