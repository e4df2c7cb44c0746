/* SPDX-License-Identifier: BSD-2-Clause */
/* test_fields.c - the records as data: no field twice, none outside of its record, words both ways; histograms as bytes. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "model/fields.h"
#include "model/hist_bytes.h"
#include "model/slow_tick.h"
#include "model/source_record.h"
#include "model/task.h"

static void check_table(const struct field_table *t, size_t size)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct field *f = &t->fields[i];

		cr_assert_lt(f->offset, size, "%s.%s", t->name, f->name);
		for (size_t j = 0; j < i; j++)
			cr_assert(strcmp(f->name, t->fields[j].name) != 0 && f->offset != t->fields[j].offset, "%s.%s", t->name, f->name);
		if (f->kind == FIELD_UNSIGNED)
			cr_assert(f->size == 4 || f->size == 8, "%s.%s", t->name, f->name);
		if (f->kind == FIELD_REAL || f->kind == FIELD_COUNT || f->kind == FIELD_INTEGER)
			cr_assert(f->size == 8 || f->known, "%s.%s", t->name, f->name);
		for (int v = 0; v < f->words; v++)
			if (f->word(v))
				cr_assert_eq(field_word_value(f, f->word(v)), v, "%s.%s", t->name, f->name);
	}
}

Test(fields, each_is_in_its_record_and_only_once)
{
	check_table(&loop_who_fields, sizeof(struct loop_record));
	check_table(&loop_fields, sizeof(struct loop_record));
	check_table(&task_fields, sizeof(struct task_record));
	check_table(&source_fields, sizeof(struct source_record));
	check_table(&interval_fields, sizeof(struct interval));
	check_table(&slow_tick_fields, sizeof(struct slow_tick));
	check_table(&cause_fields, sizeof(struct slow_cause));
	check_table(&event_fields, sizeof(struct loop_event));
}

Test(fields, an_unknown_word_has_no_value)
{
	for (size_t i = 0; i < cause_fields.n; i++)
		if (cause_fields.fields[i].kind == FIELD_WORD)
			cr_assert_eq(field_word_value(&cause_fields.fields[i], "no such cause"), -1);
}

static void fill(struct hist *h)
{
	for (uint64_t v = 1; v < 1ull << 43; v = v * 3 + 1)
		hist_add_n(h, v, v % 7 + 1);
}

Test(fields, a_histogram_comes_back_from_its_bytes)
{
	_cleanup_free_ struct hist *h = calloc(1, sizeof(*h)), *back = calloc(1, sizeof(*back));
	_cleanup_free_ struct hist_packed *p = NULL, *q = NULL;
	_cleanup_free_ uint8_t *bytes = NULL;
	size_t n;

	fill(h);
	p = hist_pack(h);
	cr_assert_not_null(p);
	bytes = malloc(HIST_BYTES_MAX(p->n_buckets));
	n = hist_bytes_put(p, bytes);
	cr_assert_eq(hist_bytes_get(bytes, n, &q), 0);
	hist_merge_packed(back, q);
	cr_assert_eq(memcmp(h, back, sizeof(*h)), 0);
	cr_assert_eq(q->n, h->n);
	for (size_t i = 0; i < n; i++) {
		struct hist_packed *none = NULL;

		cr_assert_eq(hist_bytes_get(bytes, i, &none), -EBADMSG);
	cr_assert_eq(hist_bytes_get(NULL, 0, &none), -EBADMSG);
		cr_assert_null(none);
	}
}

Test(fields, an_empty_histogram_is_a_known_one)
{
	_cleanup_free_ struct hist_packed *q = NULL;
	uint8_t bytes[HIST_BYTES_MAX(0)];
	size_t n = hist_bytes_put(&hist_packed_empty, bytes);

	cr_assert_eq(hist_bytes_get(bytes, n, &q), 0);
	cr_assert_eq(q->n, 0);
	cr_assert_eq(q->n_buckets, 0);
}

Test(fields, damaged_histograms_are_refused)
{
	/* Too many buckets; one beyond the last; an empty one; two of one number; counts whose sum is none. */
	static const uint8_t damaged[][32] = {
		{ 0, 0, 0, 0xff, 0xff, 0x7f },
		{ 0, 0, 0, 1, 0xff, 0x7f, 1 },
		{ 0, 0, 0, 1, 3, 0 },
		{ 0, 0, 0, 2, 3, 1, 0, 1 },
		{ 0, 0, 0, 2, 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1, 1 },
	};
	static const size_t n[] = { 6, 7, 6, 8, 17 };

	for (size_t i = 0; i < ARRAY_SIZE(damaged); i++) {
		struct hist_packed *q = NULL;

		cr_assert_eq(hist_bytes_get(damaged[i], n[i], &q), -EBADMSG, "%zu", i);
		cr_assert_null(q);
	}
}
