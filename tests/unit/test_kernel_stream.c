/* SPDX-License-Identifier: BSD-2-Clause */
/* test_kernel_stream.c - turns from the kernel side's records: order, what was lost and where, ticks that go on. */
#include <criterion/criterion.h>

#include "source/kernel_stream.h"

TestSuite(kernel_stream, .timeout = 20);

#define MS 1000000ull
#define TOLD_MAX 64

struct scene {
	struct kernel_stream s;
	struct loop_turn told[TOLD_MAX];
	size_t n;
	int result;
};

static int tell(void *arg, const struct loop_turn *t)
{
	struct scene *c = arg;

	cr_assert_lt(c->n, (size_t)TOLD_MAX);
	c->told[c->n++] = *t;
	return c->result;
}

static void begin(struct scene *c)
{
	*c = (struct scene){ .s = { .fn = tell } };
	c->s.arg = c;
}

static int record(struct scene *c, uint32_t type, uint32_t tid, uint32_t seq, uint64_t io_end_ns)
{
	struct ls_turn r = { .type = type, .seq = seq, .tid = tid, .tgid = 1, .io_start_ns = io_end_ns - MS, .io_end_ns = io_end_ns,
			     .end_ns = io_end_ns + MS, .timeout_ns = LS_NO_TIMEOUT, .count = 1 };

	return kernel_stream_turn(&c->s, &r);
}

static struct ls_pulse pulse_of(uint32_t tid, uint32_t seq, uint64_t now_ns, uint64_t io_end_ns)
{
	return (struct ls_pulse){ .now_ns = now_ns, .tid = tid, .tgid = 1,
				  .turn = { .seq = seq, .tid = tid, .tgid = 1, .io_end_ns = io_end_ns, .count = 1 } };
}

static void pulse(struct scene *c, uint32_t tid, uint32_t seq, uint64_t now_ns, uint64_t io_end_ns, bool last)
{
	struct ls_pulse p = pulse_of(tid, seq, now_ns, io_end_ns);

	cr_assert_eq(kernel_stream_pulse(&c->s, &p, last), 0);
	kernel_stream_pulsed(&c->s);
}

Test(kernel_stream, without_a_loss_nothing_is_told_as_lost)
{
	struct scene c;

	begin(&c);
	record(&c, LS_EV_LOOP_START, 7, 0, 10 * MS);
	record(&c, LS_EV_TURN, 7, 2, 20 * MS);
	record(&c, LS_EV_TURN, 7, 6, 30 * MS);
	record(&c, LS_EV_LOOP_STOP, 7, 10, 40 * MS);
	record(&c, LS_EV_LOOP_START, 7, 13, 50 * MS);
	cr_assert_eq(c.n, 5u);
	for (size_t i = 0; i < c.n; i++)
		cr_assert_eq(c.told[i].lost, 0);
	cr_assert_eq(c.told[1].kind, TURN_WHOLE);
	cr_assert_eq(c.told[1].timeout_ns, TURN_NO_TIMEOUT);
	cr_assert_eq(c.told[3].kind, TURN_LOOP_STOP);
	kernel_stream_free(&c.s);
}

Test(kernel_stream, a_gap_shows_with_the_next_record)
{
	struct scene c;

	begin(&c);
	record(&c, LS_EV_LOOP_START, 7, 0, 10 * MS);
	record(&c, LS_EV_TURN, 7, 2 + 400, 20 * MS);
	record(&c, LS_EV_TURN, 8, 4, 20 * MS); /* of this one the beginning was lost */
	cr_assert_eq(c.told[1].lost, 400);
	cr_assert_eq(c.told[2].lost, 4);
	cr_assert_eq(c.s.told, 404u);
	kernel_stream_free(&c.s);
}

Test(kernel_stream, the_count_of_events_wraps)
{
	struct scene c;

	begin(&c);
	record(&c, LS_EV_LOOP_START, 7, UINT32_MAX - 3, 10 * MS);
	record(&c, LS_EV_TURN, 7, UINT32_MAX - 1, 20 * MS);
	record(&c, LS_EV_TURN, 7, 2, 30 * MS);
	record(&c, LS_EV_TURN, 7, 10, 40 * MS);
	cr_assert_eq(c.told[1].lost, 0);
	cr_assert_eq(c.told[2].lost, 0);
	cr_assert_eq(c.told[3].lost, 4);
	kernel_stream_free(&c.s);
}

Test(kernel_stream, a_thread_id_that_is_used_again_has_lost_nothing)
{
	struct scene c;

	begin(&c);
	record(&c, LS_EV_LOOP_START, 7, 0, 10 * MS);
	record(&c, LS_EV_TURN, 7, 2, 20 * MS);
	record(&c, LS_EV_LOOP_START, 7, 0, 30 * MS);
	record(&c, LS_EV_TURN, 7, 2, 40 * MS);
	cr_assert_eq(c.told[2].lost, 0);
	cr_assert_eq(c.told[3].lost, 0);
	kernel_stream_free(&c.s);
}

Test(kernel_stream, a_loss_that_no_record_follows_is_told_by_the_next_walk)
{
	struct scene c;

	begin(&c);
	record(&c, LS_EV_LOOP_START, 7, 0, 10 * MS);
	pulse(&c, 7, 10, 20 * MS, 0, false);
	cr_assert_eq(c.n, 1u, "the buffer has not been read since");
	pulse(&c, 7, 14, 30 * MS, 0, false);
	cr_assert_eq(c.n, 2u);
	cr_assert_eq(c.told[1].kind, TURN_GAP);
	cr_assert_eq(c.told[1].lost, 8);
	record(&c, LS_EV_TURN, 7, 10, 40 * MS);
	cr_assert_eq(c.told[2].lost, 0, "not told twice");
	pulse(&c, 7, 22, 50 * MS, 0, true);
	cr_assert_eq(c.told[3].lost, 8, "at the end at once");
	cr_assert_eq(c.s.told, 16u);
	kernel_stream_free(&c.s);
}

Test(kernel_stream, what_only_the_kernel_has_counted_is_told_at_the_end)
{
	struct scene c;

	begin(&c);
	record(&c, LS_EV_LOOP_START, 7, 100, 10 * MS);
	cr_assert_eq(kernel_stream_rest(&c.s, 100, 20 * MS), 0);
	cr_assert_eq(c.n, 1u);
	cr_assert_eq(kernel_stream_rest(&c.s, 107, 20 * MS), 0);
	cr_assert_eq(c.n, 2u);
	cr_assert_eq(c.told[1].lost, 7);
	cr_assert_eq(c.told[1].tid, 0u);
	kernel_stream_free(&c.s);
}

Test(kernel_stream, a_tick_that_goes_on_is_told_once_and_its_turn_says_so)
{
	struct scene c;

	begin(&c);
	record(&c, LS_EV_LOOP_START, 7, 0, 10 * MS);
	pulse(&c, 7, 2, 25 * MS, 20 * MS, false);
	cr_assert_eq(c.n, 1u, "it is young");
	pulse(&c, 7, 2, 125 * MS, 20 * MS, false);
	pulse(&c, 7, 2, 225 * MS, 20 * MS, false);
	cr_assert_eq(c.n, 2u);
	cr_assert_eq(c.told[1].kind, TURN_TICK_START);
	cr_assert_eq(c.told[1].io_end_ns, 20 * MS);
	record(&c, LS_EV_TURN, 7, 2, 20 * MS);
	cr_assert(c.told[2].begun);
	record(&c, LS_EV_TURN, 7, 6, 300 * MS);
	cr_assert_not(c.told[3].begun);
	kernel_stream_free(&c.s);
}

/* Its turns are still in the buffer: what comes first is told first. */
Test(kernel_stream, a_tick_is_not_told_before_the_turns_that_precede_it)
{
	struct scene c;

	begin(&c);
	record(&c, LS_EV_LOOP_START, 7, 0, 10 * MS);
	pulse(&c, 7, 6, 125 * MS, 30 * MS, false);
	cr_assert_eq(c.n, 1u);
	record(&c, LS_EV_TURN, 7, 2, 20 * MS);
	pulse(&c, 7, 6, 225 * MS, 30 * MS, false);
	cr_assert_eq(c.n, 3u);
	cr_assert_eq(c.told[2].kind, TURN_TICK_START);
	cr_assert_eq(c.told[2].lost, 0);
	kernel_stream_free(&c.s);
}

Test(kernel_stream, edges_that_were_let_go_leave_a_gap_of_unknown_size)
{
	struct scene c;

	begin(&c);
	record(&c, LS_EV_LOOP_START, 7, 0, 10 * MS);
	record(&c, LS_EV_AGAIN, 7, 2, 20 * MS);
	record(&c, LS_EV_TURN, 7, 3, 30 * MS);
	cr_assert_eq(c.told[1].kind, TURN_AGAIN);
	cr_assert_eq(c.told[1].lost, -1);
	cr_assert_eq(c.told[2].lost, 0);
	cr_assert_eq(c.s.told, 0u);
	kernel_stream_free(&c.s);
}

Test(kernel_stream, an_errno_is_no_number_of_events)
{
	struct ls_turn r = { .type = LS_EV_TURN, .tid = 7, .tgid = 1, .count = -4 };
	struct scene c;

	begin(&c);
	kernel_stream_turn(&c.s, &r);
	cr_assert_eq(c.told[0].count, -1);
	kernel_stream_free(&c.s);
}

Test(kernel_stream, what_the_reader_returns_is_handed_on)
{
	struct scene c;

	begin(&c);
	c.result = -32;
	cr_assert_eq(record(&c, LS_EV_LOOP_START, 7, 0, 10 * MS), -32);
	kernel_stream_free(&c.s);
}

Test(kernel_stream, threads_that_are_gone_are_forgotten)
{
	struct scene c;

	begin(&c);
	for (uint32_t tid = 1; tid <= 50; tid++)
		record(&c, LS_EV_LOOP_START, tid, 0, 10 * MS);
	for (int i = 0; i < 30; i++)
		pulse(&c, 1, 2, 20 * MS, 0, false);
	record(&c, LS_EV_TURN, 1, 2, 20 * MS);
	cr_assert_eq(c.told[c.n - 1].lost, 0);
	record(&c, LS_EV_TURN, 2, 4, 20 * MS);
	cr_assert_eq(c.told[c.n - 1].lost, 4, "another thread of this id");
	kernel_stream_free(&c.s);
}
