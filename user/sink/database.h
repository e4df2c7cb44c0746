/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * database.h - a recording as it is made: one SQLite file that takes records of any number of sources, each through a sink of its
 * own, and every single turn and span in packed chunks. docs/recording.md describes the file; source/recording.h reads it.
 *
 * What was given is safe from the end of this process after database_commit(), and from the end of the machine a few seconds
 * later. Between commits it is in memory or in an open transaction. Commits don't wait for the disk: a thread of its own does
 * (so open the database before signals are blocked that the caller wants, and not between fork and exec).
 *
 * Paths of single turns and spans neither allocate nor format, but for what a lane's first one and a full chunk need.
 * Size: with max_bytes the file and its journal together stay below it; the oldest goes first, and the file says from when on it is
 * whole. Memory: names and lanes that are known are bounded, see database_names.c.
 *
 * Errors: -errno with a sentence in *f. After an error nothing more is taken; what was committed is in the file.
 */
#ifndef LOOPSCOPE_SINK_DATABASE_H
#define LOOPSCOPE_SINK_DATABASE_H

#include "model/recording.h"
#include "sink/sink.h"

#define DATABASE_MIN_BYTES (8ull << 20) /* the least that max_bytes can be */

struct database;

struct database_options {
	const char *path;
	bool overwrite;        /* a recording that is there is replaced; anything else never is */
	uint64_t max_bytes;    /* 0: no limit */
	int64_t anchor_ns;     /* where the time line has CLOCK_MONOTONIC's 0, unix nanoseconds */
	const struct recording_host *host; /* facts that are known at the start; borrowed during the call */
};

int database_open(const struct database_options *o, struct database **ret, struct fault *f);
/* In order: all that was given is committed, and the file is one that needs no journal beside it. Frees db in any case, and its
 * sinks. mono_ns: now. */
int database_close(struct database *db, uint64_t mono_ns, struct fault *f);
/* After an error: nothing more is written, db and its sinks are freed. Accepts NULL. */
void database_abandon(struct database *db);

struct database_source_options {
	enum record_source kind;
	const char *name, *where;
	bool host_clock; /* its times are CLOCK_MONOTONIC's */
};

/* *ret is for this source's records, turns and spans, and the database's own: it is not to be freed. */
int database_source(struct database *db, const struct database_source_options *o, struct sink **ret, struct fault *f);

/* Once a second, and after each interval. mono_ns: now. */
int database_commit(struct database *db, uint64_t mono_ns, struct fault *f);

struct database_stats {
	uint64_t bytes;     /* of the file and its journal, as of the last commit */
	uint64_t intervals, slow_ticks, spans; /* a turn counts once */
	uint64_t lost;      /* events of turns that were told as lost */
	uint64_t chunks, chunk_bytes;
	uint64_t written;   /* bytes into the journal so far */
	uint64_t dropped_intervals; /* to keep the size */
};

struct database_stats database_stats(const struct database *db);

#endif
