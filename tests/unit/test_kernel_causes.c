/* SPDX-License-Identifier: BSD-2-Clause */
/* test_kernel_causes.c - what a slow tick's time went to: all of it, largest first, with what holds it up at the moment. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "lib/cleanup.h"
#include "source/kernel_causes.h"

TestSuite(kernel_causes, .timeout = 60);

#define MS 1000000ull
#define NO_STACKS (-1) /* no map of stacks: none of these has one */

static struct ls_cause slept_in(uint32_t nr, uint64_t fd, uint64_t ns)
{
	return (struct ls_cause){ .kind = LS_CAUSE_SYSCALL, .nr = nr, .args = { fd }, .stack = LS_NO_STACK, .ns = ns, .count = 1 };
}

/* 100 ms: 10 on the CPU, 60 slept, 30 waited, 20 of them for the quota. */
static struct ls_slow *a_slow_tick(void)
{
	struct ls_slow *s = calloc(1, sizeof(*s));

	cr_assert_not_null(s);
	s->now_ns = 200 * MS;
	s->tick.start_ns = 100 * MS;
	s->cpu_ns = 10 * MS;
	s->blocked_ns = 60 * MS;
	s->wait_ns = 30 * MS;
	s->throttled_ns = 20 * MS;
	s->tick.causes[0] = slept_in(SYS_read, 5, 40 * MS);
	s->tick.causes[1] = (struct ls_cause){ .kind = LS_CAUSE_WAIT, .nr = 99, .ns = 28 * MS, .stack = LS_NO_STACK, .comm = "hog" };
	return s;
}

static struct tick_report *causes_of(const struct ls_slow *s, bool told)
{
	struct tick_report *r = calloc(1, sizeof(*r));

	cr_assert_not_null(r);
	r->start_ns = s->tick.start_ns;
	r->now_ns = s->now_ns;
	r->cpu_ns = s->cpu_ns;
	r->blocked_ns = s->blocked_ns;
	r->wait_ns = s->wait_ns;
	r->throttled_ns = s->throttled_ns;
	r->in_progress = s->in_progress;
	r->told = told;
	kernel_causes(NO_STACKS, s, r);
	return r;
}

static const struct raw_cause *find(const struct tick_report *r, enum cause_kind kind)
{
	for (size_t i = 0; i < r->n_causes; i++)
		if (r->cause[i].kind == kind)
			return &r->cause[i];
	cr_assert_fail("no cause of kind %s", cause_kind_name(kind));
	return NULL;
}

static uint64_t sum(const struct tick_report *r)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < r->n_causes; i++)
		ns += r->cause[i].ns;
	return ns;
}

Test(kernel_causes, they_are_all_of_the_tick_and_largest_first)
{
	_cleanup_free_ struct ls_slow *s = a_slow_tick();
	_cleanup_free_ struct tick_report *r = causes_of(s, false);

	cr_assert_eq(sum(r), 100 * MS);
	for (size_t i = 1; i < r->n_causes; i++)
		cr_assert_leq(r->cause[i].ns, r->cause[i - 1].ns);
	cr_assert_str_eq(find(r, CAUSE_SYSCALL)->call, "read");
	cr_assert_eq(find(r, CAUSE_SYSCALL)->args[0], 5u);
	cr_assert_eq(find(r, CAUSE_THROTTLE)->ns, 20 * MS);
	cr_assert_eq(find(r, CAUSE_WAIT)->ns, 8 * MS, "but for what the quota took of it");
	cr_assert_str_eq(find(r, CAUSE_WAIT)->comm, "hog");
	cr_assert_eq(find(r, CAUSE_WAIT)->pid, 99);
	cr_assert_eq(find(r, CAUSE_OTHER)->ns, 22 * MS, "sleeps and waits that were not remembered");
}

Test(kernel_causes, in_progress_there_is_what_holds_it_up_now)
{
	_cleanup_free_ struct ls_slow *s = a_slow_tick();
	_cleanup_free_ struct tick_report *r = NULL;

	s->in_progress = 1;
	s->state = LS_TICK_BLOCKED;
	s->state_ns = 15 * MS;
	s->tick.blocked = slept_in(SYS_write, 6, 185 * MS); /* ns: when it began */
	r = causes_of(s, false);
	cr_assert_eq(sum(r), 100 * MS);
	cr_assert_str_eq(r->cause[2].call, "write", "shorter than the read and the throttle");
	cr_assert_eq(r->cause[2].ns, 15 * MS);
}

Test(kernel_causes, of_a_tick_that_was_told_there_is_nothing_else)
{
	_cleanup_free_ struct ls_slow *s = a_slow_tick();
	_cleanup_free_ struct tick_report *blocked = NULL, *running = NULL;

	s->in_progress = 1;
	s->state = LS_TICK_BLOCKED;
	s->state_ns = 20 * MS;
	s->tick.blocked = slept_in(SYS_write, 6, 180 * MS);
	blocked = causes_of(s, true);
	cr_assert_eq(blocked->n_causes, 1u);
	cr_assert_str_eq(blocked->cause[0].call, "write");
	s->state = LS_TICK_CPU;
	running = causes_of(s, true);
	cr_assert_eq(running->n_causes, 0u);
}

Test(kernel_causes, more_than_there_is_room_for_are_cut_not_overrun)
{
	_cleanup_free_ struct ls_slow *s = a_slow_tick();
	_cleanup_free_ struct tick_report *r = NULL;

	for (uint32_t i = 0; i < LS_CAUSES; i++)
		s->tick.causes[i] = slept_in(SYS_read, i, 1 * MS);
	for (uint32_t i = 0; i < LS_SAMPLES; i++)
		s->tick.samples[i] = (struct ls_sample){ .stack = LS_NO_STACK, .count = 1 };
	s->tick.n_samples = LS_SAMPLES + 1;
	s->in_progress = 1;
	s->state = LS_TICK_BLOCKED;
	s->state_ns = 5 * MS;
	s->tick.blocked = slept_in(SYS_write, 6, 195 * MS);
	r = causes_of(s, false);
	cr_assert_leq(r->n_causes, sizeof(r->cause) / sizeof(r->cause[0]));
	cr_assert_eq(sum(r), 100 * MS);
}
