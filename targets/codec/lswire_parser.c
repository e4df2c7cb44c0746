/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lswire_parser.c - a byte stream into frames, console text and noise.
 *
 * The second byte of a frame's segment is its magic (the first is a COBS code of at least 2): so after two bytes it is
 * known whether a segment may be a frame, which is buffered to its closing zero, or is text, which goes out by lines.
 */
#include "lswire.h"
#include "lswire_bytes.h"

enum state {
	FIRST = 0, /* behind a zero */
	SECOND,    /* one byte of a segment is in the buffer */
	FRAME,     /* may be a frame */
	TEXT,      /* is none: the buffer holds the current line; stays so until a zero */
};

void lsw_parser_init(struct lsw_parser *p)
{
	*p = (struct lsw_parser){ .state = FIRST };
}

static bool is_text_control(uint8_t c)
{
	return (c >= '\a' && c <= '\n') || c == '\r' || c == 0x1B;
}

/* How many of n bytes are text from the beginning. Less than n: *ret_cut says whether what follows is only the
 * beginning of a character. */
static size_t text_prefix(const uint8_t *bytes, size_t n, bool *ret_cut)
{
	size_t i = 0;

	*ret_cut = false;
	while (i < n) {
		int len = lsw_utf8_char(bytes + i, n - i);

		if (len <= 0) {
			*ret_cut = len < 0;
			break;
		}
		if (bytes[i] == 0x7F || (bytes[i] < 0x20 && !is_text_control(bytes[i])) ||
		    (bytes[i] == 0xC2 && bytes[i + 1] < 0xA0))
			break;
		i += (size_t)len;
	}
	return i;
}

static void count_refusal(struct lsw_parser *p, enum lsw_error why)
{
	switch (why) {
	case LSW_ECOBS:
		p->bad_cobs++;
		break;
	case LSW_ECRC:
		p->bad_crc++;
		break;
	case LSW_ERECORD:
		p->bad_record++;
		break;
	case LSW_EVERSION:
		p->other_version++;
		break;
	case LSW_EMAGIC:
		p->bad_magic++;
		break;
	default:
		p->bad_length++;
	}
}

/* Hands out the buffer, as text if all of it is, else as noise. `more`: the line goes on, so that a character cut at
 * the end stays in the buffer for its other half. */
static void hand_out(struct lsw_parser *p, const struct lsw_handler *h, enum lsw_error why, bool more)
{
	bool cut;
	size_t n = text_prefix(p->segment, p->len, &cut), rest = 0;

	if (n == p->len || (cut && more)) {
		rest = p->len - n;
		p->text_bytes += n;
		if (n && h->text)
			h->text(h->ctx, p->segment, n);
	} else {
		n = p->len;
		count_refusal(p, why);
		p->noise_bytes += n;
		if (h->noise)
			h->noise(h->ctx, p->segment, n, why);
	}
	for (size_t i = 0; i < rest; i++)
		p->segment[i] = p->segment[n + i];
	p->len = rest;
}

/* A zero came. */
static void close_segment(struct lsw_parser *p, const struct lsw_handler *h)
{
	struct lsw_frame f;
	int err = p->state == TEXT ? LSW_EMAGIC : LSW_ESHORT;

	if (p->state == FRAME) {
		err = lsw_frame_decode(p->segment, p->len, p->scratch, &f);
		if (!err) {
			p->frames++;
			p->len = 0;
			if (h->frame)
				h->frame(h->ctx, &f);
		}
	}
	if (p->len)
		hand_out(p, h, (enum lsw_error)err, false);
	p->state = FIRST;
}

/* Takes bytes of a segment that may be a frame: up to its zero (not taken), the buffer's end or the input's. */
static size_t take_frame_bytes(struct lsw_parser *p, const uint8_t *bytes, size_t n)
{
	size_t room = LSW_SEGMENT_MAX - p->len, i = 0;
	uint8_t *to = p->segment + p->len;

	if (n > room)
		n = room;
	while (i < n && bytes[i]) {
		to[i] = bytes[i];
		i++;
	}
	p->len += i;
	return i;
}

static void take_text_byte(struct lsw_parser *p, uint8_t byte, const struct lsw_handler *h)
{
	p->segment[p->len++] = byte;
	if (byte == '\n')
		hand_out(p, h, LSW_EMAGIC, false);
	else if (p->len == LSW_SEGMENT_MAX)
		hand_out(p, h, LSW_EMAGIC, true);
}

void lsw_parser_feed(struct lsw_parser *p, const uint8_t *bytes, size_t n, const struct lsw_handler *h)
{
	size_t i = 0;

	p->bytes += n;
	while (i < n) {
		uint8_t byte = bytes[i];

		if (!byte) {
			close_segment(p, h);
			i++;
			continue;
		}
		switch (p->state) {
		case FIRST:
			p->segment[p->len++] = byte;
			p->state = SECOND;
			i++;
			break;
		case SECOND:
			if ((byte & 0xF0) == (LSW_MAGIC & 0xF0)) {
				p->state = FRAME;
				break;
			}
			p->state = TEXT;
			if (p->segment[0] == '\n')
				hand_out(p, h, LSW_EMAGIC, false);
			break;
		case FRAME:
			i += take_frame_bytes(p, bytes + i, n - i);
			if (i < n && bytes[i]) {
				/* Longer than any frame. */
				hand_out(p, h, LSW_ELONG, true);
				p->state = TEXT;
			}
			break;
		default:
			take_text_byte(p, byte, h);
			i++;
		}
	}
}

void lsw_parser_flush(struct lsw_parser *p, const struct lsw_handler *h)
{
	bool cut;
	size_t n = text_prefix(p->segment, p->len, &cut);

	/* Half a line of noise waits for its other half: only text is in a hurry. */
	if (p->state == TEXT && n && (n == p->len || cut))
		hand_out(p, h, LSW_EMAGIC, true);
}

void lsw_parser_reset(struct lsw_parser *p, const struct lsw_handler *h)
{
	if (p->len)
		hand_out(p, h, LSW_ESHORT, false);
	p->state = FIRST;
}
