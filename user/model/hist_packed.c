/* SPDX-License-Identifier: BSD-2-Clause */
/* hist_packed.c - see hist_packed.h. */
#include "model/hist_packed.h"

#include <stdlib.h>

const struct hist_packed hist_packed_empty;

struct hist_packed *hist_pack(const struct hist *h)
{
	struct hist_packed *p;
	size_t n = 0;

	for (unsigned b = 0; b < HIST_BUCKETS; b++)
		n += h->bucket[b] > 0;
	p = malloc(sizeof(*p) + n * sizeof(p->bucket[0]));
	if (!p)
		return NULL;
	p->n = h->n;
	p->sum = h->sum;
	p->min = h->min;
	p->max = h->max;
	p->n_buckets = 0;
	for (unsigned b = 0; b < HIST_BUCKETS && p->n_buckets < n; b++)
		if (h->bucket[b])
			p->bucket[p->n_buckets++] = (struct hist_packed_bucket){ .n = h->bucket[b], .bucket = b };
	return p;
}

void hist_merge_packed(struct hist *a, const struct hist_packed *p)
{
	uint64_t n = 0;

	for (size_t i = 0; i < p->n_buckets; i++) {
		if (p->bucket[i].bucket >= HIST_BUCKETS)
			continue;
		a->bucket[p->bucket[i].bucket] += p->bucket[i].n;
		n += p->bucket[i].n;
	}
	if (!n)
		return;
	if (!a->n || p->min < a->min)
		a->min = p->min;
	if (p->max > a->max)
		a->max = p->max;
	a->n += n;
	if (__builtin_add_overflow(a->sum, p->sum, &a->sum))
		a->sum = UINT64_MAX;
}
