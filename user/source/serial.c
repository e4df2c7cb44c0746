/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * serial.c - a stream: recognises its protocol by the first bytes, then hands everything to that decoder.
 *
 * Until a decision the bytes are kept with their arrival times, so that a late decision loses neither. When
 * SERIAL_DETECT_MAX bytes did not suffice, the older half is given up: passed on if it is text, counted if not.
 */
#include "source/serial.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "source/serial_decoder.h"

#define DETECT_FIRST 64 /* bytes at the first attempt; then at twice as many: keeps the whole linear in the input */
#define DETECT_ZERO 16  /* ... or at so many more, at a frame's end ... */
#define DETECT_SMALL 1024 /* ... while it is cheap */
/* After that much garbage in a row only one look in that many is worth its time. */
#define GARBAGE_MUCH 65536u
#define GARBAGE_SKIP (15u * SERIAL_DETECT_MAX)

const char *const serial_protocol_names[SERIAL_PROTOCOLS + 1] = {
	[SERIAL_AUTO] = "auto",
	[SERIAL_LOOPSCOPE] = "loopscope",
	[SERIAL_MONITOR] = "monitor",
	[SERIAL_SYSTEMVIEW] = "systemview",
	[SERIAL_TONBANDGERAET] = "tonbandgeraet",
	[SERIAL_ZEPHYR_CTF] = "zephyr-ctf",
};

static const struct serial_decoder_ops *const decoders[SERIAL_PROTOCOLS] = {
	[SERIAL_LOOPSCOPE] = &serial_loopscope,
	[SERIAL_MONITOR] = &serial_monitor,
	[SERIAL_SYSTEMVIEW] = &serial_systemview,
	[SERIAL_TONBANDGERAET] = &serial_tonbandgeraet,
	[SERIAL_ZEPHYR_CTF] = &serial_zephyr_ctf,
};

/* Whose word counts first: those with checksums and fixed beginnings before those with plausibility alone. */
static const enum serial_protocol order[] = {
	SERIAL_LOOPSCOPE, SERIAL_SYSTEMVIEW, SERIAL_ZEPHYR_CTF, SERIAL_TONBANDGERAET, SERIAL_MONITOR,
};

struct serial_stream {
	struct serial_out out;
	enum serial_protocol protocol;
	struct serial_decoder *decoder; /* NULL until decided */
	uint64_t bytes, garbage, console; /* before the decision */

	size_t n, tried; /* bytes held, and held at the last attempt */
	size_t in_a_row; /* bytes of garbage since anything else */
	size_t skip;     /* of which so many more are not looked at */
	uint8_t held[SERIAL_DETECT_MAX];
	uint64_t arrival[SERIAL_DETECT_MAX];
};

struct serial_guess serial_detect(const uint8_t *p, size_t n, bool final)
{
	struct serial_guess g = { .protocol = SERIAL_AUTO };

	for (size_t i = 0; n && i < sizeof(order) / sizeof(order[0]); i++) {
		if (decoders[order[i]]->check(p, n, final, &g.start) > 0) {
			g.protocol = order[i];
			return g;
		}
	}
	g.start = 0;
	return g;
}

static int decide(struct serial_stream *s, enum serial_protocol p)
{
	struct serial_decoder *d = calloc(1, decoders[p]->size);

	if (!d)
		return -ENOMEM;
	d->out = &s->out;
	if (decoders[p]->start)
		decoders[p]->start(d);
	s->decoder = d;
	s->protocol = p;
	return 0;
}

int serial_stream_new(enum serial_protocol p, const struct serial_out *out, struct serial_stream **ret)
{
	struct serial_stream *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->out = *out;
	if (p != SERIAL_AUTO) {
		err = decide(s, p);
		if (err < 0) {
			free(s);
			return err;
		}
	}
	*ret = s;
	return 0;
}

void serial_stream_free(struct serial_stream *s)
{
	if (!s)
		return;
	free(s->decoder);
	free(s);
}

/* Bytes of the UTF-8 character at p, 0: none. Overlong forms and surrogates pass: this only tells text from packets. */
static size_t utf8_len(const uint8_t *p, size_t n)
{
	size_t len = p[0] < 0x80 ? 1 : p[0] >= 0xC2 && p[0] < 0xE0 ? 2 : p[0] >= 0xE0 && p[0] < 0xF0 ? 3 :
		     p[0] >= 0xF0 && p[0] < 0xF5 ? 4 : 0;

	if (len > n)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((p[i] & 0xC0) != 0x80)
			return 0;
	return len;
}

static bool is_text(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n;) {
		size_t len = utf8_len(p + i, n - i);

		if (!len || p[i] == 0x7F || (p[i] < 0x20 && !(p[i] >= '\a' && p[i] <= '\r') && p[i] != 0x1B))
			return false;
		i += len;
	}
	return true;
}

/* Gives up on the first n bytes held: they belong to no protocol. */
static void pass_over(struct serial_stream *s, size_t n)
{
	if (n == 0)
		return;
	if (is_text(s->held, n)) {
		s->console += n;
		s->in_a_row = 0;
		if (s->out.console)
			s->out.console(s->out.arg, s->held, n);
	} else {
		s->garbage += n;
		s->in_a_row += n;
		if (s->in_a_row > GARBAGE_MUCH)
			s->skip = GARBAGE_SKIP;
	}
	s->n -= n;
	memmove(s->held, s->held + n, s->n);
	memmove(s->arrival, s->arrival + n, s->n * sizeof(s->arrival[0]));
}

/* Gives what was held to the decoder, in the pieces in which it came. */
static void replay(struct serial_stream *s)
{
	size_t i = 0;

	while (i < s->n) {
		size_t end = i + 1;

		while (end < s->n && s->arrival[end] == s->arrival[i])
			end++;
		decoders[s->protocol]->feed(s->decoder, s->held + i, end - i, s->arrival[i]);
		i = end;
	}
	s->n = 0;
}

static void detect(struct serial_stream *s, bool final)
{
	struct serial_guess g = serial_detect(s->held, s->n, final);

	s->tried = s->n;
	if (g.protocol == SERIAL_AUTO || decide(s, g.protocol) < 0)
		return;
	pass_over(s, g.start);
	replay(s);
}

/* Takes what has room, with its arrival time; returns how much that was. */
static size_t hold(struct serial_stream *s, const uint8_t *p, size_t n, uint64_t arrival_ns)
{
	size_t due = s->tried ? 2 * s->tried : DETECT_FIRST, take;

	if (due > SERIAL_DETECT_MAX)
		due = SERIAL_DETECT_MAX;
	take = due > s->n ? due - s->n : 0;
	if (take > n)
		take = n;
	memcpy(s->held + s->n, p, take);
	for (size_t i = 0; i < take; i++)
		s->arrival[s->n + i] = arrival_ns;
	s->n += take;
	/* Frames end with a zero: at a read's end it is worth an attempt of its own. */
	if (s->n >= due || (take == n && s->n < DETECT_SMALL && s->n >= s->tried + DETECT_ZERO && s->held[s->n - 1] == 0))
		detect(s, false);
	return take;
}

void serial_stream_feed(struct serial_stream *s, const uint8_t *p, size_t n, uint64_t arrival_ns)
{
	s->bytes += n;
	while (n && !s->decoder) {
		size_t took = s->skip < n ? s->skip : n;

		s->skip -= took;
		s->garbage += took;
		if (!took)
			took = hold(s, p, n, arrival_ns);
		p += took;
		n -= took;
		if (!s->decoder && s->n == SERIAL_DETECT_MAX) {
			pass_over(s, s->skip ? s->n : SERIAL_DETECT_MAX / 2);
			s->tried = s->n;
		}
	}
	if (n)
		decoders[s->protocol]->feed(s->decoder, p, n, arrival_ns);
}

/* Text that cannot be micropython-monitor's, which is letters too. */
static bool is_console(const uint8_t *p, size_t n)
{
	return n && is_text(p, n) && (memchr(p, ' ', n) || memchr(p, '\n', n) || memchr(p, '\r', n));
}

void serial_stream_quiet(struct serial_stream *s)
{
	if (s->decoder) {
		if (decoders[s->protocol]->quiet)
			decoders[s->protocol]->quiet(s->decoder);
		return;
	}
	if (s->n != s->tried)
		detect(s, false);
	if (!s->decoder && is_console(s->held, s->n)) {
		pass_over(s, s->n);
		s->tried = 0;
	}
}

void serial_stream_end(struct serial_stream *s)
{
	if (!s->decoder)
		detect(s, true);
	if (!s->decoder) {
		pass_over(s, s->n);
		s->tried = 0;
	} else if (decoders[s->protocol]->end) {
		decoders[s->protocol]->end(s->decoder);
	}
}

enum serial_protocol serial_stream_protocol(const struct serial_stream *s)
{
	return s->protocol;
}

struct serial_stats serial_stream_stats(const struct serial_stream *s)
{
	struct serial_stats st = { .bytes = s->bytes, .garbage = s->garbage, .console = s->console };

	if (s->decoder) {
		st.events = s->decoder->events;
		st.garbage += s->decoder->garbage;
		st.resyncs = s->decoder->resyncs;
		st.console += s->decoder->console;
	}
	return st;
}

size_t serial_greeting(enum serial_protocol p, enum serial_moment when, uint8_t out[16])
{
	/* The host's hello: 'S' 'V' and the version that it understands; the board answers with its own and waits for
	 * START. A second hello would be taken for commands. */
	static const uint8_t hello[] = { 'S', 'V', 3, 32 }, start[] = { 1 }, stop[] = { 2 };
	/* Into effect at once on boards that listen; a REPL prints an error at worst, and 03 is never sent. */
	static const uint8_t begin[] = { '~', '+', '\n' };
	const uint8_t *from = NULL;
	size_t n = 0;

	if (p == SERIAL_SYSTEMVIEW) {
		from = when == SERIAL_OPENED ? hello : when == SERIAL_ANSWERED ? start : stop;
		n = when == SERIAL_OPENED ? sizeof(hello) : 1;
	} else if (p == SERIAL_LOOPSCOPE && when == SERIAL_OPENED) {
		from = begin;
		n = sizeof(begin);
	}
	if (n)
		memcpy(out, from, n);
	return n;
}
