/* SPDX-License-Identifier: BSD-2-Clause */
/* test_lib_when.c - points in time as users type them, and what is none. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "lib/cleanup.h"
#include "lib/when.h"

#define SECOND 1000000000ll
/* 2025-12-01 02:00:00.25 UTC, for an hour */
#define START (1764554400 * SECOND + SECOND / 4)
#define END (START + 3600 * SECOND)

static void check(const char *text, int64_t want)
{
	int64_t got = 0;

	cr_assert_eq(when_parse(text, START, END, &got), 0, "%s", text);
	cr_assert_eq(got, want, "%s: %lld, not %lld", text, (long long)got, (long long)want);
}

Test(when, points_in_time)
{
	setenv("TZ", "UTC0", 1);
	tzset();
	check("10s", START + 10 * SECOND);
	check("1.5m", START + 90 * SECOND);
	check("-10s", END - 10 * SECOND);
	check("-250us", END - 250000);
	check("02:05", (1764554400 + 300) * SECOND);
	check("02:00:00", 1764554400 * SECOND);
	check("02:00:30.5", (1764554400 + 30) * SECOND + SECOND / 2);
	check("01:59", (1764554400 + 86400 - 60) * SECOND);
	check("2025-12-01 02:00:01", (1764554400 + 1) * SECOND);
	check("2025-12-01T02:00", 1764554400 * SECOND);
	check("2025-11-30", (1764554400 - 26 * 3600) * SECOND);
	check("@1764554400.25", START);
	check("@0", 0);
}

Test(when, local_time_is_the_users)
{
	setenv("TZ", "XXX-5", 1);
	tzset();
	check("07:30", (1764554400 + 1800) * SECOND);
	check("2025-12-01T07:30", (1764554400 + 1800) * SECOND);
}

Test(when, what_is_no_point_in_time)
{
	static const char *const wrong[] = { "", "-", "x", "10x", "--10s", "25:00", "2:00", "02:60", "02:00:61", "02:00:00.", "02:00:00.x",
					     "2025-13-01", "2025-00-01", "2025-12-01X02:00", "2025-12-01 ", "2025-12", "@", "@-1", "@1.", "@1x",
					     "12:00:00 ", " 10s", "@99999999999" };

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		int64_t got = 7;
		int err = when_parse(wrong[i], START, END, &got);

		cr_assert(err == -EINVAL || err == -ERANGE, "'%s'", wrong[i]);
		cr_assert_eq(got, 7);
	}
}
