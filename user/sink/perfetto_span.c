/* SPDX-License-Identifier: BSD-2-Clause */
/* perfetto_span.c - the time line's spans as slices of a Perfetto trace, each lane in its own sequence. */
#include <stdio.h>

#include "lib/text.h"
#include "sink/edge_visit.h"
#include "sink/perfetto_trace.h"

#define KINDS (SPAN_GAP + 1)

/* Numbers of interned argument names: the index in arg_names, from 1. */
enum arg {
	ARG_EVENTS = 1, /* that the IO wait returned */
	ARG_VALUE,
	ARG_LOST,
	ARG_NET_NS, /* without interrupts */
	ARG_OPEN,   /* had not ended where the recording does */
	ARG_UNSURE, /* something was lost within */
};

static const char *const arg_names[] = { "events", "value", "lost", "net_ns", "open", "unsure" };

static uint64_t name_number(const struct timeline_span *s)
{
	return 1 + 2 * (uint64_t)s->kind + s->slow;
}

/* What a lane's spans are called: on a task's, its own name. In the order of name_number. */
static int begin_lane(struct perfetto_trace *t, const struct lane *l, int64_t start_ns)
{
	static const char *const plain[KINDS] = {
		[SPAN_TICK] = "tick",	[SPAN_IO_WAIT] = "io wait", [SPAN_IDLE] = "idle",
		[SPAN_ALIVE] = "alive", [SPAN_READY] = "ready",	    [SPAN_GAP] = "gap",
	};
	char own[TEXT_UTF8_SIZE(PERFETTO_NAME_SHOWN)], slow[KINDS][sizeof(own) + sizeof("slow ")];
	const char *names[2 * KINDS];
	struct perfetto_sequence *s = &t->sequences[l->index];
	uint64_t track;
	int err = perfetto_track(t, TRACK_SPANS, l->index, &track);

	if (err)
		return err;
	text_to_utf8(own, sizeof(own), lane_short_name(l), PERFETTO_NAME_SHOWN);
	for (size_t i = 0; i < KINDS; i++) {
		names[2 * i] = plain[i] ? plain[i] : own;
		snprintf(slow[i], sizeof(slow[i]), "slow %s", names[2 * i]);
		names[2 * i + 1] = slow[i];
	}
	s->id = PERFETTO_SEQUENCE_LANES + l->index;
	return perfetto_sequence_begin(&t->out, s, start_ns, track, names, 2 * KINDS, arg_names, ARRAY_SIZE(arg_names));
}

struct args {
	Perfetto__DebugAnnotation note[4], *at[4];
	size_t n;
};

static Perfetto__DebugAnnotation *add(struct args *a, enum arg name)
{
	Perfetto__DebugAnnotation *d = &a->note[a->n];

	*d = (Perfetto__DebugAnnotation)PERFETTO__DEBUG_ANNOTATION__INIT;
	d->has_name_iid = true;
	d->name_iid = name;
	a->at[a->n++] = d;
	return d;
}

static void add_number(struct args *a, enum arg name, int64_t value)
{
	Perfetto__DebugAnnotation *d = add(a, name);

	d->has_int_value = true;
	d->int_value = value;
}

static void add_flag(struct args *a, enum arg name, bool is)
{
	Perfetto__DebugAnnotation *d;

	if (!is)
		return;
	d = add(a, name);
	d->has_bool_value = d->bool_value = true;
}

/* The viewer joins the arguments of both ends. What is only known at the end stands there. */
static void add_begin(struct args *a, const struct timeline_span *s)
{
	if (s->kind == SPAN_MARK)
		add_number(a, ARG_VALUE, s->value);
	if (s->kind == SPAN_GAP && s->value >= 0)
		add_number(a, ARG_LOST, s->value);
	add_flag(a, ARG_UNSURE, s->unsure);
}

static void add_end(struct args *a, const struct timeline_span *s)
{
	if (s->kind == SPAN_IO_WAIT && s->value >= 0)
		add_number(a, ARG_EVENTS, s->value);
	if (s->net_ns >= 0 && s->net_ns != s->end_ns - s->start_ns)
		add_number(a, ARG_NET_NS, s->net_ns);
	add_flag(a, ARG_OPEN, s->open);
}

static Perfetto__TrackEvent__Type type_of(const struct timeline_span *s, bool begins)
{
	if (s->kind == SPAN_MARK)
		return PERFETTO__TRACK_EVENT__TYPE__TYPE_INSTANT;
	return begins ? PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN : PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_END;
}

static int on_edge(void *arg, const struct timeline_span *s, bool begins)
{
	struct perfetto_trace *t = arg;
	struct perfetto_sequence *sequence = &t->sequences[s->lane];
	Perfetto__TrackEvent e = PERFETTO__TRACK_EVENT__INIT;
	struct args args = { .n = 0 };
	int err = 0;

	if (s->kind > SPAN_GAP || (s->kind == SPAN_MARK && !begins))
		return 0;
	if (!sequence->id)
		err = begin_lane(t, &t->lanes[s->lane], s->start_ns);
	if (err)
		return err;
	e.has_type = true;
	e.type = type_of(s, begins);
	if (begins) {
		e.has_name_iid = true;
		e.name_iid = name_number(s);
		add_begin(&args, s);
	} else {
		add_end(&args, s);
	}
	/* Gaps lie on top of other spans: on their track they would cut those. */
	if (s->kind == SPAN_GAP) {
		e.has_track_uuid = true;
		err = perfetto_track(t, TRACK_GAPS, s->lane, &e.track_uuid);
		if (err)
			return err;
	}
	e.debug_annotations = args.at;
	e.n_debug_annotations = args.n;
	return perfetto_sequence_event(&t->out, sequence, begins ? s->start_ns : s->end_ns, &e);
}

int perfetto_spans(struct perfetto_trace *t, struct recording_view *v, const struct recording_select *s)
{
	return edge_visit(v, s, on_edge, t, t->out.f);
}
