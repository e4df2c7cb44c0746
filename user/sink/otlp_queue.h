/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * otlp_queue.h - requests that wait to be sent, oldest first, bounded in bytes. Only for otlp.c.
 */
#ifndef LOOPSCOPE_SINK_OTLP_QUEUE_H
#define LOOPSCOPE_SINK_OTLP_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct otlp_request {
	struct otlp_request *next;
	void *bytes; /* owned */
	size_t n, points;
};

struct otlp_queue {
	struct otlp_request *first, **end; /* end: where the next one goes */
	size_t bytes, points;              /* of all */
	size_t bytes_max;
	bool first_is_held; /* it is under way: not to be thrown out */
};

void otlp_queue_init(struct otlp_queue *q, size_t bytes_max);
void otlp_queue_clear(struct otlp_queue *q);

/* Makes room by throwing out the oldest, then takes the bytes; where even that would not be enough, they are thrown out themselves.
 * Returns how many points were lost. */
size_t otlp_queue_add(struct otlp_queue *q, void *bytes, size_t n, size_t points);

/* The first one is done with, held or not. Returns its points. */
size_t otlp_queue_drop_first(struct otlp_queue *q);

#endif
