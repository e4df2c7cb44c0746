/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * board_told.c - what a board tells at its end or as a sum: steps, sleeps, TOTALS and SYNC, lifetimes and passes.
 *
 * Sums: `totals` is what the board said last, `since` what its events added after that, `reported` how far the records
 * have come. Where a gap lies after the last TOTALS, `since` is too small and is not used until the next ones come. TOTALS hold
 * what a step in progress has had so far: that much of it is not added once more at its end.
 */
#include <string.h>

#include "model/board_state.h"

/* Sums and steps may be an interrupt's, sums a mark's: where ids are one space, it is known by its switches or its name. */
static struct task *told_task(struct board *b, uint32_t id)
{
	struct task *t = board_task_find(b, BOARD_TASK, id);

	if (!t)
		t = board_task_find(b, BOARD_ISR, id);
	if (!t)
		t = board_task_find(b, BOARD_MARKER, id);
	if (t)
		t->last_t = b->now;
	return t ? t : board_task(b, BOARD_TASK, id);
}

static uint64_t before_now(const struct board *b, uint64_t ticks)
{
	return b->now > ticks ? b->now - ticks : 0;
}

/* What a step that ends now adds to the last sums. If it had begun before them, and a gap hid how much of it they hold, nothing:
 * the next ones tell. */
static uint64_t beyond_totals(const struct board *b, const struct task *t, uint64_t ticks)
{
	if (t->in_totals)
		return ticks > t->in_totals ? ticks - t->in_totals : 0;
	return t->has_totals && board_began(b, ticks) < t->totals.t ? 0 : ticks;
}

static void run(struct board *b, const struct board_event *ev)
{
	struct task *t = told_task(b, ev->id);
	uint64_t ticks = ev->u.run.ticks, began = board_began(b, ticks);

	if (!t)
		return;
	if (t->open && t->open_t < began) /* told while it ran: exact, however often it was interrupted */
		began = t->open_t;
	t->told = true;
	t->busy += ticks;
	t->since.busy += beyond_totals(b, t, ticks);
	t->in_totals = 0;
	board_step(b, t, began, b->now, ticks, true);
}

static void slept(struct board *b, const struct board_event *ev)
{
	uint64_t ticks = ev->u.slept.ticks, begin = board_began(b, ticks);

	b->idle_known = true;
	b->sum.slept += ticks;
	if (b->awake_clean && begin > b->awake_t)
		hist_add(&b->tick, begin - b->awake_t);
	hist_add(&b->idle, ticks);
	hist_add(&b->sleep, ticks);
	b->awake_t = b->now;
	b->awake_clean = true;
	board_edge(b, EDGE_IDLE, NULL, begin, b->now, ticks, ev->u.slept.asked_ms, true, false);
}

static void open_step(struct board *b, const struct board_event *ev)
{
	struct task *t = told_task(b, ev->id);

	if (!t)
		return;
	t->open = true;
	t->open_t = before_now(b, ev->u.open.ticks);
	board_edge(b, EDGE_HOG, t, t->open_t, b->now, ev->u.open.ticks, 0, true, true);
}

/* What a step in progress has in these sums: no other has ended than those that are known, and yet there is more. */
static uint64_t in_progress(const struct task *t, uint64_t runs, uint64_t busy)
{
	uint64_t ended = t->totals.busy + t->since.busy;

	if (t->behind || runs != t->totals.runs + t->since.runs || busy < ended)
		return 0;
	return t->in_totals + (busy - ended);
}

static void totals(struct board *b, const struct board_event *ev)
{
	struct task *t = told_task(b, ev->id);
	uint64_t runs = ev->u.totals.runs;
	bool fell;

	if (!t)
		return;
	fell = t->has_totals && ev->u.totals.busy < t->totals.busy;
	if (fell)
		t->has_totals = false; /* sums never fall: these are others, begin anew */
	if (t->has_totals)
		runs = t->totals.runs + (uint32_t)(ev->u.totals.runs - (uint32_t)t->totals.runs);
	t->in_totals = fell ? 0 : in_progress(t, runs, ev->u.totals.busy);
	t->totals = (struct tally){ .t = b->now, .runs = runs, .busy = ev->u.totals.busy };
	if (!t->has_totals) {
		t->has_totals = true;
		/* The first ones: what came before them is this interval's only as far as it was seen, or if the board
		 * began under our eyes all that was not reported yet. */
		if (!b->from_zero || fell) {
			t->reported.t = b->interval_t;
			t->reported.runs = runs > t->runs ? runs - t->runs : 0;
			t->reported.busy = t->totals.busy > t->busy ? t->totals.busy - t->busy : 0;
		}
	}
	t->since = (struct tally){ 0 };
	t->behind = b->withheld;
}

static uint64_t total(const struct sync_sums *s)
{
	return s->busy + s->idle + s->isr;
}

static void sync_sums(struct board *b, const struct board_event *ev)
{
	struct sync_sums s = {
		.busy = ev->u.sync.busy, .idle = ev->u.sync.idle, .isr = ev->u.sync.isr, .arrival_ns = ev->arrival_ns,
	};
	bool fell = b->has_sync && (s.busy < b->sync.busy || s.idle < b->sync.idle || s.isr < b->sync.isr);

	b->no_idle = ev->u.sync.no_idle;
	b->stops = ev->u.sync.stops;
	b->withheld = ev->u.sync.withheld;
	if (!b->has_sync || fell) {
		b->has_sync = true;
		b->sync_done = s;
		if (b->from_zero && !fell)
			b->sync_done = (struct sync_sums){ 0 };
		b->sync = b->sync_done;
		b->sync_window = s;
		memset(&b->win, 0, sizeof(b->win));
	}
	b->sync = s;
	if (total(&s) >= s.busy) /* hostile sums may wrap */
		board_window_sync(b);
}

void board_told_event(struct board *b, const struct board_event *ev)
{
	switch (ev->kind) {
	case BOARD_RUN:
		run(b, ev);
		break;
	case BOARD_SLEPT:
		slept(b, ev);
		break;
	case BOARD_OPEN:
		open_step(b, ev);
		break;
	case BOARD_TOTALS:
		totals(b, ev);
		break;
	case BOARD_SYNC:
		sync_sums(b, ev);
		break;
	default:
		break;
	}
}

/* ---- lifetimes ---- */
/* Whose lifetime it is; NULL: there is no place for it. */
static struct task *lifetime(struct board *b, const struct board_event *ev)
{
	struct task *t = board_task(b, BOARD_TASK, ev->id);

	b->has_lifetimes = true;
	if (ev->u.alive.late_ns > b->late_ns)
		b->late_ns = ev->u.alive.late_ns;
	if (t)
		t->kind = TASK_LIFETIME;
	return t;
}

static void alive(struct board *b, const struct board_event *ev)
{
	struct task *t = lifetime(b, ev);

	if (!t)
		return;
	t->runs++;
	if (t->use == 0) {
		t->high_t = b->now;
		t->overlapped = false;
	} else {
		t->overlapped = true; /* which of them ends first cannot be known */
	}
	if (t->use < UINT32_MAX)
		t->use++;
}

static void gone(struct board *b, const struct board_event *ev)
{
	struct task *t = lifetime(b, ev);

	if (!t)
		return;
	if (t->use == 0) {
		b->orphans++;
		return;
	}
	if (--t->use)
		return;
	t->alive += b->now - (t->high_t > b->interval_t ? t->high_t : b->interval_t);
	if (t->overlapped) {
		t->left_out++;
		return;
	}
	if (board_hist(&t->run))
		hist_add(t->run, b->now - t->high_t);
	board_edge(b, EDGE_ALIVE, t, t->high_t, b->now, b->now - t->high_t, 0, true, false);
}

/* The pass that is under way, if it is too long. */
static bool long_pass(struct board *b, uint64_t now, bool open)
{
	bool is = now > b->pulse_t && now - b->pulse_t > board_hog_ticks(b);

	if (is)
		board_edge(b, EDGE_HOG, NULL, b->pulse_t, now, now - b->pulse_t, 0, true, open);
	return is;
}

static void pulse(struct board *b)
{
	uint64_t pass = b->now - b->pulse_t;

	if (b->has_pulse) {
		hist_add(&b->pass, pass);
		board_edge(b, EDGE_PASS, NULL, b->pulse_t, b->now, pass, 0, true, false);
		long_pass(b, b->now, false);
	}
	b->has_pulse = true;
	b->pass_open = false;
	b->pulse_t = b->now;
}

void board_life_event(struct board *b, const struct board_event *ev)
{
	switch (ev->kind) {
	case BOARD_ALIVE:
		alive(b, ev);
		break;
	case BOARD_GONE:
		gone(b, ev);
		break;
	case BOARD_PULSE:
		pulse(b);
		break;
	default:
		break;
	}
}

void board_quiet(struct board *b, uint64_t host_ns)
{
	if (b->has_pulse && !b->pass_open)
		b->pass_open = long_pass(b, host_ns, true); /* said once a pass */
}
