/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * backoff.h - how long to wait before the next try: doubled with each failure, up to a limit, and partly by chance, so that many
 * who have failed at the same time do not all come back at the same time.
 */
#ifndef LOOPSCOPE_LIB_BACKOFF_H
#define LOOPSCOPE_LIB_BACKOFF_H

#include <stdint.h>

struct backoff {
	uint64_t first_ns, max_ns; /* of the wait: first_ns is at most max_ns, and at least 2 */
	uint64_t random;           /* any seed; goes on by itself */
	unsigned failures;         /* in a row */
};

/* After a failure: between half of the wait that is due and all of it. */
uint64_t backoff_next(struct backoff *b);
/* After a success. */
void backoff_reset(struct backoff *b);

#endif
