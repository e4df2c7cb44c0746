/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * now.h - the clocks, in nanoseconds.
 *
 * CLOCK_MONOTONIC is what stretches of time are measured by, and what the kernel side stamps with; CLOCK_REALTIME is unix time.
 */
#ifndef LOOPSCOPE_LIB_NOW_H
#define LOOPSCOPE_LIB_NOW_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static inline uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

#endif
