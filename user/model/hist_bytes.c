/* SPDX-License-Identifier: BSD-2-Clause */
/* hist_bytes.c - see hist_bytes.h. */
#include "model/hist_bytes.h"

#include <errno.h>
#include <stdlib.h>

size_t hist_bytes_put(const struct hist_packed *p, uint8_t *dst)
{
	uint8_t *q = dst;
	uint32_t before = 0;

	q = varint_put(q, p->sum);
	q = varint_put(q, p->min);
	q = varint_put(q, p->max);
	q = varint_put(q, p->n_buckets);
	for (size_t i = 0; i < p->n_buckets; i++) {
		q = varint_put(q, p->bucket[i].bucket - before);
		q = varint_put(q, p->bucket[i].n);
		before = p->bucket[i].bucket;
	}
	return (size_t)(q - dst);
}

/* Buckets ascend, none is empty, and their sum is a number. */
static bool get_buckets(const uint8_t **p, const uint8_t *end, struct hist_packed *h)
{
	uint64_t bucket = 0;

	for (size_t i = 0; i < h->n_buckets; i++) {
		uint64_t step, n;

		if (!varint_get(p, end, &step) || !varint_get(p, end, &n) || !n || (i && !step) || step >= HIST_BUCKETS)
			return false;
		bucket += step;
		if (bucket >= HIST_BUCKETS || __builtin_add_overflow(h->n, n, &h->n))
			return false;
		h->bucket[i] = (struct hist_packed_bucket){ .n = n, .bucket = (uint32_t)bucket };
	}
	return *p == end;
}

int hist_bytes_get(const void *bytes, size_t n, struct hist_packed **ret)
{
	const uint8_t *p = bytes, *end;
	uint64_t sum, min, max, n_buckets;
	struct hist_packed *h;

	if (!n) /* what SQLite has for an empty value is NULL */
		return -EBADMSG;
	end = p + n;
	if (!varint_get(&p, end, &sum) || !varint_get(&p, end, &min) || !varint_get(&p, end, &max) ||
	    !varint_get(&p, end, &n_buckets) || n_buckets > HIST_BUCKETS)
		return -EBADMSG;
	h = calloc(1, sizeof(*h) + n_buckets * sizeof(h->bucket[0]));
	if (!h)
		return -ENOMEM;
	h->sum = sum;
	h->min = min;
	h->max = max;
	h->n_buckets = n_buckets;
	if (!get_buckets(&p, end, h)) {
		free(h);
		return -EBADMSG;
	}
	*ret = h;
	return 0;
}
