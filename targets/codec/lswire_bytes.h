/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lswire_bytes.h - little endian, byte by byte: Cortex-M0 has no unaligned access, and compilers merge the rest.
 * Private to the codec.
 */
#ifndef LSW_BYTES_H
#define LSW_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline uint16_t get_le16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t get_le32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* width: 1, 2, 4 or 8 */
static inline uint64_t get_le(const uint8_t *p, size_t width)
{
	switch (width) {
	case 1:
		return p[0];
	case 2:
		return get_le16(p);
	case 4:
		return get_le32(p);
	default:
		return (uint64_t)get_le32(p) | (uint64_t)get_le32(p + 4) << 32;
	}
}

/* The low `width` bytes of v. */
static inline void put_le(uint8_t *p, uint64_t v, size_t width)
{
	for (size_t i = 0; i < width; i++, v >>= 8)
		p[i] = (uint8_t)v;
}

/* Bytes of the UTF-8 character at p (1 to 4) if it is whole and valid, 0 if it is not and cannot become so, -1 if n
 * bytes are not yet enough to say. Control characters are the caller's to judge. */
int lsw_utf8_char(const uint8_t *p, size_t n);

#endif
