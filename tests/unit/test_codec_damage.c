/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_codec_damage.c - frames through a line that damages them: nothing false is accepted, what was not touched is,
 * and losses, time and sums stay exact.
 *
 * 400,000 frames by default; `make damage` runs ten million (CODEC_DAMAGE_FRAMES) and prints what it saw.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "codec_channel.h"

TestSuite(codec_damage, .timeout = 900);

#define DEFAULT_FRAMES 400000
#define IN_FLIGHT 8 /* a frame whose closing zero was lost waits for the next zero, also when whole frames are lost */

/* What the board sent, with what it knows of that moment. */
struct sent {
	uint8_t seq;
	uint16_t boot;
	uint32_t number, t0;
	uint64_t start, busy, idle;
	uint8_t records[LSW_RECORDS_MAX];
	size_t len;
	bool accepted;
};

struct trial {
	struct board board;
	struct channel channel;
	struct lsw_parser parser;
	struct lsw_link link;
	uint64_t arrival_ns;
	struct sent sent[IN_FLIGHT];

	/* of this session */
	uint32_t first_number, accepted;
	uint64_t lost_before;
	bool have_base, have_sync;
	int64_t base; /* link time - true time */
	struct lsw_record sync;
	uint64_t sync_t0;

	/* all in all */
	uint64_t n_sent, n_accepted, n_untouched, n_lost, false_accepts, resets, blackouts, silences, syncs, wraps_seen;
	uint64_t pass16, pass16_records; /* refused, but a CRC of 16 bits would have let them in; with right records */
};

static bool is_that(const struct lsw_frame *f, const struct sent *s)
{
	return f->seq == s->seq && f->boot == s->boot && f->t0 == s->t0 && f->records_len == s->len &&
	       !memcmp(f->records, s->records, s->len);
}

static void check_time(struct trial *t, const struct lsw_step *step, const struct sent *s)
{
	int64_t base = (int64_t)(step->t0 - s->start);

	if (!step->clock_known)
		return;
	if (!t->have_base)
		t->base = base;
	t->have_base = true;
	cr_assert_eq(base, t->base, "frame %u of boot %u is off in time by %lld ticks", s->number, s->boot,
		     (long long)(base - t->base));
}

static void check_sync(struct trial *t, const struct lsw_frame *f, const struct lsw_step *step, const struct sent *s)
{
	struct lsw_record r;
	size_t pos = f->sync_at;

	cr_assert(lsw_record_next(f, &pos, &r));
	cr_assert_eq(t->accepted + (t->link.lost - t->lost_before), s->number + 1 - t->first_number,
		     "the losses reported do not explain the board's count");
	cr_assert(r.u.sync.busy == s->busy && r.u.sync.idle == s->idle);
	if (t->have_sync)
		cr_assert_eq(r.u.sync.busy + r.u.sync.idle - t->sync.u.sync.busy - t->sync.u.sync.idle,
			     step->t0 - t->sync_t0, "busy + idle is not the time between two SYNCs");
	t->have_sync = true;
	t->sync = r;
	t->sync_t0 = step->t0;
	t->syncs++;
}

static void on_frame(void *ctx, const struct lsw_frame *f)
{
	struct trial *t = ctx;
	struct sent *s = NULL;
	struct lsw_step step;

	for (int i = 0; i < IN_FLIGHT; i++)
		if (!t->sent[i].accepted && is_that(f, &t->sent[i]))
			s = &t->sent[i];
	if (!s) {
		t->false_accepts++;
		return;
	}
	s->accepted = true;
	t->n_accepted++;
	lsw_link_frame(&t->link, f, t->arrival_ns, &step);
	if (step.first) {
		t->first_number = s->number;
		t->accepted = 0;
		t->lost_before = t->link.lost;
		t->have_base = t->have_sync = false;
	}
	t->accepted++;
	check_time(t, &step, s);
	if (f->sync_at != SIZE_MAX)
		check_sync(t, f, &step, s);
}

/* Whether a check of 16 bits would have taken a segment that was refused for a frame that was never sent. */
static void on_noise(void *ctx, const uint8_t *p, size_t n, enum lsw_error why)
{
	struct trial *t = ctx;
	uint8_t d[LSW_SEGMENT_MAX];
	int len = lsw_cobs_decode(p, n, d);
	struct lsw_record r;
	size_t pos = LSW_HEADER, body;

	(void)why;
	if (len < (int)(LSW_HEADER + LSW_CRC + 1) || d[0] != LSW_MAGIC)
		return;
	body = (size_t)len - LSW_CRC;
	if ((lsw_crc32(0, d, body) & 0xFFFF) != (uint32_t)(d[body] | d[body + 1] << 8))
		return;
	/* Where only the other half of the CRC was hit, it would have been right to. */
	for (int i = 0; i < IN_FLIGHT; i++)
		if (body - LSW_HEADER == t->sent[i].len && !memcmp(d + LSW_HEADER, t->sent[i].records, t->sent[i].len))
			return;
	t->pass16++;
	while (pos < body) {
		int k = lsw_record_get(d + pos, body - pos, &r);

		if (k < 0)
			return;
		pos += (size_t)k;
	}
	t->pass16_records++;
}

static struct sent *remember(struct trial *t, const struct lsw_builder *w, uint64_t busy, uint64_t idle)
{
	struct sent *s = &t->sent[t->n_sent % IN_FLIGHT];
	struct lsw_frame f;
	uint8_t scratch[LSW_FRAME_MAX];

	cr_assert_eq(lsw_frame_decode(w->wire + 1, w->len + LSW_CRC + 1, scratch, &f), 0);
	*s = (struct sent){ .seq = f.seq, .boot = f.boot, .number = t->board.frames - 1, .t0 = f.t0,
			    .start = t->board.start, .busy = busy, .idle = idle, .len = f.records_len };
	memcpy(s->records, f.records, f.records_len);
	return s;
}

/* Now and then more happens than damage. */
static void events(struct trial *t)
{
	static struct lsw_builder w;
	uint32_t dice = rng_next(&t->channel.rng);

	if ((dice & 0x3FFF) == 1) {
		board_boot(&t->board, (uint16_t)(t->board.boot + 1), dice >> 31 ? 30 : 32);
		t->resets++;
	} else if ((dice & 0x3FFF) == 2 && t->link.hz) {
		for (uint32_t i = 256 + (dice >> 20); i; i--, t->n_sent++)
			board_frame(&t->board, &w);
		t->blackouts++;
	} else if ((dice & 0x3FFF) == 3 && t->have_sync) {
		uint64_t silence = 20ull * 60 * BOARD_HZ + (dice >> 8);

		t->board.now += silence;
		t->board.idle += silence;
		t->silences++;
	}
}

static void run(struct trial *t, uint64_t frames)
{
	struct lsw_handler h = { .frame = on_frame, .noise = on_noise, .ctx = t };
	static struct lsw_builder w;
	uint8_t out[CHANNEL_OUT_MAX];

	board_boot(&t->board, 1, 30);
	lsw_parser_init(&t->parser);
	lsw_link_init(&t->link);
	for (uint64_t i = 0; i < frames; i++) {
		uint64_t busy = t->board.busy, idle = t->board.idle;
		size_t n = board_frame(&t->board, &w);
		bool touched;

		struct sent *s = remember(t, &w, busy, idle);

		t->n_sent++;
		n = channel_pass(&t->channel, w.wire, n, out, &touched);
		/* The host reads with up to 16 ms of delay, as some USB adapters make it. */
		t->arrival_ns = t->board.now * (1000000000u / BOARD_HZ) + rng_below(&t->channel.rng, 16000000);
		lsw_parser_feed(&t->parser, out, n, &h);
		if (!touched) {
			t->n_untouched++;
			cr_assert(s->accepted, "frame %u was not touched, but not accepted", s->number);
		}
		cr_assert_eq(t->false_accepts, 0);
		events(t);
	}
}

static uint64_t frames_wanted(void)
{
	const char *s = getenv("CODEC_DAMAGE_FRAMES");

	return s ? strtoull(s, NULL, 10) : DEFAULT_FRAMES;
}

static void report(const struct trial *t)
{
	const struct channel *c = &t->channel;
	const struct lsw_parser *p = &t->parser;

	if (!getenv("CODEC_DAMAGE_FRAMES"))
		return;
	fprintf(stderr,
		"codec_damage: %llu frames sent, %llu damaged (%llu bit flips, %llu deletions, %llu insertions,"
		" %llu cuts, %llu bursts), %llu pieces of console text, %llu resets, %llu blackouts,"
		" %llu silences of 20 minutes\n"
		"codec_damage: %llu accepted, %llu of them untouched, %llu reported lost, %llu SYNCs exact,"
		" %llu falsely accepted\n"
		"codec_damage: refused: COBS %llu, CRC %llu, record %llu, length %llu, magic %llu\n"
		"codec_damage: a CRC of 16 bits would have let in %llu false frames, %llu of them with right records\n",
		(unsigned long long)t->n_sent, (unsigned long long)c->damaged, (unsigned long long)c->flips,
		(unsigned long long)c->deletions, (unsigned long long)c->insertions, (unsigned long long)c->cuts,
		(unsigned long long)c->bursts, (unsigned long long)c->texts, (unsigned long long)t->resets,
		(unsigned long long)t->blackouts, (unsigned long long)t->silences, (unsigned long long)t->n_accepted,
		(unsigned long long)t->n_untouched, (unsigned long long)t->link.lost, (unsigned long long)t->syncs,
		(unsigned long long)t->false_accepts, (unsigned long long)p->bad_cobs, (unsigned long long)p->bad_crc,
		(unsigned long long)p->bad_record, (unsigned long long)p->bad_length, (unsigned long long)p->bad_magic,
		(unsigned long long)t->pass16, (unsigned long long)t->pass16_records);
}

Test(codec_damage, nothing_false_is_accepted)
{
	static struct trial t = { .board.rng = { 0x9E3779B97F4A7C15 }, .channel = { .rng = { 0xD1B54A32D192ED03 },
										    .damaged_of_1024 = 400 } };
	uint64_t frames = frames_wanted();

	run(&t, frames);
	report(&t);
	cr_assert_eq(t.false_accepts, 0);
	cr_assert_eq(t.parser.frames, t.n_accepted);
	cr_assert_gt(t.channel.damaged, frames * 38 / 100, "the line must really have damaged");
	cr_assert_gt(t.parser.bad_crc, frames / 10, "and much of it must have come as far as the CRC");
	cr_assert(t.resets && t.blackouts && t.silences && t.syncs > frames / BOARD_SYNC_EVERY / 2);
}

/* A line that does not damage loses nothing, and says so. */
Test(codec_damage, a_clean_line_loses_nothing)
{
	static struct trial t = { .board.rng = { 7 }, .channel = { .rng = { 8 }, .damaged_of_1024 = 0 } };

	run(&t, 10000);
	cr_assert_eq(t.n_accepted, 10000);
	cr_assert_eq(t.parser.noise_bytes, 0);
	cr_assert_gt(t.parser.text_bytes, 0);
}
