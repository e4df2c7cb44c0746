/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * varint.h - unsigned numbers in 1 to 10 bytes, seven bits each, least first; signed ones folded so that small ones stay short.
 *
 * Reading is for hostile bytes: nothing beyond `end` is read, and what is no number in 64 bits is refused.
 */
#ifndef LOOPSCOPE_LIB_VARINT_H
#define LOOPSCOPE_LIB_VARINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VARINT_MAX 10 /* bytes */

static inline uint64_t zigzag(int64_t v)
{
	return ((uint64_t)v << 1) ^ (v < 0 ? UINT64_MAX : 0);
}

static inline int64_t unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

/* Returns what follows the number; there has to be room for VARINT_MAX bytes. */
static inline uint8_t *varint_put(uint8_t *p, uint64_t v)
{
	for (; v > 0x7f; v >>= 7)
		*p++ = (uint8_t)(v | 0x80);
	*p++ = (uint8_t)v;
	return p;
}

/* False, and *p where it was, if no whole number is there. */
static inline bool varint_get(const uint8_t **p, const uint8_t *end, uint64_t *ret)
{
	const uint8_t *q = *p;
	uint64_t v = 0;

	for (unsigned shift = 0; q < end && shift < 64; shift += 7) {
		uint8_t b = *q++;

		if (shift == 63 && b > 1)
			return false;
		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80)) {
			*p = q;
			*ret = v;
			return true;
		}
	}
	return false;
}

#endif
