/* SPDX-License-Identifier: BSD-2-Clause */
/* arena.c - see arena.h. */
#include "lib/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 65536
#define ALIGN 16

struct arena_block {
	struct arena_block *next;
	size_t used, size;
	_Alignas(ALIGN) unsigned char bytes[];
};

void *arena_get(struct arena *a, size_t size)
{
	struct arena_block *b = a->blocks;
	void *p;

	if (size > SIZE_MAX / 2)
		return NULL;
	size = (size + ALIGN - 1) / ALIGN * ALIGN;
	if (!b || b->size - b->used < size) {
		size_t wanted = size > BLOCK ? size : BLOCK;

		b = malloc(sizeof(*b) + wanted);
		if (!b)
			return NULL;
		*b = (struct arena_block){ .next = a->blocks, .size = wanted };
		a->blocks = b;
	}
	p = b->bytes + b->used;
	b->used += size;
	return memset(p, 0, size);
}

char *arena_text(struct arena *a, const char *bytes, size_t n)
{
	char *p = n < SIZE_MAX ? arena_get(a, n + 1) : NULL;

	if (p && n)
		memcpy(p, bytes, n);
	return p;
}

static void free_after(struct arena_block *b)
{
	while (b) {
		struct arena_block *next = b->next;

		free(b);
		b = next;
	}
}

void arena_reset(struct arena *a)
{
	if (!a->blocks)
		return;
	free_after(a->blocks->next);
	a->blocks->next = NULL;
	a->blocks->used = 0;
}

void arena_free(struct arena *a)
{
	free_after(a->blocks);
	a->blocks = NULL;
}
