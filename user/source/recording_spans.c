/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recording_spans.c - every span in the order of its start, from what each source kept in the order of ends.
 *
 * Chunks are opened when the line gets to their first start, and hold nothing that is longer than RECORDING_LONG_SPAN_S: so only
 * those of the last seconds are open at once. Longer ones, and what came without --ticks, are rows of their own. All of them are
 * streams whose spans ascend; the heap gives the least of them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "model/recording_format.h"
#include "model/span_chunk.h"
#include "source/recording_internal.h"
#include "source/recording_streams.h"

/* A chunk that is not open yet. */
struct closed_chunk {
	int64_t id;
	uint32_t source, session;
	uint64_t hz, first;
	int64_t start_ns, end_ns;
	size_t spans, raw;
};

struct merge {
	struct recording *r;
	const struct recording_select *sel;
	struct fault *f;
	timeline_span_fn fn;
	void *arg;
	struct closed_chunk *chunks; /* by start_ns */
	size_t n_chunks, next_chunk;
	sqlite3_stmt *blob;
	struct span_stream **heap;
	size_t n, cap;
	int64_t now;
	int64_t *tick_end; /* owned; of each lane's last tick */
};

static int no_memory(struct fault *f)
{
	fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	return -ENOMEM;
}

/* --- the heap --- */

static bool before(const struct span_stream *a, const struct span_stream *b)
{
	if (a->next.start_ns != b->next.start_ns)
		return a->next.start_ns < b->next.start_ns;
	return a->next.lane != b->next.lane ? a->next.lane < b->next.lane : !a->again && b->again;
}

static void sift_down(struct merge *m)
{
	struct span_stream *s = m->heap[0];
	size_t i = 0;

	for (size_t child = 1; child < m->n; child = 2 * i + 1) {
		if (child + 1 < m->n && before(m->heap[child + 1], m->heap[child]))
			child++;
		if (!before(m->heap[child], s))
			break;
		m->heap[i] = m->heap[child];
		i = child;
	}
	m->heap[i] = s;
}

/* Takes s over; a stream that is at its end already is freed. */
static int add_stream(struct merge *m, struct span_stream *s)
{
	size_t i = m->n;
	int err = span_stream_advance(s, m->f);

	if (err <= 0) {
		span_stream_free(s);
		return err;
	}
	if (m->n == m->cap) {
		size_t cap = m->cap ? 2 * m->cap : 64;
		struct span_stream **p = reallocarray(m->heap, cap, sizeof(struct span_stream *));

		if (!p) {
			span_stream_free(s);
			return no_memory(m->f);
		}
		m->heap = p;
		m->cap = cap;
	}
	m->n++;
	for (; i && before(s, m->heap[(i - 1) / 2]); i = (i - 1) / 2)
		m->heap[i] = m->heap[(i - 1) / 2];
	m->heap[i] = s;
	return 0;
}

/* The least stream goes on by one, or ends. */
static int advance_least(struct merge *m)
{
	int err = span_stream_advance(m->heap[0], m->f);

	if (err < 0)
		return err;
	if (!err) {
		span_stream_free(m->heap[0]);
		m->heap[0] = m->heap[--m->n];
	}
	if (m->n)
		sift_down(m);
	return 0;
}

/* --- chunks --- */

static int by_start(const void *a, const void *b)
{
	const struct closed_chunk *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static int read_chunk_row(struct merge *m, sqlite3_stmt *s, struct closed_chunk *c)
{
	int64_t session = sqlite3_column_int64(s, 2), hz = sqlite3_column_int64(s, 3), first = sqlite3_column_int64(s, 4),
		last = sqlite3_column_int64(s, 5), spans = sqlite3_column_int64(s, 6), raw = sqlite3_column_int64(s, 7);

	*c = (struct closed_chunk){ .id = sqlite3_column_int64(s, 0) };
	if (!rec_source_index(m->r, sqlite3_column_int64(s, 1), &c->source) || session < 0 || session > UINT32_MAX || hz < 0 || first < 0 ||
	    last < first || spans < 0 || spans > SPAN_CHUNK_ENTRIES || raw < 0)
		return rec_damaged(m->r, m->f);
	c->session = (uint32_t)session;
	c->hz = (uint64_t)hz;
	c->first = (uint64_t)first;
	c->spans = (size_t)spans;
	c->raw = (size_t)raw;
	c->start_ns = rec_line(m->r, &m->r->sources[c->source], c->session, c->hz, (uint64_t)first);
	c->end_ns = rec_line(m->r, &m->r->sources[c->source], c->session, c->hz, (uint64_t)last);
	return 0;
}

static int add_chunk(struct merge *m, const struct closed_chunk *c, size_t *cap)
{
	if (c->end_ns <= m->sel->from_ns || c->start_ns > m->sel->to_ns)
		return 0;
	if (m->n_chunks == *cap) {
		size_t n = *cap ? 2 * *cap : 64;
		struct closed_chunk *p = reallocarray(m->chunks, n, sizeof(*p));

		if (!p)
			return no_memory(m->f);
		m->chunks = p;
		*cap = n;
	}
	m->chunks[m->n_chunks++] = *c;
	return 0;
}

static int list_chunks(struct merge *m)
{
	sqlite3_stmt *s = NULL;
	size_t cap = 0;
	int err = rec_prepare(m->r, &s, m->f, "SELECT id, source, session, hz, first, last, spans, raw FROM chunk");

	while (!err && (err = rec_step(m->r, s, m->f)) == 1) {
		struct closed_chunk c;

		err = read_chunk_row(m, s, &c);
		if (!err)
			err = add_chunk(m, &c, &cap);
	}
	sqlite3_finalize(s);
	if (m->n_chunks)
		qsort(m->chunks, m->n_chunks, sizeof(*m->chunks), by_start);
	return err ? err : rec_prepare(m->r, &m->blob, m->f, "SELECT bytes FROM chunk WHERE id = ?");
}

static int open_sections(struct merge *m, const struct closed_chunk *c, struct span_unpacked *u)
{
	struct shared_chunk *shared = NULL;
	int err = shared_chunk_new(u, &shared);

	if (err) {
		span_unpacked_free(u);
		return no_memory(m->f);
	}
	for (size_t i = 0; i < u->n_sections && !err; i++) {
		struct span_stream *s = NULL;
		uint32_t lane;

		if (!rec_lane_index(m->r, u->sections[i].lane, &lane))
			err = rec_damaged(m->r, m->f);
		else if (rec_wants(m->sel, lane))
			err = span_stream_of_section(m->r, shared, i, lane, c->source, c->session, c->hz, &s, m->f);
		if (!err && s)
			err = add_stream(m, s);
	}
	shared_chunk_release(shared);
	return err;
}

static int open_chunk(struct merge *m, const struct closed_chunk *c)
{
	struct span_unpacked *u = NULL;
	int err;

	sqlite3_bind_int64(m->blob, 1, c->id);
	err = rec_step(m->r, m->blob, m->f);
	if (err == 1)
		err = span_chunk_unpack(sqlite3_column_blob(m->blob, 0), (size_t)sqlite3_column_bytes(m->blob, 0), c->raw, c->first, c->spans, &u);
	else if (!err)
		err = -EBADMSG;
	sqlite3_reset(m->blob);
	if (err == -EBADMSG)
		return rec_damaged(m->r, m->f);
	if (err)
		return no_memory(m->f);
	return open_sections(m, c, u);
}

/* All that could begin before what is least so far. */
static int open_due(struct merge *m)
{
	int err = 0;

	while (!err && m->next_chunk < m->n_chunks && (!m->n || m->chunks[m->next_chunk].start_ns <= m->heap[0]->next.start_ns))
		err = open_chunk(m, &m->chunks[m->next_chunk++]);
	return err;
}

/* --- the whole --- */

static int add_rows(struct merge *m)
{
	int err = 0;

	for (uint32_t i = 0; i < m->r->n_sources && !err; i++) {
		struct span_stream *s = NULL;

		err = span_stream_of_long(m->r, i, &s, m->f);
		if (!err)
			err = add_stream(m, s);
	}
	for (int what = 0; what < ROWS_KINDS && !err; what++) {
		struct span_stream *s = NULL;

		if (m->r->host.has_ticks && what != ROWS_UNFINISHED)
			continue;
		err = span_stream_of_rows(m->r, (enum rows_kind)what, &s, m->f);
		if (!err)
			err = add_stream(m, s);
	}
	return err;
}

static bool is_slow(const struct recording *r, const struct timeline_span *s)
{
	int64_t own = s->net_ns >= 0 ? s->net_ns : s->end_ns - s->start_ns;

	return r->host.slow_ns >= 0 && own >= r->host.slow_ns && (s->kind == SPAN_TICK || s->kind == SPAN_RUN || s->kind == SPAN_ISR);
}

/* Within a chunk a wait begins where the tick before it is kept to have ended, less than a grid's step before it did; the first
 * of another chunk, or one so long that it is a row of its own, begins where it did. There is nothing between them. */
static void close_up(struct merge *m, struct timeline_span *s)
{
	int64_t *end = &m->tick_end[s->lane];

	if (s->kind == SPAN_IO_WAIT && s->start_ns > *end && s->start_ns - *end < SPAN_CHUNK_GRID_MAX)
		s->start_ns = *end;
	if (s->kind == SPAN_TICK && s->end_ns > 0)
		*end = s->end_ns;
}

static int hand_on(struct merge *m)
{
	struct timeline_span s = m->heap[0]->next;

	/* A tick that goes on where the recording ends is a span by then. */
	if (m->heap[0]->again && s.start_ns < m->tick_end[s.lane])
		return 0;
	close_up(m, &s);
	/* Whatever a damaged or contradictory recording says: time does not run backwards here. */
	if (s.start_ns < m->now)
		s.start_ns = m->now;
	m->now = s.start_ns;
	if (s.end_ns < s.start_ns)
		s.end_ns = s.start_ns;
	if (!rec_wants(m->sel, s.lane) || s.end_ns <= m->sel->from_ns || s.start_ns > m->sel->to_ns)
		return 0;
	s.slow |= is_slow(m->r, &s);
	return m->fn(m->arg, &s);
}

int rec_view_spans(struct recording_view *v, const struct recording_select *sel, timeline_span_fn fn, void *arg, struct fault *f)
{
	struct merge m = { .r = (struct recording *)v, .sel = sel, .f = f, .fn = fn, .arg = arg, .now = INT64_MIN };
	int err = list_chunks(&m);

	m.tick_end = calloc(m.r->n_lanes + 1, sizeof(*m.tick_end));
	if (!err && !m.tick_end)
		err = no_memory(f);
	if (!err)
		err = add_rows(&m);
	if (!err)
		err = open_due(&m);
	while (!err && m.n) {
		err = hand_on(&m);
		if (!err)
			err = rec_progress(m.r, m.now);
		if (!err)
			err = advance_least(&m);
		if (!err)
			err = open_due(&m);
	}
	for (size_t i = 0; i < m.n; i++)
		span_stream_free(m.heap[i]);
	free(m.heap);
	free(m.chunks);
	free(m.tick_end);
	sqlite3_finalize(m.blob);
	return err;
}
