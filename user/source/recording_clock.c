/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recording_clock.c - where a source's ticks are on the time line.
 *
 * The recording has a point a second or more: where the source's clock stood to the line by what was known then. A board's clock is
 * known better with time, so the first points of a session are left out where later ones are there, and what lies before is placed
 * by the rate of the first one that counts. Between two points ticks are spread evenly, so the line has no steps; a point that
 * would make it run backwards is left out. A session begins no earlier than the one before it ended.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "source/recording_internal.h"

#define UNSETTLED_NS 5000000000ll /* of a session */

static bool add_point(struct recorded_source *s, const struct line_point *p, size_t *cap)
{
	if (s->n_points == *cap) {
		size_t n = *cap ? 2 * *cap : 16;
		struct line_point *q = reallocarray(s->points, n, sizeof(*q));

		if (!q)
			return false;
		s->points = q;
		*cap = n;
	}
	s->points[s->n_points++] = *p;
	return true;
}

/* In place: what stays of one session's points [from, to); they end at the return value. */
static size_t settle(struct line_point *p, size_t from, size_t to, size_t out)
{
	size_t begin = from, first = out;

	while (begin < to - 1 && rec_time(p[begin].at_ns) - rec_time(p[from].at_ns) < UNSETTLED_NS)
		begin++;
	for (size_t i = begin; i < to; i++) {
		/* Times far outside of what sums of them can hold are no times. */
		if (p[i].at_ns < -(INT64_MAX / 4) || p[i].at_ns > INT64_MAX / 4)
			continue;
		if (out > first && (p[i].ticks <= p[out - 1].ticks || p[i].at_ns < p[out - 1].at_ns))
			continue;
		p[out++] = p[i];
	}
	return out;
}

static void settle_all(struct recorded_source *s)
{
	size_t out = 0;

	for (size_t from = 0, to; from < s->n_points; from = to) {
		to = from + 1;
		while (to < s->n_points && s->points[to].session == s->points[from].session)
			to++;
		out = settle(s->points, from, to, out);
	}
	s->n_points = out;
}

static int read_clock(struct recording *r, struct recorded_source *src, struct fault *f)
{
	sqlite3_stmt *s = NULL;
	size_t cap = 0;
	int err = rec_prepare(r, &s, f, "SELECT session, ticks, at_ns, ns_per_tick FROM clock WHERE source = %lld ORDER BY session, ticks",
			      (long long)src->id);

	while (!err && (err = rec_step(r, s, f)) == 1) {
		int64_t session = sqlite3_column_int64(s, 0), ticks = sqlite3_column_int64(s, 1);
		struct line_point p = { .session = (uint32_t)session, .ticks = (uint64_t)ticks, .at_ns = sqlite3_column_int64(s, 2),
					 .ns_per_tick = sqlite3_column_double(s, 3) };

		err = 0;
		if (session < 0 || session > UINT32_MAX || ticks < 0 || !(p.ns_per_tick > 1e-6 && p.ns_per_tick < 1e12))
			err = rec_damaged(r, f);
		else if (!add_point(src, &p, &cap))
			err = fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	}
	sqlite3_finalize(s);
	if (err)
		return err;
	if (src->host_clock && src->n_points) {
		/* One point for good: nanoseconds on both sides. */
		const struct line_point *p = &src->points[0];

		if (p->at_ns < -(INT64_MAX / 4) || p->at_ns > INT64_MAX / 4 || p->ticks > INT64_MAX / 4)
			return rec_damaged(r, f);
		src->anchor_ns = r->host.monotonic_ns = p->at_ns - (int64_t)p->ticks;
	}
	settle_all(src);
	return 0;
}

/* --- rates --- */

static int add_rate(struct recording *r, sqlite3_stmt *s, struct recorded_source *src, size_t *cap, struct fault *f)
{
	int64_t session = sqlite3_column_int64(s, 0), hz = sqlite3_column_int64(s, 1);

	if (session < 0 || session > UINT32_MAX || hz < 0)
		return rec_damaged(r, f);
	if (src->n_rates == *cap) {
		size_t n = *cap ? 2 * *cap : 4;
		struct line_rate *p = reallocarray(src->rates, n, sizeof(*p));

		if (!p)
			return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
		src->rates = p;
		*cap = n;
	}
	src->rates[src->n_rates++] = (struct line_rate){ .session = (uint32_t)session, .hz = (uint64_t)hz };
	return 0;
}

static int read_rates(struct recording *r, struct recorded_source *src, struct fault *f)
{
	sqlite3_stmt *s = NULL;
	size_t cap = 0;
	int err = rec_prepare(r, &s, f,
			      "SELECT session, hz FROM chunk WHERE source = %lld UNION SELECT session, hz FROM long_span WHERE source = %lld "
			      "ORDER BY session", (long long)src->id, (long long)src->id);

	while (!err && (err = rec_step(r, s, f)) == 1)
		err = add_rate(r, s, src, &cap, f);
	sqlite3_finalize(s);
	return err;
}

int rec_read_clocks(struct recording *r, struct fault *f)
{
	int err = 0;

	for (size_t i = 0; i < r->n_sources && !err; i++) {
		err = read_clock(r, &r->sources[i], f);
		if (!err && !r->sources[i].host_clock)
			err = read_rates(r, &r->sources[i], f);
	}
	return err;
}

/* --- where ticks are --- */

static int64_t add_ns(int64_t at_ns, double ns)
{
	const double most = 4e18;

	if (!(fabs(ns) < most))
		ns = ns < 0 ? -most : most;
	return rec_time(at_ns + (int64_t)ns);
}

static size_t first_point(const struct recorded_source *s, uint64_t session)
{
	size_t lo = 0, hi = s->n_points;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->points[mid].session < session)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int64_t between(const struct line_point *p, size_t n, uint64_t ticks)
{
	size_t lo = 0, hi = n;
	const struct line_point *a, *b;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (p[mid].ticks <= ticks)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0)
		return add_ns(p[0].at_ns, -(double)(p[0].ticks - ticks) * p[0].ns_per_tick);
	a = &p[lo - 1];
	if (lo == n)
		return add_ns(a->at_ns, (double)(ticks - a->ticks) * a->ns_per_tick);
	b = &p[lo];
	return add_ns(a->at_ns, (double)(ticks - a->ticks) / (double)(b->ticks - a->ticks) * (double)(b->at_ns - a->at_ns));
}

int64_t rec_line(const struct recording *r, const struct recorded_source *s, uint32_t session, uint64_t hz, uint64_t ticks)
{
	size_t from, to;
	int64_t ns;

	if (s->host_clock)
		return rec_time(s->anchor_ns + (int64_t)(ticks < INT64_MAX / 4 ? ticks : INT64_MAX / 4));
	from = first_point(s, session);
	to = first_point(s, session + 1ull);
	if (from == to)
		return add_ns(r->host.start_ns, hz ? (double)ticks * 1e9 / (double)hz : (double)ticks);
	ns = between(s->points + from, to - from, ticks);
	return from > 0 && ns < s->points[from - 1].at_ns ? s->points[from - 1].at_ns : ns;
}

/* --- where records are --- */

/* The rate of the last session that had begun, as far as its points tell; 0: of the first. */
static size_t rate_at(const struct recorded_source *s, int64_t at_ns)
{
	size_t lo = 0, hi = s->n_rates;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2, point = first_point(s, s->rates[mid].session);

		if (point < s->n_points && s->points[point].at_ns <= at_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? lo - 1 : 0;
}

static uint64_t distance(int64_t a, int64_t b)
{
	return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

/* A board that begins anew counts from 0 again: of the sessions about that time it is the one in which the moment is nearest to where
 * it was put when it was told, which was wrong by less than a session lasts. */
static int64_t line_of_told(const struct recording *r, const struct recorded_source *s, int64_t clock_ns, int64_t live_ns)
{
	int64_t best = live_ns;
	uint64_t least = UINT64_MAX;
	size_t at = rate_at(s, live_ns);

	for (size_t i = at ? at - 1 : 0; i < s->n_rates && i <= at + 1; i++) {
		const struct line_rate *rate = &s->rates[i];
		int64_t ns;

		if (!rate->hz)
			continue;
		ns = rec_line(r, s, rate->session, rate->hz, (uint64_t)(((unsigned __int128)clock_ns * rate->hz + 500000000) / 1000000000));
		if (distance(ns, live_ns) < least) {
			least = distance(ns, live_ns);
			best = ns;
		}
	}
	return best;
}

static void line_of(sqlite3_context *context, int n, sqlite3_value **values)
{
	const struct recording *r = sqlite3_user_data(context);
	int64_t clock_ns = sqlite3_value_int64(values[1]), live_ns = rec_time(sqlite3_value_int64(values[2]));
	const struct recorded_source *s;
	uint32_t lane;

	if (rec_lane_index(r, sqlite3_value_int64(values[0]), &lane)) {
		s = &r->sources[r->lanes[lane].source];
		if (!s->host_clock && clock_ns > 0 && clock_ns < INT64_MAX / 4)
			live_ns = line_of_told(r, s, clock_ns, live_ns);
	}
	sqlite3_result_int64(context, live_ns);
}

int rec_add_line_of(struct recording *r, struct fault *f)
{
	return sqlite3_create_function(r->sql, "line_of", 3, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, r, line_of, NULL, NULL) == SQLITE_OK ?
		       0 :
		       rec_error(r, f);
}
