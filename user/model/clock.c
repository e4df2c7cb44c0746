/* SPDX-License-Identifier: BSD-2-Clause */
/* clock.c - see clock.h. */
#include "model/clock.h"

#include <math.h>
#include <stddef.h>

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
	/* The points beyond n are never looked at: a board that is reset again and again is not to clear them each time. */
	c->one_way.n = c->pings.n = 0;
	c->one_way.stretch_ns = c->pings.stretch_ns = CLOCK_STRETCH_NS;
	c->n_one_way = c->n_pings = 0;
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
	double error;      /* of the slope, what it may well be off by */
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
 * The slope's error: in each half of the time the height over it that a quarter of the points keep below. If the lowest
 * of a half is a stray one, the line should turn by about that much over half the time. (On a pty with a busy host 94 to
 * 100 % of drifts were within it, from 1.5 s to a minute.)
 */
static double height(const struct clock_series *s, const struct line *l, bool second_half)
{
	double half = x_of(s, s->n - 1) / 2, low[CLOCK_STRETCHES];
	unsigned n = 0, k;

	for (unsigned i = 0; i < s->n; i++) {
		double over = y_of(s, i) - (l->at0 + l->slope * x_of(s, i));

		if ((x_of(s, i) > half) != second_half)
			continue;
		for (k = n++; k > 0 && low[k - 1] > over; k--)
			low[k] = low[k - 1];
		low[k] = over;
	}
	k = n / 4 + 2;
	return n == 0 ? INFINITY : low[k < n ? k : n - 1];
}

static struct line fit_envelope(const struct clock_series *s)
{
	unsigned hull[CLOCK_STRETCHES] = { 0 }, n = 0, edge = 0;
	double mean = 0;
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
	l.error = fmax(height(s, &l, false), height(s, &l, true)) / (x_of(s, s->n - 1) / 2);
	return l;
}

/* An exchange weighs less the longer it took beyond the least: the excess is its possible error. */
static double weight(const struct clock_point *p, double least)
{
	double excess = ((double)p->delay_ns - least) / (least / 16 + 1000);

	return 1 / (1 + excess * excess);
}

static double least_delay(const struct clock_series *s)
{
	double least = INFINITY;

	for (unsigned i = 0; i < s->n; i++)
		least = fmin(least, (double)s->p[i].delay_ns);
	return least;
}

/* Weighted least squares. The slope's error: two standard errors, or what the excess of those that count could do,
 * whichever is more: ways there and back that differ for long are not noise. */
static struct line fit_pings(const struct clock_series *s)
{
	double sw = 0, sww = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, srr = 0, se = 0, least = least_delay(s), det;
	struct line l;

	for (unsigned i = 0; i < s->n; i++) {
		double w = weight(&s->p[i], least), x = x_of(s, i), y = y_of(s, i);

		sw += w;
		sww += w * w;
		sx += w * x;
		sy += w * y;
		sxx += w * x * x;
		sxy += w * x * y;
	}
	det = sw * sxx - sx * sx;
	if (!(det > 0)) /* all the weight on one of them */
		return (struct line){ .error = INFINITY };
	l.slope = (sw * sxy - sx * sy) / det;
	l.at0 = (sy - l.slope * sx) / sw;
	for (unsigned i = 0; i < s->n; i++) {
		double r = y_of(s, i) - (l.at0 + l.slope * x_of(s, i));

		srr += weight(&s->p[i], least) * r * r;
		se += weight(&s->p[i], least) * ((double)s->p[i].delay_ns - least) / 2;
	}
	/* variance of a residual / (effective number of points x variance of x) */
	l.error = fmax(2 * sqrt(srr / sw / (sw * sw / sww) / (det / (sw * sw))), se / sw / x_of(s, s->n - 1));
	return l;
}

static double span_of(const struct clock_series *s)
{
	return s->n ? x_of(s, s->n - 1) : 0;
}

static struct line fit_series(const struct clock_series *s, bool pings)
{
	if (s->n < 3 || span_of(s) < 1)
		return (struct line){ .error = INFINITY };
	return pings ? fit_pings(s) : fit_envelope(s);
}

/* The offset now, by pings with a slope that may come from elsewhere: the weighted mean of what they say. */
static double ping_offset(const struct clock_series *s, double slope, double end)
{
	double sw = 0, sy = 0, least = least_delay(s);

	for (unsigned i = 0; i < s->n; i++) {
		double w = weight(&s->p[i], least);

		sw += w;
		sy += w * (y_of(s, i) + slope * (end - x_of(s, i)));
	}
	return sy / sw;
}

/* Too short a time for any drift to matter: the quickest exchange alone, not the last one, is as good as error_ns says. */
static void take_quickest(const struct clock_series *s, struct clock_fit *fit)
{
	const struct clock_point *best = &s->p[0];

	for (unsigned i = 1; i < s->n; i++)
		if (s->p[i].delay_ns < best->delay_ns)
			best = &s->p[i];
	fit->board_ns = best->board_ns;
	fit->offset_ns = best->diff_ns;
}

/*
 * Offset by pings where there are any: one-way it cannot be told from the least delay. Drift from frames, which come far
 * more often than pings, unless these are clearly better.
 */
bool board_clock_fit(const struct board_clock *c, struct clock_fit *ret_fit)
{
	bool pings = c->pings.n > 0;
	const struct clock_series *s = pings ? &c->pings : &c->one_way;
	struct line a, b, *best;

	*ret_fit = (struct clock_fit){ .method = CLOCK_NONE, .drift_ppm = NAN, .drift_error_ppm = NAN, .error_ns = -1 };
	if (s->n == 0)
		return false;
	ret_fit->method = pings ? CLOCK_PINGS : CLOCK_ONE_WAY;
	ret_fit->samples = pings ? c->n_pings : c->n_one_way;
	ret_fit->board_ns = s->p[s->n - 1].board_ns;
	ret_fit->offset_ns = s->p[s->n - 1].diff_ns;
	if (pings)
		ret_fit->error_ns = (int64_t)(least_delay(s) / 2);
	a = fit_series(&c->one_way, false);
	b = fit_series(&c->pings, true);
	best = b.error < a.error / 2 ? &b : &a; /* the envelope's is the more careful claim */
	if (isinf(best->error)) {
		if (pings)
			take_quickest(s, ret_fit);
		return true;
	}
	/* A fast board: its time grows faster than the host's, so host minus board falls. */
	ret_fit->drift_ppm = -best->slope / 1000;
	ret_fit->drift_error_ppm = best->error / 1000;
	ret_fit->offset_ns = s->p[0].diff_ns + (int64_t)llround(pings ? ping_offset(s, best->slope, span_of(s)) :
								       a.at0 + a.slope * span_of(s));
	return true;
}

/* An emulated clock may well run at half its rate. */
static bool is_rate_of_a_clock(const struct clock_fit *f)
{
	double rate = 1 - f->drift_ppm / 1e6;

	return rate > 0.1 && rate < 10;
}

bool clock_fit_compares(const struct clock_fit *f)
{
	return f->method != CLOCK_NONE && (isnan(f->drift_ppm) || is_rate_of_a_clock(f));
}

double clock_fit_drift_ppm(const struct clock_fit *f)
{
	return is_rate_of_a_clock(f) ? f->drift_ppm : 0;
}

int64_t clock_fit_host(const struct clock_fit *f, int64_t board_ns)
{
	return board_ns + f->offset_ns - (int64_t)llround((double)(board_ns - f->board_ns) * clock_fit_drift_ppm(f) / 1e6);
}

const char *clock_method_name(enum clock_method m)
{
	return m == CLOCK_PINGS ? "pings" : m == CLOCK_ONE_WAY ? "one-way" : NULL;
}
