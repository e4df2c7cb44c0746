/* SPDX-License-Identifier: 0BSD */
/* lsagent_private.h - what the agent's recording half and its sending half share. Not for firmware. */
#ifndef LSAGENT_PRIVATE_H
#define LSAGENT_PRIVATE_H

#include "lsagent.h"
#include "lsagent_port.h"

/* What the host (or the agent itself) wants of the next lsa_poll. */
#define REQUEST_SYNC 0x01u
#define REQUEST_NAMES 0x02u
#define REQUEST_TIME 0x04u
#define REQUEST_HURRY 0x08u /* send what there is */

static inline uint32_t lsa_ticks_of_ms(const struct lsa *a, uint32_t ms)
{
	return (uint32_t)((uint64_t)ms * a->cfg.hz / 1000);
}

/* All of these under the lock. */

/* Reads the clock and gives the time since the last reading to whoever had the CPU. Returns the time, 32 bits wide. */
uint32_t lsa_charge(struct lsa *a);
void lsa_push(struct lsa *a, uint8_t type, uint16_t id, uint32_t t, uint32_t value);
/* Somebody steps in between, an interrupt or the agent itself, and out again: lsa_charge comes before each. */
void lsa_nest_in(struct lsa *a, uint16_t id);
/* Returns who it was, NULL where that is not known. */
struct lsa_task *lsa_nest_out(struct lsa *a, uint16_t *ret_id);

/* Not under the lock. SYNC, with the sums of this moment, into the frame being made. From lsa_init and the sender. */
void lsa_put_sync(struct lsa *a);

#endif
