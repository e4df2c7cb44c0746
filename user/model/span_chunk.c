/* SPDX-License-Identifier: BSD-2-Clause */
/* span_chunk.c - collecting and packing; see span_chunk.h. Unpacking is in span_unpack.c. */
#include "model/span_chunk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "lib/varint.h"
#include "model/span_columns.h"

#define SLOTS (2 * SPAN_CHUNK_ENTRIES) /* of the table of sections; a power of two */

struct collected {
	uint32_t lane;
	uint8_t kind;
	uint32_t n;
	uint64_t start, end; /* of its first, of its last entry */
	uint64_t length;     /* of all entries together */
	/* While packing. */
	uint32_t at;         /* where its next entry goes */
	uint64_t grid;       /* a power of two */
	uint64_t true_end, kept_end; /* of the entry before */
};

struct span_chunk {
	size_t n, n_sections;
	uint64_t first, last;
	uint32_t slots[SLOTS]; /* index of a section + 1 */
	struct collected sections[SPAN_CHUNK_ENTRIES];
	uint32_t section_of[SPAN_CHUNK_ENTRIES];
	uint64_t column[SPAN_COLUMNS][SPAN_CHUNK_ENTRIES]; /* in the order in which they came */
	uint64_t sorted[SPAN_CHUNK_ENTRIES];
	uint8_t *raw, *packed; /* owned */
	size_t raw_cap, packed_cap;
};

int span_chunk_new(struct span_chunk **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void span_chunk_free(struct span_chunk *c)
{
	if (!c)
		return;
	free(c->raw);
	free(c->packed);
	free(c);
}

bool span_chunk_full(const struct span_chunk *c)
{
	return c->n == SPAN_CHUNK_ENTRIES;
}

size_t span_chunk_count(const struct span_chunk *c)
{
	return c->n;
}

void span_chunk_reach(const struct span_chunk *c, uint64_t *ret_first, uint64_t *ret_last)
{
	*ret_first = c->first;
	*ret_last = c->last;
}

void span_chunk_reset(struct span_chunk *c)
{
	c->n = c->n_sections = 0;
	c->first = c->last = 0;
	memset(c->slots, 0, sizeof(c->slots));
}

static size_t slot_of(uint32_t lane, uint8_t kind)
{
	return (lane * 2654435761u ^ kind * 40503u) % SLOTS;
}

/* There are twice as many slots as sections can be. */
static uint32_t section_of(struct span_chunk *c, const struct span_entry *e)
{
	size_t slot = slot_of(e->lane, e->kind);

	for (; c->slots[slot]; slot = (slot + 1) % SLOTS) {
		struct collected *s = &c->sections[c->slots[slot] - 1];

		if (s->lane == e->lane && s->kind == e->kind)
			return c->slots[slot] - 1;
	}
	c->sections[c->n_sections] = (struct collected){ .lane = e->lane, .kind = e->kind, .start = e->start, .end = e->start };
	c->slots[slot] = (uint32_t)++c->n_sections;
	return (uint32_t)c->n_sections - 1;
}

bool span_chunk_add(struct span_chunk *c, const struct span_entry *e)
{
	uint64_t end = e->start + e->length + e->then;
	struct collected *s;
	size_t i = c->n;

	if (span_chunk_full(c) || e->start >= SPAN_CHUNK_TIME_MAX || e->length >= SPAN_CHUNK_TIME_MAX || e->then >= SPAN_CHUNK_TIME_MAX)
		return false;
	c->section_of[i] = section_of(c, e);
	s = &c->sections[c->section_of[i]];
	c->column[SPAN_COLUMN_GAP][i] = zigzag((int64_t)(e->start - s->end));
	c->column[SPAN_COLUMN_LENGTH][i] = e->length;
	c->column[SPAN_COLUMN_THEN][i] = e->then;
	c->column[SPAN_COLUMN_APART][i] = zigzag(e->apart);
	c->column[SPAN_COLUMN_VALUE][i] = zigzag(e->value);
	c->column[SPAN_COLUMN_TIMEOUT][i] = span_timeout_fold(e->timeout_ns);
	c->column[SPAN_COLUMN_FLAGS][i] = e->flags;
	s->length += end - e->start;
	s->end = end;
	s->n++;
	if (!c->n || e->start < c->first)
		c->first = e->start;
	if (!c->n || end > c->last)
		c->last = end;
	c->n++;
	return true;
}

/* --- packing --- */

static void begin_grid(struct collected *s)
{
	uint64_t most = s->kind == SPAN_TURN ? s->length / s->n / SPAN_CHUNK_GRID_PART : 0;

	s->grid = 1;
	while (2 * s->grid <= most && s->grid < SPAN_CHUNK_GRID_MAX)
		s->grid *= 2;
	s->true_end = s->kept_end = s->start;
}

/* A turn that follows another begins where that one is kept to have ended, any other where it did. */
static void put_on_grid(struct span_chunk *c, size_t i)
{
	struct collected *s = &c->sections[c->section_of[i]];
	int64_t gap = unzigzag(c->column[SPAN_COLUMN_GAP][i]);
	uint64_t begin = s->true_end + (uint64_t)gap, middle = begin + c->column[SPAN_COLUMN_LENGTH][i],
		 end = middle + c->column[SPAN_COLUMN_THEN][i], kept = gap ? begin : s->kept_end;

	c->column[SPAN_COLUMN_GAP][i] = zigzag((int64_t)(kept - s->kept_end));
	c->column[SPAN_COLUMN_LENGTH][i] = (middle - kept) & ~(s->grid - 1);
	kept += c->column[SPAN_COLUMN_LENGTH][i];
	c->column[SPAN_COLUMN_THEN][i] = (end - kept) & ~(s->grid - 1);
	s->kept_end = kept + c->column[SPAN_COLUMN_THEN][i];
	s->true_end = end;
}

static void put_all_on_grids(struct span_chunk *c)
{
	for (size_t i = 0; i < c->n_sections; i++)
		begin_grid(&c->sections[i]);
	for (size_t i = 0; i < c->n; i++)
		if (c->sections[c->section_of[i]].grid > 1)
			put_on_grid(c, i);
}

static uint8_t *put_sections(struct span_chunk *c, uint8_t *p)
{
	uint32_t at = 0;

	p = varint_put(p, c->n_sections);
	for (size_t i = 0; i < c->n_sections; i++) {
		struct collected *s = &c->sections[i];

		p = varint_put(p, s->lane);
		*p++ = s->kind;
		p = varint_put(p, s->n);
		p = varint_put(p, s->start - c->first);
		s->at = at;
		at += s->n;
	}
	return p;
}

static uint8_t *put_column(struct span_chunk *c, const uint64_t *column, uint8_t *p)
{
	uint64_t all = 0;
	unsigned width = 0, shift = 0;

	for (size_t i = 0; i < c->n; i++) {
		c->sorted[c->sections[c->section_of[i]].at++] = column[i];
		all |= column[i];
	}
	for (size_t i = 0; i < c->n_sections; i++)
		c->sections[i].at -= c->sections[i].n;
	while (all && shift < SPAN_COLUMN_SHIFT_MAX && !(all >> shift & 1))
		shift++;
	while (width < 8 && all >> shift >> 8 * width)
		width++;
	*p++ = (uint8_t)(width | shift << SPAN_COLUMN_SHIFT_AT);
	for (unsigned k = 0; k < width; k++)
		for (size_t i = 0; i < c->n; i++)
			*p++ = (uint8_t)(c->sorted[i] >> shift >> 8 * k);
	return p;
}

static int grow(uint8_t **p, size_t *cap, size_t wanted)
{
	uint8_t *q;

	if (*cap >= wanted)
		return 0;
	q = realloc(*p, wanted);
	if (!q)
		return -ENOMEM;
	*p = q;
	*cap = wanted;
	return 0;
}

int span_chunk_pack(struct span_chunk *c, const uint8_t **ret, size_t *ret_n, size_t *ret_raw)
{
	uint8_t *p;
	uLongf n;
	int err = grow(&c->raw, &c->raw_cap, SPAN_RAW_MAX(c->n, c->n_sections));

	if (err)
		return err;
	put_all_on_grids(c);
	p = put_sections(c, c->raw);
	for (int i = 0; i < SPAN_COLUMNS; i++)
		p = put_column(c, c->column[i], p);
	*ret_raw = (size_t)(p - c->raw);
	n = compressBound(*ret_raw);
	err = grow(&c->packed, &c->packed_cap, n);
	if (err)
		return err;
	if (compress2(c->packed, &n, c->raw, *ret_raw, 1) != Z_OK)
		return -ENOMEM;
	*ret = c->packed;
	*ret_n = n;
	return 0;
}
