/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perfetto_packet.h - packets of a Perfetto trace, written one after the other: who writes them (sequences), their time, their
 * arguments.
 *
 * Each lane has a sequence of its own. It says once whose track it means, what its names are, and from then on only how much time
 * went by: some 17 bytes a packet. Times of one sequence must not go back; between sequences there is no order, and readers sort.
 *
 * Facts: Perfetto's trace_packet.proto (sequences, interned data), clock_snapshot.proto (incremental clocks of a sequence).
 */
#ifndef LOOPSCOPE_SINK_PERFETTO_PACKET_H
#define LOOPSCOPE_SINK_PERFETTO_PACKET_H

#include <stdbool.h>
#include <stdio.h>

#include "lib/fault.h"
#include "sink/perfetto.pb-c.h"

struct perfetto_out {
	FILE *out;
	uint8_t *buf; /* owned: one packet */
	size_t cap;
	struct fault *f;
};

void perfetto_out_free(struct perfetto_out *o); /* what it holds, not o itself */

/* All return 0 or -errno with a sentence in o->f. */
int perfetto_out_packet(struct perfetto_out *o, Perfetto__TracePacket *p);
int perfetto_out_track(struct perfetto_out *o, Perfetto__TrackDescriptor *d);
/* An event at an absolute time, on the track that it names. */
int perfetto_out_event(struct perfetto_out *o, uint32_t sequence, int64_t at_ns, Perfetto__TrackEvent *e);

#define PERFETTO_NAMES 24 /* names that a sequence may have; their numbers are 1 to this */

struct perfetto_sequence {
	uint32_t id;
	int64_t now_ns; /* 0: nothing was written */
};

/* The sequence's first packet: from start_ns on, events are of that track and have these names (names[i] is number i + 1). */
int perfetto_sequence_begin(struct perfetto_out *o, struct perfetto_sequence *s, int64_t start_ns, uint64_t track,
			    const char *const *names, size_t n_names, const char *const *args, size_t n_args);
int perfetto_sequence_event(struct perfetto_out *o, struct perfetto_sequence *s, int64_t at_ns, Perfetto__TrackEvent *e);

/* Arguments of one event (debug annotations): the memory that they need until the event is written. */
#define PERFETTO_NOTES 192

struct perfetto_notes {
	Perfetto__DebugAnnotation note[PERFETTO_NOTES];
	Perfetto__DebugAnnotation *at[PERFETTO_NOTES]; /* pointers to them, so that what belongs together stands together */
	size_t n;
	char *text[PERFETTO_NOTES]; /* owned */
	size_t n_texts;
	bool failed; /* no memory, or no more place: checked once, at the end */
};

void perfetto_notes_clear(struct perfetto_notes *n);
/* n notes that stand together; NULL where there is no place. */
Perfetto__DebugAnnotation **perfetto_notes_take(struct perfetto_notes *n, size_t count);
/* Hostile bytes as UTF-8, valid until the notes are cleared; cut at max bytes. */
char *perfetto_notes_text(struct perfetto_notes *n, const char *bytes, size_t max);

#endif
