/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * serial.h - bytes of a serial line in, neutral board events (model/board.h) and console text out.
 *
 * A stream recognises its protocol (or is told), decodes it and keeps count of what it could not use. Bytes are
 * hostile: any input in any pieces is decoded in bounded memory and in time linear in its length, and never fails.
 * Arrival times are the host's monotonic nanoseconds, CLOCK_UNKNOWN for a file.
 *
 * Event times are the board's ticks, unwrapped, except for micropython-monitor, which sends none: its ticks are the
 * host's nanoseconds, late by up to the event's late_ns.
 *
 * Facts: targets/PROTOCOL.md for loopscope; for the others their target sources, and streams recorded from them
 * (tests/data/serial).
 *
 * Detection decides late where it must: after 64 KiB of garbage in a row it looks at one stretch of 4 KiB in 64.
 */
#ifndef LOOPSCOPE_SOURCE_SERIAL_H
#define LOOPSCOPE_SOURCE_SERIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/fault.h"
#include "model/board.h"

/* Reaches JSON and options by name: append only. */
enum serial_protocol {
	SERIAL_AUTO = 0,
	SERIAL_LOOPSCOPE = 1,
	SERIAL_MONITOR = 2, /* micropython-monitor */
	SERIAL_SYSTEMVIEW = 3,
	SERIAL_TONBANDGERAET = 4,
	SERIAL_ZEPHYR_CTF = 5,
	SERIAL_PROTOCOLS,
};

/* "loopscope", ...; NULL-terminated, in the enum's order: fit for OPT_CHOICE. */
extern const char *const serial_protocol_names[SERIAL_PROTOCOLS + 1];

/* Where decoders put what they find. Functions may be NULL. */
struct serial_out {
	void (*event)(void *arg, const struct board_event *ev);
	void (*console)(void *arg, const uint8_t *p, size_t n); /* text beside the frames */
	void *arg;
};

struct serial_stats {
	uint64_t bytes;   /* received */
	uint64_t events;  /* frames, packets or bytes understood: the protocol's own unit */
	uint64_t garbage; /* bytes that were neither */
	uint64_t resyncs; /* how often the thread was lost and found again */
	uint64_t console; /* bytes of text passed on */
};

struct serial_stream;

int serial_stream_new(enum serial_protocol p, const struct serial_out *out, struct serial_stream **ret); /* -ENOMEM */
void serial_stream_free(struct serial_stream *s); /* accepts NULL */
void serial_stream_feed(struct serial_stream *s, const uint8_t *p, size_t n, uint64_t arrival_ns);
/* The line has been quiet for about 100 ms: text that waits for its newline is passed on. */
void serial_stream_quiet(struct serial_stream *s);
/* The line was closed, or is about to be reopened: what is half received is lost. While nothing was recognised yet,
 * what there is must do: a decision is made, or all of it is console text. */
void serial_stream_end(struct serial_stream *s);
enum serial_protocol serial_stream_protocol(const struct serial_stream *s); /* SERIAL_AUTO: not recognised yet */
struct serial_stats serial_stream_stats(const struct serial_stream *s);

/* Bytes that a detection looks at, at most. */
#define SERIAL_DETECT_MAX 4096

struct serial_guess {
	enum serial_protocol protocol; /* SERIAL_AUTO: cannot tell (yet) */
	size_t start; /* the first byte that belongs to it: what is before is text or half a packet */
};

/* Which protocol the first bytes of a stream speak. A pure function. final: no more bytes are to come, so that less
 * evidence has to do. */
struct serial_guess serial_detect(const uint8_t *p, size_t n, bool final);

/* What a host has to say for a board to begin, and how it wants to end: bytes for the line, 0 where there are none. */
enum serial_moment {
	SERIAL_OPENED,    /* the port was opened */
	SERIAL_ANSWERED,  /* SystemView: the board's hello came */
	SERIAL_CLOSING,
};
size_t serial_greeting(enum serial_protocol p, enum serial_moment when, uint8_t out[16]);

#endif
