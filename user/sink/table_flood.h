/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * table_flood.h - a process whose threads come and go by the thousand does not push everybody else off the screen: of its loops
 * that ended within the interval only the first few are rows, and one line says how many more there were.
 */
#ifndef LOOPSCOPE_SINK_TABLE_FLOOD_H
#define LOOPSCOPE_SINK_TABLE_FLOOD_H

#include "model/record.h"

#define TABLE_ENDED_ROWS 4 /* of one process; a loop that lives on is always a row */

struct table_flood {
	struct loop_record *loops; /* the rows; NULL where nothing is left out */
	size_t n_left_out, n_processes;
	size_t most; /* left out of the process of which most are */
	const struct loop_record *of; /* one of that process's, the caller's */
};

/* *ret is *iv with fewer loops, in the same order; they belong to *flood. 0 or -ENOMEM. */
int table_flood_cut(const struct interval *iv, struct table_flood *ret_flood, struct interval *ret);
void table_flood_free(struct table_flood *flood);

#endif
