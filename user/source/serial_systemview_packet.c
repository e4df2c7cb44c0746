/* SPDX-License-Identifier: BSD-2-Clause */
/* serial_systemview_packet.c - see serial_systemview.h. */
#include <string.h>

#include "source/serial_systemview.h"

/* What a packet holds before its delta: 'u' a number, 's' a string. NULL: no such id without a length. */
static const char *const layout[] = {
	[SYSTEMVIEW_OVERFLOW] = "u",
	[SYSTEMVIEW_ISR_ENTER] = "u",
	[SYSTEMVIEW_ISR_EXIT] = "",
	[SYSTEMVIEW_TASK_START_EXEC] = "u",
	[SYSTEMVIEW_TASK_STOP_EXEC] = "",
	[SYSTEMVIEW_TASK_START_READY] = "u",
	[SYSTEMVIEW_TASK_STOP_READY] = "uu",
	[SYSTEMVIEW_TASK_CREATE] = "u",
	[SYSTEMVIEW_TASK_INFO] = "uus",
	[SYSTEMVIEW_TRACE_START] = "",
	[SYSTEMVIEW_TRACE_STOP] = "",
	[SYSTEMVIEW_SYSTIME_CYCLES] = "u",
	[SYSTEMVIEW_SYSTIME_US] = "uu",
	[SYSTEMVIEW_SYSDESC] = "s",
	[SYSTEMVIEW_MARK_START] = "u",
	[SYSTEMVIEW_MARK_STOP] = "u",
	[SYSTEMVIEW_IDLE] = "",
	[SYSTEMVIEW_ISR_TO_SCHEDULER] = "",
	[SYSTEMVIEW_TIMER_ENTER] = "u",
	[SYSTEMVIEW_TIMER_EXIT] = "",
	[SYSTEMVIEW_STACK_INFO] = "uuuu",
	[SYSTEMVIEW_MODULEDESC] = "uus",
	[SYSTEMVIEW_DATA_SAMPLE] = "uu",
	[SYSTEMVIEW_INIT] = "uuuu",
	[SYSTEMVIEW_NAME_RESOURCE] = "us",
	[SYSTEMVIEW_PRINT_FORMATTED] = "suu",
	[SYSTEMVIEW_NUMMODULES] = "u",
	[SYSTEMVIEW_END_CALL] = "u", /* and perhaps a value */
	[SYSTEMVIEW_TASK_TERMINATE] = "u",
	[SYSTEMVIEW_EX] = "u",       /* what follows depends on it */
};

#define FIRST_WITH_LENGTH SYSTEMVIEW_INIT
#define FIRST_USER 32u
#define SYNC_BYTES 10

/* Bytes taken; 0 more are needed; -1 wrong. */
static int number(const uint8_t *p, size_t n, uint32_t *ret)
{
	uint64_t v;
	int len = serial_varint(p, n, 32, &v);

	if (len > 0)
		*ret = (uint32_t)v;
	return len;
}

static int string(const uint8_t *p, size_t n, char *out)
{
	size_t head = 1, len;

	if (n < 1)
		return 0;
	len = p[0];
	if (len == 255) {
		if (n < 3)
			return 0;
		head = 3;
		len = (size_t)p[1] << 8 | p[2];
	}
	if (len > SYSTEMVIEW_STRING_MAX)
		return -1;
	if (n < head + len)
		return 0;
	memcpy(out, p + head, len);
	out[len] = 0;
	return (int)(head + len);
}

/* Reads fields as fmt says: bytes taken, 0 or -1 as above. An empty format takes nothing, which is not "more". */
static int fields(const uint8_t *p, size_t n, const char *fmt, struct systemview_packet *k)
{
	size_t at = 0;

	for (; *fmt; fmt++) {
		uint32_t v = 0;
		int len;

		if (*fmt == 's') {
			len = string(p + at, n - at, k->text);
			k->has_text = true;
		} else {
			len = number(p + at, n - at, &v);
			if (len > 0 && k->n_args < SYSTEMVIEW_ARGS)
				k->arg[k->n_args++] = v;
		}
		if (len <= 0)
			return len;
		at += (size_t)len;
	}
	return (int)at;
}

/* The payload of a packet that told its length: what is known of it is read, what is beyond is left. */
static bool payload(const uint8_t *p, size_t n, struct systemview_packet *k)
{
	const char *fmt = k->id < FIRST_USER ? layout[k->id] : "";
	int len;

	if (!fmt) /* id 30: not given out */
		return false;
	len = fields(p, n, fmt, k);
	if (*fmt && len <= 0)
		return false;
	if (k->id == SYSTEMVIEW_EX && k->arg[0] <= SYSTEMVIEW_EX_NAME_MARKER)
		return fields(p + len, n - (size_t)len, k->arg[0] == SYSTEMVIEW_EX_MARK ? "u" : "us", k) > 0;
	return true;
}

static int with_length(const uint8_t *p, size_t n, size_t at, struct systemview_packet *k)
{
	uint32_t size;
	int len = number(p + at, n - at, &size);

	if (len <= 0)
		return len;
	at += (size_t)len;
	if (size > SYSTEMVIEW_PACKET_MAX || k->id > 0xFFFF)
		return -1;
	if (n - at < size)
		return 0;
	if (!payload(p + at, size, k))
		return -1;
	return (int)(at + size);
}

static int sync_packet(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < SYNC_BYTES; i++) {
		if (i == n)
			return 0;
		if (p[i])
			return -1;
	}
	return SYNC_BYTES;
}

int systemview_packet(const uint8_t *p, size_t n, struct systemview_packet *ret_p)
{
	int at, len;

	ret_p->n_args = 0;
	ret_p->has_text = false;
	ret_p->text[0] = 0;
	memset(ret_p->arg, 0, sizeof(ret_p->arg));
	ret_p->delta = 0;
	at = number(p, n, &ret_p->id);
	if (at <= 0)
		return at;
	if (ret_p->id == SYSTEMVIEW_NOP)
		return sync_packet(p, n);
	if (ret_p->id >= FIRST_WITH_LENGTH) {
		at = with_length(p, n, (size_t)at, ret_p);
		if (at <= 0)
			return at;
	} else if (layout[ret_p->id][0]) {
		len = fields(p + at, n - (size_t)at, layout[ret_p->id], ret_p);
		if (len <= 0)
			return len;
		at += len;
	}
	len = number(p + at, n - (size_t)at, &ret_p->delta);
	return len <= 0 ? len : at + len;
}

/* ---- finding the thread ---- */
#define CHAIN 48      /* packets in a row that are not chance */
#define CHAIN_FINAL 12
#define FIRST_PACKETS 3    /* whose subjects have to be met again ... */
#define FAMILIAR_WITHIN 200 /* ... in so many packets */

static bool printable(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7F)
			return *s == '\n' || *s == '\t' || *s == '\r';
	return true;
}

/* Nothing a running board would send, though its bytes could be a packet. */
static bool absurd(const struct systemview_packet *k)
{
	switch (k->id) {
	case SYSTEMVIEW_ISR_ENTER:
		return k->arg[0] > 1023;
	case SYSTEMVIEW_TASK_START_EXEC:
	case SYSTEMVIEW_TASK_START_READY:
	case SYSTEMVIEW_TASK_STOP_READY:
	case SYSTEMVIEW_TASK_CREATE:
		return k->arg[0] == 0;
	default:
		return (k->has_text && !printable(k->text)) || (k->id >= FIRST_USER && k->id > 0x1000) ||
		       k->delta > 1u << 31;
	}
}

/* How many packets follow from p, at most `want`; -1: a contradiction. *ret_busy: how many of them were switches and
 * interrupts, without which no stream is worth following. */
static int chain(const uint8_t *p, size_t n, int want, int *ret_busy)
{
	struct systemview_packet k;
	int depth = 0, count = 0;
	size_t at = 0;

	*ret_busy = 0;
	while (count < want) {
		int len = systemview_packet(p + at, n - at, &k);

		if (len == 0)
			return count;
		if (len < 0 || absurd(&k))
			return -1;
		depth += k.id == SYSTEMVIEW_ISR_ENTER;
		depth -= k.id == SYSTEMVIEW_ISR_EXIT || k.id == SYSTEMVIEW_ISR_TO_SCHEDULER;
		if (depth < -4 || depth > 16) /* an end or few without a beginning are possible where we cut in */
			return -1;
		*ret_busy += k.id >= SYSTEMVIEW_ISR_ENTER && k.id <= SYSTEMVIEW_TASK_STOP_READY;
		at += (size_t)len;
		count++;
	}
	return count;
}

/* What a packet must have in common with others to be believed: the task, interrupt or user's event that it is about.
 * 0: nothing, its form alone speaks for it. */
static uint64_t subject(const struct systemview_packet *k)
{
	switch (k->id) {
	case SYSTEMVIEW_ISR_ENTER:
		return 1ull << 32 | k->arg[0];
	case SYSTEMVIEW_TASK_START_EXEC:
	case SYSTEMVIEW_TASK_START_READY:
	case SYSTEMVIEW_TASK_STOP_READY:
	case SYSTEMVIEW_TASK_INFO:
	case SYSTEMVIEW_TASK_CREATE:
	case SYSTEMVIEW_TASK_TERMINATE:
		return 2ull << 32 | k->arg[0];
	default:
		return k->id >= FIRST_USER ? 3ull << 32 | k->id : 0;
	}
}

/*
 * A false beginning runs into the true packets after one or two, and then looks as good as they do. Its own first
 * packets are about tasks and interrupts that nobody else speaks of.
 */
static bool familiar(const uint8_t *p, size_t n)
{
	uint64_t first[FIRST_PACKETS] = { 0 };
	bool met[FIRST_PACKETS] = { false };
	struct systemview_packet k;
	size_t at = 0;

	for (int count = 0; count < FAMILIAR_WITHIN; count++) {
		int len = systemview_packet(p + at, n - at, &k);
		uint64_t s;

		if (len <= 0)
			break;
		s = subject(&k);
		for (int i = 0; i < FIRST_PACKETS && i < count; i++)
			met[i] |= first[i] == s;
		if (count < FIRST_PACKETS)
			first[count] = s;
		at += (size_t)len;
	}
	for (int i = 0; i < FIRST_PACKETS; i++)
		if (first[i] && !met[i])
			return false;
	return true;
}

/* What is decided at a place looks at SYSTEMVIEW_LOOK bytes from there and at no more, so that it does not depend on
 * how the stream was cut into reads. eager: decides with less. */
static bool find(const uint8_t *p, size_t n, bool eager, bool final, bool strict, size_t *ret_skip)
{
	int enough = final ? CHAIN_FINAL : CHAIN, busy;

	for (size_t i = 0; i < n; i++) {
		size_t window = n - i < SYSTEMVIEW_LOOK ? n - i : SYSTEMVIEW_LOOK;
		int got = chain(p + i, window, CHAIN, &busy);

		*ret_skip = i;
		if (got >= 0 && window < SYSTEMVIEW_LOOK && !final && !(eager && got >= enough))
			return false;
		if (got >= enough && busy >= got / 3 && (!strict || familiar(p + i, window)))
			return true;
	}
	*ret_skip = n;
	return false;
}

bool systemview_find(const uint8_t *p, size_t n, bool eager, bool final, size_t *ret_skip)
{
	if (find(p, n, eager, final, true, ret_skip))
		return true;
	return final && find(p, n, eager, final, false, ret_skip);
}
