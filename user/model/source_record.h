/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * source_record.h - the neutral `source` record: what a source says of itself and of a loop's headroom for one interval.
 *
 * A loop record has no place for where its events come from, what was lost on the way, how its clock stands to ours, and
 * how much more would fit in. As in record.h: what cannot be known is NAN for a double, -1 for a count, "" for a string.
 * Counts are since the source was opened, spans of this interval, the margin since the session began. Strings are borrowed
 * until the sink returns; what a device calls itself is hostile bytes.
 */
#ifndef LOOPSCOPE_MODEL_SOURCE_RECORD_H
#define LOOPSCOPE_MODEL_SOURCE_RECORD_H

#include "model/clock.h"
#include "model/record.h"
#include "model/task.h"

struct source_record {
	double ts;         /* unix seconds at the interval's end */
	double interval_s; /* wall time; NAN where there is none (a file) */
	enum record_source source;
	const char *loop;     /* as in the task records */
	const char *name;     /* what the other end calls itself */
	const char *where;    /* port, address or file */
	const char *protocol; /* "": not recognised yet */
	bool present;         /* false: unplugged, or its server is gone */

	struct margin margin;
	struct span_stats sleep_us; /* idle stretches that nothing interrupted: the chance to sleep */
	struct span_stats pass_us;  /* once round the loop, where that is all that is known */

	struct clock_fit clock;
	uint64_t hz;      /* of its clock, 0 unknown */
	bool hz_measured; /* not told: from our clock */

	int64_t lost_frames; /* on the wire */
	int64_t lost_events; /* at the other end: its buffer was full */
	int64_t lost_bytes;  /* that made no sense here */
	int64_t gaps;
	int64_t gaps_uncounted; /* of them, with an unknown number of losses: what is lost is at least what is counted */
	int64_t resets;
	int64_t orphans;   /* ends whose beginning lies before the first byte */
	int64_t untracked; /* events of tasks beyond the limit of what is tracked */

	uint64_t bytes, events, garbage, resyncs, console; /* received; see source/serial.h */
	double silent_s;       /* since anything arrived */
	double uncertainty_us; /* times are the host's, late by up to this; NAN: they are its own */
	bool from_sums;        /* load and margin come from its own sums: exact under loss */
};

#endif
