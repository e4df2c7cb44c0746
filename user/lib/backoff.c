/* SPDX-License-Identifier: BSD-2-Clause */
/* backoff.c - see backoff.h. Chance is splitmix64: every state is as good as any other, 0 too. */
#include "lib/backoff.h"

static uint64_t chance(struct backoff *b)
{
	uint64_t z = b->random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

uint64_t backoff_next(struct backoff *b)
{
	uint64_t wait = b->first_ns;

	for (unsigned i = 0; i < b->failures && wait < b->max_ns; i++)
		wait = wait > b->max_ns / 2 ? b->max_ns : 2 * wait;
	b->failures++;
	return wait / 2 + chance(b) % (wait - wait / 2 + 1);
}

void backoff_reset(struct backoff *b)
{
	b->failures = 0;
}
