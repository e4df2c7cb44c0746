/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perfetto_slow.c - slow ticks with what made them slow, as slices of a track of their own beside the lane's.
 *
 * A slow tick's causes are known by how long they took, not by when: they are laid end to end below it, the largest first, and
 * the track says so. Each has its stack as an argument.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sink/output.h"
#include "sink/perfetto_trace.h"

static void note_text(struct perfetto_notes *n, Perfetto__DebugAnnotation *d, const char *name, const char *text)
{
	d->name = (char *)name;
	d->string_value = perfetto_notes_text(n, text, PERFETTO_NAME_SHOWN);
}

static void note_us(Perfetto__DebugAnnotation *d, const char *name, double us)
{
	d->name = (char *)name;
	d->has_double_value = true;
	d->double_value = us;
}

static void note_count(Perfetto__DebugAnnotation *d, const char *name, int64_t n)
{
	d->name = (char *)name;
	d->has_int_value = true;
	d->int_value = n;
}

/* "causes": [{kind, us, what}, ...] */
static void note_causes(struct perfetto_notes *n, Perfetto__DebugAnnotation *list, const struct slow_tick *tick)
{
	list->name = (char *)"causes";
	list->array_values = perfetto_notes_take(n, tick->n_causes);
	if (!list->array_values)
		return;
	list->n_array_values = tick->n_causes;
	for (size_t i = 0; i < tick->n_causes; i++) {
		const struct slow_cause *c = &tick->causes[i];
		Perfetto__DebugAnnotation **field = perfetto_notes_take(n, c->what[0] ? 3 : 2);

		if (!field)
			return;
		note_text(n, field[0], "kind", cause_kind_name(c->kind));
		note_us(field[1], "us", c->us);
		if (c->what[0])
			note_text(n, field[2], "what", c->what);
		list->array_values[i]->dict_entries = field;
		list->array_values[i]->n_dict_entries = c->what[0] ? 3 : 2;
	}
}

static void note_tick(struct perfetto_notes *n, Perfetto__TrackEvent *e, const struct slow_tick *tick)
{
	const struct {
		const char *name;
		double us;
	} parts[] = { { "cpu_us", tick->cpu_us },
		      { "blocked_us", tick->blocked_us },
		      { "wait_us", tick->wait_us },
		      { "throttled_us", tick->throttled_us } };
	size_t used = 0;

	e->debug_annotations = perfetto_notes_take(n, ARRAY_SIZE(parts) + 4);
	if (!e->debug_annotations)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (!isnan(parts[i].us))
			note_us(e->debug_annotations[used++], parts[i].name, parts[i].us);
	if (tick->events >= 0)
		note_count(e->debug_annotations[used++], "events", tick->events);
	if (tick->suppressed > 0)
		note_count(e->debug_annotations[used++], "suppressed", tick->suppressed);
	if (tick->in_progress) {
		e->debug_annotations[used]->name = (char *)"in_progress";
		e->debug_annotations[used]->has_bool_value = e->debug_annotations[used]->bool_value = true;
		used++;
	}
	if (tick->n_causes)
		note_causes(n, e->debug_annotations[used++], tick);
	e->n_debug_annotations = used;
}

static void note_cause(struct perfetto_notes *n, Perfetto__TrackEvent *e, const struct slow_cause *c)
{
	Perfetto__DebugAnnotation **stack;
	size_t used = 0;

	e->debug_annotations = perfetto_notes_take(n, 4);
	stack = perfetto_notes_take(n, c->stack.n);
	if (!e->debug_annotations || !stack)
		return;
	note_text(n, e->debug_annotations[used++], "kind", cause_kind_name(c->kind));
	note_us(e->debug_annotations[used++], "us", c->us);
	if (c->samples >= 0)
		note_count(e->debug_annotations[used++], "samples", c->samples);
	if (c->stack.n) {
		e->debug_annotations[used]->name = (char *)"stack";
		e->debug_annotations[used]->array_values = stack;
		e->debug_annotations[used++]->n_array_values = c->stack.n;
	}
	for (size_t i = 0; i < c->stack.n; i++)
		stack[i]->string_value = perfetto_notes_text(n, c->stack.frame[i], PERFETTO_NAME_SHOWN);
	e->n_debug_annotations = used;
}

static int put(struct perfetto_trace *t, int64_t at_ns, Perfetto__TrackEvent *e)
{
	int err;

	if (t->notes.failed)
		err = fault(t->out.f, -ENOMEM, EXIT_FAILED, "no memory for a slow tick of the trace");
	else
		err = perfetto_out_event(&t->out, PERFETTO_SEQUENCE_SLOW, at_ns, e);
	perfetto_notes_clear(&t->notes);
	return err;
}

static Perfetto__TrackEvent slice(uint64_t track, Perfetto__TrackEvent__Type type)
{
	Perfetto__TrackEvent e = PERFETTO__TRACK_EVENT__INIT;

	e.has_type = e.has_track_uuid = true;
	e.type = type;
	e.track_uuid = track;
	return e;
}

static int put_causes(struct perfetto_trace *t, uint64_t track, const struct recording_slow *r)
{
	int64_t at = r->start_ns;
	int err = 0;

	for (size_t i = 0; i < r->tick->n_causes && !err; i++) {
		const struct slow_cause *c = &r->tick->causes[i];
		Perfetto__TrackEvent begin = slice(track, PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN);
		Perfetto__TrackEvent end = slice(track, PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_END);
		double left_us = (double)(r->end_ns - at) / 1e3;
		int64_t until = c->us < left_us ? at + (int64_t)(c->us * 1e3) : r->end_ns;

		if (!(c->us > 0))
			continue;
		begin.name = perfetto_notes_text(&t->notes, c->what[0] ? c->what : cause_kind_name(c->kind), PERFETTO_NAME_SHOWN);
		note_cause(&t->notes, &begin, c);
		err = put(t, at, &begin);
		if (!err)
			err = put(t, until, &end);
		at = until;
	}
	return err;
}

static int put_tick(struct perfetto_trace *t, uint64_t track, const struct recording_slow *r)
{
	Perfetto__TrackEvent begin = slice(track, PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN);
	Perfetto__TrackEvent end = slice(track, PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_END);
	int err;

	begin.name = (char *)"slow tick";
	note_tick(&t->notes, &begin, r->tick);
	err = put(t, r->start_ns, &begin);
	if (!err)
		err = put_causes(t, track, r);
	return err ? err : put(t, r->end_ns, &end);
}

#define WHAT_SHOWN 64

/*
 * One lane's slow ticks. One that was told while it lasted comes again, and once more when it has ended: the last word counts, so each
 * is held back, as the bytes that it takes in the file, until another comes. A board's clock may be known better by then, and what
 * begins with it have moved: two are the same where they overlap and are of one cause. Slices of one track do not overlap, and an
 * interrupt may be slow within a slow step: there is a track beside for it.
 */
struct slow_lane {
	char *held; /* owned; NULL: none */
	size_t n_held;
	int64_t start_ns, end_ns; /* of what is held */
	bool in_progress;
	unsigned row;
	char what[WHAT_SHOWN];
	int64_t free_ns[2]; /* from when on nothing is written to a row */
};

struct slow_visit {
	struct perfetto_trace *t;
	struct slow_lane **lanes; /* by lane; NULL: none so far */
};

static const char *first_what(const struct slow_tick *tick)
{
	return tick->n_causes ? tick->causes[0].what : "";
}

static bool is_same(const struct slow_lane *l, const struct recording_slow *r)
{
	const char *what = first_what(r->tick);
	bool one_cause = !strncmp(l->what, what, WHAT_SHOWN - 1);

	if (!l->in_progress && !r->tick->in_progress)
		return false;
	if (l->start_ns == r->start_ns && (r->tick->id.pid || one_cause))
		return true;
	return one_cause && what[0] && r->start_ns < l->end_ns && l->start_ns < r->end_ns;
}

static int write_held(struct slow_visit *v, struct slow_lane *l)
{
	int err = l->held ? output_write(v->t->out.out, l->held, l->n_held, v->t->out.f) : 0;

	if (l->held)
		l->free_ns[l->row] = l->end_ns;
	free(l->held);
	l->held = NULL;
	return err;
}

static int hold(struct slow_visit *v, struct slow_lane *l, uint64_t track, const struct recording_slow *r)
{
	FILE *file = v->t->out.out, *memory;
	int err;

	free(l->held);
	l->held = NULL;
	memory = open_memstream(&l->held, &l->n_held);
	if (!memory)
		return fault(v->t->out.f, -ENOMEM, EXIT_FAILED, "no memory for a slow tick of the trace");
	v->t->out.out = memory;
	err = put_tick(v->t, track, r);
	v->t->out.out = file;
	if (fclose(memory) && !err)
		err = fault(v->t->out.f, -ENOMEM, EXIT_FAILED, "no memory for a slow tick of the trace");
	l->start_ns = r->start_ns;
	l->end_ns = r->end_ns;
	l->in_progress = r->tick->in_progress;
	snprintf(l->what, sizeof(l->what), "%s", first_what(r->tick));
	return err;
}

/* Where there is no room either, what is left of it. */
static int put_in_a_row(struct slow_visit *v, struct slow_lane *l, const struct recording_slow *r)
{
	struct recording_slow shown = *r;
	uint64_t track;
	int err;

	l->row = r->start_ns < l->free_ns[0];
	if (shown.start_ns < l->free_ns[l->row])
		shown.start_ns = l->free_ns[l->row];
	if (shown.end_ns < shown.start_ns)
		shown.end_ns = shown.start_ns;
	err = perfetto_track(v->t, l->row ? TRACK_SLOW_BESIDE : TRACK_SLOW, r->lane, &track);
	return err ? err : hold(v, l, track, &shown);
}

static int on_slow(void *arg, const struct recording_slow *r)
{
	struct slow_visit *v = arg;
	struct slow_lane *l = v->lanes[r->lane];
	int err = 0;

	if (!l) {
		l = v->lanes[r->lane] = calloc(1, sizeof(*l));
		if (!l)
			return fault(v->t->out.f, -ENOMEM, EXIT_FAILED, "no memory for a slow tick of the trace");
		l->free_ns[0] = l->free_ns[1] = INT64_MIN;
	}
	if (!l->held || !is_same(l, r))
		err = write_held(v, l);
	else if (!l->in_progress)
		return 0;
	return err ? err : put_in_a_row(v, l, r);
}

int perfetto_slow_ticks(struct perfetto_trace *t, struct recording_view *v, const struct recording_select *s)
{
	struct slow_visit visit = { .t = t, .lanes = calloc(t->n_lanes + 1, sizeof(struct slow_lane *)) };
	int err, end = 0;

	if (!visit.lanes)
		return fault(t->out.f, -ENOMEM, EXIT_FAILED, "no memory for the slow ticks of the trace");
	err = recording_slow_ticks(v, s, on_slow, &visit, t->out.f);
	for (size_t i = 0; i < t->n_lanes; i++) {
		struct slow_lane *l = visit.lanes[i];

		if (l && !end && (!err || err == -EINTR))
			end = write_held(&visit, l);
		if (l)
			free(l->held);
		free(l);
	}
	free(visit.lanes);
	return end ? end : err;
}
