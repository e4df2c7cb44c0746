/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clock.h - a board's clock: unwrapped to 64 bits, and compared with the host's.
 *
 * Unwrapping: a counter of 16 to 64 bits is continued by the shortest way forward; where the host's arrival times are
 * known, whole turns are added as they demand. Arrivals may be late (queues, buffers) and the board's counter may stand
 * still in sleep: neither makes the board run ahead of the host, so turns are added with a grace of 0.1 % and 250 ms.
 *
 * Comparing: host = board * (1 - drift) + offset, from one of
 *   - pings: the host's time before sending, the board's at reception and at sending, the host's at arrival. In each
 *     stretch of time the exchange with the least round trip counts, and short ones count more;
 *   - one way: arrival minus board time is offset plus a delay >= 0. The line under all points that comes closest to
 *     them (an edge of their lower convex hull) has the drift as its slope, if the least delay is met now and then.
 * Where there are both, the offset is the pings', and the drift too where it is known much better from them.
 * Positive drift: the board's clock is fast.
 *
 * Memory is fixed: CLOCK_STRETCHES stretches, which double in length when they are used up. No allocation, no errors.
 * Times are nanoseconds as int64 (292 years); host time is any monotonic clock of the caller's.
 */
#ifndef LOOPSCOPE_MODEL_CLOCK_H
#define LOOPSCOPE_MODEL_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define CLOCK_STRETCHES 128
#define CLOCK_STRETCH_NS 100000000ll /* to begin with */
#define CLOCK_UNKNOWN 0ull           /* an arrival time that is not known */

struct counter {
	uint64_t value;      /* unwrapped */
	uint64_t arrival_ns; /* of the last reading, CLOCK_UNKNOWN: none */
	uint32_t turns;      /* whole turns that only the arrival times told of */
	bool any;
};

/* Continues *c with a reading of `bits` bits (16 to 64) of a counter of hz ticks a second (0: unknown, then arrival
 * times are not used). A step back of at most back ticks is taken for disorder, not for a turn: the value then stays.
 * The first reading is taken as it is. */
uint64_t counter_unwrap(struct counter *c, uint64_t raw, unsigned bits, uint64_t hz, uint64_t back,
			uint64_t arrival_ns);

/* Whole turns of 2^bits ticks that the host's clock demands beyond `delta` ticks; 0 where a time is not known. */
uint64_t counter_turns(uint64_t delta, unsigned bits, uint64_t hz, uint64_t from_ns, uint64_t to_ns);

/* ticks of hz a second in nanoseconds, rounded down, saturating; 0 where hz is 0. */
int64_t ticks_to_ns(uint64_t ticks, uint64_t hz);

struct clock_point {
	int64_t board_ns;
	int64_t diff_ns;  /* host minus board */
	int64_t delay_ns; /* pings: round trip; else unused */
};

struct clock_series {
	struct clock_point p[CLOCK_STRETCHES]; /* the best of each stretch, in order */
	unsigned n;
	int64_t stretch_ns;
};

struct board_clock {
	struct clock_series one_way, pings;
	uint64_t n_one_way, n_pings;
};

enum clock_method {
	CLOCK_NONE = 0,
	CLOCK_ONE_WAY = 1,
	CLOCK_PINGS = 2,
};

const char *clock_method_name(enum clock_method m); /* as in JSON; static strings; NULL for CLOCK_NONE */

struct clock_fit {
	enum clock_method method;
	int64_t offset_ns; /* host minus board at board_ns; one-way: the least delay is in it */
	int64_t board_ns;  /* where it holds: the last point */
	double drift_ppm;  /* NAN: too little was seen */
	double drift_error_ppm; /* what it may well be off by; NAN as above */
	int64_t error_ns;  /* of the offset: half the least round trip; -1 one-way (it cannot be known) */
	uint64_t samples;
};

void board_clock_reset(struct board_clock *c);
/* A moment board_ns of the board arrived at host_ns. Out of order in board time: ignored. */
void board_clock_one_way(struct board_clock *c, int64_t board_ns, int64_t host_ns);
/* sent_ns, received_ns: host; rx_ns, tx_ns: board. Impossible ones (negative round trip) are ignored. */
void board_clock_ping(struct board_clock *c, int64_t sent_ns, int64_t rx_ns, int64_t tx_ns, int64_t received_ns);
/* False (and *ret_fit with CLOCK_NONE) while nothing is known. */
bool board_clock_fit(const struct board_clock *c, struct clock_fit *ret_fit);
/* Whether it says how one clock stands to another. A drift that no clock has is none: a capture that is read at another pace than
 * it was made, or two moments that a busy machine told late. */
bool clock_fit_compares(const struct clock_fit *f);
/* The drift to reckon with: 0 where none is known, or none that a clock has. */
double clock_fit_drift_ppm(const struct clock_fit *f);
/* A board time on the host's clock, by a fit. */
int64_t clock_fit_host(const struct clock_fit *f, int64_t board_ns);

#endif
