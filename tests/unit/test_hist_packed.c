/* SPDX-License-Identifier: BSD-2-Clause */
/* test_hist_packed.c - packing loses nothing, and what is merged from it is what was packed. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "model/hist_packed.h"
#include "test_model_fixture.h"

TestSuite(hist_packed, .timeout = 30);

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

Test(hist_packed, what_is_packed_comes_back_whole)
{
	uint64_t seed = 88172645463325252ull;

	for (int round = 0; round < 200; round++) {
		_cleanup_free_ struct hist *h = calloc(1, sizeof(*h)), *back = calloc(1, sizeof(*back));
		_cleanup_free_ struct hist_packed *p = NULL;

		for (int i = 0; i < round * 5; i++)
			hist_add_n(h, next_random(&seed) >> (next_random(&seed) & 63), 1 + (next_random(&seed) & 3));
		p = hist_pack(h);
		cr_assert_not_null(p);
		hist_merge_packed(back, p);
		cr_assert_eq(memcmp(h, back, sizeof(*h)), 0, "round %d", round);
	}
}

Test(hist_packed, merging_packed_is_merging)
{
	_cleanup_free_ struct hist *a = calloc(1, sizeof(*a)), *b = calloc(1, sizeof(*b)), *both = calloc(1, sizeof(*both));
	_cleanup_free_ struct hist_packed *p = NULL;

	hist_add_n(a, 7, 3);
	hist_add(a, 1000000);
	hist_add(b, 5);
	hist_add_n(b, 1000000, 2);
	hist_add(b, HIST_LIMIT);
	*both = *a;
	hist_merge(both, b);
	p = hist_pack(b);
	hist_merge_packed(a, p);
	cr_assert_eq(memcmp(a, both, sizeof(*a)), 0);
}

Test(hist_packed, only_buckets_with_values_take_room)
{
	_cleanup_free_ struct hist *h = calloc(1, sizeof(*h));
	_cleanup_free_ struct hist_packed *p = NULL;

	hist_add_n(h, 3, 5);
	hist_add(h, 1ull << 40);
	p = hist_pack(h);
	cr_assert_eq(p->n_buckets, 2u);
	cr_assert_eq(p->bucket[0].bucket, 3u);
	cr_assert_eq(p->bucket[0].n, 5u);
	cr_assert_eq(p->bucket[1].bucket, hist_bucket(1ull << 40));
	cr_assert_eq(p->n, 6u);
}

Test(hist_packed, the_empty_one_changes_nothing)
{
	_cleanup_free_ struct hist *h = calloc(1, sizeof(*h)), *before = calloc(1, sizeof(*before));
	_cleanup_free_ struct hist_packed *p = NULL;

	p = hist_pack(h);
	cr_assert_eq(p->n_buckets, 0u);
	hist_add(h, 9);
	*before = *h;
	hist_merge_packed(h, p);
	hist_merge_packed(h, &hist_packed_empty);
	cr_assert_eq(memcmp(h, before, sizeof(*h)), 0);
}

Test(hist_packed, buckets_that_do_not_exist_are_not_written)
{
	_cleanup_free_ struct hist *h = calloc(1, sizeof(*h));
	_cleanup_free_ struct hist_packed *p = calloc(1, sizeof(*p) + 2 * sizeof(p->bucket[0]));

	p->n = 12;
	p->sum = 99;
	p->min = p->max = 4;
	p->n_buckets = 2;
	p->bucket[0] = (struct hist_packed_bucket){ .n = 2, .bucket = 4 };
	p->bucket[1] = (struct hist_packed_bucket){ .n = 10, .bucket = HIST_BUCKETS };
	hist_merge_packed(h, p);
	cr_assert_eq(h->n, 2u);
	cr_assert_eq(h->bucket[4], 2u);
}

Test(hist_packed, a_record_carries_what_its_edges_allow)
{
	static const struct {
		enum edge_kind edges;
		bool tick, io;
	} cases[] = { { EDGES_SCHED, false, false }, { EDGES_TRACEPOINT, true, true }, { EDGES_FENTRY, true, true },
		      { EDGES_UPROBE, true, false } };
	static const struct hist_packed tick, io;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct loop_sample s = sample_ms(1, 1, 0, 0, 0);
		struct loop_record r;

		s.edges = cases[i].edges;
		s.tick_hist = &tick;
		s.io_hist = &io;
		cr_assert(loop_delta(NULL, &s, &plain_facts, &r));
		cr_assert_eq(r.tick_hist, cases[i].tick ? &tick : NULL, "%d", cases[i].edges);
		cr_assert_eq(r.io_hist, cases[i].io ? &io : NULL, "%d", cases[i].edges);
	}
}
