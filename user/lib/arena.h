/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arena.h - memory for many small things that end together. Zeroed; aligned for anything. What it gives stays where it is until
 * arena_reset() or arena_free(). NULL: out of memory, or a size that can't be.
 */
#ifndef LOOPSCOPE_LIB_ARENA_H
#define LOOPSCOPE_LIB_ARENA_H

#include <stddef.h>

struct arena_block;

struct arena { /* zeroed to begin with */
	struct arena_block *blocks; /* owned */
};

void *arena_get(struct arena *a, size_t size);
char *arena_text(struct arena *a, const char *bytes, size_t n); /* with a NUL behind them */
void arena_reset(struct arena *a); /* keeps one block for what comes next */
void arena_free(struct arena *a);  /* what it holds, not a itself */

#endif
