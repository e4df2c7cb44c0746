/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lswire_frame.c - one frame: CRC-32, COBS, building and checking. The rules are in ../PROTOCOL.md.
 *
 * CRC-32 goes by nibbles: 64 bytes of table suit a microcontroller's flash, and a host still does over 200 MB/s,
 * far more than any serial line brings.
 */
#include "lswire.h"
#include "lswire_bytes.h"

uint32_t lsw_crc32(uint32_t crc, const uint8_t *p, size_t n)
{
	/* The remainders of the sixteen nibbles, polynomial 0xEDB88320 (reflected). */
	static const uint32_t nibble[16] = {
		0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC, 0x76DC4190, 0x6B6B51F4, 0x4DB26158, 0x5005713C,
		0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C, 0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C,
	};

	crc = ~crc;
	while (n--) {
		crc ^= *p++;
		crc = (crc >> 4) ^ nibble[crc & 15];
		crc = (crc >> 4) ^ nibble[crc & 15];
	}
	return ~crc;
}

int lsw_cobs_encode(const uint8_t *in, size_t n, uint8_t *out)
{
	uint8_t *code = out, distance = 1;

	if (n > LSW_FRAME_MAX)
		return LSW_ELONG;
	/* No run of 254 bytes without a zero can occur, so that each zero simply becomes the distance to the next.
	 * Each byte is read before its place is written, which is why `in` may be out + 1. */
	for (size_t i = 0; i < n; i++) {
		uint8_t byte = in[i];

		if (byte) {
			out[i + 1] = byte;
			distance++;
		} else {
			*code = distance;
			code = out + i + 1;
			distance = 1;
		}
	}
	*code = distance;
	return (int)(n + 1);
}

int lsw_cobs_decode(const uint8_t *in, size_t n, uint8_t *out)
{
	size_t next; /* where the next code byte stands */

	if (n < 1)
		return LSW_ESHORT;
	if (n > LSW_SEGMENT_MAX)
		return LSW_ELONG;
	if (!in[0])
		return LSW_ECOBS;
	next = in[0];
	for (size_t i = 1; i < n; i++) {
		uint8_t byte = in[i];

		if (!byte)
			return LSW_ECOBS;
		if (i == next) {
			next += byte;
			byte = 0;
		}
		out[i - 1] = byte;
	}
	/* The last code must point just past the end: one that points elsewhere is damage. */
	return next == n ? (int)(n - 1) : LSW_ECOBS;
}

void lsw_frame_begin(struct lsw_builder *b, uint8_t seq, uint32_t t0, uint16_t boot)
{
	uint8_t *p = b->wire + 2;

	p[0] = LSW_MAGIC;
	p[1] = seq;
	put_le(p + 2, t0, 4);
	put_le(p + 6, boot, 2);
	b->len = LSW_HEADER;
}

size_t lsw_frame_used(const struct lsw_builder *b)
{
	return b->len - LSW_HEADER;
}

int lsw_frame_put(struct lsw_builder *b, const struct lsw_record *r)
{
	int n = lsw_record_put(b->wire + 2 + b->len, LSW_HEADER + LSW_RECORDS_MAX - b->len, r);

	if (n > 0)
		b->len += (size_t)n;
	return n;
}

size_t lsw_frame_end(struct lsw_builder *b)
{
	uint8_t *frame = b->wire + 2;
	size_t n = b->len;

	if (n <= LSW_HEADER)
		return 0;
	put_le(frame + n, lsw_crc32(0, frame, n), LSW_CRC);
	n += LSW_CRC;
	b->wire[0] = 0;
	lsw_cobs_encode(frame, n, b->wire + 1);
	b->wire[n + 2] = 0;
	return n + 3;
}

/* Every record right to the last byte, at most one SYNC, and that agreeing with seq: 0 or LSW_ERECORD. */
static int check_records(struct lsw_frame *f)
{
	struct lsw_record r;
	size_t pos = 0;

	while (pos < f->records_len) {
		int n = lsw_record_get(f->records + pos, f->records_len - pos, &r);

		if (n < 0)
			return LSW_ERECORD;
		if (r.type == LSW_SYNC) {
			if (f->sync_at != SIZE_MAX || (uint8_t)r.u.sync.frames != f->seq)
				return LSW_ERECORD;
			f->sync_at = pos;
		}
		f->span += r.dt;
		pos += (size_t)n;
	}
	return 0;
}

int lsw_frame_decode(const uint8_t *segment, size_t n, uint8_t *scratch, struct lsw_frame *ret_f)
{
	struct lsw_frame f;
	int len = lsw_cobs_decode(segment, n, scratch);
	size_t body;

	if (len < 0)
		return len;
	if ((size_t)len < LSW_HEADER + LSW_CRC + 1)
		return LSW_ESHORT;
	if ((scratch[0] & 0xF0) != (LSW_MAGIC & 0xF0))
		return LSW_EMAGIC;
	body = (size_t)len - LSW_CRC;
	if (lsw_crc32(0, scratch, body) != get_le32(scratch + body))
		return LSW_ECRC;
	if (scratch[0] != LSW_MAGIC)
		return LSW_EVERSION;
	f.seq = scratch[1];
	f.t0 = get_le32(scratch + 2);
	f.boot = get_le16(scratch + 6);
	f.records = scratch + LSW_HEADER;
	f.records_len = body - LSW_HEADER;
	f.sync_at = SIZE_MAX;
	f.span = 0;
	if (check_records(&f))
		return LSW_ERECORD;
	*ret_f = f;
	return 0;
}
