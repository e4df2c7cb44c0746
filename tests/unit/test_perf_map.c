/* SPDX-License-Identifier: BSD-2-Clause */
/* test_perf_map.c - the map of a JIT compiler, from an honest one and from one that is not. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "registry/perf_map.h"

static char path[64];

static void set_path(void)
{
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
}

static void remove_map(void)
{
	unlink(path);
}

TestSuite(perf_map, .init = set_path, .fini = remove_map, .timeout = 20);

static void add_text(const char *how, const char *text)
{
	FILE *f = fopen(path, how);

	cr_assert(f && fputs(text, f) >= 0 && !fclose(f), "%s", path);
}

static void assert_name(struct perf_map *m, uint64_t addr, const char *want)
{
	const char *got = perf_map_find(m, addr);

	if (want)
		cr_assert(got && !strcmp(got, want), "%llx is %s, not %s", (unsigned long long)addr, got ? got : "unknown", want);
	else
		cr_assert_null(got, "%llx is %s", (unsigned long long)addr, got);
}

Test(perf_map, names_cover_their_range)
{
	struct perf_map *m = perf_map_new(getpid());

	add_text("w", "7f0000001000 40 JS:*parse /app/x.js:12:3\n7f0000002000 10 py::main:/app/y.py\n");
	assert_name(m, 0x7f0000000fff, NULL);
	assert_name(m, 0x7f0000001000, "JS:*parse /app/x.js:12:3");
	assert_name(m, 0x7f000000103f, "JS:*parse /app/x.js:12:3");
	assert_name(m, 0x7f0000001040, NULL);
	assert_name(m, 0x7f0000002008, "py::main:/app/y.py");
	perf_map_free(m);
}

Test(perf_map, no_file_is_no_names)
{
	struct perf_map *m = perf_map_new(getpid());

	assert_name(m, 0x1000, NULL);
	add_text("w", "1000 10 late\n");
	assert_name(m, 0x1000, "late");
	perf_map_free(m);
	perf_map_free(NULL);
}

Test(perf_map, what_is_appended_is_seen)
{
	struct perf_map *m = perf_map_new(getpid());

	add_text("w", "1000 10 first\n");
	assert_name(m, 0x2000, NULL);
	add_text("a", "2000 10 second\n");
	assert_name(m, 0x2000, "second");
	assert_name(m, 0x1000, "first");
	perf_map_free(m);
}

Test(perf_map, the_latest_of_those_that_overlap_holds)
{
	struct perf_map *m = perf_map_new(getpid());

	add_text("w", "1000 1000 old\n1100 10 inside\n1200 10 older\n1200 10 newer\n");
	assert_name(m, 0x1000, "old");
	assert_name(m, 0x1104, "inside");
	assert_name(m, 0x1110, "old");
	assert_name(m, 0x1205, "newer");
	add_text("a", "1000 1000 moved\n");
	assert_name(m, 0x1104, "moved");
	perf_map_free(m);
}

Test(perf_map, lines_that_are_none_are_passed_over)
{
	struct perf_map *m = perf_map_new(getpid());

	add_text("w", "\n# a comment\n1000\n1000 10\n1000 10 \nzz 10 x\n1000 zz x\n1000 0 empty\nffffffffffffffff 10 wraps\n"
		      "1000 ffffffffffffffff huge\n10000000000000000 10 too long a number\n  \n2000 10 good one\n3000 10 no end of line");
	assert_name(m, 0x1000, NULL);
	assert_name(m, 0x1008, NULL);
	assert_name(m, 0xffffffffffffffff, NULL);
	assert_name(m, 0x2000, "good one");
	assert_name(m, 0x3000, "no end of line");
	perf_map_free(m);
}

Test(perf_map, a_long_name_is_cut)
{
	struct perf_map *m = perf_map_new(getpid());
	char line[4096];
	const char *got;

	memset(line, 'a', sizeof(line));
	memcpy(line, "1000 10 ", 8);
	memcpy(line + 2000, " 2000 10 x ", 11);
	strcpy(line + sizeof(line) - 2, "\n");
	add_text("w", line);
	add_text("a", "3000 10 after\n");
	got = perf_map_find(m, 0x1000);
	cr_assert(got && strlen(got) <= 600 && !strncmp(got, "aaaa", 4));
	assert_name(m, 0x3000, "after");
	perf_map_free(m);
}

/* The rest of a line too long is no line. */
Test(perf_map, a_name_is_no_entry)
{
	struct perf_map *m = perf_map_new(getpid());
	char line[8192] = "1000 10 ";

	for (size_t n = strlen(line); n < sizeof(line) - 64; n += 8)
		memcpy(line + n, "2000 10 ", 9);
	strcat(line, "x\n");
	add_text("w", line);
	assert_name(m, 0x2000, NULL);
	perf_map_free(m);
}

Test(perf_map, a_fifo_holds_nobody_up)
{
	struct perf_map *m = perf_map_new(getpid());

	cr_assert_eq(mkfifo(path, 0600), 0);
	assert_name(m, 0x1000, NULL);
	perf_map_free(m);
}
