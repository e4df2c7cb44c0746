/* SPDX-License-Identifier: BSD-2-Clause */
/* html_loops.c - loops' interval records as rows, merged where there are too many; see html_records.h. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sink/html_records.h"

#define STRETCHES 2000
#define OTHERS_MAX 12

enum share { BUSY, WAIT, IDLE, IO_CPU, TICK_CPU, TICK_BLOCKED, WAIT_IO, WAIT_TICK, THROTTLED, SPIN, NAIVE, COST, N_SHARES };
enum count { IO_WAITS, TICKS, SLOW, LOST, N_COUNTS };
enum span_of_time { P50, P90, P99, MAX, N_SPANS };

static const char *const columns[] = {
	"lane", "start", "end", "merged",
	"busy", "wait", "idle", "io_cpu", "tick_cpu", "tick_blocked", "wait_io", "wait_tick", "throttled", "spin", "naive", "cost",
	"io_waits", "ticks", "slow", "lost", "p50", "p90", "p99", "max",
	"waited", "blocked", NULL,
};

/* Who had the CPU, or what blocked. */
struct other {
	int64_t name, pid;
	double seconds;
};

struct others {
	struct other of[OTHERS_MAX];
	size_t n;
};

struct stretch {
	int64_t number, start_ns, end_ns, merged; /* merged 0: empty */
	double seconds;
	struct html_mean share[N_SHARES];
	int64_t count[N_COUNTS];
	double us[N_SPANS];
	struct others waited, blocked;
};

struct loops {
	struct html_page *page;
	struct stretch *open; /* by lane */
	struct fault *f;
};

int64_t html_stretch(const struct html_page *p, int64_t end_ns)
{
	int64_t width = (p->to_ns - p->from_ns) / STRETCHES;
	int64_t interval = recording_host(p->view)->interval_ns;

	/* Narrower than an interval: none are merged. */
	if (width <= interval)
		return end_ns;
	return (end_ns - 1 - p->from_ns) / width;
}

void html_put_mean(struct json_writer *w, const struct html_mean *m)
{
	if (m->weight > 0)
		json_put_integer(w, NULL, llround(m->sum / m->weight * 1e5));
	else
		json_put_null(w, NULL);
}

void html_put_nanos(struct json_writer *w, double us)
{
	if (us >= 0 && us < 1e15)
		json_put_integer(w, NULL, llround(us * 1e3));
	else
		json_put_null(w, NULL);
}

/* --- merging ----------------------------------------------------------------------------------------------------------- */

static void others_add(struct others *o, int64_t name, int64_t pid, double seconds)
{
	size_t i = 0;

	while (i < o->n && (o->of[i].name != name || o->of[i].pid != pid))
		i++;
	if (i == o->n && o->n < OTHERS_MAX) {
		o->of[o->n++] = (struct other){ name, pid, 0 };
	} else if (i == o->n) { /* the last place is for all who do not fit */
		i = OTHERS_MAX - 1;
		o->of[i].name = HTML_NAME_NONE;
		o->of[i].pid = -1;
	}
	o->of[i].seconds += seconds;
}

static void add_shares(struct stretch *s, const struct loop_record *r)
{
	const double shares[N_SHARES] = {
		[BUSY] = r->busy, [WAIT] = r->wait, [IDLE] = r->idle, [IO_CPU] = r->io_cpu, [TICK_CPU] = r->tick_cpu,
		[TICK_BLOCKED] = r->tick_blocked, [WAIT_IO] = r->wait_io, [WAIT_TICK] = r->wait_tick, [THROTTLED] = r->throttled,
		[SPIN] = r->spin, [NAIVE] = r->naive_load, [COST] = r->observer_cost,
	};

	for (int i = 0; i < N_SHARES; i++)
		html_mean_add(&s->share[i], shares[i], r->interval_s);
}

static void add_counts(struct stretch *s, const struct loop_record *r)
{
	const int64_t counts[N_COUNTS] = {
		[IO_WAITS] = r->io_waits, [TICKS] = r->ticks, [SLOW] = r->slow_ticks, [LOST] = r->lost,
	};

	for (int i = 0; i < N_COUNTS; i++)
		s->count[i] = html_total(s->count[i], counts[i]);
}

static void add_quantiles(struct stretch *s, const struct quantiles *q)
{
	const double us[N_SPANS] = { [P50] = q->p50, [P90] = q->p90, [P99] = q->p99, [MAX] = q->max };

	for (int i = 0; i < N_SPANS && q->known; i++)
		s->us[i] = html_worse(s->us[i], us[i]);
}

static void stretch_add(struct loops *l, struct stretch *s, const struct recording_loop *at)
{
	const struct loop_record *r = at->record;
	struct html_names *names = &l->page->names;

	if (!s->merged++) {
		s->start_ns = at->start_ns;
		for (int i = 0; i < N_COUNTS; i++)
			s->count[i] = -1;
		for (int i = 0; i < N_SPANS; i++)
			s->us[i] = NAN;
	}
	s->end_ns = at->end_ns;
	s->seconds += r->interval_s;
	add_shares(s, r);
	add_counts(s, r);
	add_quantiles(s, &r->tick_us);
	for (size_t i = 0; i < r->n_waited_for; i++) {
		const struct waited_share *w = &r->waited_for[i];
		bool named = w->pid > 0 || w->pid == LOOP_WAITED_SEVERAL;

		others_add(&s->waited, named ? html_names_number(names, w->comm, sizeof(w->comm)) : HTML_NAME_NONE, w->pid,
			   w->share * r->interval_s);
	}
	for (size_t i = 0; i < r->n_blocked_by; i++) {
		const struct blocked_share *b = &r->blocked_by[i];

		others_add(&s->blocked, html_names_number(names, b->what, sizeof(b->what)), 0, b->share * r->interval_s);
	}
}

/* --- rows -------------------------------------------------------------------------------------------------------------- */

/* name, pid, share, name, pid, share, ... */
static void put_others(struct json_writer *w, const struct others *o, double seconds, bool with_pid)
{
	json_array_begin(w, NULL);
	for (size_t i = 0; i < o->n && seconds > 0; i++) {
		if (o->of[i].name >= 0)
			json_put_integer(w, NULL, o->of[i].name);
		else
			json_put_null(w, NULL);
		if (with_pid)
			json_put_integer(w, NULL, o->of[i].pid);
		json_put_integer(w, NULL, llround(o->of[i].seconds / seconds * 1e5));
	}
	json_array_end(w);
}

static int stretch_end(struct loops *l, size_t lane)
{
	struct stretch *s = &l->open[lane];
	struct json_writer *w = &l->page->json;

	if (!s->merged)
		return 0;
	html_row_begin(l->page);
	json_put_integer(w, NULL, (int64_t)lane);
	json_put_integer(w, NULL, html_time(l->page, s->start_ns));
	json_put_integer(w, NULL, html_time(l->page, s->end_ns));
	json_put_integer(w, NULL, s->merged);
	for (int i = 0; i < N_SHARES; i++)
		html_put_mean(w, &s->share[i]);
	for (int i = 0; i < N_COUNTS; i++)
		json_put_count(w, NULL, s->count[i]);
	for (int i = 0; i < N_SPANS; i++)
		html_put_nanos(w, s->us[i]);
	put_others(w, &s->waited, s->seconds, true);
	put_others(w, &s->blocked, s->seconds, false);
	*s = (struct stretch){ 0 };
	return html_row_end(l->page, l->f);
}

static int on_loop(void *arg, const struct recording_loop *r)
{
	struct loops *l = arg;
	struct stretch *s = &l->open[r->lane];
	int64_t number = html_stretch(l->page, r->end_ns);
	int err = 0;

	if (s->merged && s->number != number)
		err = stretch_end(l, r->lane);
	s->number = number;
	stretch_add(l, s, r);
	return err;
}

int html_loops(struct html_page *p, struct fault *f)
{
	struct loops l = { .page = p, .f = f };
	size_t n_lanes;
	int err;

	(void)recording_lanes(p->view, &n_lanes);
	l.open = calloc(n_lanes + 1, sizeof(*l.open));
	if (!l.open)
		return fault(f, -ENOMEM, EXIT_FAILED, "no memory for the HTML report; choose a shorter range, or free some");
	err = html_rows_begin(p, "loops", columns, f);
	if (!err)
		err = recording_loops(p->view, p->select, on_loop, &l, f);
	for (size_t i = 0; i < n_lanes && !err; i++)
		err = stretch_end(&l, i);
	free(l.open);
	return err ? err : html_rows_end(p, f);
}
