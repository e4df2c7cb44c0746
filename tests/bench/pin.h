/* SPDX-License-Identifier: BSD-2-Clause */
/* pin.h - keeps the calling thread on one CPU; ends the program where that can't be. Wants _GNU_SOURCE. */
#ifndef LOOPSCOPE_BENCH_PIN_H
#define LOOPSCOPE_BENCH_PIN_H

#include <err.h>
#include <sched.h>

static inline void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		err(1, "sched_setaffinity to CPU %d", cpu);
}

#endif
