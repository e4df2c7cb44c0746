/* SPDX-License-Identifier: BSD-2-Clause */
/* test_codec_record.c - records to bytes and back; every cut and every value out of range is refused. */
#include <criterion/criterion.h>
#include <string.h>

#include "targets/codec/lswire.h"

TestSuite(codec_record, .timeout = 30);

#define NAME(i, k, t) { .type = LSW_NAME, .id = i, .u.name = { k, 2, sizeof(t) - 1, (const uint8_t *)t } }

/* Each with its bytes, written out by hand from PROTOCOL.md. */
static const struct {
	struct lsw_record r;
	size_t len;
	const char *bytes;
} cases[] = {
	{ { .type = LSW_RUN, .id = 0xEF, .dt = 0xFFFF, .u.run = { 0xFFFE } }, 5, "\xEF\xFF\xFF\xFE\xFF" },
	{ { .type = LSW_RUN, .id = 0xF0, .dt = 1, .u.run = { 2 } }, 11, "\xF1\xF0\0\1\0\0\0\2\0\0\0" },
	{ { .type = LSW_RUN, .id = 1, .dt = 0x10000, .u.run = { 2 } }, 11, "\xF1\1\0\0\0\1\0\2\0\0\0" },
	{ { .type = LSW_RUN, .id = 1, .dt = 3, .u.run = { 0x10000 } }, 11, "\xF1\1\0\3\0\0\0\0\0\1\0" },
	{ NAME(0x0102, LSW_KIND_TASK, "bl\xC3\xAFnk"), 13, "\xF0\2\1\0\2\0\6bl\xC3\xAFnk" },
	{ NAME(0, LSW_KIND_BOARD, "m3"), 9, "\xF0\0\0\4\2\0\2m3" },
	{ { .type = LSW_SWITCH, .id = 0, .dt = 0x0203 }, 5, "\xF2\0\0\3\2" },
	{ { .type = LSW_ISR_IN, .id = 0xFFFE, .dt = 4 }, 5, "\xF3\xFE\xFF\4\0" },
	{ { .type = LSW_ISR_OUT, .id = 9, .dt = 4 }, 5, "\xF4\x9\0\4\0" },
	{ { .type = LSW_IDLE, .dt = 0x01020304, .u.idle = { 0xFFFF, 0x0A0B0C0D } }, 11,
	  "\xF5\4\3\2\1\xFF\xFF\x0D\x0C\x0B\x0A" },
	{ { .type = LSW_MARK, .id = 5, .dt = 6, .u.mark = { -2 } }, 9, "\xF6\5\0\6\0\xFE\xFF\xFF\xFF" },
	{ { .type = LSW_OPEN, .id = 5, .dt = 0x01020304, .u.open = { 7 } }, 11, "\xF7\5\0\4\3\2\1\7\0\0\0" },
	{ { .type = LSW_END, .id = 5, .dt = 6 }, 5, "\xF8\5\0\6\0" },
	{ { .type = LSW_TOTALS, .id = 5, .u.totals = { 1, 0x0102030405060708, 3 } }, 19,
	  "\xF9\5\0\1\0\0\0\x8\7\6\5\4\3\2\1\3\0\0\0" },
	{ { .type = LSW_SYNC, .dt = 1, .u.sync = { 1, 30, 3, 2, 25000000, 4, 5, 6, 7, 8 } }, 45,
	  "\xFA\1\0\0\0\1\x1E\3\2\x40\x78\x7D\1\4\0\0\0\5\0\0\0\6\0\0\0\0\0\0\0\7\0\0\0\0\0\0\0\x8\0\0\0\0\0\0\0" },
	{ { .type = LSW_TIME, .u.time = { 0x0102, 3, 4 } }, 11, "\xFB\2\1\3\0\0\0\4\0\0\0" },
	{ { .type = LSW_ADVANCE, .dt = 0x01020304 }, 5, "\xFC\4\3\2\1" },
	{ { .type = LSW_DROPPED, .u.dropped = { 77 } }, 5, "\xFD\x4D\0\0\0" },
	{ { .type = LSW_RESERVED }, 9, "\xFE\0\0\0\0\0\0\0\0" },
	{ { .type = LSW_EXT, .u.ext = { 3, (const uint8_t *)"abc" } }, 5, "\xFF\3""abc" },
	{ { .type = LSW_EXT, .u.ext = { 0, (const uint8_t *)"" } }, 2, "\xFF\0" },
};

#define N_CASES (sizeof(cases) / sizeof(cases[0]))

static void assert_same(const struct lsw_record *a, const struct lsw_record *b)
{
	uint8_t x[LSW_RECORDS_MAX], y[LSW_RECORDS_MAX];
	int n = lsw_record_put(x, sizeof(x), a);

	cr_assert_eq(a->type, b->type);
	cr_assert_eq(a->id, b->id);
	cr_assert_eq(a->dt, b->dt);
	cr_assert_eq(lsw_record_put(y, sizeof(y), b), n);
	cr_assert_arr_eq(x, y, n);
}

Test(codec_record, bytes_are_those_of_the_protocol)
{
	for (size_t i = 0; i < N_CASES; i++) {
		uint8_t out[LSW_RECORDS_MAX];
		struct lsw_record back;

		cr_assert_eq(lsw_record_put(out, sizeof(out), &cases[i].r), cases[i].len, "case %zu", i);
		cr_assert_arr_eq(out, cases[i].bytes, cases[i].len, "case %zu", i);
		cr_assert_eq(lsw_record_get(out, sizeof(out), &back), cases[i].len, "case %zu", i);
		assert_same(&cases[i].r, &back);
	}
}

Test(codec_record, fields_come_back)
{
	struct lsw_record r;

	cr_assert_gt(lsw_record_get((const uint8_t *)cases[13].bytes, cases[13].len, &r), 0);
	cr_assert_eq(r.u.totals.runs, 1);
	cr_assert_eq(r.u.totals.busy, 0x0102030405060708);
	cr_assert_eq(r.u.totals.max, 3);
	cr_assert_gt(lsw_record_get((const uint8_t *)cases[14].bytes, cases[14].len, &r), 0);
	cr_assert_eq(r.u.sync.bits, 30);
	cr_assert_eq(r.u.sync.rate, 3);
	cr_assert_eq(r.u.sync.flags, 2);
	cr_assert_eq(r.u.sync.hz, 25000000);
	cr_assert_eq(r.u.sync.frames, 4);
	cr_assert_eq(r.u.sync.dropped, 5);
	cr_assert_eq(r.u.sync.busy, 6);
	cr_assert_eq(r.u.sync.idle, 7);
	cr_assert_eq(r.u.sync.isr, 8);
	cr_assert_gt(lsw_record_get((const uint8_t *)cases[10].bytes, cases[10].len, &r), 0);
	cr_assert_eq(r.u.mark.value, -2);
	cr_assert_gt(lsw_record_get((const uint8_t *)cases[4].bytes, cases[4].len, &r), 0);
	cr_assert_eq(r.u.name.kind, LSW_KIND_TASK);
	cr_assert_eq(r.u.name.inst, 2);
	cr_assert_eq(r.u.name.len, 6);
	cr_assert_arr_eq(r.u.name.text, "bl\xC3\xAFnk", 6);
}

Test(codec_record, every_cut_is_refused)
{
	for (size_t i = 0; i < N_CASES; i++)
		for (size_t n = 0; n < cases[i].len; n++) {
			uint8_t out[LSW_RECORDS_MAX];
			struct lsw_record r;

			cr_assert_eq(lsw_record_get((const uint8_t *)cases[i].bytes, n, &r), LSW_ESHORT);
			cr_assert_eq(lsw_record_put(out, n, &cases[i].r), LSW_EROOM);
		}
}

Test(codec_record, a_long_way_is_preceded_by_advance)
{
	struct lsw_record mark = { .type = LSW_MARK, .id = 5, .dt = 0x10000, .u.mark = { 9 } }, r;
	uint8_t out[LSW_RECORDS_MAX];

	cr_assert_eq(lsw_record_put(out, sizeof(out), &mark), 14);
	cr_assert_eq(lsw_record_put(out, 13, &mark), LSW_EROOM);
	cr_assert_eq(lsw_record_get(out, 14, &r), 5);
	cr_assert_eq(r.type, LSW_ADVANCE);
	cr_assert_eq(r.dt, 0x10000);
	cr_assert_eq(lsw_record_get(out + 5, 9, &r), 9);
	cr_assert_eq(r.type, LSW_MARK);
	cr_assert_eq(r.dt, 0);
	cr_assert_eq(r.u.mark.value, 9);
}

/* Out of range, on the way out and on the way in (the bytes are those of a good record with one field changed). */
static const struct {
	struct lsw_record r;
	size_t good; /* in cases[] */
	size_t at;   /* byte changed */
	uint8_t to;
} bad[] = {
	{ { .type = LSW_SYNC, .u.sync = { .version = 0, .bits = 32, .hz = 1 } }, 14, 5, 0 },
	{ { .type = LSW_SYNC, .u.sync = { .version = 1, .bits = 15, .hz = 1 } }, 14, 6, 15 },
	{ { .type = LSW_SYNC, .u.sync = { .version = 1, .bits = 33, .hz = 1 } }, 14, 6, 33 },
	{ { .type = LSW_SYNC, .u.sync = { .version = 1, .bits = 32, .rate = 4, .hz = 1 } }, 14, 7, 4 },
	{ { .type = LSW_SYNC, .u.sync = { .version = 1, .bits = 16, .hz = 16385 } }, 14, 6, 26 },
	{ { .type = LSW_END, .id = 0 }, 12, 1, 0 },
	{ { .type = LSW_TOTALS, .id = 0 }, 13, 1, 0 },
	{ { .type = LSW_ISR_IN, .id = 0xFFFF }, 7, 1, 0xFF },
	{ NAME(3, LSW_KIND_BOARD, "board with an id"), 4, 3, LSW_KIND_BOARD },
	{ NAME(0, LSW_KIND_TASK, "task without"), 5, 3, LSW_KIND_TASK },
	{ NAME(1, LSW_KIND_TASK, "a\nb"), 4, 7, '\n' },
	{ NAME(1, LSW_KIND_TASK, "del\x7F"), 4, 7, 0x7F },
	{ NAME(1, LSW_KIND_TASK, "\xC2\x80"), 4, 10, 0x41 },
	{ NAME(1, LSW_KIND_TASK, "cut \xC3"), 4, 12, 0xC3 },
	{ NAME(1, LSW_KIND_TASK, "\xED\xA0\x80 surrogate"), 4, 7, 0xED },
	{ NAME(1, LSW_KIND_TASK, "\xC0\xAF overlong"), 4, 7, 0xC0 },
	{ NAME(1, LSW_KIND_TASK, ""), 4, 6, 0 },
};

Test(codec_record, out_of_range_is_refused)
{
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint8_t out[LSW_RECORDS_MAX];
		struct lsw_record r;

		cr_assert_eq(lsw_record_put(out, sizeof(out), &bad[i].r), LSW_ERECORD, "case %zu", i);
		memcpy(out, cases[bad[i].good].bytes, cases[bad[i].good].len);
		out[bad[i].at] = bad[i].to;
		cr_assert_eq(lsw_record_get(out, cases[bad[i].good].len, &r), LSW_ERECORD, "case %zu", i);
	}
}

Test(codec_record, sync_without_hz_and_overlong_names_are_refused)
{
	uint8_t out[LSW_RECORDS_MAX], text[LSW_NAME_MAX + 1];
	struct lsw_record r = { .type = LSW_SYNC, .u.sync = { .version = 1, .bits = 32 } };

	cr_assert_eq(lsw_record_put(out, sizeof(out), &r), LSW_ERECORD);
	memset(text, 'x', sizeof(text));
	r = (struct lsw_record){ .type = LSW_NAME, .id = 1, .u.name = { .len = LSW_NAME_MAX, .text = text } };
	cr_assert_eq(lsw_record_put(out, sizeof(out), &r), 7 + LSW_NAME_MAX);
	out[6]++;
	out[7 + LSW_NAME_MAX] = 'x';
	cr_assert_eq(lsw_record_get(out, sizeof(out), &r), LSW_ERECORD);
	r.u.name.len++;
	cr_assert_eq(lsw_record_put(out, sizeof(out), &r), LSW_ERECORD);
}

Test(codec_record, types_that_are_none_are_refused)
{
	struct lsw_record r = { .type = LSW_RUN_LONG, .id = 1 };
	uint8_t out[LSW_RECORDS_MAX] = { 0 };

	cr_assert_eq(lsw_record_put(out, sizeof(out), &r), LSW_ERECORD, "RUN_LONG is a form of RUN, not a type");
	r.type = 2;
	cr_assert_eq(lsw_record_put(out, sizeof(out), &r), LSW_ERECORD);
	r.type = 0;
	cr_assert_eq(lsw_record_put(out, sizeof(out), &r), LSW_ERECORD);
	out[0] = 0;
	cr_assert_eq(lsw_record_get(out, sizeof(out), &r), LSW_ERECORD);
}
