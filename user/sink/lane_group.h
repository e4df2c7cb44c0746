/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lane_group.h - whose lanes they are: those of one process, or of one board, stand together in what is drawn of them.
 *
 * A lane belongs where its loop does. A PID that was reused by another program is another process: its name differs.
 * Groups are numbered in the order in which their first lane comes. The strings of a lane are not copied.
 */
#ifndef LOOPSCOPE_SINK_LANE_GROUP_H
#define LOOPSCOPE_SINK_LANE_GROUP_H

#include <stddef.h>
#include <stdint.h>

#include "lib/cleanup.h"
#include "model/timeline.h"

struct lane_groups {
	uint32_t *of;    /* group by lane index */
	uint32_t *first; /* a lane of each group: its loop, or what comes first */
	size_t n;        /* groups */
};

int lane_groups_new(const struct lane *lanes, size_t n, struct lane_groups *ret); /* -ENOMEM */
void lane_groups_free(struct lane_groups *g);                                     /* what it holds, not g itself */

/* The loop that the lane belongs to, or the lane itself. */
const struct lane *lane_owner(const struct lane *lanes, size_t n, const struct lane *l);

/* The lane's name as seen below its group's: what it is ("loop"), where it has no name or a board's loop is called like the board.
 * Hostile still. */
const char *lane_short_name(const struct lane *l);

#endif
