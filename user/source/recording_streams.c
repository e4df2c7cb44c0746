/* SPDX-License-Identifier: BSD-2-Clause */
/* recording_streams.c - see recording_streams.h. */
#include "source/recording_streams.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"

static int no_memory(struct fault *f)
{
	fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	return -ENOMEM;
}

/* --- a chunk's section --- */

struct shared_chunk {
	struct span_unpacked *u;
	size_t holders;
};

int shared_chunk_new(struct span_unpacked *u, struct shared_chunk **ret)
{
	struct shared_chunk *c = malloc(sizeof(*c));

	if (!c)
		return -ENOMEM;
	*c = (struct shared_chunk){ u, 1 };
	*ret = c;
	return 0;
}

void shared_chunk_release(struct shared_chunk *c)
{
	if (--c->holders)
		return;
	span_unpacked_free(c->u);
	free(c);
}

struct section_stream {
	struct span_stream pub; /* first */
	struct recording *r;
	const struct recorded_source *source;
	struct shared_chunk *chunk;
	const struct span_entry *entries;
	struct span_entry *sorted; /* owned; where they were not in order */
	size_t n, i;
	uint32_t lane, session;
	uint64_t hz;
	bool tick_follows; /* of the turn at i, the wait was given */
};

static void section_free(struct span_stream *s)
{
	struct section_stream *w = (struct section_stream *)s;

	shared_chunk_release(w->chunk);
	free(w->sorted);
	free(w);
}

static int64_t line(const struct section_stream *w, uint64_t ticks)
{
	return rec_line(w->r, w->source, w->session, w->hz, ticks);
}

static void fill(struct section_stream *w, const struct span_entry *e, enum span_kind kind, uint64_t start, uint64_t length)
{
	struct timeline_span *s = &w->pub.next;

	*s = (struct timeline_span){ .lane = w->lane, .kind = kind, .open = e->flags & SPAN_ENTRY_OPEN,
				     .unsure = (e->flags & SPAN_ENTRY_UNSURE) != 0, .start_ns = line(w, start),
				     .end_ns = line(w, start + length), .net_ns = -1, .value = kind == SPAN_TICK ? -1 : e->value,
				     .timeout_ns = -1 };
	if (e->apart && length)
		s->net_ns = (int64_t)((double)(s->end_ns - s->start_ns) * ((double)((int64_t)length - e->apart) / (double)length));
	if (s->net_ns < 0)
		s->net_ns = -1;
	if (kind == SPAN_IO_WAIT && e->timeout_ns < INT64_MAX)
		s->timeout_ns = (int64_t)e->timeout_ns;
}

static int section_advance(struct span_stream *s, struct fault *f)
{
	struct section_stream *w = (struct section_stream *)s;
	const struct span_entry *e;

	if (w->i == w->n)
		return 0;
	e = &w->entries[w->i];
	if (e->kind != SPAN_TURN) {
		fill(w, e, (enum span_kind)e->kind, e->start, e->length);
		w->i++;
	} else if (!w->tick_follows) {
		fill(w, e, SPAN_IO_WAIT, e->start, e->length);
		w->tick_follows = true;
	} else {
		fill(w, e, SPAN_TICK, e->start + e->length, e->then);
		w->tick_follows = false;
		w->i++;
	}
	return 1;
}

/* Of turns also the second half: what the next one begins must not come before it. */
static bool in_order(const struct span_section *s)
{
	for (size_t i = 1; i < s->n; i++) {
		const struct span_entry *a = &s->entries[i - 1];

		if (s->entries[i].start < a->start + (s->kind == SPAN_TURN ? a->length : 0))
			return false;
	}
	return true;
}

static int by_start(const void *a, const void *b)
{
	const struct span_entry *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Turns as two spans each; then by start. */
static int sort_section(struct section_stream *w, const struct span_section *s)
{
	size_t n = 0;

	w->sorted = calloc(2 * s->n, sizeof(*w->sorted));
	if (!w->sorted)
		return -ENOMEM;
	for (size_t i = 0; i < s->n; i++) {
		struct span_entry e = s->entries[i];

		if (e.kind != SPAN_TURN) {
			w->sorted[n++] = e;
			continue;
		}
		e.kind = SPAN_IO_WAIT;
		w->sorted[n++] = e;
		e.kind = SPAN_TICK;
		e.start += e.length;
		e.length = e.then;
		w->sorted[n++] = e;
	}
	qsort(w->sorted, n, sizeof(*w->sorted), by_start);
	w->entries = w->sorted;
	w->n = n;
	return 0;
}

int span_stream_of_section(struct recording *r, struct shared_chunk *c, size_t section, uint32_t lane, uint32_t source,
			   uint32_t session, uint64_t hz, struct span_stream **ret, struct fault *f)
{
	const struct span_section *s = &c->u->sections[section];
	struct section_stream *w;

	if (s->kind != SPAN_TURN && s->kind > SPAN_GAP)
		return rec_damaged(r, f);
	w = calloc(1, sizeof(*w));
	if (!w)
		return no_memory(f);
	*w = (struct section_stream){ .pub = { .advance = section_advance, .free = section_free }, .r = r, .source = &r->sources[source],
				      .chunk = c, .entries = s->entries, .n = s->n, .lane = lane, .session = session, .hz = hz };
	c->holders++;
	if (!in_order(s) && sort_section(w, s)) {
		section_free(&w->pub);
		return no_memory(f);
	}
	*ret = &w->pub;
	return 0;
}

/* --- rows --- */

struct row_stream {
	struct span_stream pub; /* first */
	struct recording *r;
	uint32_t source;
	sqlite3_stmt *rows;
	int (*fill)(struct row_stream *w, struct fault *f); /* 1: taken, 0: left out */
};

static void rows_free(struct span_stream *s)
{
	sqlite3_finalize(((struct row_stream *)s)->rows);
	free(s);
}

static int rows_advance(struct span_stream *s, struct fault *f)
{
	struct row_stream *w = (struct row_stream *)s;
	int err;

	while ((err = rec_step(w->r, w->rows, f)) == 1) {
		err = w->fill(w, f);
		if (err)
			break;
	}
	return err;
}

static int new_rows(struct recording *r, int (*take)(struct row_stream *, struct fault *), struct row_stream **ret, struct fault *f)
{
	struct row_stream *w = calloc(1, sizeof(*w));

	if (!w)
		return no_memory(f);
	*w = (struct row_stream){ .pub = { .advance = rows_advance, .free = rows_free }, .r = r, .fill = take };
	*ret = w;
	return 0;
}

static bool span_kind(const char *name, enum span_kind *ret)
{
	for (int k = SPAN_TICK; k <= SPAN_GAP; k++)
		if (name && !strcmp(name, span_kind_name((enum span_kind)k))) {
			*ret = (enum span_kind)k;
			return true;
		}
	return false;
}

static int fill_long(struct row_stream *w, struct fault *f)
{
	const struct recorded_source *src = &w->r->sources[w->source];
	struct timeline_span *s = &w->pub.next;
	int64_t session = sqlite3_column_int64(w->rows, 0), hz = sqlite3_column_int64(w->rows, 1), start = sqlite3_column_int64(w->rows, 4),
		length = sqlite3_column_int64(w->rows, 5), net = rec_row_count(w->rows, 6, -1);

	*s = (struct timeline_span){ .net_ns = -1, .value = rec_row_count(w->rows, 7, -1), .timeout_ns = rec_row_count(w->rows, 8, -1),
				     .open = sqlite3_column_int(w->rows, 9) != 0, .unsure = sqlite3_column_int(w->rows, 10) != 0 };
	if (session < 0 || session > UINT32_MAX || hz < 0 || start < 0 || length < 0 || start > INT64_MAX / 4 || length > INT64_MAX / 4 || net > length ||
	    !rec_lane_index(w->r, sqlite3_column_int64(w->rows, 2), &s->lane) ||
	    !span_kind((const char *)sqlite3_column_text(w->rows, 3), &s->kind))
		return rec_damaged(w->r, f);
	s->start_ns = rec_line(w->r, src, (uint32_t)session, (uint64_t)hz, (uint64_t)start);
	s->end_ns = rec_line(w->r, src, (uint32_t)session, (uint64_t)hz, (uint64_t)(start + length));
	if (net >= 0 && length)
		s->net_ns = (int64_t)((double)(s->end_ns - s->start_ns) * ((double)net / (double)length));
	return 1;
}

int span_stream_of_long(struct recording *r, uint32_t source, struct span_stream **ret, struct fault *f)
{
	struct row_stream *w = NULL;
	int err = new_rows(r, fill_long, &w, f);

	if (err)
		return err;
	w->source = source;
	err = rec_prepare(r, &w->rows, f,
			  "SELECT session, hz, lane, kind, start, length, net, value, timeout_ns, open, unsure FROM long_span "
			  "WHERE source = %lld ORDER BY session, start", (long long)r->sources[source].id);
	if (err) {
		rows_free(&w->pub);
		return err;
	}
	*ret = &w->pub;
	return 0;
}

/* lane, start, end, value */
static int fill_moment(struct row_stream *w, enum span_kind kind, struct fault *f)
{
	struct timeline_span *s = &w->pub.next;

	*s = (struct timeline_span){ .kind = kind, .start_ns = rec_row_time(w->rows, 1), .end_ns = rec_row_time(w->rows, 2),
				     .net_ns = -1, .value = rec_row_count(w->rows, 3, -1), .timeout_ns = -1 };
	if (!rec_lane_index(w->r, sqlite3_column_int64(w->rows, 0), &s->lane) || s->end_ns < s->start_ns)
		return rec_damaged(w->r, f);
	return 1;
}

static int fill_slow(struct row_stream *w, struct fault *f)
{
	int err = fill_moment(w, SPAN_TICK, f);

	w->pub.next.slow = true;
	return err;
}

static int fill_unfinished(struct row_stream *w, struct fault *f)
{
	int err = fill_moment(w, SPAN_TICK, f);

	w->pub.next.slow = w->pub.next.open = true;
	return err;
}

static int fill_gap(struct row_stream *w, struct fault *f)
{
	return fill_moment(w, SPAN_GAP, f);
}

int span_stream_of_rows(struct recording *r, enum rows_kind kind, struct span_stream **ret, struct fault *f)
{
	static const struct {
		int (*fill)(struct row_stream *w, struct fault *f);
		const char *sql;
	} kinds[] = {
		/* A thread has one tick at a time: the last that was told is the one that may be unfinished. */
		[ROWS_UNFINISHED] = { fill_unfinished,
				      "SELECT t.lane, " SLOW_START " AS start, " SLOW_END ", NULL FROM slow_tick t JOIN (SELECT max(id) AS last FROM "
				      "slow_tick GROUP BY lane) ON t.id = last WHERE in_progress ORDER BY start, t.lane" },
		[ROWS_SLOW] = { fill_slow, "SELECT lane, at_ns, end_ns, NULL FROM slow_tick WHERE NOT in_progress ORDER BY at_ns, lane" },
		[ROWS_GAPS] = { fill_gap, "SELECT lane, at_ns, at_ns, n FROM event WHERE kind = 'gap' ORDER BY at_ns, lane" },
	};
	struct row_stream *w = NULL;
	int err = new_rows(r, kinds[kind].fill, &w, f);

	if (err)
		return err;
	w->pub.again = kind == ROWS_UNFINISHED;
	err = rec_prepare(r, &w->rows, f, "%s", kinds[kind].sql);
	if (err) {
		rows_free(&w->pub);
		return err;
	}
	*ret = &w->pub;
	return 0;
}
