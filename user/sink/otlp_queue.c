/* SPDX-License-Identifier: BSD-2-Clause */
/* otlp_queue.c - see otlp_queue.h. */
#include "sink/otlp_queue.h"

#include <stdlib.h>

void otlp_queue_init(struct otlp_queue *q, size_t bytes_max)
{
	*q = (struct otlp_queue){.bytes_max = bytes_max};
	q->end = &q->first;
}

void otlp_queue_clear(struct otlp_queue *q)
{
	while (q->first)
		otlp_queue_drop_first(q);
}

/* *at is the link that leads to the request. */
static size_t drop(struct otlp_queue *q, struct otlp_request **at)
{
	struct otlp_request *r = *at;
	size_t points = r->points;

	*at = r->next;
	if (!r->next)
		q->end = at;
	q->bytes -= r->n;
	q->points -= points;
	free(r->bytes);
	free(r);
	return points;
}

size_t otlp_queue_drop_first(struct otlp_queue *q)
{
	q->first_is_held = false;
	return drop(q, &q->first);
}

size_t otlp_queue_add(struct otlp_queue *q, void *bytes, size_t n, size_t points)
{
	size_t lost = 0, held = q->first_is_held ? q->first->n : 0;
	struct otlp_request *r = NULL;

	if (held + n <= q->bytes_max)
		r = malloc(sizeof(*r));
	while (r && q->bytes + n > q->bytes_max) {
		struct otlp_request **oldest = q->first_is_held ? &q->first->next : &q->first;

		if (!*oldest)
			break; /* never: the bytes are theirs */
		lost += drop(q, oldest);
	}
	if (!r) {
		free(bytes);
		return lost + points;
	}
	*r = (struct otlp_request){.bytes = bytes, .n = n, .points = points};
	*q->end = r;
	q->end = &r->next;
	q->bytes += n;
	q->points += points;
	return lost;
}
