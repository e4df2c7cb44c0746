/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lswire_record.c - records to bytes and back. The layouts are data, read by both directions, so that they cannot
 * disagree.
 */
#include "lswire.h"
#include "lswire_bytes.h"

#define FIELDS_MAX 11

struct field {
	uint8_t at;    /* offset in struct lsw_record */
	uint8_t host;  /* bytes there */
	uint8_t wire;  /* bytes on the wire, 0: no more fields; may be fewer than `host` */
};

#define FIELD(member, width) \
	{ offsetof(struct lsw_record, member), sizeof(((struct lsw_record *)0)->member), width }

#define ID FIELD(id, 2)
#define DT FIELD(dt, 2)

/* By type from LSW_NAME on. What follows fixed fields (NAME's and EXT's bytes) is `tail`'s business. */
static const struct field layout[16][FIELDS_MAX + 1] = {
	[LSW_NAME & 15] = { ID, FIELD(u.name.kind, 1), FIELD(u.name.inst, 2), FIELD(u.name.len, 1) },
	[LSW_RUN_LONG & 15] = { ID, FIELD(dt, 4), FIELD(u.run.dur, 4) },
	[LSW_SWITCH & 15] = { ID, DT },
	[LSW_ISR_IN & 15] = { ID, DT },
	[LSW_ISR_OUT & 15] = { ID, DT },
	[LSW_IDLE & 15] = { FIELD(dt, 4), FIELD(u.idle.asked_ms, 2), FIELD(u.idle.slept, 4) },
	[LSW_MARK & 15] = { ID, DT, FIELD(u.mark.value, 4) },
	[LSW_OPEN & 15] = { ID, FIELD(dt, 4), FIELD(u.open.ran, 4) },
	[LSW_END & 15] = { ID, DT },
	[LSW_TOTALS & 15] = { ID, FIELD(u.totals.runs, 4), FIELD(u.totals.busy, 8), FIELD(u.totals.max, 4) },
	[LSW_SYNC & 15] = { FIELD(dt, 4), FIELD(u.sync.version, 1), FIELD(u.sync.bits, 1), FIELD(u.sync.rate, 1),
			    FIELD(u.sync.flags, 1), FIELD(u.sync.hz, 4), FIELD(u.sync.frames, 4),
			    FIELD(u.sync.dropped, 4), FIELD(u.sync.busy, 8), FIELD(u.sync.idle, 8),
			    FIELD(u.sync.isr, 8) },
	[LSW_TIME & 15] = { FIELD(u.time.nonce, 2), FIELD(u.time.rx, 4), FIELD(u.time.tx, 4) },
	[LSW_ADVANCE & 15] = { FIELD(dt, 4) },
	[LSW_DROPPED & 15] = { FIELD(u.dropped.total, 4) },
	[LSW_RESERVED & 15] = { { 0, 0, 0 } },
	[LSW_EXT & 15] = { FIELD(u.ext.len, 1) },
};

#define RUN_SHORT_LEN 5
#define RESERVED_LEN 8
#define ID_MAX 0xFFFEu

int lsw_utf8_char(const uint8_t *p, size_t n)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t c;
	int len;

	if (n == 0)
		return -1;
	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xC2 || p[0] > 0xF4)
		return 0;
	len = p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
	c = p[0] & (0x7Fu >> len);
	for (int i = 1; i < len; i++) {
		if ((size_t)i >= n)
			return -1;
		if ((p[i] & 0xC0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3F);
	}
	if (c < least[len] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
		return 0;
	return len;
}

/* UTF-8 without control characters (C0, DEL, C1). */
static bool is_name(const uint8_t *p, size_t n)
{
	while (n) {
		int len = lsw_utf8_char(p, n);

		if (len <= 0)
			return false;
		if (p[0] < 0x20 || p[0] == 0x7F || (p[0] == 0xC2 && p[1] < 0xA0))
			return false;
		p += len;
		n -= (size_t)len;
	}
	return true;
}

/* The ranges that PROTOCOL.md gives; the same for what is sent as for what arrives. */
static bool is_valid(const struct lsw_record *r)
{
	switch (r->type) {
	case LSW_NAME:
		return r->id <= ID_MAX && (r->id == 0) == (r->u.name.kind == LSW_KIND_BOARD) && r->u.name.len > 0 &&
		       r->u.name.len <= LSW_NAME_MAX && is_name(r->u.name.text, r->u.name.len);
	case LSW_SWITCH:
		return r->id <= ID_MAX;
	case LSW_RUN:
	case LSW_ISR_IN:
	case LSW_ISR_OUT:
	case LSW_MARK:
	case LSW_OPEN:
	case LSW_END:
	case LSW_TOTALS:
		return r->id >= 1 && r->id <= ID_MAX;
	case LSW_SYNC:
		return r->u.sync.version && r->u.sync.bits >= 16 && r->u.sync.bits <= 32 &&
		       r->u.sync.rate <= LSW_RATE_ALL && r->u.sync.hz &&
		       (uint64_t)1 << r->u.sync.bits >= (uint64_t)LSW_WRAP_SECONDS * r->u.sync.hz;
	default:
		return true;
	}
}

static uint64_t load(const void *p, size_t width)
{
	switch (width) {
	case 1:
		return *(const uint8_t *)p;
	case 2:
		return *(const uint16_t *)p;
	case 4:
		return *(const uint32_t *)p;
	default:
		return *(const uint64_t *)p;
	}
}

static void store(void *p, size_t width, uint64_t v)
{
	switch (width) {
	case 1:
		*(uint8_t *)p = (uint8_t)v;
		break;
	case 2:
		*(uint16_t *)p = (uint16_t)v;
		break;
	case 4:
		*(uint32_t *)p = (uint32_t)v;
		break;
	default:
		*(uint64_t *)p = v;
	}
}

static size_t wire_len(const struct field *f)
{
	size_t n = 0;

	for (; f->wire; f++)
		n += f->wire;
	return n;
}

/* The bytes that follow a record's fixed fields. */
static size_t tail_len(const struct lsw_record *r)
{
	switch (r->type) {
	case LSW_NAME:
		return r->u.name.len;
	case LSW_EXT:
		return r->u.ext.len;
	case LSW_RESERVED:
		return RESERVED_LEN;
	default:
		return 0;
	}
}

static bool has_short_dt(uint8_t type)
{
	return type == LSW_SWITCH || type == LSW_ISR_IN || type == LSW_ISR_OUT || type == LSW_MARK || type == LSW_END;
}

/* A record with fields, under the type byte given (LSW_RUN_LONG for LSW_RUN). */
static int put_fields(uint8_t *p, size_t room, uint8_t type, const struct lsw_record *r)
{
	const struct field *f = layout[type & 15];
	size_t tail = tail_len(r), n = 1 + wire_len(f) + tail;
	const uint8_t *bytes = r->type == LSW_NAME ? r->u.name.text : r->type == LSW_EXT ? r->u.ext.data : NULL;

	if (n > room)
		return LSW_EROOM;
	*p++ = type;
	for (; f->wire; p += f->wire, f++)
		put_le(p, load((const uint8_t *)r + f->at, f->host), f->wire);
	for (size_t i = 0; i < tail; i++)
		*p++ = bytes ? bytes[i] : 0;
	return (int)n;
}

int lsw_record_put(uint8_t *p, size_t room, const struct lsw_record *r)
{
	int n, before = 0;

	if ((r->type < LSW_NAME && r->type != LSW_RUN) || r->type == LSW_RUN_LONG || !is_valid(r))
		return LSW_ERECORD;
	if (r->type == LSW_RUN) {
		if (r->id > LSW_ID_SHORT_MAX || r->dt > 0xFFFF || r->u.run.dur > 0xFFFF)
			return put_fields(p, room, LSW_RUN_LONG, r);
		if (room < RUN_SHORT_LEN)
			return LSW_EROOM;
		p[0] = (uint8_t)r->id;
		put_le(p + 1, r->dt, 2);
		put_le(p + 3, r->u.run.dur, 2);
		return RUN_SHORT_LEN;
	}
	if (has_short_dt(r->type) && r->dt > 0xFFFF) {
		/* The ADVANCE takes all of the distance but what the field can still hold: zero. */
		struct lsw_record rest = *r, advance = { .type = LSW_ADVANCE, .dt = r->dt };

		before = put_fields(p, room, LSW_ADVANCE, &advance);
		if (before < 0)
			return before;
		rest.dt = 0;
		n = put_fields(p + before, room - (size_t)before, r->type, &rest);
	} else {
		n = put_fields(p, room, r->type, r);
	}
	return n < 0 ? n : before + n;
}

int lsw_record_get(const uint8_t *p, size_t n, struct lsw_record *ret_r)
{
	struct lsw_record r = { 0 };
	const struct field *f;
	size_t len, tail;

	if (n < 1)
		return LSW_ESHORT;
	if (p[0] >= 1 && p[0] <= LSW_ID_SHORT_MAX) {
		if (n < RUN_SHORT_LEN)
			return LSW_ESHORT;
		ret_r->type = LSW_RUN;
		ret_r->id = p[0];
		ret_r->dt = get_le16(p + 1);
		ret_r->u.run.dur = get_le16(p + 3);
		return RUN_SHORT_LEN;
	}
	if (p[0] == 0)
		return LSW_ERECORD;
	f = layout[p[0] & 15];
	len = 1 + wire_len(f);
	if (n < len)
		return LSW_ESHORT;
	r.type = p[0] == LSW_RUN_LONG ? (uint8_t)LSW_RUN : p[0];
	r.id = 0;
	r.dt = 0;
	for (const uint8_t *q = p + 1; f->wire; q += f->wire, f++) {
		store((uint8_t *)&r + f->at, f->host, get_le(q, f->wire));
	}
	tail = tail_len(&r);
	if (n - len < tail)
		return LSW_ESHORT;
	if (r.type == LSW_NAME)
		r.u.name.text = p + len;
	else if (r.type == LSW_EXT)
		r.u.ext.data = p + len;
	if (!is_valid(&r))
		return LSW_ERECORD;
	*ret_r = r;
	return (int)(len + tail);
}

bool lsw_record_next(const struct lsw_frame *f, size_t *pos, struct lsw_record *ret_r)
{
	int n;

	if (*pos >= f->records_len)
		return false;
	n = lsw_record_get(f->records + *pos, f->records_len - *pos, ret_r);
	if (n < 0)
		return false;
	*pos += (size_t)n;
	return true;
}
