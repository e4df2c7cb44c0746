/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel_ended.h - last sums of threads that ended between two snapshots, kept for the next one: the kernel's ring buffer has room
 * for a thousand, and intervals may be long. Bounded: beyond KERNEL_ENDED_MAX they are lost, and counted.
 */
#ifndef LOOPSCOPE_SOURCE_KERNEL_ENDED_H
#define LOOPSCOPE_SOURCE_KERNEL_ENDED_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/wire.h"

#define KERNEL_ENDED_MAX 16384 /* of about 1 KiB */

struct kernel_ended { /* all zeros: none */
	struct ls_snap *snaps;
	size_t n, cap;
	uint64_t lost;
};

void kernel_ended_keep(struct kernel_ended *e, const struct ls_snap *s);
/* Each of them, in the order in which they came; then none is left. */
void kernel_ended_hand_out(struct kernel_ended *e, void (*each)(void *arg, const struct ls_snap *s), void *arg);
/* Lost since the last call. */
uint64_t kernel_ended_lost(struct kernel_ended *e);
void kernel_ended_free(struct kernel_ended *e);

#endif
