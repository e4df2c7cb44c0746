/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perfetto_track.c - the tracks of a Perfetto trace.
 *
 * A process and its threads are the viewer's own processes and threads, so that a system's trace of the same time, opened
 * together with ours, falls in place. A board is a track of its own with the lanes below it. The viewer merges tracks of one name
 * below one parent unless told not to (track_descriptor.proto): two instances of a task would be one.
 */
#include <errno.h>
#include <stdio.h>

#include "sink/perfetto_trace.h"

#define ORDER_EXPLICIT 3 /* enum ChildTracksOrdering */
#define MERGE_NONE 2     /* enum SiblingMergeBehavior */

#define RANKS (TRACK_GROUP + 1)

/* Steele, Lea, Flood: SplitMix, the finalizer. Neighbouring numbers become unlike ones. */
static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return x ^ (x >> 31);
}

static uint64_t uuid_of(const struct perfetto_trace *t, enum perfetto_track kind, uint32_t index)
{
	uint64_t uuid = mix(t->base ^ mix((uint64_t)kind << 32 | index));

	return uuid ? uuid : 1; /* 0 is the trace as a whole */
}

static int describe_group(struct perfetto_trace *t, uint32_t group, uint64_t uuid)
{
	const struct lane *l = &t->lanes[t->groups.first[group]];
	Perfetto__TrackDescriptor d = PERFETTO__TRACK_DESCRIPTOR__INIT;
	Perfetto__ProcessDescriptor process = PERFETTO__PROCESS_DESCRIPTOR__INIT;

	d.has_uuid = d.has_child_ordering = true;
	d.uuid = uuid;
	d.child_ordering = ORDER_EXPLICIT;
	d.name = perfetto_notes_text(&t->notes, l->process, PERFETTO_NAME_SHOWN);
	if (l->id.pid) {
		process.has_pid = true;
		process.pid = (int32_t)l->id.pid;
		process.process_name = d.name;
		d.process = &process;
	} else if (l->source < t->n_sources) {
		d.description = perfetto_notes_text(&t->notes, t->sources[l->source].where, PERFETTO_NAME_SHOWN);
	}
	return perfetto_out_track(&t->out, &d);
}

/* "blink", "blink 2", "load of node": what, where the name alone does not tell. */
static char *track_name(struct perfetto_trace *t, const struct lane *l, const char *what)
{
	char number[16] = "", name[PERFETTO_NAME_SHOWN + 64];

	if (l->instance)
		snprintf(number, sizeof(number), " %u", l->instance + 1);
	snprintf(name, sizeof(name), "%s%s%.*s%s", what, *what ? " of " : "", PERFETTO_NAME_SHOWN, lane_short_name(l), number);
	return perfetto_notes_text(&t->notes, name, sizeof(name));
}

static int describe_lane(struct perfetto_trace *t, enum perfetto_track kind, const struct lane *l, uint64_t uuid)
{
	static const char *const what[] = { [TRACK_SPANS] = "",	  [TRACK_SLOW] = "slow ticks", [TRACK_GAPS] = "gaps",
					    [TRACK_LOAD] = "load", [TRACK_BUSY] = "busy",	       [TRACK_WAIT] = "wait",
					    [TRACK_SLOW_BESIDE] = "slow ticks within those" };
	const struct lane *owner = lane_owner(t->lanes, t->n_lanes, l);
	bool slow = kind == TRACK_SLOW || kind == TRACK_SLOW_BESIDE, share = kind == TRACK_LOAD || kind == TRACK_BUSY || kind == TRACK_WAIT;
	bool thread = kind == TRACK_SPANS && l->kind == LANE_LOOP && l->id.pid;
	Perfetto__TrackDescriptor d = PERFETTO__TRACK_DESCRIPTOR__INIT;
	Perfetto__ThreadDescriptor td = PERFETTO__THREAD_DESCRIPTOR__INIT;
	Perfetto__CounterDescriptor counter = PERFETTO__COUNTER_DESCRIPTOR__INIT;
	int err = 0;

	/* What is above it comes first: of a thread's own the thread, else the process or board. */
	if (!thread && owner->id.pid)
		err = perfetto_track(t, TRACK_SPANS, owner->index, &d.parent_uuid);
	else
		err = perfetto_track(t, TRACK_GROUP, t->groups.of[l->index], &d.parent_uuid);
	if (err)
		return err;
	d.has_uuid = d.has_parent_uuid = d.has_sibling_order_rank = true;
	d.uuid = uuid;
	d.sibling_order_rank = (int32_t)(l->index * RANKS + (slow ? TRACK_SLOW : kind));
	if (thread) {
		td.has_pid = td.has_tid = d.has_disallow_merging_with_system_tracks = true;
		d.disallow_merging_with_system_tracks = true;
		td.pid = (int32_t)l->id.pid;
		td.tid = l->id.tid;
		td.thread_name = perfetto_notes_text(&t->notes, l->name, PERFETTO_NAME_SHOWN);
		d.thread = &td;
	} else {
		d.has_sibling_merge_behavior = true;
		d.sibling_merge_behavior = MERGE_NONE;
	}
	d.name = track_name(t, l, what[kind]);
	if (share) {
		counter.unit_name = (char *)"%";
		counter.y_axis_share_key = (char *)"share";
		d.counter = &counter;
	}
	if (slow)
		d.description = (char *)"Each slow tick in its parts, the largest first: how long they took is true, their order is not known.";
	if (kind == TRACK_GAPS)
		d.description = (char *)"Events were lost: nothing is known of these times.";
	return perfetto_out_track(&t->out, &d);
}

int perfetto_track(struct perfetto_trace *t, enum perfetto_track kind, uint32_t index, uint64_t *ret_uuid)
{
	uint8_t bit = (uint8_t)(1u << kind);
	int err;

	*ret_uuid = uuid_of(t, kind, index);
	if (t->known[index] & bit)
		return 0;
	t->known[index] |= bit;
	if (kind == TRACK_GROUP)
		err = describe_group(t, index, *ret_uuid);
	else
		err = describe_lane(t, kind, &t->lanes[index], *ret_uuid);
	if (!err && t->notes.failed)
		err = fault(t->out.f, -ENOMEM, EXIT_FAILED, "no memory for the names of the trace");
	perfetto_notes_clear(&t->notes);
	return err;
}
