/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * codec_channel.h - a board that knows the truth and a line that damages what it sends, for the tests of the codec.
 *
 * The board makes frames of pseudo-random records from a seed and keeps what it sent; the channel flips, deletes,
 * inserts, cuts, and mixes console text in, and says of each frame whether one of its own bytes was touched.
 */
#ifndef TESTS_CODEC_CHANNEL_H
#define TESTS_CODEC_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "targets/codec/lswire.h"

/* xorshift64: state must not be 0. */
struct rng {
	uint64_t x;
};

static inline uint32_t rng_next(struct rng *r)
{
	r->x ^= r->x << 13;
	r->x ^= r->x >> 7;
	r->x ^= r->x << 17;
	return (uint32_t)(r->x >> 16);
}

static inline uint32_t rng_below(struct rng *r, uint32_t n)
{
	return (uint32_t)((uint64_t)rng_next(r) * n >> 32);
}

/* ---- the board ---- */
struct board {
	struct rng rng;
	uint16_t boot;
	uint8_t bits;
	uint32_t frames;
	uint64_t now; /* ticks, true */
	uint64_t busy, idle;
	uint64_t start; /* t0 of the frame made last, true */
};

#define BOARD_HZ 1000000u
#define BOARD_SYNC_EVERY 24 /* frames */

static inline void board_boot(struct board *b, uint16_t boot, uint8_t bits)
{
	b->boot = boot;
	b->bits = bits;
	b->frames = 0;
	b->busy = b->idle = 0;
	b->now = rng_next(&b->rng); /* a counter need not begin at 0 */
}

/* One more frame in *w: returns its bytes. Each step is idle time and then a run; SYNC tells the sums so far. */
static inline size_t board_frame(struct board *b, struct lsw_builder *w)
{
	uint32_t steps = 1 + rng_below(&b->rng, 44);
	uint64_t mask = ((uint64_t)1 << b->bits) - 1;
	struct lsw_record r = { .type = LSW_RUN };

	b->start = b->now;
	lsw_frame_begin(w, (uint8_t)b->frames, (uint32_t)(b->now & mask), b->boot);
	if (b->frames % BOARD_SYNC_EVERY == 0) {
		struct lsw_record s = { .type = LSW_SYNC, .u.sync = {
			.version = 1, .bits = b->bits, .rate = LSW_RATE_RUNS, .hz = BOARD_HZ,
			.frames = b->frames, .busy = b->busy, .idle = b->idle,
		} };

		lsw_frame_put(w, &s);
	}
	while (steps--) {
		uint32_t bits = rng_next(&b->rng), sleep = bits & 0x3FFF;

		r.u.run.dur = bits >> 14 & 0x0FFF;
		if (bits >> 26 == 0)
			r.u.run.dur += 80000; /* a hog, in the long form */
		r.id = (uint16_t)(1 + (bits >> 28));
		r.dt = sleep + r.u.run.dur;
		if (lsw_frame_put(w, &r) < 0)
			break;
		b->now += r.dt;
		b->idle += sleep;
		b->busy += r.u.run.dur;
	}
	b->frames++;
	return lsw_frame_end(w);
}

/* ---- the line ---- */
struct channel {
	struct rng rng;
	uint32_t damaged_of_1024; /* frames */
	uint64_t flips, deletions, insertions, cuts, bursts, texts, damaged; /* done so far */
};

#define CHANNEL_OUT_MAX 2048

static inline void put_text(struct channel *c, uint8_t *out, size_t *n)
{
	static const char *const lines[] = { ">>> ", "temperature 21.5 C\r\n", "Traceback (most recent call last):\n",
					     "\x1B[32mI (1234) wifi: connected\x1B[0m\n", "x" };
	const char *line = lines[rng_below(&c->rng, 5)];

	memcpy(out + *n, line, strlen(line));
	*n += strlen(line);
	c->texts++;
}

/* Passes one frame of n bytes on, with what the line does to it and puts before it, into out[CHANNEL_OUT_MAX]. Returns
 * the bytes; *ret_touched: at least one byte of the frame, its zeros included, was changed, lost or pushed apart. */
static inline size_t channel_pass(struct channel *c, const uint8_t *frame, size_t n, uint8_t *out, bool *ret_touched)
{
	uint8_t f[CHANNEL_OUT_MAX];
	size_t len = 0;
	uint32_t dice = rng_next(&c->rng), times = 1;

	memcpy(f, frame, n);
	*ret_touched = (dice & 1023) < c->damaged_of_1024;
	if ((dice >> 10 & 63) == 0)
		put_text(c, out, &len);
	if (*ret_touched) {
		c->damaged++;
		if (dice >> 31)
			times = 1 + rng_below(&c->rng, 8);
		for (uint32_t i = 0; i < times && n > 1; i++) {
			size_t at = rng_below(&c->rng, (uint32_t)n), k;

			switch (rng_below(&c->rng, 8)) {
			default: /* one bit: the most frequent */
				f[at] ^= (uint8_t)(1u << rng_below(&c->rng, 8));
				c->flips++;
				break;
			case 3: /* a byte lost */
				memmove(f + at, f + at + 1, n - at - 1);
				n--;
				c->deletions++;
				break;
			case 4: /* a byte, or a piece of text, pushed in */
				k = rng_below(&c->rng, 4) ? 1 : 7;
				memmove(f + at + k, f + at, n - at);
				for (size_t j = 0; j < k; j++)
					f[at + j] = k == 1 ? (uint8_t)rng_next(&c->rng) : (uint8_t)"\r\nWARN:"[j];
				n += k;
				c->insertions++;
				break;
			case 5: /* the rest never came: an overrun, an unplugged cable, a reset */
				n = at;
				c->cuts++;
				break;
			case 6: /* a burst */
				k = 1 + rng_below(&c->rng, 16);
				for (size_t j = at; j < n && j < at + k; j++)
					f[j] = (uint8_t)rng_next(&c->rng);
				c->bursts++;
				break;
			case 7: /* a hole */
				k = 1 + rng_below(&c->rng, 64);
				if (k > n - at)
					k = n - at;
				memmove(f + at, f + at + k, n - at - k);
				n -= k;
				c->deletions++;
				break;
			}
		}
	}
	memcpy(out + len, f, n);
	return len + n;
}

#endif
