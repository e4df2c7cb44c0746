/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel_ticks.h - what measured edges bring: per loop and interval the histograms; slow ticks.
 */
#ifndef LOOPSCOPE_SOURCE_KERNEL_TICKS_H
#define LOOPSCOPE_SOURCE_KERNEL_TICKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/wire.h"
#include "model/hist_packed.h"
#include "model/loop.h"
#include "model/tick_report.h"
#include "source/kernel.h"

struct measured; /* one loop between two readings */

struct kernel_ticks {
	struct measured *loops;
	unsigned round;
	kernel_slow_fn slow;
	void *arg;
	int stacks_fd;
	bool histograms; /* are kept for the samples, until the next reading */
	struct hist hist; /* room to work in */
};

void kernel_ticks_free(struct kernel_ticks *k);
/* A reading begins: the intervals' histograms are those since the last one. */
void kernel_ticks_begin(struct kernel_ticks *k);
int kernel_ticks_take(struct kernel_ticks *k, const struct ls_tick_snap *s, uint32_t epoch);
/* Adds what is measured of this loop to its sample. */
void kernel_ticks_fill(struct kernel_ticks *k, struct loop_sample *s);
/* Forgets loops that were not seen in the last readings. */
void kernel_ticks_end(struct kernel_ticks *k);

/* From the ring buffer, or a stall found by the pulse. One that was told already is handed on as such, each time. */
int kernel_ticks_slow(struct kernel_ticks *k, const struct ls_slow *s);

#endif
