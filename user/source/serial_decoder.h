/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * serial_decoder.h - what each decoder gives to the stream (serial.c). Private to source/serial*.
 *
 * A decoder's state is a struct that begins with struct serial_decoder; the stream allocates `size` zeroed bytes, so
 * that a decoder itself never fails. Checks for detection are pure functions over the first bytes.
 */
#ifndef LOOPSCOPE_SOURCE_SERIAL_DECODER_H
#define LOOPSCOPE_SOURCE_SERIAL_DECODER_H

#include "source/serial.h"

struct serial_decoder {
	const struct serial_out *out;
	uint64_t events, garbage, resyncs, console;
};

struct serial_decoder_ops {
	const char *name;
	size_t size;
	void (*start)(struct serial_decoder *d); /* may be NULL */
	void (*feed)(struct serial_decoder *d, const uint8_t *p, size_t n, uint64_t arrival_ns);
	void (*quiet)(struct serial_decoder *d); /* may be NULL */
	void (*end)(struct serial_decoder *d);   /* may be NULL */
	/* How likely p[0..n) is this protocol: > 0 yes, 0 cannot tell yet, < 0 no. *ret_start is set with > 0. */
	int (*check)(const uint8_t *p, size_t n, bool final, size_t *ret_start);
};

extern const struct serial_decoder_ops serial_loopscope, serial_monitor, serial_systemview, serial_tonbandgeraet,
	serial_zephyr_ctf;

static inline void serial_emit(struct serial_decoder *d, const struct board_event *ev)
{
	if (d->out->event)
		d->out->event(d->out->arg, ev);
}

static inline void serial_text(struct serial_decoder *d, const uint8_t *p, size_t n)
{
	d->console += n;
	if (d->out->console && n)
		d->out->console(d->out->arg, p, n);
}

/* A little-endian base-128 number of at most 64 bits: its bytes (1 to 10), 0: incomplete, -1: too long for `bits`. */
static inline int serial_varint(const uint8_t *p, size_t n, unsigned bits, uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < n; i++) {
		unsigned shift = 7 * i;

		if (shift >= bits || (shift + 7 > bits && (p[i] & 0x7F) >> (bits - shift)))
			return -1;
		v |= (uint64_t)(p[i] & 0x7F) << shift;
		if (!(p[i] & 0x80)) {
			*ret = v;
			return (int)i + 1;
		}
	}
	return 7 * n >= bits ? -1 : 0;
}

#endif
