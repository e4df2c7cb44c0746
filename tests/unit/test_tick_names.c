/* SPDX-License-Identifier: BSD-2-Clause */
/* test_tick_names.c - what a cause was called is known to the end of its tick, of that tick alone, and the room for it is bounded. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "model/tick_names.h"

TestSuite(tick_names, .timeout = 60);

static struct tick_names *new_names(void)
{
	struct tick_names *n = NULL;

	cr_assert_eq(tick_names_new(&n), 0);
	return n;
}

static struct tick_report tick(uint32_t tid, uint64_t start_ns)
{
	return (struct tick_report){ .id = { .pid = 7, .tid = tid, .start_ns = 1000 }, .start_ns = start_ns };
}

static struct raw_cause call(const char *name, uint64_t arg, uint64_t frame)
{
	return (struct raw_cause){ .kind = CAUSE_SYSCALL, .call = name, .args = { arg }, .frame = { frame, 1 }, .n_frames = 2 };
}

static void keep(struct tick_names *n, const struct tick_report *r, const struct raw_cause *c, const char *name)
{
	cr_assert_eq(tick_names_keep(n, r, c, name), 0);
}

#define ASSERT_NAME(n, r, c, name) cr_assert_str_eq(tick_names_find(n, r, c) ? tick_names_find(n, r, c) : "(none)", name)

Test(tick_names, what_was_said_is_found_again)
{
	struct tick_names *n = new_names();
	struct tick_report r = tick(3, 50);
	struct raw_cause c = call("read", 5, 10), later = c;

	cr_assert_null(tick_names_find(n, &r, &c));
	keep(n, &r, &c, "read(tcp 10.0.0.1:53)");
	later.ns = 99;
	ASSERT_NAME(n, &r, &later, "read(tcp 10.0.0.1:53)");
	keep(n, &r, &c, "read(tcp 10.0.0.2:53)");
	ASSERT_NAME(n, &r, &later, "read(tcp 10.0.0.2:53)");
	tick_names_free(n);
	tick_names_free(NULL);
}

Test(tick_names, another_call_fd_place_or_polled_fd_is_another_cause)
{
	struct tick_names *n = new_names();
	struct tick_report r = tick(3, 50);
	struct raw_cause c = call("read", 5, 10), polled = c, shorter = c, fault = c;
	const struct raw_cause others[] = { call("write", 5, 10), call("read", 6, 10), call("read", 5, 11) };

	keep(n, &r, &c, "a");
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		cr_assert_null(tick_names_find(n, &r, &others[i]), "%zu", i);
	polled.args[3] = 1;
	cr_assert_null(tick_names_find(n, &r, &polled));
	shorter.n_frames = 1;
	cr_assert_null(tick_names_find(n, &r, &shorter));
	fault.kind = CAUSE_PAGE_FAULT;
	cr_assert_null(tick_names_find(n, &r, &fault));
	tick_names_free(n);
}

Test(tick_names, a_name_is_of_one_tick_of_one_loop)
{
	struct tick_names *n = new_names();
	struct tick_report r = tick(3, 50), other_loop = tick(4, 50), next = tick(3, 60), reused = r;
	struct raw_cause c = call("read", 5, 10);

	keep(n, &r, &c, "a");
	reused.id.start_ns++;
	cr_assert_null(tick_names_find(n, &other_loop, &c));
	cr_assert_null(tick_names_find(n, &next, &c));
	cr_assert_null(tick_names_find(n, &reused, &c), "the thread id is another thread's by now");
	keep(n, &next, &c, "b"); /* the end of the tick before was not told */
	ASSERT_NAME(n, &next, &c, "b");
	cr_assert_null(tick_names_find(n, &r, &c));
	tick_names_forget(n, &other_loop);
	ASSERT_NAME(n, &next, &c, "b");
	tick_names_forget(n, &next);
	cr_assert_null(tick_names_find(n, &next, &c));
	tick_names_free(n);
}

Test(tick_names, the_oldest_causes_and_loops_are_given_up)
{
	struct tick_names *n = new_names();
	struct tick_report r = tick(3, 50);
	struct raw_cause newest;

	for (uint64_t fd = 0; fd < TICK_NAMES_CAUSES + 2; fd++) {
		struct raw_cause c = call("read", fd, 10);
		char name[16];

		snprintf(name, sizeof(name), "%d", (int)fd);
		keep(n, &r, &c, name);
	}
	for (uint64_t fd = 0; fd < TICK_NAMES_CAUSES + 2; fd++) {
		struct raw_cause c = call("read", fd, 10);

		cr_assert_eq(tick_names_find(n, &r, &c) == NULL, fd < 2, "fd %d", (int)fd);
	}
	for (uint32_t i = 0; i < TICK_NAMES_LOOPS; i++) {
		struct tick_report other = tick(100 + i, 50);
		struct raw_cause c = call("read", 5, 10);

		keep(n, &other, &c, "x");
		ASSERT_NAME(n, &other, &c, "x");
	}
	newest = call("read", TICK_NAMES_CAUSES + 1, 10);
	cr_assert_null(tick_names_find(n, &r, &newest));
	tick_names_free(n);
}

Test(tick_names, a_long_name_is_cut)
{
	struct tick_names *n = new_names();
	struct tick_report r = tick(3, 50);
	struct raw_cause c = call("read", 5, 10);
	char name[2 * TICK_NAME_LEN];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	keep(n, &r, &c, name);
	cr_assert_eq(strlen(tick_names_find(n, &r, &c)), TICK_NAME_LEN - 1u);
	tick_names_free(n);
}
