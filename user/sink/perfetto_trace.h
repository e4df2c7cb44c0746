/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perfetto_trace.h - what the parts of the Perfetto report share: the recording, the file, and which tracks the file knows.
 *
 * A track is named when it is first used, so that nothing empty is shown. Its number (uuid) is a hash of the recording and of what
 * it stands for: traces put one after the other, a system's own for one, do not meet.
 */
#ifndef LOOPSCOPE_SINK_PERFETTO_TRACE_H
#define LOOPSCOPE_SINK_PERFETTO_TRACE_H

#include "model/recording.h"
#include "sink/lane_group.h"
#include "sink/perfetto_packet.h"

#define PERFETTO_NAME_SHOWN 1024 /* bytes of a name */

/* Of the packets that are not of a lane's own sequence (those are PERFETTO_SEQUENCE_LANES + index). */
enum perfetto_sequence_id {
	PERFETTO_SEQUENCE_COUNTERS = 2,
	PERFETTO_SEQUENCE_SLOW = 3,
	PERFETTO_SEQUENCE_LANES = 4,
};

/* Tracks of one lane, in the order in which they are shown. */
enum perfetto_track {
	TRACK_SPANS,
	TRACK_SLOW, /* slow ticks by their causes */
	TRACK_GAPS,
	TRACK_LOAD,
	TRACK_BUSY,
	TRACK_WAIT,
	TRACK_GROUP, /* the process or board; by group, not by lane */
	TRACK_SLOW_BESIDE, /* shown like TRACK_SLOW: those that overlap others there */
};

struct perfetto_trace {
	struct perfetto_out out;
	const struct recording_host *host;
	const struct recording_source *sources;
	size_t n_sources;
	const struct lane *lanes;
	size_t n_lanes;
	struct lane_groups groups;
	struct perfetto_sequence *sequences; /* by lane */
	uint8_t *known;                      /* by lane (TRACK_GROUP: by group): bits of enum perfetto_track */
	uint64_t base;
	struct perfetto_notes notes; /* of the event that is being made */
};

/* The track's number; its descriptor is written if it was not yet. */
int perfetto_track(struct perfetto_trace *t, enum perfetto_track kind, uint32_t lane, uint64_t *ret_uuid);

/* Each visits one kind of record. */
int perfetto_spans(struct perfetto_trace *t, struct recording_view *v, const struct recording_select *s);
int perfetto_slow_ticks(struct perfetto_trace *t, struct recording_view *v, const struct recording_select *s);
int perfetto_counters(struct perfetto_trace *t, struct recording_view *v, const struct recording_select *s);

#endif
