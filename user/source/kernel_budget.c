/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel_budget.c - see kernel_budget.h. */
#include "source/kernel_budget.h"

#include <stdlib.h>
#include <uthash.h>

#define FIRST_PAUSE_NS 5000000000ull
#define LONGEST_PAUSE_NS 300000000000ull
#define CALM_NS 60000000000ull /* edges that stayed within the budget for so long are trusted again */

struct paying_id {
	uint64_t start_ns;
	uint32_t tid, pad;
};

struct paying {
	struct paying_id id;
	uint64_t waits, at_ns;
	unsigned over; /* looks in a row */
	unsigned round;
	UT_hash_handle hh;
};

void kernel_budget_begin(struct kernel_budget *b, double budget, uint64_t now_ns)
{
	b->now_ns = now_ns;
	b->budget = budget;
	b->round++;
	b->exceeded = false;
}

void kernel_budget_pulse(struct kernel_budget *b, const struct ls_pulse *p, double wait_cost_ns)
{
	struct paying_id id = { .start_ns = p->start_boottime_ns, .tid = p->tid };
	struct paying *l;

	/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): uthash reads the key, which is whole, by bytes */
	HASH_FIND(hh, b->loops, &id, sizeof(id), l);
	if (!l) {
		l = calloc(1, sizeof(*l));
		if (!l)
			return; /* tried again with the next look */
		l->id = id;
		HASH_ADD(hh, b->loops, id, sizeof(l->id), l);
	} else if (p->now_ns > l->at_ns) {
		double share = (double)(p->waits - l->waits) * wait_cost_ns / (double)(p->now_ns - l->at_ns);

		l->over = b->budget > 0 && share > b->budget ? l->over + 1 : 0;
		b->exceeded = b->exceeded || l->over >= 2;
	}
	l->waits = p->waits;
	l->at_ns = p->now_ns;
	l->round = b->round;
}

static void forget_ended(struct kernel_budget *b)
{
	struct paying *l, *tmp;

	HASH_ITER(hh, b->loops, l, tmp)
		if (l->round != b->round) {
			HASH_DEL(b->loops, l);
			free(l);
		}
}

enum budget_verdict kernel_budget_end(struct kernel_budget *b, bool attached)
{
	forget_ended(b);
	if (attached && b->exceeded) {
		bool again = b->pause_ns && b->now_ns - b->resumed_at_ns < CALM_NS;

		b->pause_ns = again ? 2 * b->pause_ns : FIRST_PAUSE_NS;
		if (b->pause_ns > LONGEST_PAUSE_NS)
			b->pause_ns = LONGEST_PAUSE_NS;
		b->paused_at_ns = b->now_ns;
		return BUDGET_LET_GO;
	}
	if (!attached && b->paused_at_ns && b->now_ns - b->paused_at_ns >= b->pause_ns) {
		b->resumed_at_ns = b->now_ns;
		b->paused_at_ns = 0;
		return BUDGET_TRY_AGAIN;
	}
	return BUDGET_GO_ON;
}

void kernel_budget_free(struct kernel_budget *b)
{
	struct paying *l, *tmp;

	HASH_ITER(hh, b->loops, l, tmp) {
		HASH_DEL(b->loops, l);
		free(l);
	}
}
