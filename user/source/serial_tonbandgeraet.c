/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * serial_tonbandgeraet.c - Tonbandgeraet's streaming backend: one COBS frame an event, closed by a zero.
 *
 * An event: id:u8, mostly a timestamp (varint of 64 bits, absolute, in units of ts_resolution_ns), fields as varints,
 * a string to the frame's end. No checksum: what does not parse to its last byte is refused. After the first loss on
 * the board its drop count comes before every event: only a changed value is loss. Names come in the start block only.
 * Of several cores the first one seen is followed.
 */
#include <string.h>

#include "source/serial_rtos.h"

#define FRAME_MAX 512u

enum tband_id {
	CORE_ID = 0x00,
	DROPPED = 0x01,
	TS_RESOLUTION = 0x02,
	ISR_NAME = 0x03,
	ISR_ENTER = 0x04,
	ISR_EXIT = 0x05,
	EVTMARKER_NAME = 0x06,
	EVTMARKER = 0x07,
	EVTMARKER_BEGIN = 0x08,
	EVTMARKER_END = 0x09,
	VALMARKER_NAME = 0x0A,
	VALMARKER = 0x0B,
	TASK_SWITCHED_IN = 0x54,
	TASK_TO_READY = 0x55,
	TASK_RESUMED = 0x56,
	TASK_RESUMED_FROM_ISR = 0x57,
	TASK_SUSPENDED = 0x58,
	CURTASK_DELAY = 0x59,
	CURTASK_DELAY_UNTIL = 0x5A,
	TASK_CREATED = 0x5E,
	TASK_NAME = 0x5F,
	TASK_IS_IDLE = 0x60,
	TASK_IS_TIMER = 0x61,
	TASK_DELETED = 0x62,
	CURTASK_BLOCK_FIRST = 0x6D, /* on a queue: peek, send, receive */
	CURTASK_BLOCK_LAST = 0x6F,
};

/* Fields: 't' the timestamp, 'u' varint of 32 bits, 'U' of 64, 'b' a byte, 's' the rest as text. */
static const char *const layout[256] = {
	[CORE_ID] = "tu", [DROPPED] = "tu", [TS_RESOLUTION] = "U", [ISR_NAME] = "us", [ISR_ENTER] = "tu",
	[ISR_EXIT] = "tu", [EVTMARKER_NAME] = "us", [EVTMARKER] = "tus", [EVTMARKER_BEGIN] = "tus",
	[EVTMARKER_END] = "tu", [VALMARKER_NAME] = "us", [VALMARKER] = "tuU",
	[TASK_SWITCHED_IN] = "tu", [TASK_TO_READY] = "tu", [TASK_RESUMED] = "tu", [TASK_RESUMED_FROM_ISR] = "tu",
	[TASK_SUSPENDED] = "tu", [CURTASK_DELAY] = "tu", [CURTASK_DELAY_UNTIL] = "tu", [0x5B] = "tuu", [0x5C] = "tuu",
	[0x5D] = "tuu", [TASK_CREATED] = "tu", [TASK_NAME] = "us", [TASK_IS_IDLE] = "uu", [TASK_IS_TIMER] = "u",
	[TASK_DELETED] = "tu", [0x63] = "tu", [0x64] = "us", [0x65] = "ub", [0x66] = "tuu", [0x67] = "tuu",
	[0x68] = "tuu", [0x69] = "tuu", [0x6A] = "tuu", [0x6B] = "tuu", [0x6C] = "tu", [0x6D] = "tuu", [0x6E] = "tuu",
	[0x6F] = "tuu", [0x70] = "tuu", [0x7A] = "uus", [0x7B] = "tus", [0x7C] = "tus", [0x7D] = "tu", [0x7E] = "uus",
	[0x7F] = "tuU",
};

struct tband_event {
	uint8_t id;
	bool timed;
	uint64_t ts, value[2];
	unsigned n_values;
	char text[FRAME_MAX];
};

struct tband {
	struct serial_rtos r;
	uint64_t ns_per_tick; /* 0 until told: then ticks are taken for nanoseconds */
	uint32_t core, first_core;
	bool core_known;
	bool lost_thread; /* within a refused frame */
	bool overlong;
	size_t n;
	uint8_t frame[FRAME_MAX];
};

/* In place; returns the decoded length, 0: wrong. The standard allows codes of 255 (254 bytes and no zero). */
static size_t cobs(uint8_t *p, size_t n)
{
	size_t in = 0, out = 0;

	while (in < n) {
		uint8_t code = p[in++];

		if (code == 0 || in + code - 1 > n)
			return 0;
		for (uint8_t i = 1; i < code; i++)
			p[out++] = p[in++];
		if (code != 255 && in < n)
			p[out++] = 0;
	}
	return out;
}

static bool parse(const uint8_t *p, size_t n, struct tband_event *e)
{
	const char *fmt = n ? layout[p[0]] : NULL;
	size_t at = 1;

	if (!fmt)
		return false;
	e->id = p[0];
	e->timed = false;
	e->n_values = 0;
	e->text[0] = 0;
	for (; *fmt; fmt++) {
		uint64_t v = 0;
		int len = 1;

		if (*fmt == 's') {
			memcpy(e->text, p + at, n - at);
			e->text[n - at] = 0;
			at = n;
			continue;
		}
		if (*fmt == 'b')
			v = at < n ? p[at] : 0;
		else
			len = serial_varint(p + at, n - at, *fmt == 'u' ? 32 : 64, &v);
		if (len <= 0 || at + (size_t)len > n)
			return false;
		at += (size_t)len;
		if (*fmt == 't') {
			e->timed = true;
			e->ts = v;
		} else if (e->n_values < 2) {
			e->value[e->n_values++] = v;
		}
	}
	return at == n;
}

static void name(struct tband *s, enum board_class class, enum task_kind kind, uint32_t id, const char *text)
{
	struct board_event ev = { .kind = BOARD_NAME, .id = id };

	ev.u.name.class = class;
	ev.u.name.kind = kind;
	ev.u.name.text = text;
	serial_rtos_emit(&s->r, &ev);
}

static void dropped(struct tband *s, uint32_t count)
{
	uint32_t more = serial_rtos_lost(&s->r, count);

	if (more)
		serial_rtos_gap(&s->r, more, LOSS_EVENTS);
}

/* Sign and magnitude: the lowest bit is the sign. */
static int64_t signed_value(uint64_t v)
{
	if (v == 1)
		return INT64_MIN;
	return v & 1 ? -(int64_t)(v >> 1) : (int64_t)(v >> 1);
}

static void timed(struct tband *s, const struct tband_event *e)
{
	uint32_t id = (uint32_t)e->value[0];

	switch (e->id) {
	case DROPPED:
		dropped(s, id);
		break;
	case ISR_ENTER:
		serial_rtos_simple(&s->r, BOARD_ISR_IN, id);
		break;
	case ISR_EXIT:
		serial_rtos_simple(&s->r, BOARD_ISR_OUT, id);
		break;
	case TASK_SWITCHED_IN:
		serial_rtos_switch(&s->r, id);
		break;
	case TASK_TO_READY:
	case TASK_RESUMED:
	case TASK_RESUMED_FROM_ISR:
		serial_rtos_simple(&s->r, BOARD_READY, id);
		break;
	case TASK_SUSPENDED:
		serial_rtos_simple(&s->r, BOARD_BLOCKED, id);
		break;
	case CURTASK_DELAY:
	case CURTASK_DELAY_UNTIL:
		serial_rtos_current_blocks(&s->r);
		break;
	case TASK_DELETED:
		serial_rtos_simple(&s->r, BOARD_END, id);
		break;
	case EVTMARKER:
	case EVTMARKER_BEGIN:
	case EVTMARKER_END:
		serial_rtos_mark(&s->r, id, e->id != EVTMARKER_END);
		break;
	case VALMARKER:
		serial_rtos_mark(&s->r, id, signed_value(e->value[1]));
		break;
	default:
		if (e->id >= CURTASK_BLOCK_FIRST && e->id <= CURTASK_BLOCK_LAST)
			serial_rtos_current_blocks(&s->r);
	}
}

static void metadata(struct tband *s, const struct tband_event *e)
{
	uint32_t id = (uint32_t)e->value[0];

	switch (e->id) {
	case TS_RESOLUTION:
		s->r.from_start |= !s->r.lost_known;
		s->ns_per_tick = e->value[0] && e->value[0] < 1000000000 ? e->value[0] : 0;
		serial_rtos_counter(&s->r, s->ns_per_tick ? 1000000000 : 0, 64);
		break;
	case ISR_NAME:
		name(s, BOARD_ISR, TASK_ISR, id, e->text);
		break;
	case EVTMARKER_NAME:
	case VALMARKER_NAME:
		name(s, BOARD_MARKER, TASK_RUNS, id, e->text);
		break;
	case TASK_NAME:
		name(s, BOARD_TASK, TASK_RUNS, id, e->text);
		break;
	case TASK_IS_IDLE:
		name(s, BOARD_TASK, TASK_IDLE, id, "");
		break;
	default:
		break;
	}
}

static void event(struct tband *s, const struct tband_event *e)
{
	s->r.d.events++;
	if (e->timed) {
		uint64_t t;

		if (__builtin_mul_overflow(e->ts, s->ns_per_tick ? s->ns_per_tick : 1, &t))
			t = s->r.t;
		if (e->id == CORE_ID) {
			s->core = (uint32_t)e->value[0];
			if (!s->core_known)
				s->first_core = s->core;
			s->core_known = true;
		}
		if (s->core != s->first_core)
			return;
		if (t > s->r.t)
			s->r.t = t;
		serial_rtos_begin(&s->r, false);
		if (e->id != CORE_ID)
			timed(s, e);
		return;
	}
	serial_rtos_begin(&s->r, false);
	metadata(s, e);
}

static void close_frame(struct tband *s)
{
	struct tband_event e;
	size_t n;

	if (s->n == 0 && !s->overlong)
		return;
	n = s->overlong ? 0 : cobs(s->frame, s->n);
	if (n && parse(s->frame, n, &e)) {
		event(s, &e);
	} else {
		s->r.d.garbage += s->n + 1;
		s->r.d.resyncs++;
		if (s->r.any) /* before the first event it is the rest of one that we came too late for */
			serial_rtos_gap(&s->r, -1, LOSS_BYTES);
	}
	s->n = 0;
	s->overlong = false;
}

static void tband_feed(struct serial_decoder *d, const uint8_t *p, size_t n, uint64_t arrival_ns)
{
	struct tband *s = (struct tband *)d;

	s->r.arrival_ns = arrival_ns;
	for (size_t i = 0; i < n; i++) {
		if (p[i] == 0) {
			close_frame(s);
		} else if (s->n < FRAME_MAX - 1) {
			s->frame[s->n++] = p[i];
		} else {
			s->r.d.garbage++;
			s->overlong = true;
		}
	}
	serial_rtos_stamp(&s->r);
}

static void tband_end(struct serial_decoder *d)
{
	struct tband *s = (struct tband *)d;

	s->r.d.garbage += s->n;
	s->n = 0;
	s->overlong = false;
}

/* Enough frames in a row that all parse; the first may be cut. */
static int tband_check(const uint8_t *p, size_t n, bool final, size_t *ret_start)
{
	struct tband_event e;
	uint8_t frame[FRAME_MAX];
	size_t begin = 0, good = 0;

	*ret_start = 0;
	for (size_t i = 0; i < n; i++) {
		size_t len = i - begin;

		if (p[i])
			continue;
		if (len >= FRAME_MAX)
			return -1;
		memcpy(frame, p + begin, len);
		len = cobs(frame, len);
		if (len && parse(frame, len, &e))
			good++;
		else if (begin == 0)
			*ret_start = i + 1;
		else
			return -1;
		begin = i + 1;
	}
	if (n - begin >= FRAME_MAX)
		return -1;
	return good >= 16 || (final && good >= 6);
}

const struct serial_decoder_ops serial_tonbandgeraet = {
	.name = "tonbandgeraet",
	.size = sizeof(struct tband),
	.feed = tband_feed,
	.end = tband_end,
	.check = tband_check,
};
