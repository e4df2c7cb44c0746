/* SPDX-License-Identifier: BSD-2-Clause */
/* recording_lanes.c - a recording's sources and lanes. Lanes that are the same but were met in different eras become one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "source/recording_internal.h"

static int no_memory(struct fault *f)
{
	fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	return -ENOMEM;
}

/* --- sources --- */

static enum record_source source_kind(const char *name)
{
	return name && !strcmp(name, record_source_name(SOURCE_SERIAL)) ? SOURCE_SERIAL : SOURCE_KERNEL;
}

static int add_source(struct recording *r, sqlite3_stmt *s, struct fault *f)
{
	struct recorded_source *p;
	struct recording_source *q;

	if (r->n_sources == RECORDING_SOURCES_MAX)
		return rec_damaged(r, f);
	p = reallocarray(r->sources, r->n_sources + 1, sizeof(*p));
	if (!p)
		return no_memory(f);
	r->sources = p;
	q = reallocarray(r->public_sources, r->n_sources + 1, sizeof(*q));
	if (!q)
		return no_memory(f);
	r->public_sources = q;
	p = &r->sources[r->n_sources];
	*p = (struct recorded_source){ .id = sqlite3_column_int64(s, 0), .host_clock = sqlite3_column_int(s, 5) != 0,
				       .slow_summary = sqlite3_column_int(s, 6) != 0 };
	p->pub = (struct recording_source){ .kind = source_kind((const char *)sqlite3_column_text(s, 1)),
					    .name = rec_row_text(s, 2, &r->strings), .where = rec_row_text(s, 3, &r->strings),
					    .protocol = rec_row_text(s, 4, &r->strings) };
	if (!p->pub.name || !p->pub.where || !p->pub.protocol)
		return no_memory(f);
	r->public_sources[r->n_sources++] = p->pub;
	return 0;
}

int rec_read_sources(struct recording *r, struct fault *f)
{
	sqlite3_stmt *s = NULL;
	int err = rec_prepare(r, &s, f, "SELECT id, kind, name, port, protocol, host_clock, slow_summary FROM source ORDER BY id");

	while (!err && (err = rec_step(r, s, f)) == 1)
		err = add_source(r, s, f);
	sqlite3_finalize(s);
	return err;
}

bool rec_source_index(const struct recording *r, int64_t id, uint32_t *ret)
{
	for (size_t i = 0; i < r->n_sources; i++)
		if (r->sources[i].id == id) {
			*ret = (uint32_t)i;
			return true;
		}
	return false;
}

/* --- lanes --- */

static bool lane_kind(const char *name, enum lane_kind *ret)
{
	for (int k = LANE_LOOP; k <= LANE_MARK; k++)
		if (name && !strcmp(name, lane_kind_name((enum lane_kind)k))) {
			*ret = (enum lane_kind)k;
			return true;
		}
	return false;
}

static bool identity(sqlite3_stmt *s, int i, struct loop_id *ret)
{
	int64_t pid = rec_row_count(s, i, 0), tid = rec_row_count(s, i + 1, 0), start = rec_row_count(s, i + 2, 0),
		generation = rec_row_count(s, i + 3, 0);

	if (pid < 0 || pid > UINT32_MAX || tid < 0 || tid > UINT32_MAX || start < 0 || generation < 0 || generation > UINT32_MAX)
		return false;
	*ret = (struct loop_id){ (uint32_t)pid, (uint32_t)tid, (uint64_t)start, (uint32_t)generation };
	return true;
}

static int read_lane(struct recording *r, sqlite3_stmt *s, struct lane *l, struct fault *f)
{
	int64_t parent = rec_row_count(s, 3, 0), number = rec_row_count(s, 11, 0), instance = rec_row_count(s, 12, 0);

	*l = (struct lane){ .parent = LANE_NONE, .first_ns = INT64_MAX, .last_ns = INT64_MIN };
	if (!rec_source_index(r, sqlite3_column_int64(s, 1), &l->source) ||
	    !lane_kind((const char *)sqlite3_column_text(s, 2), &l->kind) || !identity(s, 4, &l->id))
		return rec_damaged(r, f);
	if (number < 0 || number > UINT32_MAX || instance < 0 || instance > UINT32_MAX)
		return rec_damaged(r, f);
	if (l->kind != LANE_LOOP && !rec_lane_index(r, parent, &l->parent))
		return rec_damaged(r, f);
	l->number = (uint32_t)number;
	l->instance = (uint32_t)instance;
	l->name = rec_row_text(s, 8, &r->strings);
	l->process = rec_row_text(s, 9, &r->strings);
	l->runtime = rec_row_text(s, 10, &r->strings);
	l->cgroup = "";
	return l->name && l->process && l->runtime ? 0 : no_memory(f);
}

/* By what they are; their index in the end, so that the first of the same leads. */
static int by_identity(const void *pa, const void *pb)
{
	const struct lane *a = pa, *b = pb;
	int by_name;

#define COMPARE(x)          \
	if (a->x != b->x)   \
		return a->x < b->x ? -1 : 1
	COMPARE(source);
	COMPARE(kind);
	COMPARE(id.pid);
	COMPARE(id.tid);
	COMPARE(id.start_ns);
	COMPARE(id.generation);
	COMPARE(number);
	COMPARE(instance);
#undef COMPARE
	by_name = a->kind == LANE_LOOP ? 0 : strcmp(a->name, b->name);
	if (by_name)
		return by_name;
	return a->index < b->index ? -1 : a->index > b->index;
}

static bool same_lane(const struct lane *a, const struct lane *b)
{
	struct lane c = *b;

	c.index = a->index;
	return by_identity(a, &c) == 0;
}

/* First all rows, in the order of their numbers; then the same ones get one index, and names as they were last. */
static int merge_lanes(struct recording *r, struct fault *f)
{
	uint32_t *index = calloc(r->n_lanes + 1, sizeof(*index));
	struct lane *sorted = calloc(r->n_lanes + 1, sizeof(*sorted));
	size_t n = 0;

	if (!index || !sorted) {
		free(index);
		free(sorted);
		return no_memory(f);
	}
	memcpy(sorted, r->lanes, r->n_lanes * sizeof(*sorted));
	qsort(sorted, r->n_lanes, sizeof(*sorted), by_identity);
	for (size_t i = 0, leader = 0; i < r->n_lanes; i++) {
		if (!same_lane(&sorted[leader], &sorted[i]))
			leader = i;
		index[sorted[i].index] = sorted[leader].index;
	}
	free(sorted);
	for (size_t i = 0; i < r->n_lanes; i++) {
		uint32_t leader = index[i];

		if (leader == i) {
			index[i] = (uint32_t)n;
			r->lanes[n] = r->lanes[i];
			r->lanes[n].index = (uint32_t)n;
			if (r->lanes[n].parent != LANE_NONE)
				r->lanes[n].parent = index[r->lanes[n].parent];
			n++;
		} else {
			struct lane *first = &r->lanes[index[leader]];

			index[i] = index[leader];
			first->name = r->lanes[i].name;
			first->process = r->lanes[i].process;
			first->runtime = r->lanes[i].runtime;
		}
		r->numbers[i].index = index[i];
	}
	r->n_lanes = n;
	free(index);
	return 0;
}

static int add_lane(struct recording *r, sqlite3_stmt *s, size_t *cap, struct fault *f)
{
	struct lane l;
	int err = read_lane(r, s, &l, f);

	if (err)
		return err;
	if (r->n_lanes == RECORDING_LANES_MAX)
		return rec_damaged(r, f);
	if (r->n_lanes == *cap) {
		size_t new_cap = *cap ? 2 * *cap : 64;
		struct lane *p = reallocarray(r->lanes, new_cap, sizeof(*p));
		struct lane_number *q;

		if (!p)
			return no_memory(f);
		r->lanes = p;
		q = reallocarray(r->numbers, new_cap, sizeof(*q));
		if (!q)
			return no_memory(f);
		r->numbers = q;
		*cap = new_cap;
	}
	l.index = (uint32_t)r->n_lanes;
	r->numbers[r->n_numbers++] = (struct lane_number){ sqlite3_column_int64(s, 0), l.index };
	r->lanes[r->n_lanes++] = l;
	return 0;
}

/* The last one known of each. */
static int read_cgroups(struct recording *r, struct fault *f)
{
	sqlite3_stmt *s = NULL;
	int err = rec_prepare(r, &s, f, "SELECT lane, cgroup FROM who WHERE cgroup IS NOT NULL ORDER BY id");

	while (!err && (err = rec_step(r, s, f)) == 1) {
		uint32_t lane;
		const char *text;

		if (!rec_lane_index(r, sqlite3_column_int64(s, 0), &lane)) {
			err = rec_damaged(r, f);
			continue;
		}
		text = (const char *)sqlite3_column_text(s, 1);
		err = 0;
		if (!text || !strcmp(text, r->lanes[lane].cgroup))
			continue;
		r->lanes[lane].cgroup = rec_row_text(s, 1, &r->strings);
		if (!r->lanes[lane].cgroup)
			err = no_memory(f);
	}
	sqlite3_finalize(s);
	return err;
}

int rec_read_lanes(struct recording *r, struct fault *f)
{
	sqlite3_stmt *s = NULL;
	size_t cap = 0;
	int err = rec_prepare(r, &s, f,
			      "SELECT id, source, kind, parent, pid, tid, thread_start_ns, generation, name, process, runtime, number, "
			      "instance FROM lane ORDER BY id");

	while (!err && (err = rec_step(r, s, f)) == 1)
		err = add_lane(r, s, &cap, f);
	sqlite3_finalize(s);
	if (!err && r->n_lanes)
		err = merge_lanes(r, f);
	return err ? err : read_cgroups(r, f);
}

bool rec_lane_index(const struct recording *r, int64_t id, uint32_t *ret)
{
	size_t lo = 0, hi = r->n_numbers;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (r->numbers[mid].id == id) {
			*ret = r->numbers[mid].index;
			return true;
		}
		if (r->numbers[mid].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return false;
}
