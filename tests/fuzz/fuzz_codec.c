/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_codec.c - libFuzzer's entry into the wire's codec. The first byte chooses what is fuzzed:
 *
 *   0  raw bytes to the parser, in pieces and in one go: both must say the same
 *   1  the input becomes the records of a frame with a right CRC: beyond the CRC's protection
 *   2  a command line, and a REPL's input
 *   3  a series of such frames with arrival times to the link
 *
 * It traps wherever the codec breaks a promise of its header.
 */
#include <stdint.h>
#include <string.h>

#include "targets/codec/lswire.h"
#include "tests/fuzz/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a parser said, folded: frames, and the bytes handed out (how they are cut up may differ). */
struct digest {
	uint64_t frames, text, noise, records;
};

static void on_frame(void *ctx, const struct lsw_frame *f)
{
	struct digest *d = ctx;
	struct lsw_record r;
	size_t pos = 0;
	uint64_t span = 0;

	CHECK(f->records_len >= 1 && f->records_len <= LSW_RECORDS_MAX);
	while (lsw_record_next(f, &pos, &r)) {
		uint8_t again[LSW_RECORDS_MAX];
		struct lsw_record back;
		int n = lsw_record_put(again, sizeof(again), &r);

		/* A record that was accepted can be said again, and then says the same. */
		CHECK(n > 0 && lsw_record_get(again, (size_t)n, &back) == n);
		CHECK(back.type == r.type && back.id == r.id && back.dt == r.dt);
		span += r.dt;
		d->records++;
	}
	CHECK(pos == f->records_len && span == f->span);
	d->frames++;
}

static void on_text(void *ctx, const uint8_t *p, size_t n)
{
	CHECK(n >= 1 && n <= LSW_SEGMENT_MAX);
	for (size_t i = 0; i < n; i++)
		CHECK(p[i] != 0 && p[i] != 0x7F && p[i] != 3);
	((struct digest *)ctx)->text += n;
}

static void on_noise(void *ctx, const uint8_t *p, size_t n, enum lsw_error why)
{
	CHECK(n >= 1 && n <= LSW_SEGMENT_MAX && why < 0 && p[0]);
	((struct digest *)ctx)->noise += n;
}

static struct digest parse(const uint8_t *data, size_t size, size_t piece)
{
	struct digest d = { 0 };
	struct lsw_handler h = { on_frame, on_text, on_noise, &d };
	static struct lsw_parser p;

	lsw_parser_init(&p);
	for (size_t i = 0; i < size; i += piece)
		lsw_parser_feed(&p, data + i, size - i < piece ? size - i : piece, &h);
	lsw_parser_reset(&p, &h);
	CHECK(p.bytes == size && p.frames == d.frames && p.text_bytes == d.text && p.noise_bytes == d.noise);
	return d;
}

static void fuzz_parser(const uint8_t *data, size_t size)
{
	struct digest whole, pieces;

	if (!size)
		return;
	whole = parse(data + 1, size - 1, size);
	pieces = parse(data + 1, size - 1, 1u + data[0]);
	CHECK(!memcmp(&whole, &pieces, sizeof(whole)));
}

/* The segment of a frame with these bytes behind the magic, its CRC right. */
static size_t make_segment(const uint8_t *data, size_t size, uint8_t *segment)
{
	uint8_t raw[LSW_FRAME_MAX];
	uint32_t crc;

	if (size > LSW_FRAME_MAX - LSW_CRC - 1)
		size = LSW_FRAME_MAX - LSW_CRC - 1;
	raw[0] = LSW_MAGIC;
	memcpy(raw + 1, data, size);
	crc = lsw_crc32(0, raw, size + 1);
	for (int i = 0; i < 4; i++)
		raw[1 + size + (size_t)i] = (uint8_t)(crc >> 8 * i);
	return (size_t)lsw_cobs_encode(raw, size + 1 + LSW_CRC, segment);
}

static void fuzz_records(const uint8_t *data, size_t size)
{
	uint8_t segment[LSW_SEGMENT_MAX], scratch[LSW_FRAME_MAX];
	struct digest d = { 0 };
	struct lsw_frame f;

	if (!lsw_frame_decode(segment, make_segment(data, size, segment), scratch, &f))
		on_frame(&d, &f);
}

static void fuzz_command(const uint8_t *data, size_t size)
{
	struct lsw_line line = { .len = 0 };
	struct lsw_command c, back;
	char out[LSW_LINE_MAX];
	bool ours;

	if (!lsw_command_get((const char *)data, size, &c)) {
		int n = lsw_command_put(out, &c);

		CHECK(n > 0 && n <= (int)LSW_LINE_MAX && !lsw_command_get(out, (size_t)n - 1, &back));
		CHECK(back.op == c.op && back.value == c.value && back.n_ids == c.n_ids);
		CHECK(!memcmp(back.ids, c.ids, sizeof(c.ids)));
	}
	for (size_t i = 0; i < size; i++)
		lsw_line_feed(&line, data[i], &c, &ours);
}

static void fuzz_link(const uint8_t *data, size_t size)
{
	static struct lsw_link link;
	uint64_t arrival = 0;

	lsw_link_init(&link);
	while (size > 10) {
		uint8_t segment[LSW_SEGMENT_MAX], scratch[LSW_FRAME_MAX];
		size_t n = 8 + data[0] % 120u;
		uint64_t before = link.time;
		struct lsw_step step;
		struct lsw_frame f;

		arrival += (uint64_t)data[1] << data[2] % 50;
		data += 3;
		size -= 3;
		if (n > size)
			n = size;
		if (!lsw_frame_decode(segment, make_segment(data, n, segment), scratch, &f)) {
			lsw_link_frame(&link, &f, arrival, &step);
			CHECK(step.first || step.t0 >= before || step.t0 + f.span < before);
			CHECK(((step.t0 ^ f.t0) & 0xFFFF) == 0);
			CHECK(((lsw_link_time(&link, f.t0) ^ f.t0) & 0xFFFF) == 0);
		}
		data += n;
		size -= n;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const what[])(const uint8_t *, size_t) = { fuzz_parser, fuzz_records, fuzz_command, fuzz_link };

	if (size)
		what[data[0] & 3](data + 1, size - 1);
	return 0;
}
