/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * serial_monitor.c - micropython-monitor: one byte an edge, 0x40 + ident begins, 0x60 + ident ends, 'z' resets.
 *
 * There is no time, sequence, checksum or name on the wire. Times are those of arrival; bytes that came in one read
 * arrived at an unknown moment since the read before it, or within what an adapter holds back at most (16 ms is what
 * FTDI's do by default). Ident 0 is taken for the hog detector while it does what the detector does: begin and end in
 * turn, in most of the bytes, at least every few milliseconds; each of its edges then is one pass of the loop.
 * An ident says "alive", not "on the CPU". Instances share idents, so ends are matched to begins by counting only.
 */
#include <stdio.h>
#include <string.h>

#include "source/serial_decoder.h"

#define IDENTS 22
#define BEGIN 0x40
#define END 0x60
#define RESET 0x7A
#define HOLD_NS 16000000ull
#define DETECTOR_EDGES 64          /* looked back at */
#define DETECTOR_PASS_NS 8000000ull /* the mean pass may be this long */

struct monitor {
	struct serial_decoder d;
	uint64_t t, last_arrival;
	bool named[IDENTS];
	bool begun;
	uint8_t last_edge; /* of ident 0 */
	unsigned in_turn;  /* how many of ident 0's edges came in turn */
	uint64_t recent[DETECTOR_EDGES]; /* times of the last bytes */
	bool was_zero[DETECTOR_EDGES];   /* and whether they were ident 0's */
	unsigned n_recent, zeros;
};

static bool known(uint8_t c)
{
	return (c >= BEGIN && c < BEGIN + IDENTS) || (c >= END && c < END + IDENTS) || c == RESET;
}

static void begin_session(struct monitor *m, uint64_t arrival_ns, bool from_zero)
{
	struct board_event ev = { .kind = BOARD_RESET, .t = m->t, .arrival_ns = arrival_ns };

	ev.u.reset.from_zero = from_zero;
	serial_emit(&m->d, &ev);
	ev = (struct board_event){ .kind = BOARD_COUNTER, .t = m->t, .arrival_ns = arrival_ns };
	ev.u.counter.hz = arrival_ns == CLOCK_UNKNOWN ? 0 : 1000000000; /* from a file only the order is known */
	ev.u.counter.bits = 64;
	serial_emit(&m->d, &ev);
	memset(m->named, 0, sizeof(m->named));
	m->begun = true;
}

static void name_ident(struct monitor *m, unsigned ident, uint64_t arrival_ns)
{
	struct board_event ev = { .kind = BOARD_NAME, .id = ident, .t = m->t, .arrival_ns = arrival_ns };
	char text[16];

	if (m->named[ident])
		return;
	m->named[ident] = true;
	snprintf(text, sizeof(text), "ident %u", ident);
	ev.u.name.text = text;
	ev.u.name.kind = TASK_LIFETIME;
	serial_emit(&m->d, &ev);
}

/* Whether ident 0 has been behaving as the hog detector, this edge included. */
static bool is_detector(struct monitor *m, uint8_t c)
{
	unsigned slot = m->n_recent % DETECTOR_EDGES;
	bool zero = c == BEGIN || c == END, full = m->n_recent >= DETECTOR_EDGES;
	uint64_t oldest = m->recent[slot];

	m->zeros += zero - (full && m->was_zero[slot]);
	m->recent[slot] = m->t;
	m->was_zero[slot] = zero;
	m->n_recent = m->n_recent == 2 * DETECTOR_EDGES - 1 ? DETECTOR_EDGES : m->n_recent + 1;
	if (!zero)
		return false;
	m->in_turn = c != m->last_edge ? m->in_turn + (m->in_turn < UINT32_MAX) : 0;
	m->last_edge = c;
	return full && m->in_turn >= DETECTOR_EDGES / 2 && m->zeros >= DETECTOR_EDGES / 2 &&
	       m->t - oldest < DETECTOR_EDGES * DETECTOR_PASS_NS;
}

static void byte(struct monitor *m, uint8_t c, uint64_t arrival_ns, uint64_t late_ns)
{
	struct board_event ev = { .t = m->t, .arrival_ns = arrival_ns };

	if (!known(c)) {
		m->d.garbage += c != 0; /* zeros are the protocol's padding */
		return;
	}
	m->d.events++;
	if (c == RESET || !m->begun)
		begin_session(m, arrival_ns, c == RESET);
	if (c == RESET)
		return;
	ev.id = c & 0x1F;
	ev.kind = c >= END ? BOARD_GONE : BOARD_ALIVE;
	ev.u.alive.late_ns = late_ns;
	name_ident(m, ev.id, arrival_ns);
	serial_emit(&m->d, &ev);
	if (is_detector(m, c)) {
		ev.kind = BOARD_PULSE;
		serial_emit(&m->d, &ev);
	}
}

static void monitor_feed(struct serial_decoder *d, const uint8_t *p, size_t n, uint64_t arrival_ns)
{
	struct monitor *m = (struct monitor *)d;
	uint64_t late = 0;

	if (arrival_ns != CLOCK_UNKNOWN) {
		/* A lone byte comes when it comes; of several, the first may have waited since the last read. */
		if (n > 1)
			late = m->last_arrival && arrival_ns - m->last_arrival < HOLD_NS ? arrival_ns - m->last_arrival : HOLD_NS;
		if (arrival_ns > m->t)
			m->t = arrival_ns;
		m->last_arrival = arrival_ns;
	}
	for (size_t i = 0; i < n; i++)
		byte(m, p[i], arrival_ns, late);
}

/*
 * Text may be made of the same letters, but not for long without a space, a newline or a letter that ends without
 * having begun. A reset at the start says it at once.
 */
static int monitor_check(const uint8_t *p, size_t n, bool final, size_t *ret_start)
{
	int use[IDENTS] = { 0 };
	bool ended[IDENTS] = { false }, begins = false, ends = false;
	size_t bytes = 0;

	*ret_start = 0;
	for (size_t i = 0; i < n; i++) {
		unsigned ident = p[i] & 0x1F;

		if (p[i] == 0)
			continue;
		if (!known(p[i]))
			return -1;
		bytes++;
		if (p[i] == RESET)
			continue;
		if (p[i] < END) {
			begins = true;
			if (++use[ident] > 8)
				return -1;
		} else if (use[ident] > 0) {
			ends = true;
			use[ident]--;
		} else if (ended[ident]) {
			return -1;
		} else {
			ended[ident] = true; /* began before we listened: possible once */
		}
	}
	if (!begins || !ends)
		return 0;
	return bytes >= 64 || (p[0] == RESET && bytes >= 16) || (final && bytes >= 8) ? 1 : 0;
}

const struct serial_decoder_ops serial_monitor = {
	.name = "monitor",
	.size = sizeof(struct monitor),
	.feed = monitor_feed,
	.check = monitor_check,
};
