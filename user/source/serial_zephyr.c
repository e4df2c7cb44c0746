/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * serial_zephyr.c - Zephyr's CTF over a serial line: events as they were written, one after the other.
 *
 * An event: u32 nanoseconds (low 32 bits: wraps each 4.29 s), u8 id, fields; little endian, no padding, no frame, no
 * length, no sync, no loss mark. Event ids and sizes changed between versions: 2.x and 3.x are told apart by which of
 * them the bytes follow without a contradiction; network events of 3.x and the 16-bit ids of the newest are not read.
 * Interrupts have no number: all of them are id 0. The idle thread is known by the idle event while it runs, or by its
 * name. After damage the thread is found by plausibility, what lay between is a gap of unknown size.
 * A silence longer than a turn can only be told from arrival times.
 */
#include <stdio.h>
#include <string.h>

#include "source/serial_rtos.h"

#define HEADER 5
#define NAME_LEN 20
#define EVENT_MAX (HEADER + 32)
#define HELD 2048
#define BACK_NS 1000000 /* an interrupt may be stamped before and written after another event */

enum { SWITCHED_OUT = 0x10, SWITCHED_IN, PRIORITY_SET, CREATE, ABORT, SUSPEND, RESUME, READY, PENDING, INFO, NAME_SET };

struct dialect {
	uint8_t isr_enter, isr_exit, isr_exit_to_scheduler, idle;
	uint8_t size[256]; /* of an event's fields + 1; 0: no such event */
};

#define THREADS                                                                                              \
	[SWITCHED_OUT] = 25, [SWITCHED_IN] = 25, [PRIORITY_SET] = 26, [CREATE] = 25, [ABORT] = 25, [SUSPEND] = 25, \
	[RESUME] = 25, [READY] = 25, [PENDING] = 25, [INFO] = 33, [NAME_SET] = 25

static const struct dialect v2 = {
	.isr_enter = 0x20, .isr_exit = 0x21, .isr_exit_to_scheduler = 0x22, .idle = 0x30,
	.size = {
		THREADS, [0x20] = 1, [0x21] = 1, [0x22] = 1, [0x30] = 1, [0x41] = 5, [0x42] = 5, [0x43] = 5, [0x44] = 5,
		[0x45] = 5, [0x46] = 5, [0x47] = 5, [0x48] = 5,
	},
};

static const struct dialect v3 = {
	.isr_enter = 0x1B, .isr_exit = 0x1C, .isr_exit_to_scheduler = 0x1D, .idle = 0x1E,
	.size = {
		THREADS, [0x1B] = 1, [0x1C] = 1, [0x1D] = 1, [0x1E] = 1, [0x1F] = 5, [0x20] = 5,
		/* semaphores */ [0x21] = 9, [0x22] = 5, [0x23] = 5, [0x24] = 9, [0x25] = 9, [0x26] = 13, [0x27] = 5,
		/* mutexes */ [0x28] = 9, [0x29] = 9, [0x2A] = 9, [0x2B] = 13, [0x2C] = 5, [0x2D] = 5,
		/* timers */ [0x2E] = 5, [0x2F] = 13, [0x30] = 5, [0x31] = 5, [0x32] = 9, [0x33] = 9,
		/* threads again */ [0x34] = 25, [0x35] = 25,
	},
};

struct zephyr {
	struct serial_rtos r;
	const struct dialect *dialect; /* NULL: the thread is lost */
	struct counter clock;
	char current_name[NAME_LEN + 1];
	size_t n;
	uint8_t held[HELD];
};

static uint32_t u32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void thread_name(const uint8_t *fields, char out[NAME_LEN + 1])
{
	memcpy(out, fields + 4, NAME_LEN);
	out[NAME_LEN] = 0;
}

static void name(struct zephyr *z, uint32_t id, const char *text, bool idle)
{
	struct board_event ev = { .kind = BOARD_NAME, .id = id };

	ev.u.name.text = text;
	ev.u.name.kind = idle || strcmp(text, "idle") == 0 || strncmp(text, "idle ", 5) == 0 ? TASK_IDLE : TASK_RUNS;
	serial_rtos_emit(&z->r, &ev);
}

static void thread_event(struct zephyr *z, uint8_t event, const uint8_t *fields)
{
	uint32_t id = u32(fields);
	char text[NAME_LEN + 1];

	switch (event) {
	case SWITCHED_OUT:
		z->r.has_current = false;
		serial_rtos_simple(&z->r, BOARD_NOBODY, 0);
		break;
	case SWITCHED_IN:
		thread_name(fields, text);
		/* The name stands in every switch: only a new one is news. */
		if (id != z->r.current || strcmp(text, z->current_name) != 0)
			name(z, id, text, false);
		memcpy(z->current_name, text, sizeof(text));
		serial_rtos_switch(&z->r, id);
		break;
	case CREATE:
	case INFO:
	case NAME_SET:
		thread_name(fields, text);
		name(z, id, text, false);
		break;
	case ABORT:
		serial_rtos_simple(&z->r, BOARD_END, id);
		break;
	case READY:
	case RESUME:
		serial_rtos_simple(&z->r, BOARD_READY, id);
		break;
	case PENDING:
	case SUSPEND:
		serial_rtos_simple(&z->r, BOARD_BLOCKED, id);
		break;
	default:
		break;
	}
}

static void event(struct zephyr *z, const uint8_t *p)
{
	const struct dialect *d = z->dialect;
	uint8_t id = p[4];

	z->r.d.events++;
	z->r.t = counter_unwrap(&z->clock, u32(p), 32, 1000000000, BACK_NS, z->r.arrival_ns);
	if (!z->r.any) {
		serial_rtos_begin(&z->r, false);
		serial_rtos_counter(&z->r, 1000000000, 32);
	}
	if (id >= SWITCHED_OUT && id <= NAME_SET)
		thread_event(z, id, p + HEADER);
	else if (id == d->isr_enter)
		serial_rtos_simple(&z->r, BOARD_ISR_IN, 0);
	else if (id == d->isr_exit || id == d->isr_exit_to_scheduler)
		serial_rtos_simple(&z->r, BOARD_ISR_OUT, 0);
	else if (id == d->idle && z->r.has_current)
		name(z, z->r.current, z->current_name, true);
}

/* ---- finding the thread ---- */
#define CHAIN 24
#define CHAIN_FINAL 8
#define LOOK (CHAIN * EVENT_MAX)
#define GAP_MAX 2500000000u /* ns between two events in a chain */

/* A thread's name: printable, then zeros to its end. */
static bool name_ok(const uint8_t *p)
{
	unsigned i = 0;

	while (i < NAME_LEN && p[i] >= 0x20 && p[i] != 0x7F)
		i++;
	for (; i < NAME_LEN; i++)
		if (p[i])
			return false;
	return true;
}

/* Bytes of the event at p, 0: cut, -1: none. */
static int event_size(const struct dialect *d, const uint8_t *p, size_t n)
{
	if (n < HEADER)
		return 0;
	if (!d->size[p[4]])
		return -1;
	if (n < HEADER - 1 + (size_t)d->size[p[4]])
		return 0;
	if (p[4] >= SWITCHED_OUT && p[4] <= NAME_SET && !name_ok(p + HEADER + 4))
		return -1;
	return HEADER - 1 + d->size[p[4]];
}

/* Events that follow from p, at most want; -1: a contradiction. */
static int chain(const struct dialect *d, const uint8_t *p, size_t n, int want, int *ret_threads)
{
	uint32_t last = 0;
	size_t at = 0;
	int count = 0;

	*ret_threads = 0;
	while (count < want) {
		int len = event_size(d, p + at, n - at);
		uint32_t t;

		if (len == 0)
			return count;
		if (len < 0)
			return -1;
		t = u32(p + at);
		if (count && t - last > GAP_MAX && last - t > BACK_NS)
			return -1;
		last = t;
		*ret_threads += p[at + 4] >= SWITCHED_OUT && p[at + 4] <= NAME_SET;
		at += (size_t)len;
		count++;
	}
	return count;
}

/* As systemview_find(), and which dialect it is. */
static const struct dialect *find(const uint8_t *p, size_t n, bool eager, bool final, size_t *ret_skip)
{
	static const struct dialect *const dialects[] = { &v2, &v3 };
	int enough = final ? CHAIN_FINAL : CHAIN, threads;

	for (size_t i = 0; i < n; i++) {
		size_t window = n - i < LOOK ? n - i : LOOK;

		*ret_skip = i;
		for (size_t k = 0; k < sizeof(dialects) / sizeof(dialects[0]); k++) {
			int got = chain(dialects[k], p + i, window, CHAIN, &threads);

			if (got >= 0 && window < LOOK && !final && !(eager && got >= enough))
				return NULL;
			if (got >= enough && threads >= got / 4)
				return dialects[k];
		}
	}
	*ret_skip = n;
	return NULL;
}

static void decode(struct zephyr *z, bool final)
{
	size_t at = 0, skip;

	while (at < z->n) {
		int len;

		if (!z->dialect) {
			if (z->n - at < LOOK && !final) /* not worth a look before */
				break;
			z->dialect = find(z->held + at, z->n - at, false, final, &skip);
			z->r.d.garbage += skip;
			at += skip;
			if (!z->dialect)
				break;
		}
		len = event_size(z->dialect, z->held + at, z->n - at);
		if (len == 0)
			break;
		if (len < 0) {
			z->dialect = NULL;
			z->r.d.resyncs++;
			z->r.d.garbage++;
			at++;
			if (z->r.any)
				serial_rtos_gap(&z->r, -1, LOSS_BYTES);
			continue;
		}
		event(z, z->held + at);
		at += (size_t)len;
	}
	z->n -= at;
	memmove(z->held, z->held + at, z->n);
}

static void zephyr_feed(struct serial_decoder *d, const uint8_t *p, size_t n, uint64_t arrival_ns)
{
	struct zephyr *z = (struct zephyr *)d;

	z->r.arrival_ns = arrival_ns;
	while (n) {
		size_t room = HELD - z->n < n ? HELD - z->n : n;

		memcpy(z->held + z->n, p, room);
		z->n += room;
		p += room;
		n -= room;
		decode(z, false);
	}
	serial_rtos_stamp(&z->r);
}

static void zephyr_end(struct serial_decoder *d)
{
	struct zephyr *z = (struct zephyr *)d;

	decode(z, true);
	z->r.d.garbage += z->n;
	z->n = 0;
	z->dialect = NULL;
}

static int zephyr_check(const uint8_t *p, size_t n, bool final, size_t *ret_start)
{
	return find(p, n, true, final, ret_start) ? 1 : 0;
}

_Static_assert(HELD > 2 * LOOK, "a chain fits, so that decode() always gives bytes up");

const struct serial_decoder_ops serial_zephyr_ctf = {
	.name = "zephyr-ctf",
	.size = sizeof(struct zephyr),
	.feed = zephyr_feed,
	.end = zephyr_end,
	.check = zephyr_check,
};
