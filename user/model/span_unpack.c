/* SPDX-License-Identifier: BSD-2-Clause */
/* span_unpack.c - a chunk's bytes back to its entries; every byte is hostile. See span_chunk.h. */
#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#include "lib/cleanup.h"
#include "model/span_columns.h"

struct unpacked {
	struct span_unpacked pub; /* first */
	struct span_section *sections; /* owned */
	struct span_entry *entries;    /* owned */
};

void span_unpacked_free(struct span_unpacked *u)
{
	struct unpacked *w = (struct unpacked *)u; /* pub is its first member */

	if (!w)
		return;
	free(w->sections);
	free(w->entries);
	free(w);
}

/* Sections with the start of each in its first entry; together they have as many entries as was said. */
static int get_sections(struct unpacked *u, const uint8_t **p, const uint8_t *end, uint64_t base)
{
	uint64_t n_sections;
	size_t at = 0;

	if (!varint_get(p, end, &n_sections) || n_sections > u->pub.n_entries)
		return -EBADMSG;
	u->sections = calloc(n_sections ? n_sections : 1, sizeof(*u->sections));
	if (!u->sections)
		return -ENOMEM;
	for (size_t i = 0; i < n_sections; i++) {
		struct span_section *s = &u->sections[i];
		uint64_t lane, n, start;

		if (!varint_get(p, end, &lane) || lane > UINT32_MAX || *p == end)
			return -EBADMSG;
		s->kind = *(*p)++;
		if (!varint_get(p, end, &n) || !n || n > u->pub.n_entries - at || !varint_get(p, end, &start) ||
		    start >= SPAN_CHUNK_TIME_MAX)
			return -EBADMSG;
		s->lane = (uint32_t)lane;
		s->n = n;
		s->entries = &u->entries[at];
		u->entries[at].start = base + start;
		at += n;
	}
	u->pub.sections = u->sections;
	u->pub.n_sections = n_sections;
	return at == u->pub.n_entries ? 0 : -EBADMSG;
}

static uint64_t value_at(const uint8_t *planes, unsigned width, size_t n, size_t i)
{
	uint64_t v = 0;

	for (unsigned k = 0; k < width; k++)
		v |= (uint64_t)planes[k * n + i] << 8 * k;
	return v;
}

static void fill_column(struct unpacked *u, enum span_column column, const uint8_t *planes, unsigned width, unsigned shift)
{
	size_t n = u->pub.n_entries;

	for (size_t i = 0; i < n; i++) {
		struct span_entry *e = &u->entries[i];
		uint64_t v = value_at(planes, width, n, i) << shift;

		switch (column) {
		case SPAN_COLUMN_GAP:
			e->start += (uint64_t)unzigzag(v); /* relative, until place_entries() */
			break;
		case SPAN_COLUMN_LENGTH:
			e->length = v;
			break;
		case SPAN_COLUMN_THEN:
			e->then = v;
			break;
		case SPAN_COLUMN_APART:
			e->apart = unzigzag(v);
			break;
		case SPAN_COLUMN_VALUE:
			e->value = unzigzag(v);
			break;
		case SPAN_COLUMN_TIMEOUT:
			e->timeout_ns = span_timeout_unfold(v);
			break;
		default:
			e->flags = (uint8_t)v;
			break;
		}
	}
}

static int get_columns(struct unpacked *u, const uint8_t *p, const uint8_t *end)
{
	for (int i = 0; i < SPAN_COLUMNS; i++) {
		unsigned width, shift;

		if (p == end)
			return -EBADMSG;
		width = *p & ((1u << SPAN_COLUMN_SHIFT_AT) - 1);
		shift = *p++ >> SPAN_COLUMN_SHIFT_AT;
		if (width > 8 || (size_t)(end - p) < width * u->pub.n_entries)
			return -EBADMSG;
		fill_column(u, (enum span_column)i, p, width, shift);
		p += width * u->pub.n_entries;
	}
	return p == end ? 0 : -EBADMSG;
}

/* None begins before the base. */
static int place_entries(struct unpacked *u, uint64_t base)
{
	size_t at = 0;

	for (size_t i = 0; i < u->pub.n_sections; i++) {
		uint64_t end = 0;

		for (size_t j = 0; j < u->sections[i].n; j++) {
			struct span_entry *e = &u->entries[at++];

			e->lane = u->sections[i].lane;
			e->kind = u->sections[i].kind;
			e->start += end;
			if (e->start < base || e->start >= SPAN_CHUNK_TIME_MAX || e->length >= SPAN_CHUNK_TIME_MAX || e->then >= SPAN_CHUNK_TIME_MAX)
				return -EBADMSG;
			end = e->start + e->length + e->then;
		}
	}
	return 0;
}

int span_chunk_unpack(const void *bytes, size_t n, size_t raw, uint64_t base, size_t entries, struct span_unpacked **ret)
{
	_cleanup_free_ uint8_t *plain = NULL;
	uLongf got = raw;
	const uint8_t *p;
	struct unpacked *u;
	int err, z;

	if (entries > SPAN_CHUNK_ENTRIES || raw > SPAN_RAW_MAX(entries, entries) || base >= SPAN_CHUNK_TIME_MAX)
		return -EBADMSG;
	u = calloc(1, sizeof(*u));
	plain = malloc(raw ? raw : 1);
	if (u)
		u->entries = calloc(entries ? entries : 1, sizeof(*u->entries));
	if (!u || !plain || !u->entries) {
		span_unpacked_free((struct span_unpacked *)u);
		return -ENOMEM;
	}
	u->pub.n_entries = entries;
	z = uncompress(plain, &got, bytes, n);
	p = plain;
	if (z == Z_MEM_ERROR)
		err = -ENOMEM;
	else if (z != Z_OK || got != raw)
		err = -EBADMSG;
	else
		err = get_sections(u, &p, plain + raw, base);
	if (!err)
		err = get_columns(u, p, plain + raw);
	if (!err)
		err = place_entries(u, base);
	if (err) {
		span_unpacked_free(&u->pub);
		return err;
	}
	*ret = &u->pub;
	return 0;
}
