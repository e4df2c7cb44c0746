/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hist_packed.h - a struct hist in the room that its values need: only the buckets that hold any, in order.
 *
 * One interval of one loop fills some 20 to 60 of the 1217 buckets: 16 bytes each instead of 9.5 KiB, so that every record can
 * carry its histograms to a sink, and a recording keep them. Nothing is lost: what is merged from here is what was packed.
 */
#ifndef LOOPSCOPE_MODEL_HIST_PACKED_H
#define LOOPSCOPE_MODEL_HIST_PACKED_H

#include <stddef.h>
#include <stdint.h>

#include "model/hist.h"

struct hist_packed_bucket {
	uint64_t n;      /* at least 1 */
	uint32_t bucket; /* as hist_bucket() numbers them, below HIST_BUCKETS; ascending */
};

struct hist_packed {
	uint64_t n, sum, min, max; /* as in struct hist */
	size_t n_buckets;
	struct hist_packed_bucket bucket[];
};

/* Of nothing: known, and no value at all. Static. */
extern const struct hist_packed hist_packed_empty;

/* The caller's, to be freed with free(); NULL: out of memory. */
struct hist_packed *hist_pack(const struct hist *h);
/* a += p. Buckets that don't exist (a damaged recording) are not added; n stays what the buckets sum to. */
void hist_merge_packed(struct hist *a, const struct hist_packed *p);

#endif
