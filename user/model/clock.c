/* SPDX-License-Identifier: BSD-2-Clause */
/* clock.c - see clock.h. */
#include "model/clock.h"

#include <math.h>
#include <string.h>

#define NS 1000000000ull
#define LIMIT_NS (INT64_MAX / 8) /* 36 years: keeps all differences below within 64 bits */

int64_t ticks_to_ns(uint64_t ticks, uint64_t hz)
{
	unsigned __int128 ns;

	if (hz == 0)
		return 0;
	ns = (unsigned __int128)ticks * NS / hz;
	return ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

uint64_t counter_turns(uint64_t delta, unsigned bits, uint64_t hz, uint64_t from_ns, uint64_t to_ns)
{
	unsigned __int128 most;
	uint64_t grace, turn_ns;

	if (hz == 0 || bits >= 48 || from_ns == CLOCK_UNKNOWN || to_ns == CLOCK_UNKNOWN || to_ns <= from_ns)
		return 0;
	/* The most ticks that can have passed: a fast board by a fast estimate, and bytes that came late before. */
	turn_ns = (uint64_t)((unsigned __int128)NS * (1ull << bits) / hz);
	grace = (to_ns - from_ns) / 1000 + (turn_ns < NS ? turn_ns / 4 : NS / 4);
	most = (unsigned __int128)(to_ns - from_ns + grace) * hz / NS;
	if (most <= delta)
		return 0;
	return (uint64_t)((most - delta) >> bits);
}

uint64_t counter_unwrap(struct counter *c, uint64_t raw, unsigned bits, uint64_t hz, uint64_t back, uint64_t arrival_ns)
{
	uint64_t mask = bits >= 64 ? UINT64_MAX : (1ull << bits) - 1;
	uint64_t delta, turns;

	raw &= mask;
	if (!c->any) {
		c->any = true;
		c->value = raw;
		c->arrival_ns = arrival_ns;
		return c->value;
	}
	delta = (raw - c->value) & mask;
	if (back && delta > mask - back)
		return c->value;
	turns = counter_turns(delta, bits, hz, c->arrival_ns, arrival_ns);
	c->turns += (uint32_t)turns;
	c->value += delta + (bits >= 64 ? 0 : turns << bits);
	if (arrival_ns != CLOCK_UNKNOWN)
		c->arrival_ns = arrival_ns;
	return c->value;
}

void board_clock_reset(struct board_clock *c)
{
	memset(c, 0, sizeof(*c));
	c->one_way.stretch_ns = c->pings.stretch_ns = CLOCK_STRETCH_NS;
}

/* Which of two points in one stretch is worth keeping. */
static bool better(const struct clock_point *a, const struct clock_point *b, bool pings)
{
	return pings ? a->delay_ns < b->delay_ns : a->diff_ns < b->diff_ns;
}

/* Doubles the stretches: of each two neighbours the better one stays. */
static void halve(struct clock_series *s, bool pings)
{
	unsigned kept = 0;

	s->stretch_ns *= 2;
	for (unsigned i = 0; i < s->n; i++) {
		int64_t stretch = s->p[i].board_ns / s->stretch_ns;

		if (kept && s->p[kept - 1].board_ns / s->stretch_ns == stretch) {
			if (better(&s->p[i], &s->p[kept - 1], pings))
				s->p[kept - 1] = s->p[i];
		} else {
			s->p[kept++] = s->p[i];
		}
	}
	s->n = kept;
}

static void series_add(struct clock_series *s, struct clock_point p, bool pings)
{
	if (s->n) {
		struct clock_point *last = &s->p[s->n - 1];

		if (p.board_ns < last->board_ns)
			return;
		if (p.board_ns / s->stretch_ns == last->board_ns / s->stretch_ns) {
			if (better(&p, last, pings))
				*last = p;
			return;
		}
	}
	while (s->n == CLOCK_STRETCHES && s->stretch_ns < INT64_MAX / 4)
		halve(s, pings);
	if (s->n == CLOCK_STRETCHES)
		return;
	if (s->n && p.board_ns / s->stretch_ns == s->p[s->n - 1].board_ns / s->stretch_ns) {
		if (better(&p, &s->p[s->n - 1], pings))
			s->p[s->n - 1] = p;
		return;
	}
	s->p[s->n++] = p;
}

void board_clock_one_way(struct board_clock *c, int64_t board_ns, int64_t host_ns)
{
	if (board_ns < 0 || board_ns > LIMIT_NS || host_ns < 0 || host_ns > LIMIT_NS)
		return;
	c->n_one_way++;
	series_add(&c->one_way, (struct clock_point){ .board_ns = board_ns, .diff_ns = host_ns - board_ns }, false);
}

void board_clock_ping(struct board_clock *c, int64_t sent_ns, int64_t rx_ns, int64_t tx_ns, int64_t received_ns)
{
	struct clock_point p = { .board_ns = tx_ns };

	if (rx_ns < 0 || tx_ns < rx_ns || tx_ns > LIMIT_NS || sent_ns < 0 || received_ns < sent_ns || received_ns > LIMIT_NS)
		return;
	p.delay_ns = (received_ns - sent_ns) - (tx_ns - rx_ns);
	if (p.delay_ns < 0)
		return;
	/* Half the way there, half the way back: where the two differ, the error is at most half the round trip. */
	p.diff_ns = (sent_ns - rx_ns) / 2 + (received_ns - tx_ns) / 2;
	c->n_pings++;
	series_add(&c->pings, p, true);
}

/* A fitted line: diff = at0 + slope * x, x in seconds after the first point, diff in nanoseconds after the first's. */
struct line {
	double at0, slope; /* slope in ns a second: 1000 of it are 1 ppm */
	double spread_ns;  /* how much of slope times span may be noise */
};

static double x_of(const struct clock_series *s, unsigned i)
{
	return (double)(s->p[i].board_ns - s->p[0].board_ns) / 1e9;
}

static double y_of(const struct clock_series *s, unsigned i)
{
	return (double)(s->p[i].diff_ns - s->p[0].diff_ns);
}

static double cross(const struct clock_series *s, unsigned a, unsigned b, unsigned c)
{
	return (x_of(s, b) - x_of(s, a)) * (y_of(s, c) - y_of(s, a)) - (y_of(s, b) - y_of(s, a)) * (x_of(s, c) - x_of(s, a));
}

/*
 * The line under all points with the least sum of distances is the edge of the lower convex hull over the points' mean
 * x: moving it to another edge raises it on one side by more than it falls on the other.
 * The spread is the median height of the points over it: half of the stretches met a delay at least so small.
 */
static struct line fit_envelope(const struct clock_series *s)
{
	unsigned hull[CLOCK_STRETCHES] = { 0 }, n = 0, edge = 0;
	double mean = 0, below[CLOCK_STRETCHES];
	struct line l;

	for (unsigned i = 0; i < s->n; i++) {
		while (n >= 2 && cross(s, hull[n - 2], hull[n - 1], i) <= 0)
			n--;
		hull[n++] = i;
		mean += x_of(s, i) / s->n;
	}
	while (edge + 2 < n && x_of(s, hull[edge + 1]) < mean)
		edge++;
	l.slope = (y_of(s, hull[edge + 1]) - y_of(s, hull[edge])) / (x_of(s, hull[edge + 1]) - x_of(s, hull[edge]));
	l.at0 = y_of(s, hull[edge]) - l.slope * x_of(s, hull[edge]);
	for (unsigned i = 0; i < s->n; i++) {
		double over = y_of(s, i) - (l.at0 + l.slope * x_of(s, i));
		unsigned k = i;

		for (; k > 0 && below[k - 1] > over; k--)
			below[k] = below[k - 1];
		below[k] = over;
	}
	l.spread_ns = below[s->n / 2];
	return l;
}

/* Least squares, an exchange weighing less the longer it took beyond the least: the excess is its possible error. */
static struct line fit_pings(const struct clock_series *s)
{
	double sw = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, least = INFINITY, swr = 0;
	struct line l;

	for (unsigned i = 0; i < s->n; i++)
		least = fmin(least, (double)s->p[i].delay_ns);
	for (unsigned i = 0; i < s->n; i++) {
		double excess = ((double)s->p[i].delay_ns - least) / (least / 16 + 1000);
		double w = 1 / (1 + excess * excess), x = x_of(s, i), y = y_of(s, i);

		sw += w;
		sx += w * x;
		sy += w * y;
		sxx += w * x * x;
		sxy += w * x * y;
	}
	l.slope = (sw * sxy - sx * sy) / (sw * sxx - sx * sx);
	l.at0 = (sy - l.slope * sx) / sw;
	for (unsigned i = 0; i < s->n; i++) {
		double excess = ((double)s->p[i].delay_ns - least) / (least / 16 + 1000);
		double r = y_of(s, i) - (l.at0 + l.slope * x_of(s, i));

		swr += r * r / (1 + excess * excess);
	}
	l.spread_ns = sqrt(swr / sw);
	return l;
}

bool board_clock_fit(const struct board_clock *c, struct clock_fit *ret_fit)
{
	const struct clock_series *s = c->pings.n ? &c->pings : &c->one_way;
	const struct clock_point *last;
	struct line l;
	double span;

	*ret_fit = (struct clock_fit){ .method = CLOCK_NONE, .drift_ppm = NAN, .drift_error_ppm = NAN, .error_ns = -1 };
	if (s->n == 0)
		return false;
	last = &s->p[s->n - 1];
	ret_fit->method = s == &c->pings ? CLOCK_PINGS : CLOCK_ONE_WAY;
	ret_fit->samples = s == &c->pings ? c->n_pings : c->n_one_way;
	ret_fit->board_ns = last->board_ns;
	ret_fit->offset_ns = last->diff_ns;
	if (s == &c->pings) {
		ret_fit->error_ns = s->p[0].delay_ns / 2;
		for (unsigned i = 1; i < s->n; i++)
			if (s->p[i].delay_ns / 2 < ret_fit->error_ns)
				ret_fit->error_ns = s->p[i].delay_ns / 2;
	}
	span = x_of(s, s->n - 1);
	if (s->n < 3 || span < 1)
		return true;
	l = s == &c->pings ? fit_pings(s) : fit_envelope(s);
	/* A fast board: its time grows faster than the host's, so host minus board falls. */
	ret_fit->drift_ppm = -l.slope / 1000;
	ret_fit->drift_error_ppm = l.spread_ns / span / 1000;
	ret_fit->offset_ns = s->p[0].diff_ns + (int64_t)llround(l.at0 + l.slope * span);
	return true;
}

int64_t clock_fit_host(const struct clock_fit *f, int64_t board_ns)
{
	double drift = isnan(f->drift_ppm) ? 0 : f->drift_ppm;

	return board_ns + f->offset_ns - (int64_t)llround((double)(board_ns - f->board_ns) * drift / 1e6);
}
