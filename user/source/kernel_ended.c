/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel_ended.c - see kernel_ended.h. */
#include "source/kernel_ended.h"

#include <stdlib.h>

#define KEEP_ROOM 64 /* for so many between two snapshots no memory is given back and asked for again */

void kernel_ended_keep(struct kernel_ended *e, const struct ls_snap *s)
{
	if (e->n == e->cap && e->cap < KERNEL_ENDED_MAX) {
		size_t cap = e->cap ? 2 * e->cap : KEEP_ROOM;
		struct ls_snap *p = reallocarray(e->snaps, cap, sizeof(*p));

		if (p) {
			e->snaps = p;
			e->cap = cap;
		}
	}
	if (e->n < e->cap)
		e->snaps[e->n++] = *s;
	else
		e->lost++;
}

void kernel_ended_hand_out(struct kernel_ended *e, void (*each)(void *arg, const struct ls_snap *s), void *arg)
{
	for (size_t i = 0; i < e->n; i++)
		each(arg, &e->snaps[i]);
	e->n = 0;
	if (e->cap > KEEP_ROOM)
		kernel_ended_free(e);
}

uint64_t kernel_ended_lost(struct kernel_ended *e)
{
	uint64_t lost = e->lost;

	e->lost = 0;
	return lost;
}

void kernel_ended_free(struct kernel_ended *e)
{
	free(e->snaps);
	e->snaps = NULL;
	e->n = e->cap = 0;
}
