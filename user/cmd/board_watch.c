/* SPDX-License-Identifier: BSD-2-Clause */
/* board_watch.c - see board_watch.h. */
#include "cmd/board_watch.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/now.h"

/* Records of single losses and hogs in one interval. */
#define GAPS_AN_INTERVAL 100
#define HOGS_AN_INTERVAL 20
#define GAP_KINDS 3

struct board_watch {
	struct board_watch_options o;
	struct serial_line *line;
	struct sink *sink;
	struct fault *f;
	bool paced; /* time passes for it as for us: intervals are wall time */
	unsigned reports;
	uint64_t last_report;
	bool in_session;
	struct board_report report;   /* the last interval's */
	struct source_record source;
	int64_t lost_before;
	/* this interval's */
	size_t gaps, hogs;
	int64_t held_back[GAP_KINDS], hogs_held_back;
	const char *held_kind[GAP_KINDS];
};

static double wall_time(void)
{
	return (double)clock_ns(CLOCK_REALTIME) / 1e9;
}

/* ---- single records ---- */
static void put_label(const struct board_watch *w, char comm[LOOP_COMM_LEN])
{
	memcpy(comm, w->o.line.label, strnlen(w->o.line.label, LOOP_COMM_LEN - 1));
}

static int tell(struct board_watch *w, enum loop_event_kind kind, int64_t count, const char *what)
{
	struct loop_event e = { .kind = kind, .ts = wall_time(), .mono_ns = now_ns(), .source = SOURCE_SERIAL,
				.runtime = "", .timeout_us = NAN, .count = count, .what = what };

	put_label(w, e.comm);
	return sink_event(w->sink, &e, w->f);
}

static int on_gap(void *arg, int64_t count, const char *what)
{
	struct board_watch *w = arg;

	if (w->gaps++ < GAPS_AN_INTERVAL)
		return tell(w, EVENT_GAP, count, what);
	for (size_t i = 0; i < GAP_KINDS; i++) {
		if (w->held_kind[i] && strcmp(w->held_kind[i], what) != 0)
			continue;
		w->held_kind[i] = what;
		w->held_back[i] += count > 0 ? count : 1;
		break;
	}
	return 0;
}

static int on_session(void *arg, bool begins)
{
	struct board_watch *w = arg;
	int err = 0;

	if (w->in_session)
		err = tell(w, EVENT_LOOP_STOP, -1, NULL);
	w->in_session = begins;
	return err || !begins ? err : tell(w, EVENT_LOOP_START, -1, NULL);
}

static double micros(uint64_t ticks, uint64_t hz)
{
	return hz ? (double)ticks / (double)hz * 1e6 : NAN;
}

/* A step is time on the CPU. Of a pass, where that is all there is, nobody knows what it was spent on. */
static int on_hog(struct board_watch *w, const struct board_edge *e)
{
	double us = micros(e->net, e->hz), whole = micros(e->end - e->start, e->hz);
	struct slow_cause cause = { .kind = e->name[0] ? CAUSE_CPU : CAUSE_OTHER, .us = us, .what = e->name, .samples = -1 };
	struct slow_tick t = {
		.ts = wall_time(), .source = SOURCE_SERIAL, .runtime = "",
		.start_ns = e->hz ? (uint64_t)ticks_to_ns(e->start, e->hz) : 0, .duration_us = whole, .in_progress = e->open,
		.cpu_us = e->name[0] ? us : NAN, .blocked_us = NAN, .wait_us = NAN, .throttled_us = NAN, .events = -1,
		.suppressed = w->hogs_held_back, .causes = &cause, .n_causes = 1,
	};

	if (w->hogs++ >= HOGS_AN_INTERVAL) {
		w->hogs_held_back++;
		return 0;
	}
	w->hogs_held_back = 0;
	put_label(w, t.comm);
	memcpy(t.thread, t.comm, sizeof(t.thread));
	return sink_slow_tick(w->sink, &t, w->f);
}

static int on_stretch(void *arg, const struct board_stretch *s)
{
	struct board_watch *w = arg;
	struct source_span span;
	int err = s->edge->kind == EDGE_HOG ? on_hog(w, s->edge) : 0;

	if (!err && source_span_of_board(s, &span))
		err = sink_span(w->sink, &span, w->f);
	return !err && w->o.stretch ? w->o.stretch(w->o.arg, w->o.line.label, s) : err;
}

static void on_console(void *arg, const uint8_t *p, size_t n)
{
	struct board_watch *w = arg;

	w->o.line.console(w->o.arg, p, n);
}

static void on_trouble(void *arg, const struct fault *why)
{
	struct board_watch *w = arg;

	w->o.line.trouble(w->o.arg, why);
}

/* ---- intervals ---- */
static int tell_held_back(struct board_watch *w)
{
	int err = 0;

	for (size_t i = 0; i < GAP_KINDS && !err; i++) {
		if (w->held_back[i])
			err = tell(w, EVENT_GAP, w->held_back[i], w->held_kind[i]);
		w->held_back[i] = 0;
		w->held_kind[i] = NULL;
	}
	w->gaps = w->hogs = 0;
	return err;
}

int board_watch_collect(struct board_watch *w, bool last, struct interval *ret)
{
	uint64_t now = now_ns();
	double wall = w->paced ? (double)(now - w->last_report) / 1e9 : NAN;
	struct loop_record *loop = &w->report.loop;
	int64_t lost;
	int err;

	*ret = (struct interval){ .ts = wall_time(), .mono_ns = now, .seq = w->reports, .steal = NAN, .last = last };
	w->last_report = now;
	serial_line_interval(w->line, ret->ts, wall, last, &w->report, &w->source);
	err = tell_held_back(w);
	if (err)
		return err;
	lost = loop->lost;
	loop->lost = ret->lost = lost - w->lost_before;
	w->lost_before = lost;
	ret->interval_s = w->paced ? wall : loop->interval_s;
	ret->loops = loop;
	ret->n_loops = serial_line_recognised(w->line);
	ret->tasks = w->report.tasks;
	ret->n_tasks = w->report.n_tasks;
	ret->sources = &w->source;
	ret->n_sources = 1;
	w->reports++;
	return 0;
}

int board_watch_report(struct board_watch *w, bool last)
{
	struct interval iv;
	int err = board_watch_collect(w, last, &iv);

	return err ? err : sink_interval(w->sink, &iv, w->f);
}

/* ---- the whole ---- */
int board_watch_open(const struct board_watch_options *o, struct board_watch **ret, struct fault *f)
{
	struct board_watch *w = calloc(1, sizeof(*w));
	struct serial_line_options lo = o->line;
	int err;

	if (!w)
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	w->o = *o;
	w->f = f;
	lo.gap = on_gap;
	lo.session = on_session;
	lo.stretch = on_stretch;
	lo.console = o->line.console ? on_console : NULL;
	lo.trouble = o->line.trouble ? on_trouble : NULL;
	lo.arg = w;
	err = serial_line_open(&lo, &w->line, f);
	if (err) {
		board_watch_free(w);
		return err;
	}
	w->paced = serial_line_is_live(w->line) || o->line.paced;
	*ret = w;
	return 0;
}

void board_watch_free(struct board_watch *w)
{
	if (!w)
		return;
	serial_line_free(w->line);
	free(w);
}

int board_watch_start(struct board_watch *w, struct sink *sink, struct evloop *loop, struct fault *f)
{
	w->sink = sink;
	w->f = f;
	w->last_report = now_ns();
	return serial_line_start(w->line, loop, f);
}

const char *board_watch_label(const struct board_watch *w)
{
	return w->o.line.label;
}

const char *board_watch_where(const struct board_watch *w)
{
	return w->o.line.where;
}

const struct serial_line *board_watch_line(const struct board_watch *w)
{
	return w->line;
}
