/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * span_chunk.h - many spans of one source in few bytes: collected one by one, packed together, unpacked by who reads a recording.
 *
 * Times are ticks of the source's own clock, whatever its rate: turning them into nanoseconds first would only add digits. Most
 * of what comes is a loop's turn, an IO wait and the tick after it, each beginning where the one before ended: two lengths.
 *
 * The last digits of those lengths are noise, which no packing takes away: of turns 10 ms apart they would be half of all bytes. So
 * packing puts the edges of turns on a grid: a power of two of ticks, at most SPAN_CHUNK_GRID_MAX and at most
 * 1/SPAN_CHUNK_GRID_PART of the mean turn of that lane in that chunk. An edge is where it was, or earlier by less than the grid: so
 * nothing adds up, and nothing overlaps what follows. All that is no turn is kept as it came.
 *
 * Packed: sections, one for each (lane, kind), in the order of their first span; then seven columns over the entries of all
 * sections, each as planes of bytes (all lowest bytes, all second bytes, ...), so that the high ones, which are nearly all
 * zero, cost nothing once deflated. What is the same throughout costs a byte a chunk.
 *
 *     varint n_sections, then for each: varint lane, kind (a byte), varint entries, varint start - base
 *     then for each column: a byte, and planes of one byte for each entry; in the byte, below: how many planes (0 to 8), above: by
 *     how many bits all values are to be shifted to the left
 *     columns: gap since the end of the section's last entry (zigzag), length, then, apart (zigzag), value (zigzag), timeout, flags
 *
 * and all that deflated (zlib). While collecting, adding neither allocates nor fails. Unpacking takes hostile bytes: its memory
 * is bounded by the number of entries that the caller allows.
 */
#ifndef LOOPSCOPE_MODEL_SPAN_CHUNK_H
#define LOOPSCOPE_MODEL_SPAN_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPAN_CHUNK_ENTRIES 32768
/* A time or length that reaches this is rubbish: no sum of a few of them overflows. */
#define SPAN_CHUNK_TIME_MAX (1ull << 60)
#define SPAN_CHUNK_GRID_MAX 64
#define SPAN_CHUNK_GRID_PART 1024

/* Besides enum span_kind. Reaches disk. */
enum { SPAN_TURN = 255 }; /* an IO wait of `length`, and the tick of `then` that follows */

/* Reaches disk: append only. */
enum span_entry_flags {
	SPAN_ENTRY_OPEN = 1,
	SPAN_ENTRY_UNSURE = 2,
};

#define SPAN_TIMEOUT_NONE UINT64_MAX /* the wait had none; or it is no wait */

struct span_entry {
	uint32_t lane;
	uint8_t kind;  /* enum span_kind, or SPAN_TURN */
	uint8_t flags; /* enum span_entry_flags */
	uint64_t start, length, then;
	int64_t apart;       /* length - net */
	int64_t value;
	uint64_t timeout_ns; /* of a turn's wait */
};

struct span_chunk;

int span_chunk_new(struct span_chunk **ret); /* -ENOMEM; some 4 MB */
void span_chunk_free(struct span_chunk *c);  /* accepts NULL */

/* False: full, or a time is out of range (nothing is added; span_chunk_full() tells which). */
bool span_chunk_add(struct span_chunk *c, const struct span_entry *e);
bool span_chunk_full(const struct span_chunk *c);
size_t span_chunk_count(const struct span_chunk *c);
/* First start and last end of what is in it; 0 while empty. */
void span_chunk_reach(const struct span_chunk *c, uint64_t *ret_first, uint64_t *ret_last);
void span_chunk_reset(struct span_chunk *c);

/* *ret is the chunk's own until the next call. *ret_raw: bytes before deflating, which unpacking needs to be told. -ENOMEM.
 * Once packed, it takes no more until it is reset. */
int span_chunk_pack(struct span_chunk *c, const uint8_t **ret, size_t *ret_n, size_t *ret_raw);

struct span_section {
	uint32_t lane;
	uint8_t kind;
	size_t n;
	const struct span_entry *entries; /* in the order in which they were added */
};

struct span_unpacked {
	size_t n_sections, n_entries;
	const struct span_section *sections;
};

/* base: the chunk's first start; entries: how many there are, at most SPAN_CHUNK_ENTRIES. -EBADMSG where the bytes are
 * not what was said of them, -ENOMEM. To be freed with span_unpacked_free(). */
int span_chunk_unpack(const void *bytes, size_t n, size_t raw, uint64_t base, size_t entries, struct span_unpacked **ret);
void span_unpacked_free(struct span_unpacked *u); /* accepts NULL */

#endif
