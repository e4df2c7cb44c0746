/* SPDX-License-Identifier: BSD-2-Clause */
/* perfetto_packet.c - see perfetto_packet.h. */
#include "sink/perfetto_packet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/text.h"
#include "sink/output.h"

#define SEQUENCE_OF_TRACKS 1

void perfetto_out_free(struct perfetto_out *o)
{
	free(o->buf);
	o->buf = NULL;
}

int perfetto_out_packet(struct perfetto_out *o, Perfetto__TracePacket *p)
{
	Perfetto__Trace t = PERFETTO__TRACE__INIT;
	size_t n;

	/* A trace is nothing but packets, so that one trace after the other is one trace. */
	t.packet = &p;
	t.n_packet = 1;
	n = perfetto__trace__get_packed_size(&t);
	if (n > o->cap) {
		uint8_t *grown = realloc(o->buf, 2 * n);

		if (!grown)
			return fault(o->f, -ENOMEM, EXIT_FAILED, "no memory for a packet of the trace");
		o->buf = grown;
		o->cap = 2 * n;
	}
	perfetto__trace__pack(&t, o->buf);
	return output_write(o->out, (const char *)o->buf, n, o->f);
}

int perfetto_out_track(struct perfetto_out *o, Perfetto__TrackDescriptor *d)
{
	Perfetto__TracePacket p = PERFETTO__TRACE_PACKET__INIT;

	p.has_trusted_packet_sequence_id = true;
	p.trusted_packet_sequence_id = SEQUENCE_OF_TRACKS;
	p.track_descriptor = d;
	return perfetto_out_packet(o, &p);
}

int perfetto_out_event(struct perfetto_out *o, uint32_t sequence, int64_t at_ns, Perfetto__TrackEvent *e)
{
	Perfetto__TracePacket p = PERFETTO__TRACE_PACKET__INIT;

	p.has_trusted_packet_sequence_id = p.has_timestamp = p.has_timestamp_clock_id = true;
	p.trusted_packet_sequence_id = sequence;
	p.timestamp_clock_id = PERFETTO__CLOCK_ID__CLOCK_REALTIME;
	p.timestamp = at_ns > 0 ? (uint64_t)at_ns : 0;
	p.track_event = e;
	return perfetto_out_packet(o, &p);
}

static void number_names(const char *const *names, size_t n, Perfetto__InternedName *ret, Perfetto__InternedName **ret_at)
{
	for (size_t i = 0; i < n; i++) {
		ret[i] = (Perfetto__InternedName)PERFETTO__INTERNED_NAME__INIT;
		ret[i].has_iid = true;
		ret[i].iid = i + 1;
		ret[i].name = (char *)names[i]; /* protobuf-c has no const; it only reads */
		ret_at[i] = &ret[i];
	}
}

int perfetto_sequence_begin(struct perfetto_out *o, struct perfetto_sequence *s, int64_t start_ns, uint64_t track,
			    const char *const *names, size_t n_names, const char *const *args, size_t n_args)
{
	Perfetto__TracePacket p = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__TracePacketDefaults defaults = PERFETTO__TRACE_PACKET_DEFAULTS__INIT;
	Perfetto__TrackEventDefaults event_defaults = PERFETTO__TRACK_EVENT_DEFAULTS__INIT;
	Perfetto__ClockSnapshot snapshot = PERFETTO__CLOCK_SNAPSHOT__INIT;
	Perfetto__ClockSnapshot__Clock own = PERFETTO__CLOCK_SNAPSHOT__CLOCK__INIT, real = PERFETTO__CLOCK_SNAPSHOT__CLOCK__INIT;
	Perfetto__ClockSnapshot__Clock *clocks[] = { &real, &own };
	Perfetto__InternedData interned = PERFETTO__INTERNED_DATA__INIT;
	Perfetto__InternedName name[2 * PERFETTO_NAMES], *at[2 * PERFETTO_NAMES];

	if (n_names > PERFETTO_NAMES || n_args > PERFETTO_NAMES)
		return fault(o->f, -EINVAL, EXIT_FAILED, "a sequence of the trace has too many names; please report this");
	s->now_ns = start_ns > 0 ? start_ns : 0;
	own.has_clock_id = own.has_timestamp = own.has_is_incremental = own.is_incremental = true;
	own.clock_id = PERFETTO__CLOCK_ID__CLOCK_OF_SEQUENCE;
	real.has_clock_id = real.has_timestamp = true;
	real.clock_id = PERFETTO__CLOCK_ID__CLOCK_REALTIME;
	own.timestamp = real.timestamp = (uint64_t)s->now_ns;
	snapshot.clocks = clocks;
	snapshot.n_clocks = ARRAY_SIZE(clocks);
	event_defaults.has_track_uuid = defaults.has_timestamp_clock_id = true;
	event_defaults.track_uuid = track;
	defaults.timestamp_clock_id = PERFETTO__CLOCK_ID__CLOCK_OF_SEQUENCE;
	defaults.track_event_defaults = &event_defaults;
	number_names(names, n_names, name, at);
	number_names(args, n_args, name + PERFETTO_NAMES, at + PERFETTO_NAMES);
	interned.event_names = at;
	interned.n_event_names = n_names;
	interned.debug_annotation_names = at + PERFETTO_NAMES;
	interned.n_debug_annotation_names = n_args;

	p.has_trusted_packet_sequence_id = p.has_sequence_flags = true;
	p.trusted_packet_sequence_id = s->id;
	p.sequence_flags = PERFETTO__SEQUENCE_FLAGS__SEQ_INCREMENTAL_STATE_CLEARED;
	p.clock_snapshot = &snapshot;
	p.trace_packet_defaults = &defaults;
	p.interned_data = &interned;
	return perfetto_out_packet(o, &p);
}

int perfetto_sequence_event(struct perfetto_out *o, struct perfetto_sequence *s, int64_t at_ns, Perfetto__TrackEvent *e)
{
	Perfetto__TracePacket p = PERFETTO__TRACE_PACKET__INIT;
	int64_t at = at_ns > s->now_ns ? at_ns : s->now_ns;

	p.has_trusted_packet_sequence_id = p.has_sequence_flags = p.has_timestamp = true;
	p.trusted_packet_sequence_id = s->id;
	p.sequence_flags = PERFETTO__SEQUENCE_FLAGS__SEQ_NEEDS_INCREMENTAL_STATE;
	p.timestamp = (uint64_t)(at - s->now_ns);
	p.track_event = e;
	s->now_ns = at;
	return perfetto_out_packet(o, &p);
}

void perfetto_notes_clear(struct perfetto_notes *n)
{
	for (size_t i = 0; i < n->n_texts; i++)
		free(n->text[i]);
	n->n = n->n_texts = 0;
	n->failed = false;
}

Perfetto__DebugAnnotation **perfetto_notes_take(struct perfetto_notes *n, size_t count)
{
	Perfetto__DebugAnnotation **at = &n->at[n->n];

	if (count > PERFETTO_NOTES - n->n) {
		n->failed = true;
		return NULL;
	}
	for (size_t i = 0; i < count; i++) {
		n->note[n->n] = (Perfetto__DebugAnnotation)PERFETTO__DEBUG_ANNOTATION__INIT;
		n->at[n->n] = &n->note[n->n];
		n->n++;
	}
	return at;
}

char *perfetto_notes_text(struct perfetto_notes *n, const char *bytes, size_t max)
{
	size_t size = TEXT_UTF8_SIZE(strnlen(bytes, max));
	char *text = n->n_texts < PERFETTO_NOTES ? malloc(size) : NULL;

	if (!text) {
		n->failed = true;
		return NULL;
	}
	text_to_utf8(text, size, bytes, max);
	n->text[n->n_texts++] = text;
	return text;
}
