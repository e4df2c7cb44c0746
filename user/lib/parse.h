/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * parse.h - strict readers of what users type. No leading or trailing rubbish, no silent overflow, no sign where
 * none makes sense. All return 0 or -EINVAL (malformed) or -ERANGE (too large or too small), outputs untouched on
 * failure.
 */
#ifndef LOOPSCOPE_LIB_PARSE_H
#define LOOPSCOPE_LIB_PARSE_H

#include <stdint.h>
#include <sys/types.h>

/* Decimal digits only, lo..hi inclusive. */
int parse_u64(const char *s, uint64_t lo, uint64_t hi, uint64_t *ret);
/* A PID: 1 to 2^22 (the kernel's PID_MAX_LIMIT). */
int parse_pid(const char *s, pid_t *ret);
/* "250us", "50ms", "5s", "1.5s", "2m", "1h", "100ns"; a bare number is seconds, as in vmstat and top. At least 1 ns;
 * parts of a nanosecond ("1.5ns") are malformed. */
int parse_duration(const char *s, uint64_t *ret_ns);
/* "64M", "1.5G", "65536": bytes; K, M, G and T are powers of 1024. At least 1; of parts of a byte
 * the whole ones. */
int parse_size(const char *s, uint64_t *ret);
/* "2%" or "0.02" -> 0.02; 0 to 1 inclusive. The decimal point is a point in every locale. */
int parse_share(const char *s, double *ret);

#endif
