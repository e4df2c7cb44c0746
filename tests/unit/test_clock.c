/* SPDX-License-Identifier: BSD-2-Clause */
/* test_clock.c - wraps are told from silences, and drift from delays. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <stdlib.h>

#include "lib/cleanup.h"
#include "model/clock.h"

TestSuite(clock, .timeout = 60);

#define S 1000000000ull
#define MS 1000000ull

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* A delay of a loaded line: mostly short, sometimes very long. */
static int64_t delay_ns(uint64_t *seed, int64_t least, int64_t usual)
{
	double u = (double)(next_random(seed) >> 11) / (double)(1ull << 53);

	return least + (int64_t)(-log(1 - u) * (double)usual);
}

/* ---- wraps ---- */
Test(clock, counters_of_30_and_32_bits_wrap)
{
	static const unsigned bits[] = { 16, 24, 30, 32 };

	for (size_t i = 0; i < ARRAY_SIZE(bits); i++) {
		uint64_t turn = 1ull << bits[i], step = turn / 3, t = turn - 5;
		struct counter c = { 0 };

		cr_assert_eq(counter_unwrap(&c, t % turn, bits[i], 0, 0, CLOCK_UNKNOWN), t);
		for (int k = 0; k < 1000; k++) {
			t += step;
			cr_assert_eq(counter_unwrap(&c, t % turn, bits[i], 0, 0, CLOCK_UNKNOWN), t);
		}
		cr_assert_eq(c.turns, 0u);
	}
}

Test(clock, twenty_minutes_of_silence_on_30_bits_of_microseconds)
{
	uint64_t turn = 1ull << 30; /* 17.9 minutes */

	/* Whatever the counter stood at, and however late the bytes came. */
	for (uint64_t start = 0; start < turn; start += turn / 64) {
		for (uint64_t late = 0; late <= 20 * S; late += 5 * S) {
			struct counter c = { 0 };
			uint64_t silence = 1200000000ull;

			counter_unwrap(&c, start, 30, 1000000, 0, 1 * S);
			cr_assert_eq(counter_unwrap(&c, (start + silence) % turn, 30, 1000000, 0, 1 * S + silence * 1000 + late),
				     start + silence);
		}
	}
}

Test(clock, a_clock_that_stands_still_in_sleep_is_not_turned_on)
{
	struct counter c = { 0 };

	/* 10 minutes of light sleep in which the counter gained 5 ms: less than a turn of host time. */
	counter_unwrap(&c, 1000, 30, 1000000, 0, 1 * S);
	cr_assert_eq(counter_unwrap(&c, 6000, 30, 1000000, 0, 601 * S), 6000u);
}

Test(clock, bytes_held_back_before_a_burst_make_no_turn)
{
	struct counter c = { 0 };

	/* 16 bits of microseconds turn each 65 ms; a read that came 30 ms late is no turn. */
	counter_unwrap(&c, 0, 16, 1000000, 0, 1 * S);
	cr_assert_eq(counter_unwrap(&c, 1000, 16, 1000000, 0, 1 * S + 16 * MS), 1000u);
	cr_assert_eq(counter_unwrap(&c, 2000, 16, 1000000, 0, 1 * S + 47 * MS), 2000u);
}

Test(clock, disorder_is_no_turn)
{
	struct counter c = { 0 };

	counter_unwrap(&c, 1000000, 32, S, 1000, CLOCK_UNKNOWN);
	cr_assert_eq(counter_unwrap(&c, 999500, 32, S, 1000, CLOCK_UNKNOWN), 1000000u);
	cr_assert_eq(counter_unwrap(&c, 1000001, 32, S, 1000, CLOCK_UNKNOWN), 1000001u);
	cr_assert_eq(counter_unwrap(&c, 900000, 32, S, 1000, CLOCK_UNKNOWN), 900000u + (1ull << 32),
		     "too far back for disorder");
}

Test(clock, ticks_become_nanoseconds_without_overflow)
{
	cr_assert_eq(ticks_to_ns(3, 0), 0);
	cr_assert_eq(ticks_to_ns(168000000, 168000000), (int64_t)S);
	cr_assert_eq(ticks_to_ns(UINT64_MAX, 1), INT64_MAX);
	cr_assert_eq(ticks_to_ns(1ull << 60, S), (int64_t)(1ull << 60));
}

/* ---- drift ---- */
struct drift_case {
	double ppm, seconds, rate; /* samples a second */
	int64_t least_ns, usual_ns; /* delay */
};

/* 200 ppm has to be found within 20. */
static const struct drift_case cases[] = {
	{ 200, 10, 10, 200000, 1000000 },  /* USB, a frame each 100 ms */
	{ -200, 10, 10, 200000, 1000000 },
	{ 200, 20, 4, 2000000, 4000000 },  /* 115200 baud, slow */
	{ 200, 60, 10, 1000000, 16000000 }, /* an adapter that holds bytes back for 16 ms */
	{ 0, 60, 10, 1000000, 16000000 },
	{ 200, 3600, 50, 500000, 3000000 }, /* an hour: stretches have been doubled many times */
	{ -75, 600, 100, 500000, 3000000 },
};

static int64_t board_of(double host_ns, double ppm)
{
	return (int64_t)llround(host_ns * (1 + ppm / 1e6));
}

Test(clock, drift_one_way)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct drift_case *c = &cases[i];
		_cleanup_free_ struct board_clock *k = calloc(1, sizeof(*k));
		uint64_t seed = 99 + i, start = 77 * S;
		struct clock_fit fit;

		board_clock_reset(k);
		for (double t = 0; t < c->seconds * 1e9; t += 1e9 / c->rate)
			board_clock_one_way(k, board_of(t, c->ppm),
					    (int64_t)start + (int64_t)t + delay_ns(&seed, c->least_ns, c->usual_ns));
		cr_assert(board_clock_fit(k, &fit));
		cr_assert_eq(fit.method, CLOCK_ONE_WAY);
		cr_assert_float_eq(fit.drift_ppm, c->ppm, 20, "case %zu: %.2f ppm", i, fit.drift_ppm);
		cr_assert_geq(fit.drift_error_ppm, 0);
		cr_assert_eq(fit.error_ns, -1, "one-way, the least delay cannot be told from an offset");
		/* A board time on the host's clock: right up to the least delay and what the drift leaves open. */
		cr_assert_float_eq((double)clock_fit_host(&fit, board_of(c->seconds * 5e8, c->ppm)),
				   (double)start + c->seconds * 5e8 + (double)c->least_ns,
				   20e-6 * c->seconds * 1e9 + (double)c->usual_ns);
	}
}

/* What a drift may be off by is said for people to rely on: also early, and where the quickest of all is a stray one. */
Test(clock, what_a_drift_may_be_off_by_is_no_idle_word)
{
	static const double seconds[] = { 1.5, 3, 12 };

	for (size_t i = 0; i < ARRAY_SIZE(seconds); i++) {
		unsigned held = 0, trials = 400;

		for (unsigned k = 0; k < trials; k++) {
			static struct board_clock b;
			uint64_t seed = 1000003 * (k + 1);
			struct clock_fit fit;

			board_clock_reset(&b);
			for (double t = 0; t < seconds[i] * 1e9; t += 2e7) {
				int64_t delay = delay_ns(&seed, 60000, 20000);

				if (next_random(&seed) % 100 == 0)
					delay = 15000;
				board_clock_one_way(&b, board_of(t, 200), (int64_t)S + (int64_t)t + delay);
			}
			cr_assert(board_clock_fit(&b, &fit));
			held += fabs(fit.drift_ppm - 200) <= fit.drift_error_ppm;
		}
		cr_assert_geq(held, trials * 9 / 10, "%u of %u over %.1f s", held, trials, seconds[i]);
	}
}

static void ping(struct board_clock *k, const struct drift_case *c, uint64_t start, double t, uint64_t *seed)
{
	int64_t there = delay_ns(seed, c->least_ns, c->usual_ns), back = delay_ns(seed, c->least_ns, c->usual_ns);

	board_clock_ping(k, (int64_t)start + (int64_t)t, board_of(t + (double)there, c->ppm),
			 board_of(t + (double)there + 300000, c->ppm), (int64_t)start + (int64_t)t + there + 300000 + back);
}

/* As it is in life: frames come anyway, pings twice a second. */
Test(clock, drift_and_offset_by_pings_beside_frames)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct drift_case *c = &cases[i];
		_cleanup_free_ struct board_clock *k = calloc(1, sizeof(*k));
		uint64_t seed = 7 + i, start = 77 * S;
		double end = c->seconds * 1e9, next = 0;
		struct clock_fit fit;

		board_clock_reset(k);
		for (double t = 0; t < end; t += 1e9 / c->rate) {
			board_clock_one_way(k, board_of(t, c->ppm),
					    (int64_t)start + (int64_t)t + delay_ns(&seed, c->least_ns, c->usual_ns));
			if (t >= next) {
				ping(k, c, start, t, &seed);
				next += 5e8;
			}
		}
		cr_assert(board_clock_fit(k, &fit));
		cr_assert_eq(fit.method, CLOCK_PINGS);
		cr_assert_float_eq(fit.drift_ppm, c->ppm, 20, "case %zu: %.2f ppm", i, fit.drift_ppm);
		/* The offset is known to half the least round trip, and what the drift leaves open over the time. */
		cr_assert_float_eq((double)clock_fit_host(&fit, board_of(end / 2, c->ppm)), (double)start + end / 2,
				   (double)fit.error_ns + 20e-6 * end, "case %zu", i);
	}
}

Test(clock, drift_by_pings_alone)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct drift_case *c = &cases[i];
		_cleanup_free_ struct board_clock *k = calloc(1, sizeof(*k));
		uint64_t seed = 7 + i, start = 77 * S;
		struct clock_fit fit;

		board_clock_reset(k);
		for (double t = 0; t < c->seconds * 1e9; t += 1e8)
			ping(k, c, start, t, &seed);
		cr_assert(board_clock_fit(k, &fit));
		/* Within its own claim; and where that is small, within 20 ppm. */
		cr_assert_float_eq(fit.drift_ppm, c->ppm, 3 * fit.drift_error_ppm + 1, "case %zu: %.2f +- %.2f ppm", i,
				   fit.drift_ppm, fit.drift_error_ppm);
		if (c->seconds >= 600)
			cr_assert_float_eq(fit.drift_ppm, c->ppm, 20);
	}
}

Test(clock, little_evidence_claims_no_drift)
{
	_cleanup_free_ struct board_clock *k = calloc(1, sizeof(*k));
	struct clock_fit fit;

	board_clock_reset(k);
	cr_assert_not(board_clock_fit(k, &fit));
	cr_assert_eq(fit.method, CLOCK_NONE);
	board_clock_one_way(k, 1000, 5000);
	cr_assert(board_clock_fit(k, &fit));
	cr_assert(isnan(fit.drift_ppm));
	cr_assert_eq(fit.offset_ns, 4000);
	cr_assert_eq(clock_fit_host(&fit, 2000), 6000);
}

/* Ten seconds of a board within a hundredth of one: a capture, read at once. Half its rate is an emulator's. */
Test(clock, a_capture_is_no_clock)
{
	static const struct {
		int64_t host_step;
		bool compares;
	} lines[] = { { 1000000, false }, { 200000000, true }, { 100100000, true } };

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		_cleanup_free_ struct board_clock *k = calloc(1, sizeof(*k));
		struct clock_fit fit;

		board_clock_reset(k);
		for (int64_t n = 1; n <= 100; n++)
			board_clock_one_way(k, n * 100000000, 5000000000 + n * lines[i].host_step);
		cr_assert(board_clock_fit(k, &fit));
		cr_assert_not(isnan(fit.drift_ppm), "case %zu", i);
		cr_assert_eq(clock_fit_compares(&fit), lines[i].compares, "case %zu: %f ppm", i, fit.drift_ppm);
	}
	cr_assert_not(clock_fit_compares(&(struct clock_fit){ .method = CLOCK_NONE, .drift_ppm = NAN }));
	cr_assert(clock_fit_compares(&(struct clock_fit){ .method = CLOCK_PINGS, .drift_ppm = NAN }));
}

Test(clock, nonsense_is_ignored)
{
	_cleanup_free_ struct board_clock *k = calloc(1, sizeof(*k));
	struct clock_fit fit;
	uint64_t seed = 5;

	board_clock_reset(k);
	board_clock_ping(k, 100, 50, 40, 200);          /* answered before it was asked */
	board_clock_ping(k, 100, 0, 1000, 200);         /* the board took longer than both ways */
	board_clock_one_way(k, INT64_MAX, 1);
	board_clock_one_way(k, -1, 1);
	cr_assert_not(board_clock_fit(k, &fit));
	for (int i = 0; i < 100000; i++)
		board_clock_one_way(k, (int64_t)(next_random(&seed) >> 4), (int64_t)(next_random(&seed) >> 4));
	cr_assert(board_clock_fit(k, &fit));
	clock_fit_host(&fit, INT64_MAX / 16);
}

/* While it is too early to tell a drift the offset is the quickest exchange's, wherever among the others that came. */
Test(clock, before_a_drift_is_known_the_quickest_ping_counts)
{
	static const int64_t ms = 1000000, delay[] = { 9, 1, 7, 12 };
	struct board_clock c;
	struct clock_fit fit;

	board_clock_reset(&c);
	for (size_t i = 0; i < sizeof(delay) / sizeof(delay[0]); i++) {
		int64_t at = (int64_t)i * 150 * ms, offset = 5000 * ms;

		/* all of the delay on the way back */
		board_clock_ping(&c, at + offset, at, at, at + offset + delay[i] * ms);
	}
	cr_assert(board_clock_fit(&c, &fit));
	cr_assert_eq(fit.method, CLOCK_PINGS);
	cr_assert(isnan(fit.drift_ppm));
	cr_assert_eq(fit.error_ns, ms / 2);
	cr_assert_leq(llabs(fit.offset_ns - 5000 * ms), fit.error_ns, "%ld", fit.offset_ns);
}
