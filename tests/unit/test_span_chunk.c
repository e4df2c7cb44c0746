/* SPDX-License-Identifier: BSD-2-Clause */
/* test_span_chunk.c - what is packed comes back; loops' turns take few bytes; damaged bytes are refused or harmless. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/varint.h"
#include "model/span_chunk.h"
#include "model/timeline.h"

TestSuite(span_chunk, .timeout = 60);

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Beside each other: some lanes' turns, as the kernel tells them, and a board's runs with all there can be. */
static struct span_entry invent(uint64_t *seed, uint64_t ends[8])
{
	uint32_t lane = (uint32_t)(next_random(seed) % 8);
	struct span_entry e = { .lane = lane * 1000, .kind = SPAN_TURN, .start = ends[lane], .timeout_ns = SPAN_TIMEOUT_NONE };

	e.length = next_random(seed) % 100000;
	e.then = next_random(seed) % 30000;
	e.value = (int64_t)(next_random(seed) % 4) - 1;
	if (lane < 4)
		e.timeout_ns = (next_random(seed) % 3) * 1000000;
	if (lane == 7) {
		e.kind = (uint8_t)(next_random(seed) % 2 ? SPAN_RUN : SPAN_MARK);
		e.start += next_random(seed) % 1000;
		e.then = 0;
		e.apart = (int64_t)(next_random(seed) % 50) - 25;
		e.value = (int64_t)next_random(seed);
		e.flags = next_random(seed) % 4;
		e.timeout_ns = SPAN_TIMEOUT_NONE;
	}
	if (lane == 6)
		e.timeout_ns = next_random(seed) % 2 ? 1500 : 1;
	ends[lane] = e.start + e.length + e.then;
	return e;
}

struct packed {
	const uint8_t *bytes;
	size_t n, raw;
	uint64_t first, last;
};

static struct packed pack(struct span_chunk *c)
{
	struct packed p;

	cr_assert_eq(span_chunk_pack(c, &p.bytes, &p.n, &p.raw), 0);
	span_chunk_reach(c, &p.first, &p.last);
	return p;
}

/* What a grid may take from an edge. */
static uint64_t grid_of(const struct span_entry *want, size_t n, uint32_t lane)
{
	uint64_t sum = 0, grid = 1;
	size_t turns = 0;

	for (size_t i = 0; i < n; i++)
		if (want[i].lane == lane && want[i].kind == SPAN_TURN) {
			sum += want[i].length + want[i].then;
			turns++;
		}
	while (turns && grid < SPAN_CHUNK_GRID_MAX && 2 * grid <= sum / turns / SPAN_CHUNK_GRID_PART)
		grid *= 2;
	return grid;
}

static bool is_on(uint64_t kept, uint64_t edge, uint64_t grid)
{
	return kept <= edge && edge - kept < grid;
}

/* a: as it was kept. */
static void check_same(const struct span_entry *a, const struct span_entry *b, uint64_t grid)
{
	cr_assert_eq(a->lane, b->lane);
	cr_assert_eq(a->kind, b->kind);
	cr_assert_eq(a->flags, b->flags);
	cr_assert(is_on(a->start, b->start, grid));
	cr_assert(is_on(a->start + a->length, b->start + b->length, grid));
	cr_assert(is_on(a->start + a->length + a->then, b->start + b->length + b->then, grid));
	cr_assert_eq(a->apart, b->apart);
	cr_assert_eq(a->value, b->value);
	cr_assert_eq(a->timeout_ns, b->timeout_ns);
}

/* Each section holds its entries in the order in which they were added, and turns that followed each other still do. */
static void check_all(const struct span_unpacked *u, const struct span_entry *want, size_t n)
{
	size_t seen = 0;

	cr_assert_eq(u->n_entries, n);
	for (size_t i = 0; i < u->n_sections; i++) {
		const struct span_section *s = &u->sections[i];
		uint64_t grid = grid_of(want, n, s->lane), end = 0, kept_end = 0;
		size_t at = 0;

		for (size_t j = 0; j < n; j++) {
			const struct span_entry *got = &s->entries[at];

			if (want[j].lane != s->lane || want[j].kind != s->kind)
				continue;
			cr_assert_lt(at, s->n);
			check_same(got, &want[j], s->kind == SPAN_TURN ? grid : 1);
			if (at && want[j].start == end)
				cr_assert_eq(got->start, kept_end);
			end = want[j].start + want[j].length + want[j].then;
			kept_end = got->start + got->length + got->then;
			at++;
		}
		cr_assert_eq(at, s->n);
		seen += at;
	}
	cr_assert_eq(seen, n);
}

Test(span_chunk, what_is_packed_comes_back)
{
	static const size_t counts[] = { 0, 1, 2, 1000, SPAN_CHUNK_ENTRIES };
	struct span_chunk *c = NULL;
	uint64_t seed = 7;

	cr_assert_eq(span_chunk_new(&c), 0);
	for (size_t k = 0; k < ARRAY_SIZE(counts); k++) {
		_cleanup_free_ struct span_entry *want = calloc(counts[k] + 1, sizeof(*want));
		uint64_t ends[8] = { 5000000000, 1, 0, 900, 77, 1ull << 50, 3, 12 };
		struct span_unpacked *u = NULL;
		struct packed p;

		for (size_t i = 0; i < counts[k]; i++) {
			want[i] = invent(&seed, ends);
			cr_assert(span_chunk_add(c, &want[i]));
		}
		cr_assert_eq(span_chunk_count(c), counts[k]);
		cr_assert_eq(span_chunk_full(c), counts[k] == SPAN_CHUNK_ENTRIES);
		p = pack(c);
		cr_assert_eq(span_chunk_unpack(p.bytes, p.n, p.raw, p.first, counts[k], &u), 0);
		check_all(u, want, counts[k]);
		span_unpacked_free(u);
		span_chunk_reset(c);
	}
	span_chunk_free(c);
}

Test(span_chunk, every_lane_may_be_another)
{
	_cleanup_free_ struct span_entry *want = calloc(SPAN_CHUNK_ENTRIES, sizeof(*want));
	struct span_unpacked *u = NULL;
	struct span_chunk *c = NULL;
	struct packed p;

	cr_assert_eq(span_chunk_new(&c), 0);
	for (uint32_t i = 0; i < SPAN_CHUNK_ENTRIES; i++) {
		want[i] = (struct span_entry){ .lane = i * 65536, .kind = SPAN_TURN, .start = i, .length = i % 1000, .then = 1 };
		cr_assert(span_chunk_add(c, &want[i]));
	}
	cr_assert_not(span_chunk_add(c, &want[0]));
	p = pack(c);
	cr_assert_eq(span_chunk_unpack(p.bytes, p.n, p.raw, p.first, SPAN_CHUNK_ENTRIES, &u), 0);
	cr_assert_eq(u->n_sections, SPAN_CHUNK_ENTRIES);
	for (uint32_t i = 0; i < SPAN_CHUNK_ENTRIES; i++)
		check_same(u->sections[i].entries, &want[i], 1);
	span_unpacked_free(u);
	span_chunk_free(c);
}

Test(span_chunk, an_impossible_time_is_not_taken)
{
	struct span_chunk *c = NULL;

	cr_assert_eq(span_chunk_new(&c), 0);
	cr_assert_not(span_chunk_add(c, &(struct span_entry){ .start = SPAN_CHUNK_TIME_MAX }));
	cr_assert_not(span_chunk_add(c, &(struct span_entry){ .length = UINT64_MAX }));
	cr_assert_not(span_chunk_add(c, &(struct span_entry){ .then = SPAN_CHUNK_TIME_MAX }));
	cr_assert_eq(span_chunk_count(c), 0);
	span_chunk_free(c);
}

/* A loop at 200,000 turns a second whose lengths are noise of 12 bits each, which no packing can take away: 3 bytes. */
Test(span_chunk, turns_take_little_more_than_their_noise)
{
	struct span_chunk *c = NULL;
	uint64_t seed = 99, now = 1000000000000;
	struct packed p;

	cr_assert_eq(span_chunk_new(&c), 0);
	while (!span_chunk_full(c)) {
		struct span_entry e = { .kind = SPAN_TURN, .start = now, .value = 1, .timeout_ns = 1000000 };

		e.length = 1000 + next_random(&seed) % 4096;
		e.then = 500 + next_random(&seed) % 4096;
		now += e.length + e.then;
		span_chunk_add(c, &e);
	}
	p = pack(c);
	cr_assert_lt(p.n, 3.3 * SPAN_CHUNK_ENTRIES);
	span_chunk_free(c);
}

/* A loop 100 times a second, woken when it likes, in chunks of a second: its lengths are noise of 23 bits each, of which 17 are kept. */
Test(span_chunk, turns_of_a_slow_loop_take_at_most_six_bytes)
{
	struct span_chunk *c = NULL;
	uint64_t seed = 5, now = 1000000000000;
	size_t bytes = 0;

	cr_assert_eq(span_chunk_new(&c), 0);
	for (int n = 0; n < 1000; n++) {
		struct span_entry e = { .kind = SPAN_TURN, .start = now, .value = 1, .timeout_ns = SPAN_TIMEOUT_NONE };

		e.length = 2000000 + next_random(&seed) % (1 << 23);
		e.then = 100000 + next_random(&seed) % (1 << 22);
		now += e.length + e.then;
		span_chunk_add(c, &e);
		if (n % 100 == 99) {
			bytes += pack(c).n;
			span_chunk_reset(c);
		}
	}
	cr_assert_leq(bytes, 6 * 1000);
	span_chunk_free(c);
}

static void check_bounds(const struct span_unpacked *u, size_t entries)
{
	size_t n = 0;

	cr_assert_eq(u->n_entries, entries);
	for (size_t i = 0; i < u->n_sections; i++)
		for (size_t j = 0; j < u->sections[i].n; j++, n++) {
			const struct span_entry *e = &u->sections[i].entries[j];

			cr_assert(e->start < SPAN_CHUNK_TIME_MAX && e->length < SPAN_CHUNK_TIME_MAX && e->then < SPAN_CHUNK_TIME_MAX);
		}
	cr_assert_eq(n, entries);
}

Test(span_chunk, damage_is_refused_or_harmless)
{
	enum { N = 300 };
	uint64_t seed = 3, ends[8] = { 0 };
	struct span_chunk *c = NULL;
	unsigned refused = 0;
	struct packed p;

	cr_assert_eq(span_chunk_new(&c), 0);
	for (int i = 0; i < N; i++) {
		struct span_entry e = invent(&seed, ends);

		cr_assert(span_chunk_add(c, &e));
	}
	p = pack(c);
	for (int i = 0; i < 4000; i++) {
		_cleanup_free_ uint8_t *bytes = malloc(p.n);
		struct span_unpacked *u = NULL;
		size_t n = i % 3 ? p.n : next_random(&seed) % p.n;
		int err;

		memcpy(bytes, p.bytes, p.n);
		bytes[next_random(&seed) % p.n] ^= (uint8_t)(1u << next_random(&seed) % 8);
		err = span_chunk_unpack(bytes, n, p.raw, p.first, N, &u);
		cr_assert(err == 0 || err == -EBADMSG);
		refused += err != 0;
		if (!err)
			check_bounds(u, N);
		span_unpacked_free(u);
	}
	cr_assert_gt(refused, 3900u);
	span_chunk_free(c);
}

Test(span_chunk, what_is_said_of_a_chunk_is_held_against_it)
{
	struct span_chunk *c = NULL;
	struct span_unpacked *u = NULL;
	struct packed p;

	cr_assert_eq(span_chunk_new(&c), 0);
	cr_assert(span_chunk_add(c, &(struct span_entry){ .start = 5, .length = 1 }));
	p = pack(c);
	cr_assert_eq(span_chunk_unpack(p.bytes, p.n, p.raw, 5, 2, &u), -EBADMSG);
	cr_assert_eq(span_chunk_unpack(p.bytes, p.n, p.raw, 5, 0, &u), -EBADMSG);
	cr_assert_eq(span_chunk_unpack(p.bytes, p.n, p.raw + 1, 5, 1, &u), -EBADMSG);
	cr_assert_eq(span_chunk_unpack(p.bytes, p.n, SIZE_MAX / 2, 5, 1, &u), -EBADMSG);
	cr_assert_eq(span_chunk_unpack(p.bytes, p.n, p.raw, 5, SIZE_MAX, &u), -EBADMSG);
	cr_assert_eq(span_chunk_unpack(p.bytes, p.n, p.raw, UINT64_MAX, 1, &u), -EBADMSG);
	cr_assert_null(u);
	span_chunk_free(c);
}

Test(span_chunk, varints_are_whole_or_refused)
{
	static const uint64_t values[] = { 0, 1, 127, 128, 16383, 16384, UINT32_MAX, 1ull << 62, UINT64_MAX };
	static const uint8_t too_long[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02 };
	uint8_t b[VARINT_MAX];
	const uint8_t *p;
	uint64_t v;

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		uint8_t *end = varint_put(b, values[i]);

		p = b;
		cr_assert(varint_get(&p, end, &v));
		cr_assert_eq(v, values[i]);
		cr_assert_eq(p, end);
		p = b;
		cr_assert_not(varint_get(&p, end - 1, &v));
		cr_assert_eq(p, b);
		cr_assert_eq(unzigzag(zigzag((int64_t)values[i])), (int64_t)values[i]);
	}
	p = too_long;
	cr_assert_not(varint_get(&p, too_long + sizeof(too_long), &v));
}
