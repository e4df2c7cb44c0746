/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * table_note.c - the sentences around the table.
 */
#include "sink/table_note.h"

#include <inttypes.h>
#include <math.h>

#include "lib/text.h"
#include "sink/cell.h"
#include "sink/column.h"

/* Below this, steal is the noise of any VM. */
#define STEAL_WORTH_SAYING 0.01

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static unsigned note_lost(FILE *mem, const struct interval *iv)
{
	if (iv->lost <= 0 || iv->n_sources) /* a source says itself what that means */
		return 0;
	fprintf(mem, "# %" PRId64 " event%s lost: some time may be missing above, or stand in the wrong column\n",
		iv->lost, plural((uint64_t)iv->lost));
	return 1;
}

static unsigned note_contradictions(FILE *mem, const struct interval *iv, bool column_shown)
{
	uint64_t contradictions = 0, loops = 0;

	if (iv->n_sources)
		return 0;
	for (size_t i = 0; i < iv->n_loops; i++) {
		if (iv->loops[i].lost <= 0)
			continue;
		contradictions += (uint64_t)iv->loops[i].lost;
		loops++;
	}
	if (loops == 0)
		return 0;
	fprintf(mem, "# %" PRIu64 " contradiction%s in the events of %" PRIu64 " loop%s: see %s\n", contradictions,
		plural(contradictions), loops, plural(loops), column_shown ? "LOST" : "--columns +lost");
	return 1;
}

static unsigned note_steal(FILE *mem, const struct interval *iv)
{
	char share[32];

	if (!(iv->steal > STEAL_WORTH_SAYING))
		return 0;
	column_format_share(share, sizeof(share), iv->steal);
	fprintf(mem, "# %s of all CPU time was stolen by the hypervisor: a loop's part reads as BUSY\n", share);
	return 1;
}

static unsigned note_asleep(FILE *mem, const struct interval *iv)
{
	if (iv->n_asleep == 0)
		return 0;
	fprintf(mem, "# %zu thread%s not shown: asleep in an IO wait throughout, not known to be %s\n", iv->n_asleep,
		plural(iv->n_asleep), iv->n_asleep == 1 ? "a loop" : "loops");
	return 1;
}

unsigned table_notes(FILE *mem, const struct interval *iv, struct table_notes_shown shown)
{
	unsigned n = note_lost(mem, iv) + note_contradictions(mem, iv, shown.lost) + note_steal(mem, iv);

	return shown.asleep ? n + note_asleep(mem, iv) : n;
}

unsigned table_note_flood(FILE *mem, const struct table_flood *flood)
{
	char comm[CELL_SIZE];

	if (!flood->n_left_out)
		return 0;
	cell_set_bytes(comm, flood->of->comm, LOOP_COMM_LEN);
	if (flood->n_processes == 1)
		fprintf(mem, "# %zu more loops of %s (%" PRIu32 ") ended within this time: '-o json' tells of each\n", flood->n_left_out, comm,
			flood->of->id.pid);
	else
		fprintf(mem, "# %zu more loops ended within this time, of %zu processes, %zu of them of %s (%" PRIu32 "): '-o json' tells of each\n",
			flood->n_left_out, flood->n_processes, flood->most, comm, flood->of->id.pid);
	return 1;
}

void table_note_no_loops(FILE *mem, const struct interval *iv)
{
	char span[TEXT_DURATION_SIZE];

	if (iv->n_excluded) {
		fprintf(mem, "# %zu loop%s seen, none of them is one of those that were asked for\n", iv->n_excluded, plural(iv->n_excluded));
		return;
	}
	fputs("# no loops seen", mem);
	/* A century, in seconds: NAN, negative and absurd spans are left unsaid. */
	if (iv->interval_s > 0 && iv->interval_s < 3e9)
		fprintf(mem, " in %s", text_duration(span, sizeof(span), (uint64_t)llround(iv->interval_s * 1e9)));
	fputs(": no thread came back to the same IO wait\n"
	      "# (epoll_wait, poll, select, ...). One that sleeps throughout can't be told from a\n"
	      "# loop with nothing to do: watch for longer, or give it something to do.\n"
	      "# 'loopscope doctor' says what can be seen on this machine.\n",
	      mem);
}
