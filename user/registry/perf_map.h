/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf_map.h - the map that JIT compilers write to /tmp/perf-PID.map: lines of "START SIZE NAME", numbers in hex. Hostile: a line
 * that is none is passed over; at most PERF_MAP_MAX_BYTES are read.
 */
#ifndef LOOPSCOPE_REGISTRY_PERF_MAP_H
#define LOOPSCOPE_REGISTRY_PERF_MAP_H

#include <stdint.h>
#include <sys/types.h>

#define PERF_MAP_MAX_BYTES (64u << 20)

struct perf_map;

struct perf_map *perf_map_new(pid_t pid); /* NULL: out of memory. The file need not exist. */
void perf_map_free(struct perf_map *m);
/* The name that covers addr, or NULL. The file is looked at again when it has grown. Where entries overlap, the latest holds: code is
 * moved, and its place used again. */
const char *perf_map_find(struct perf_map *m, uint64_t addr);

#endif
