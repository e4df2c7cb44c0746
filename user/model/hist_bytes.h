/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hist_bytes.h - a packed histogram as bytes, for disk: varints of sum, min, max, the number of buckets, then for each the step
 * from the bucket before it and its count. Some 3 bytes a bucket. n is what the counts sum to.
 */
#ifndef LOOPSCOPE_MODEL_HIST_BYTES_H
#define LOOPSCOPE_MODEL_HIST_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "lib/varint.h"
#include "model/hist_packed.h"

#define HIST_BYTES_MAX(buckets) ((4 + 2 * (size_t)(buckets)) * VARINT_MAX)

/* dst has room for HIST_BYTES_MAX(p->n_buckets). Returns the number of bytes. */
size_t hist_bytes_put(const struct hist_packed *p, uint8_t *dst);

/* Hostile bytes. *ret is the caller's, to be freed with free(). -EBADMSG, -ENOMEM. */
int hist_bytes_get(const void *bytes, size_t n, struct hist_packed **ret);

#endif
