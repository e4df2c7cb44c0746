/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vcd.c - see vcd.h. The spans are visited twice: to see which wires there are, which must be said first, and for what they do.
 *
 * At one moment a wire is written once, with what it is from then on. Where it is what it was before, but was something else in
 * between (a step that ends where the next begins, one of no length), both are written: a glitch, as simulators have them.
 */
#include "sink/vcd.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sink/edge_visit.h"
#include "sink/lane_group.h"
#include "sink/output.h"
#include "sink/vcd_wire.h"

struct vcd {
	FILE *out;
	struct fault *f;
	const struct lane *lanes;
	size_t n_lanes;
	struct vcd_lane *state;      /* by lane */
	struct vcd_lane **by_first; /* lanes by when they began to be known, and by when they ended */
	struct vcd_lane **by_last;
	size_t born, gone; /* of these, how many have been */
	struct vcd_wire **queue; /* of wires that were looked at since now_ns began */
	size_t n_queue;
	int64_t from_ns, to_ns, now_ns;
	int64_t said_ns; /* the last time in the file; INT64_MIN: none */
	bool dumped; /* the values at #0 */
};

static void put_moment(struct vcd *v, int64_t at_ns)
{
	if (at_ns == v->said_ns)
		return;
	fprintf(v->out, "#%" PRId64 "\n", at_ns - v->from_ns);
	v->said_ns = at_ns;
}

static void flush_moment(struct vcd *v)
{
	if (!v->dumped) {
		put_moment(v, v->from_ns);
		fputs("$dumpvars\n", v->out);
	}
	for (size_t i = 0; i < v->n_queue; i++) {
		struct vcd_wire *w = v->queue[i];
		bool glitch = w->passed && w->now == w->shown;

		if (glitch || w->now != w->shown)
			put_moment(v, v->now_ns);
		if (glitch)
			vcd_put_value(v->out, w, w->passed);
		if (glitch || w->now != w->shown)
			vcd_put_value(v->out, w, w->now);
		w->shown = w->now;
		w->passed = 0;
		w->queued = false;
	}
	v->n_queue = 0;
	if (!v->dumped)
		fputs("$end\n", v->out);
	v->dumped = true;
}

static void look_at(struct vcd *v, uint32_t lane)
{
	struct vcd_lane *l = &v->state[lane];
	const struct vcd_lane *owner = &v->state[lane_owner(v->lanes, v->n_lanes, &v->lanes[lane])->index];

	for (enum vcd_role r = 0; r < VCD_ROLES; r++) {
		struct vcd_wire *w = &l->wire[r];
		char value;

		if (!w->exists)
			continue;
		value = vcd_value(&v->lanes[lane], l, owner, r);
		if (value == w->now)
			continue;
		if (w->now && w->now != w->shown)
			w->passed = w->now;
		w->now = value;
		if (!w->queued)
			v->queue[v->n_queue++] = w;
		w->queued = true;
	}
}

/* What begins at a moment is before, what ends is after all that happens then. */
static void births_and_deaths(struct vcd *v, int64_t until_ns)
{
	for (;;) {
		struct vcd_lane *b = v->born < v->n_lanes ? v->by_first[v->born] : NULL;
		struct vcd_lane *g = v->gone < v->n_lanes ? v->by_last[v->gone] : NULL;
		bool birth = b && b->first_ns <= until_ns, death = g && g->last_ns < until_ns && g->last_ns < v->to_ns;
		int64_t at;

		if (!birth && !death)
			return;
		birth = birth && (!death || b->first_ns <= g->last_ns);
		at = birth ? b->first_ns : g->last_ns;
		if (at > v->now_ns) {
			flush_moment(v);
			v->now_ns = at;
		}
		if (birth)
			v->by_first[v->born++]->born = true;
		else
			v->by_last[v->gone++]->gone = true;
		look_at(v, (uint32_t)((birth ? b : g) - v->state));
	}
}

static void advance(struct vcd *v, int64_t to_ns)
{
	births_and_deaths(v, to_ns);
	if (to_ns > v->now_ns) {
		flush_moment(v);
		v->now_ns = to_ns;
	}
}

static void count(uint16_t *n, bool begins)
{
	if (begins)
		*n += *n < UINT16_MAX;
	else
		*n -= *n > 0;
}

static int on_edge(void *arg, const struct timeline_span *s, bool begins)
{
	struct vcd *v = arg;
	struct vcd_lane *l = &v->state[s->lane];
	int64_t at = begins ? s->start_ns : s->end_ns;

	if (s->kind > SPAN_GAP)
		return 0;
	advance(v, at < v->from_ns ? v->from_ns : at > v->to_ns ? v->to_ns : at);
	count(&l->open[s->kind], begins);
	if (s->slow)
		count(&l->open_slow, begins);
	if (s->kind == SPAN_MARK && begins)
		l->high = !l->high;
	look_at(v, s->lane);
	for (uint32_t below = s->kind == SPAN_GAP ? l->below : LANE_NONE; below != LANE_NONE; below = v->state[below].beside)
		look_at(v, below);
	return ferror(v->out) ? output_flush(v->out, v->f) : 0;
}

static int compare(int64_t a, int64_t b, const void *x, const void *y)
{
	return a != b ? (a < b ? -1 : 1) : (x > y) - (x < y);
}

static int by_first(const void *x, const void *y)
{
	const struct vcd_lane *const *a = x, *const *b = y;

	return compare((*a)->first_ns, (*b)->first_ns, *a, *b);
}

static int by_last(const void *x, const void *y)
{
	const struct vcd_lane *const *a = x, *const *b = y;

	return compare((*a)->last_ns, (*b)->last_ns, *a, *b);
}

/* One word: what is no letter and no sign of a version or a host is left out. */
static void put_word(FILE *out, const char *word)
{
	for (const char *p = word; *p && p < word + 128; p++)
		if (isalnum((unsigned char)*p) || strchr("-+.~", *p))
			putc(*p, out);
}

static void put_head(struct vcd *v, const struct recording_host *h)
{
	time_t s = (time_t)(v->from_ns / 1000000000);
	char when[64] = "";
	struct tm tm;

	if (gmtime_r(&s, &tm))
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
	fprintf(v->out, "$date %s $end\n", when);
	fputs("$version loopscope ", v->out);
	put_word(v->out, h->version);
	fputs(" $end\n$comment host ", v->out);
	put_word(v->out, h->hostname);
	fprintf(v->out, " ; time 0 is %" PRId64 " ns after the unix epoch $end\n", v->from_ns);
	fputs("$timescale 1 ns $end\n", v->out);
}

/* A board is known as a whole: before a task's first step nothing is unknown, it did not run. */
static void set_lifetimes(struct vcd *v)
{
	for (size_t i = 0; i < v->n_lanes; i++) {
		v->state[i].first_ns = INT64_MAX;
		v->state[i].last_ns = INT64_MIN;
	}
	for (size_t i = 0; i < v->n_lanes; i++) {
		const struct lane *l = &v->lanes[i];
		struct vcd_lane *owner = &v->state[lane_owner(v->lanes, v->n_lanes, l)->index];

		owner->first_ns = l->first_ns < owner->first_ns ? l->first_ns : owner->first_ns;
		owner->last_ns = l->last_ns > owner->last_ns ? l->last_ns : owner->last_ns;
	}
	for (size_t i = 0; i < v->n_lanes; i++) {
		const struct vcd_lane *owner = &v->state[lane_owner(v->lanes, v->n_lanes, &v->lanes[i])->index];

		v->state[i].first_ns = owner->first_ns;
		v->state[i].last_ns = owner->last_ns;
	}
}

static void chain_lanes(struct vcd *v)
{
	for (size_t i = 0; i < v->n_lanes; i++)
		v->state[i].below = v->state[i].beside = LANE_NONE;
	for (size_t i = v->n_lanes; i-- > 0;) {
		uint32_t parent = v->lanes[i].parent;

		if (parent >= v->n_lanes)
			continue;
		v->state[i].beside = v->state[parent].below;
		v->state[parent].below = (uint32_t)i;
	}
}

static int prepare(struct vcd *v)
{
	v->state = calloc(v->n_lanes + 1, sizeof(*v->state));
	v->by_first = calloc(v->n_lanes + 1, sizeof(struct vcd_lane *));
	v->by_last = calloc(v->n_lanes + 1, sizeof(struct vcd_lane *));
	v->queue = calloc(v->n_lanes * VCD_ROLES + 1, sizeof(struct vcd_wire *));
	if (!v->state || !v->by_first || !v->by_last || !v->queue)
		return fault(v->f, -ENOMEM, EXIT_FAILED, "no memory for the wires of the dump");
	set_lifetimes(v);
	chain_lanes(v);
	for (size_t i = 0; i < v->n_lanes; i++)
		v->by_first[i] = v->by_last[i] = &v->state[i];
	qsort(v->by_first, v->n_lanes, sizeof(struct vcd_lane *), by_first);
	qsort(v->by_last, v->n_lanes, sizeof(struct vcd_lane *), by_last);
	return 0;
}

static int put_changes(struct vcd *v, struct recording_view *view, const struct recording_select *s)
{
	int err;

	for (uint32_t i = 0; i < v->n_lanes; i++)
		look_at(v, i);
	err = edge_visit(view, s, on_edge, v, v->f);
	if (err && err != -EINTR)
		return err;
	/* The last moment is said even if nothing happens then: it is how long all this took. */
	if (!err)
		advance(v, v->to_ns);
	flush_moment(v);
	if (!err)
		put_moment(v, v->to_ns);
	return err;
}

static int write_all(struct vcd *v, struct recording_view *view, const struct recording_select *s)
{
	int err = prepare(v), flushed;

	if (!err)
		err = recording_spans(view, s, vcd_survey, v->state, v->f);
	if (err && err != -EINTR)
		return err;
	put_head(v, recording_host(view));
	if (vcd_declare(v->out, v->lanes, v->n_lanes, v->state))
		return fault(v->f, -ENOMEM, EXIT_FAILED, "no memory for the names of the dump");
	fputs("$enddefinitions $end\n", v->out);
	if (!err)
		err = put_changes(v, view, s);
	if (err && err != -EINTR)
		return err;
	flushed = output_flush(v->out, v->f);
	return flushed ? flushed : err;
}

int vcd_write(struct recording_view *view, const struct recording_select *s, FILE *out, struct fault *f)
{
	const struct recording_host *h = recording_host(view);
	struct vcd v = { .out = out, .f = f, .said_ns = INT64_MIN };
	int err;

	v.from_ns = v.now_ns = s->from_ns > h->start_ns ? s->from_ns : h->start_ns;
	v.to_ns = s->to_ns < h->end_ns ? s->to_ns : h->end_ns;
	if (v.to_ns < v.from_ns)
		v.to_ns = v.from_ns;
	v.lanes = recording_lanes(view, &v.n_lanes);
	err = write_all(&v, view, s);
	free(v.state);
	free(v.by_first);
	free(v.by_last);
	free(v.queue);
	return err;
}
