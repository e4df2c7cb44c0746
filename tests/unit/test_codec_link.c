/* SPDX-License-Identifier: BSD-2-Clause */
/* test_codec_link.c - losses, resets and time that does not wrap, from a sequence of accepted frames. */
#include <criterion/criterion.h>

#include "targets/codec/lswire.h"

TestSuite(codec_link, .timeout = 30);

#define S 1000000000ull
#define MIN (60 * S)

/* A board with a clock of 1 MHz; the link gets its frames decoded from real bytes. */
struct board {
	uint16_t boot;
	uint32_t frames;
	uint8_t bits;
	uint64_t us; /* true time */
	uint32_t span; /* dt of the one record per frame */
};

static struct lsw_step send(struct board *b, struct lsw_link *l, bool sync, uint64_t arrival_ns)
{
	static uint8_t scratch[LSW_FRAME_MAX];
	struct lsw_record run = { .type = LSW_RUN, .id = 1, .dt = b->span, .u.run.dur = 1 };
	struct lsw_record s = { .type = LSW_SYNC, .u.sync = { .version = 1, .bits = b->bits, .hz = 1000000,
							     .frames = b->frames } };
	struct lsw_builder w;
	struct lsw_frame f;
	struct lsw_step step;

	lsw_frame_begin(&w, (uint8_t)b->frames++, (uint32_t)(b->us & (((uint64_t)1 << b->bits) - 1)), b->boot);
	lsw_frame_put(&w, &run);
	if (sync)
		lsw_frame_put(&w, &s);
	cr_assert_eq(lsw_frame_decode(w.wire + 1, lsw_frame_end(&w) - 2, scratch, &f), 0);
	lsw_link_frame(l, &f, arrival_ns, &step);
	return step;
}

static struct lsw_step send_on_time(struct board *b, struct lsw_link *l, bool sync)
{
	return send(b, l, sync, (b->us + b->span) * 1000 + 5 * S);
}

Test(codec_link, first_frame_is_no_loss)
{
	struct board b = { .boot = 7, .frames = 200, .bits = 32, .us = 5000 };
	struct lsw_link l;

	lsw_link_init(&l);
	struct lsw_step s = send_on_time(&b, &l, false);

	cr_assert(s.first && !s.new_session && !s.clock_known);
	cr_assert_eq(s.lost, 0);
	cr_assert_eq(s.t0, 5000);
	s = send_on_time(&b, &l, true);
	cr_assert(!s.first && !s.new_session && s.clock_known);
	cr_assert_eq(s.lost, 0);
	cr_assert_eq(l.hz, 1000000);
	cr_assert_eq(l.sessions, 1);
}

Test(codec_link, losses_are_counted)
{
	struct board b = { .boot = 7, .bits = 32 };
	struct lsw_link l;

	lsw_link_init(&l);
	send_on_time(&b, &l, true);
	b.frames += 3;
	cr_assert_eq(send_on_time(&b, &l, false).lost, 3);
	b.frames += 255;
	cr_assert_eq(send_on_time(&b, &l, false).lost, 255);
	b.frames += 256 * 3 + 5;
	cr_assert_eq(send_on_time(&b, &l, false).lost, 5, "seq alone shows it modulo 256");
	cr_assert_eq(send_on_time(&b, &l, true).lost, 256 * 3, "SYNC brings the rest");
	b.frames += 100000;
	cr_assert_eq(send_on_time(&b, &l, true).lost, 100000);
	cr_assert_eq(l.lost, 3 + 255 + 256 * 3 + 5 + 100000);
	cr_assert_eq(l.frames + l.lost, b.frames);
}

Test(codec_link, before_a_sync_losses_are_known_modulo_256)
{
	struct board b = { .boot = 7, .frames = 1000, .bits = 32 };
	struct lsw_link l;

	lsw_link_init(&l);
	send_on_time(&b, &l, false);
	b.frames += 2;
	cr_assert_eq(send_on_time(&b, &l, false).lost, 2);
	cr_assert_eq(send_on_time(&b, &l, true).lost, 0, "the count itself is not a loss");
	b.frames += 300;
	cr_assert_eq(send_on_time(&b, &l, true).lost, 300);
}

Test(codec_link, another_boot_is_a_new_session)
{
	struct board b = { .boot = 7, .frames = 1000, .bits = 30, .us = 123 }, c = { .boot = 8, .bits = 32, .us = 9 };
	struct lsw_link l;

	lsw_link_init(&l);
	send_on_time(&b, &l, true);
	struct lsw_step s = send(&c, &l, false, 100 * S);

	cr_assert(s.first && s.new_session && !s.clock_known);
	cr_assert_eq(s.lost, 0);
	cr_assert_eq(s.t0, 9);
	cr_assert_eq(l.hz, 0);
	cr_assert_eq(l.sessions, 2);
}

Test(codec_link, the_same_boot_counting_anew_is_a_new_session)
{
	struct board b = { .boot = 7, .frames = 1000, .bits = 32, .us = 123 };
	struct lsw_link l;

	lsw_link_init(&l);
	send_on_time(&b, &l, true);
	b.frames = 0;
	struct lsw_step s = send_on_time(&b, &l, true);

	cr_assert(s.first && s.new_session && s.clock_known);
	cr_assert_eq(s.lost, 0);
	cr_assert_eq(send_on_time(&b, &l, false).lost, 0);
}

static void wraps_at(uint8_t bits)
{
	uint64_t start = ((uint64_t)1 << bits) - 3 * 1000000;
	struct board b = { .boot = 7, .bits = bits, .us = start, .span = 999000 };
	struct lsw_link l;
	uint64_t first = 0;

	lsw_link_init(&l);
	for (int i = 0; i < 4000; i++, b.us += 1000000) {
		struct lsw_step s = send_on_time(&b, &l, i % 3 == 0);

		if (s.first)
			first = s.t0 - b.us;
		cr_assert_eq(s.t0 - first, b.us, "second %d", i);
		cr_assert(i == 0 || s.silence == 1000);
	}
}

Test(codec_link, wraps_of_30_and_32_bits)
{
	wraps_at(30);
	wraps_at(32);
	wraps_at(24);
	wraps_at(22); /* every 4.2 s, about the least that is allowed */
}

Test(codec_link, twenty_minutes_of_silence)
{
	struct board b = { .boot = 7, .bits = 30, .us = 100 };
	struct lsw_link l;
	struct lsw_step s;

	lsw_link_init(&l);
	send_on_time(&b, &l, true);
	for (int minutes = 1; minutes < 200; minutes += 7) {
		b.us += (uint64_t)minutes * 60 * 1000000;
		s = send_on_time(&b, &l, false);
		cr_assert_eq(s.t0, b.us, "after %d minutes", minutes);
		cr_assert_eq(s.silence, (uint64_t)minutes * 60 * 1000000);
	}
}

Test(codec_link, a_silence_on_a_fast_and_on_a_slow_clock)
{
	for (int ppm = -15000; ppm <= 15000; ppm += 1000) {
		struct board b = { .boot = 7, .bits = 30, .us = 100 };
		struct lsw_link l;
		uint64_t us = 18 * 60 * 1000000ull + 100, arrival = 5 * S;

		lsw_link_init(&l);
		send(&b, &l, true, arrival);
		b.us += (uint64_t)((int64_t)us + (int64_t)us * ppm / 1000000);
		if (b.us < 1u << 30)
			continue; /* a clock this slow has not wrapped yet */
		cr_assert_eq(send(&b, &l, true, arrival + us * 1000).t0, b.us, "%d ppm", ppm);
	}
}

Test(codec_link, late_bytes_are_not_time)
{
	struct board b = { .boot = 7, .bits = 30, .us = 100 };
	struct lsw_link l;

	lsw_link_init(&l);
	send_on_time(&b, &l, true);
	b.us += 1000;
	cr_assert_eq(send(&b, &l, true, 600 * S).t0, b.us, "the host slept ten minutes");
	b.us += 600 * 1000000;
	cr_assert_eq(send(&b, &l, true, 600 * S + 1).t0, b.us, "and then read all at once");
	b.us += 1000;
	cr_assert_eq(send(&b, &l, true, 599 * S).t0, b.us, "a clock that goes back is no reason to wrap");
}

Test(codec_link, a_clock_that_stops_in_sleep_stays_behind)
{
	struct board b = { .boot = 7, .bits = 30, .us = 100 };
	struct lsw_link l;

	lsw_link_init(&l);
	send(&b, &l, true, 5 * S);
	b.us += 2000;
	cr_assert_eq(send(&b, &l, true, 5 * S + 15 * MIN).t0, b.us, "fifteen minutes of light sleep add nothing");
}

Test(codec_link, wire_times_are_placed_around_the_cursor)
{
	struct board b = { .boot = 7, .bits = 30, .us = (7ull << 30) + 1000, .span = 5 };
	struct lsw_link l;

	lsw_link_init(&l);
	struct lsw_step s = send_on_time(&b, &l, true);

	cr_assert_eq(s.t0, 1000);
	cr_assert_eq(lsw_link_time(&l, 1005), 1005);
	cr_assert_eq(lsw_link_time(&l, 900), 900);
	cr_assert_eq(lsw_link_time(&l, 2000), 2000);
	cr_assert_eq(lsw_link_time(&l, (1u << 30) - 1), (1u << 30) - 1, "before time began is not representable");
	b.us += 1ull << 30;
	send(&b, &l, true, b.us * 1000 + 5 * S);
	cr_assert_eq(lsw_link_time(&l, (1u << 30) - 1), (1u << 30) - 1, "just before the wrap");
	cr_assert_eq(lsw_link_time(&l, 900), (1u << 30) + 900);
}
