/* SPDX-License-Identifier: BSD-2-Clause */
/* test_lib_arena.c - pieces that do not touch each other, of any size, aligned. */
#include <criterion/criterion.h>

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

#include "lib/arena.h"

TestSuite(lib_arena, .timeout = 30);

Test(lib_arena, pieces_keep_their_bytes)
{
	struct arena a = {0};
	unsigned char *pieces[2000];
	size_t size[2000];

	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < 2000; i++) {
			size[i] = i % 40 == 39 ? 100000 : i * 7 % 301;
			pieces[i] = arena_get(&a, size[i]);
			cr_assert(pieces[i]);
			cr_assert_eq((uintptr_t)pieces[i] % alignof(max_align_t), 0);
			memset(pieces[i], (int)(i % 251), size[i]);
		}
		for (size_t i = 0; i < 2000; i++)
			for (size_t j = 0; j < size[i]; j++)
				cr_assert_eq(pieces[i][j], i % 251);
		arena_reset(&a);
	}
	arena_free(&a);
	arena_free(&a);
}

Test(lib_arena, zeroed_also_when_used_again)
{
	static const char none[300];
	struct arena a = {0};

	for (int round = 0; round < 3; round++) {
		char *p = arena_get(&a, sizeof(none));

		cr_assert_arr_eq(p, none, sizeof(none));
		memset(p, 'x', sizeof(none));
		arena_reset(&a);
	}
	arena_free(&a);
}

Test(lib_arena, texts_end)
{
	struct arena a = {0};

	cr_assert_str_eq(arena_text(&a, "text and more", 4), "text");
	cr_assert_str_eq(arena_text(&a, NULL, 0), "");
	arena_free(&a);
}

Test(lib_arena, absurd_sizes_are_no_memory)
{
	struct arena a = {0};

	cr_assert_null(arena_get(&a, SIZE_MAX));
	cr_assert_null(arena_get(&a, SIZE_MAX / 2 + 1));
	cr_assert(arena_get(&a, 8));
	arena_free(&a);
}
