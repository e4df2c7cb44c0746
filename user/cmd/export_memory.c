/* SPDX-License-Identifier: BSD-2-Clause */
/* export_memory.c - see export_memory.h. */
#include "cmd/export_memory.h"

#include <malloc.h>

#define EVERY_NS 10000000000ull
#define WORTH_IT (4u << 20) /* bytes: below, they are as good as used again */

void export_memory_give_back(struct export_memory *m, uint64_t now_ns)
{
	if (now_ns - m->last_ns < EVERY_NS)
		return;
	m->last_ns = now_ns;
	if (mallinfo2().fordblks > WORTH_IT)
		malloc_trim(0);
}
