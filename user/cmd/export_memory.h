/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * export_memory.h - gives back to the system what a peak took.
 *
 * Thousands of loops that end in one interval are held until it has been reported, some 5 KiB each in pieces between those that stay:
 * the allocator has that room again, but the system does not, as none of it is at the heap's end. Looked at now and then, since it
 * takes as long as there are pages to give back.
 */
#ifndef LOOPSCOPE_CMD_EXPORT_MEMORY_H
#define LOOPSCOPE_CMD_EXPORT_MEMORY_H

#include <stdint.h>

struct export_memory { /* all zeros to begin with */
	uint64_t last_ns;
};

/* After a reading; now_ns of CLOCK_MONOTONIC. */
void export_memory_give_back(struct export_memory *m, uint64_t now_ns);

#endif
