/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * board_margin.c - the worst window: how much of a second was free at least, and what that says about the next one.
 *
 * Windows come from switches (cut at exactly window_ns) or, where the board sends sums, from one SYNC to the first
 * that is a window later. A window that lost something, or that a missing SYNC made twice as long, is no window.
 */
#include <math.h>

#include "model/board_state.h"

static uint64_t window_ticks(const struct board *b)
{
	return (uint64_t)((unsigned __int128)b->o.window_ns * b->hz / 1000000000u);
}

uint64_t board_hz(const struct board *b, bool *ret_measured)
{
	uint64_t ns = b->last_stamp.host_ns - b->first_stamp.host_ns;

	*ret_measured = false;
	if (b->hz)
		return b->hz;
	/* Not told: what the host's clock says, where it had the time to say something. */
	if (!b->first_stamp.host_ns || ns < 200000000u || b->last_stamp.t <= b->first_stamp.t)
		return 0;
	*ret_measured = true;
	return (uint64_t)((unsigned __int128)(b->last_stamp.t - b->first_stamp.t) * 1000000000u / ns);
}

void board_window_restart(struct board *b)
{
	b->win.begun = false;
}

static void window_done(struct board *b, uint64_t idle, uint64_t len, uint64_t end, uint64_t n)
{
	/* idle/len < worst_idle/worst_len, without dividing */
	if (b->win.n == 0 ||
	    (unsigned __int128)idle * b->win.worst_len < (unsigned __int128)b->win.worst_idle * len) {
		b->win.worst_idle = idle;
		b->win.worst_len = len;
		b->win.worst_t = end;
	}
	b->win.n += n;
}

/* Called before b->now moves on by dt. */
void board_window_advance(struct board *b, uint64_t dt, bool idle, bool known)
{
	uint64_t w = window_ticks(b), part, whole;

	if (b->has_sync)
		return;
	if (known) {
		b->win.sum_len += dt;
		b->win.sum_idle += idle ? dt : 0;
	}
	if (w == 0) /* the clock's rate is not known yet */
		return;
	if (!b->win.begun) {
		b->win.begun = true;
		b->win.t = b->now;
		b->win.idle = 0;
		b->win.dirty = !known;
	}
	b->win.dirty |= !known;
	part = b->win.t + w - b->now; /* to the window's end */
	if (dt < part) {
		b->win.idle += idle ? dt : 0;
		return;
	}
	if (!b->win.dirty)
		window_done(b, b->win.idle + (idle ? part : 0), w, b->win.t + w, 1);
	/* Windows that lie wholly within dt are all alike. */
	whole = (dt - part) / w;
	if (whole && known)
		window_done(b, idle ? w : 0, w, b->now + part + w, whole);
	b->win.t += w + whole * w;
	b->win.idle = idle ? (dt - part) % w : 0;
	b->win.dirty = !known;
}

static uint64_t total(const struct sync_sums *s)
{
	return s->busy + s->idle + s->isr;
}

void board_window_sync(struct board *b)
{
	uint64_t w = window_ticks(b), len, idle, host;
	struct sync_sums *from = &b->sync_window;

	if (!b->win.begun) {
		b->win.begun = true;
		*from = b->sync;
		return;
	}
	len = total(&b->sync) - total(from);
	idle = b->sync.idle - from->idle;
	if (b->stops && from->arrival_ns && b->sync.arrival_ns > from->arrival_ns) {
		host = (uint64_t)((unsigned __int128)(b->sync.arrival_ns - from->arrival_ns) * b->hz / 1000000000u);
		if (host > len) {
			idle += host - len;
			len = host;
		}
	}
	/* The agent's own second is allowed to be a little early. */
	if (w == 0 || len < w - w / 8)
		return;
	b->win.sum_len += len;
	b->win.sum_idle += idle;
	if (len < 2 * w)
		window_done(b, idle, len, b->now, 1);
	*from = b->sync;
}

struct margin board_margin(const struct board *b)
{
	struct margin m = { .mean = NAN, .worst = NAN, .worst_ago_s = NAN, .window_s = NAN, .beyond = NAN };
	bool measured;
	uint64_t hz = board_hz(b, &measured);

	if (b->no_idle || (!b->has_sync && !b->idle_known))
		return m;
	if (b->win.sum_len)
		m.mean = (double)b->win.sum_idle / (double)b->win.sum_len;
	m.windows = (int64_t)b->win.n;
	if (b->win.n && hz) {
		m.worst = (double)b->win.worst_idle / (double)b->win.worst_len;
		m.window_s = (double)b->win.worst_len / (double)hz;
		m.worst_ago_s = b->now > b->win.worst_t ? (double)(b->now - b->win.worst_t) / (double)hz : 0;
		m.beyond = 1 - pow(0.05, 1.0 / (double)b->win.n);
	}
	return m;
}
