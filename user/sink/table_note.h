/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * table_note.h - the sentences around the table: what must not be missed, and what an empty table means.
 *
 * Lines start with "# ", so that a script which reads rows can leave them out. They are written to a memory stream: who
 * calls checks that stream.
 */
#ifndef LOOPSCOPE_SINK_TABLE_NOTE_H
#define LOOPSCOPE_SINK_TABLE_NOTE_H

#include <stdbool.h>
#include <stdio.h>

#include "model/record.h"
#include "sink/table_flood.h"

struct table_notes_shown {
	bool lost;   /* the table has a column of contradictions: no need to point at it */
	bool asleep; /* say how many threads are not shown */
};

/* Losses, steal, and threads not shown; nothing where there is nothing to say. Returns the number of lines. */
unsigned table_notes(FILE *mem, const struct interval *iv, struct table_notes_shown shown);
/* Loops that are not rows because there were too many of them; nothing where there are none. Returns the number of lines. */
unsigned table_note_flood(FILE *mem, const struct table_flood *flood);
/* In place of a table without rows. */
void table_note_no_loops(FILE *mem, const struct interval *iv);

#endif
