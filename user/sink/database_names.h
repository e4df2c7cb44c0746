/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * database_names.h - what is written once and referred to by number: frames, stacks, who a loop is, lanes.
 *
 * What has a number is remembered in memory, so that the file needs no index over names. Both would grow for ever: so there are
 * eras. A new one forgets all numbers, and what is met again gets a new row. When nothing is left in the file from before an
 * era began, the rows of the ones before it can go.
 */
#ifndef LOOPSCOPE_SINK_DATABASE_NAMES_H
#define LOOPSCOPE_SINK_DATABASE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/record.h"

/* More than so many remembered begin a new era: some 100 MB. */
#define NAMES_MAX 262144

enum name_kind { NAME_FRAME, NAME_STACK, NAME_WHO, NAME_LANE, NAME_KINDS };

struct name;
struct database;
struct fault;

struct names {
	struct name *known[NAME_KINDS];
	size_t n;
	int64_t last[NAME_KINDS]; /* numbers given */
	/* An era that has ended, while rows of its time are left: its last numbers, and the end of its time. */
	bool ended;
	int64_t ended_last[NAME_KINDS], ended_ns;
	uint64_t written_before; /* bytes, when this era began */
};

/* NULL: not known yet. Its number else; what is kept beside it may be changed. */
struct name *names_find(struct names *n, enum name_kind kind, const void *key, size_t size);
/* number 0: the next one of its kind. NULL: out of memory. */
struct name *names_add(struct names *n, enum name_kind kind, const void *key, size_t size, int64_t number);
void names_remove(struct names *n, enum name_kind kind, struct name *name);
int64_t name_number(const struct name *name);

/* For lanes: what their row says now. */
struct name_lane {
	struct loop_id id;
	char process[LOOP_COMM_LEN], name[LOOP_COMM_LEN], runtime[32];
};
struct name_lane *name_lane(struct name *name);

void names_forget(struct names *n); /* all of them; numbers go on */

#endif
