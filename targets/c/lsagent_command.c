/* SPDX-License-Identifier: 0BSD */
/* lsagent_command.c - what the host asks for: taken from received bytes, answered by the next lsa_poll. */
#include "lsagent.h"
#include "lsagent_private.h"

static void set_filter(struct lsa *a, const struct lsw_command *c)
{
	for (uint16_t i = 0; i < a->n_tasks; i++) {
		bool pass = c->n_ids == 0;

		for (uint8_t k = 0; k < c->n_ids; k++)
			pass = pass || c->ids[k] == i + 1;
		a->cfg.tasks[i].pass = pass;
	}
}

static void set_flag(struct lsa *a, uint8_t flag, bool on)
{
	a->flags = (uint8_t)(on ? a->flags | flag : a->flags & ~flag);
}

bool lsa_rx(struct lsa *a, uint8_t byte)
{
	struct lsw_command c;
	uint8_t request = REQUEST_SYNC; /* shows that the command arrived */
	uint64_t ticks;
	uint32_t s;
	bool ours;

	if (!lsw_line_feed(&a->line, byte, &c, &ours))
		return ours;
	s = LSA_LOCK();
	switch (c.op) {
	case '+':
		a->stopped = false;
		request |= REQUEST_NAMES;
		break;
	case '-':
		a->stopped = true;
		break;
	case 't':
		a->nonce = (uint16_t)c.value;
		a->nonce_rx = lsa_charge(a);
		request = REQUEST_TIME;
		break;
	case 'n':
		request = REQUEST_NAMES;
		break;
	case 'r':
		a->rate = (uint8_t)c.value;
		break;
	case 'f':
		ticks = (uint64_t)c.value * a->cfg.hz / 1000000;
		a->min_step = ticks > UINT32_MAX ? UINT32_MAX : (uint32_t)ticks;
		set_flag(a, LSW_FLAG_MIN_STEP, c.value != 0);
		break;
	default:
		set_filter(a, &c);
		set_flag(a, LSW_FLAG_FILTER, c.n_ids != 0);
	}
	a->requests |= request;
	LSA_UNLOCK(s);
	return ours;
}
