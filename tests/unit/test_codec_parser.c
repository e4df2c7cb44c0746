/* SPDX-License-Identifier: BSD-2-Clause */
/* test_codec_parser.c - a byte stream into frames, text and noise, however it is cut into pieces. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "targets/codec/lswire.h"

TestSuite(codec_parser, .timeout = 60);

/* What a parser said, as one string: F<seq> for a frame, T"..." for text, N<bytes> for noise. */
struct said {
	char text[8192];
	size_t len;
	bool in_text;
};

static void say(struct said *s, const char *p, size_t n)
{
	cr_assert_lt(s->len + n + 2, sizeof(s->text));
	memcpy(s->text + s->len, p, n);
	s->len += n;
	s->text[s->len] = 0;
}

static void end_text(struct said *s)
{
	if (s->in_text)
		say(s, "\" ", 2);
	s->in_text = false;
}

static void on_frame(void *ctx, const struct lsw_frame *f)
{
	char buf[16];

	end_text(ctx);
	say(ctx, buf, (size_t)snprintf(buf, sizeof(buf), "F%u ", f->seq));
}

static void on_text(void *ctx, const uint8_t *p, size_t n)
{
	struct said *s = ctx;

	if (!s->in_text)
		say(s, "T\"", 2);
	s->in_text = true;
	say(s, (const char *)p, n);
}

static void on_noise(void *ctx, const uint8_t *p, size_t n, enum lsw_error why)
{
	char buf[32];

	cr_assert_lt((int)why, 0);
	end_text(ctx);
	say(ctx, buf, (size_t)snprintf(buf, sizeof(buf), "N%zu ", n));
}

struct stream {
	uint8_t bytes[8192];
	size_t len;
};

static void add(struct stream *s, const void *p, size_t n)
{
	memcpy(s->bytes + s->len, p, n);
	s->len += n;
}

static void add_text(struct stream *s, const char *text)
{
	add(s, text, strlen(text));
}

static void add_frame(struct stream *s, uint8_t seq)
{
	struct lsw_record r = { .type = LSW_RUN, .id = 3, .dt = 500, .u.run.dur = 120 };
	struct lsw_builder b;

	lsw_frame_begin(&b, seq, 99, 1);
	for (int i = 0; i < 5; i++)
		lsw_frame_put(&b, &r);
	add(s, b.wire, lsw_frame_end(&b));
}

/* Feeds s in pieces of `piece` bytes. */
static void parse(const struct stream *s, size_t piece, bool flush, struct said *ret_said, struct lsw_parser *p)
{
	struct lsw_handler h = { on_frame, on_text, on_noise, ret_said };

	*ret_said = (struct said){ .len = 0 };
	lsw_parser_init(p);
	for (size_t i = 0; i < s->len; i += piece)
		lsw_parser_feed(p, s->bytes + i, piece < s->len - i ? piece : s->len - i, &h);
	if (flush)
		lsw_parser_flush(p, &h);
	end_text(ret_said);
	cr_assert_eq(p->bytes, s->len);
}

static void assert_said(const struct stream *s, const char *want)
{
	static const size_t pieces[] = { 1, 2, 3, 7, 64, 253, 254, 255, 256, 8192 };

	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		struct lsw_parser p;
		struct said said;

		parse(s, pieces[i], true, &said, &p);
		cr_assert_str_eq(said.text, want, "in pieces of %zu: %s", pieces[i], said.text);
	}
}

Test(codec_parser, frames_and_console_text)
{
	struct stream s = { .len = 0 };

	add_text(&s, "boot\r\n");
	add_frame(&s, 1);
	add_frame(&s, 2);
	add_text(&s, "temp 21.5 \xC2\xB0""C\n>>> ");
	add_frame(&s, 3);
	add_text(&s, "\n\x1B[1mbold\x1B[0m\n>>> ");
	assert_said(&s, "T\"boot\r\n\" F1 F2 T\"temp 21.5 \xC2\xB0""C\n>>> \" F3 T\"\n\x1B[1mbold\x1B[0m\n>>> \" ");
}

Test(codec_parser, text_comes_at_once)
{
	struct stream s = { .len = 0 };
	struct lsw_parser p;
	struct said said;

	add_text(&s, "one\ntwo");
	parse(&s, 1, false, &said, &p);
	cr_assert_str_eq(said.text, "T\"one\n\" ", "a line at its newline");
	parse(&s, 1, true, &said, &p);
	cr_assert_str_eq(said.text, "T\"one\ntwo\" ", "the rest when the line is quiet");
	cr_assert_eq(p.text_bytes, 7);
	cr_assert_eq(p.noise_bytes, 0);
}

Test(codec_parser, flush_leaves_what_may_become_a_frame)
{
	struct stream s = { .len = 0 };

	add_frame(&s, 5);
	for (size_t cut = 1; cut < s.len; cut++) {
		struct stream head = { .len = 0 };
		struct lsw_parser p;
		struct said said;
		struct lsw_handler h = { on_frame, on_text, on_noise, &said };

		add(&head, s.bytes, cut);
		parse(&head, 1, true, &said, &p);
		cr_assert_eq(said.len, 0);
		lsw_parser_feed(&p, s.bytes + cut, s.len - cut, &h);
		cr_assert_str_eq(said.text, "F5 ");
	}
}

Test(codec_parser, characters_are_not_cut)
{
	struct stream s = { .len = 0 };
	struct lsw_parser p;
	struct said said;

	add_text(&s, "ab\xE2\x82");
	parse(&s, 1, true, &said, &p);
	cr_assert_str_eq(said.text, "T\"ab\" ", "half a character waits");
	struct lsw_handler h = { on_frame, on_text, on_noise, &said };

	lsw_parser_feed(&p, (const uint8_t *)"\xAC\n", 2, &h);
	end_text(&said);
	cr_assert_str_eq(said.text, "T\"ab\" T\"\xE2\x82\xAC\n\" ");

	s.len = 0;
	for (int i = 0; i < 200; i++)
		add_text(&s, "\xE2\x82\xAC");
	parse(&s, 600, true, &said, &p);
	cr_assert_eq(said.len, 600 + 4, "a long line goes out in pieces, all of it");
	cr_assert_eq(p.noise_bytes, 0);
}

Test(codec_parser, text_that_begins_like_a_frame_is_text)
{
	struct stream s = { .len = 0 };

	add(&s, "\0", 1);
	add_text(&s, "x\xE1\x83\x90 is a letter\n");
	add(&s, "\0", 1);
	add_frame(&s, 4);
	assert_said(&s, "T\"x\xE1\x83\x90 is a letter\n\" F4 ");
}

Test(codec_parser, damage_costs_the_frame_that_has_it)
{
	struct stream s = { .len = 0 };

	add_frame(&s, 1);
	size_t len = s.len;

	add_frame(&s, 2);
	add_frame(&s, 3);
	s.bytes[len + 10] ^= 0x10;
	assert_said(&s, "F1 N38 F3 ");
	s.bytes[len + 10] ^= 0x10;
	s.bytes[len] = 1;
	assert_said(&s, "F1 N39 F3 ");
	s.bytes[len] = 0;
	s.bytes[len - 1] = 1;
	assert_said(&s, "N39 F2 F3 ");
}

Test(codec_parser, both_zeros_between_two_frames_gone_costs_both)
{
	struct stream s = { .len = 0 }, cut = { .len = 0 };

	add_frame(&s, 1);
	size_t len = s.len;

	add_frame(&s, 2);
	add_frame(&s, 3);
	add(&cut, s.bytes, len - 1);
	add(&cut, s.bytes + len + 1, s.len - len - 1);
	assert_said(&cut, "N76 F3 ");
}

Test(codec_parser, cut_frame_and_unplug)
{
	struct stream s = { .len = 0 };
	struct lsw_parser p;
	struct said said;
	struct lsw_handler h = { on_frame, on_text, on_noise, &said };

	add_frame(&s, 1);
	s.len -= 12;
	add_frame(&s, 2);
	assert_said(&s, "N27 F2 ");
	s.len -= 5;
	parse(&s, 3, true, &said, &p);
	cr_assert_str_eq(said.text, "N27 ");
	lsw_parser_reset(&p, &h);
	s.len = 0;
	add_frame(&s, 3);
	lsw_parser_feed(&p, s.bytes, s.len, &h);
	cr_assert_str_eq(said.text, "N27 N34 F3 ", "what a closed line left does not touch what comes after");
}

Test(codec_parser, refusals_are_counted_by_reason)
{
	static const uint8_t other[] = { 0xE2, 7, 4, 3, 2, 1, 0xEF, 0xBE, 1, 2, 3 };
	struct stream s = { .len = 0 };
	uint8_t raw[64], wire[64];
	struct lsw_parser p;
	struct said said;
	uint32_t crc = lsw_crc32(0, other, sizeof(other));

	memcpy(raw, other, sizeof(other));
	for (int i = 0; i < 4; i++)
		raw[sizeof(other) + i] = (uint8_t)(crc >> 8 * i);
	add(&s, "\0", 1);
	add(&s, wire, (size_t)lsw_cobs_encode(raw, sizeof(other) + 4, wire));
	add(&s, "\0\x02\xE1\xFF\x81\x82\x83\0", 8);
	add(&s, "\0\x02\xE1\x01\0", 5);
	add_frame(&s, 1);
	s.bytes[s.len - 7] ^= 1;
	for (int i = 0; i < 300; i++)
		add(&s, i == 1 ? "\xE1" : "\x05", 1);
	add(&s, "\0", 1);
	parse(&s, 5, true, &said, &p);
	cr_assert_eq(p.other_version, 1);
	cr_assert_eq(p.bad_cobs, 1);
	cr_assert_eq(p.bad_crc, 1);
	cr_assert_eq(p.bad_length, 2, "too short, too long");
	cr_assert_eq(p.bad_magic, 1, "the tail of what was too long");
	cr_assert_eq(p.frames, 0);
	cr_assert_eq(p.text_bytes, 0);
}

/* Whatever comes in, every byte that is not a zero or a frame's is handed out once. */
Test(codec_parser, nothing_is_swallowed)
{
	struct stream s = { .len = 0 };
	uint64_t x = 88172645463325252u;

	for (int i = 0; i < 4000; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		s.bytes[s.len++] = x % 50 ? (uint8_t)(x >> 20) : 0;
	}
	size_t zeros = 0;

	for (size_t i = 0; i < s.len; i++)
		zeros += !s.bytes[i];
	for (size_t piece = 1; piece < 300; piece += 13) {
		struct lsw_parser p;
		struct lsw_handler none = { 0 };

		lsw_parser_init(&p);
		for (size_t i = 0; i < s.len; i += piece)
			lsw_parser_feed(&p, s.bytes + i, piece < s.len - i ? piece : s.len - i, &none);
		lsw_parser_reset(&p, &none);
		cr_assert_eq(p.frames, 0);
		cr_assert_eq(p.text_bytes + p.noise_bytes + zeros, s.len);
	}
}
