/* SPDX-License-Identifier: BSD-2-Clause */
/* observe_order.h - which loops of an interval are reported, and in what order. */
#ifndef LOOPSCOPE_CMD_OBSERVE_ORDER_H
#define LOOPSCOPE_CMD_OBSERVE_ORDER_H

#include "lib/fault.h"
#include "model/loop.h"
#include "model/loop_filter.h"

struct observe_order { /* all zeros: all loops, the most loaded first */
	const struct loop_filter *filter; /* borrowed: which loops are wanted; NULL: all */
	int by;                           /* enum observe_sort */
	struct loop_record *sorted;       /* owned, freed with free(): what the last interval's loops now point to */
};

/* Leaves those in the interval that are wanted, the first to be shown first, and counts the others there. */
int observe_choose(struct observe_order *x, struct interval *iv, struct fault *f);

#endif
