/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * when.h - a point in time as users type it, within or about a stretch of time that is known.
 *
 *     10s, 1.5m          so long after its start
 *     -10s               so long before its end
 *     14:05, 14:05:30.5  local time, on the day on which the stretch starts; the day after if that lies before the start
 *     2025-12-01 14:05   local time; also with a T between
 *     @1764554400.25     seconds since the unix epoch
 */
#ifndef LOOPSCOPE_LIB_WHEN_H
#define LOOPSCOPE_LIB_WHEN_H

#include <stdint.h>

/* Unix nanoseconds. -EINVAL: none of these, -ERANGE: out of range; *ret is untouched then. */
int when_parse(const char *text, int64_t start_ns, int64_t end_ns, int64_t *ret);

#endif
