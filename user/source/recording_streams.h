/* SPDX-License-Identifier: BSD-2-Clause */
/* recording_streams.h - streams of spans whose starts ascend: a chunk's section, long spans, rows of other kinds. */
#ifndef LOOPSCOPE_SOURCE_RECORDING_STREAMS_H
#define LOOPSCOPE_SOURCE_RECORDING_STREAMS_H

#include "model/span_chunk.h"
#include "source/recording_internal.h"

struct span_stream {
	struct timeline_span next; /* the one that comes */
	bool again; /* a span of another stream may tell of the same: that one counts */
	int (*advance)(struct span_stream *s, struct fault *f); /* 1: next is there, 0: the end, or an error */
	void (*free)(struct span_stream *s);
};

static inline int span_stream_advance(struct span_stream *s, struct fault *f)
{
	return s->advance(s, f);
}

static inline void span_stream_free(struct span_stream *s)
{
	s->free(s);
}

/* An unpacked chunk that several streams read from; the last one frees it. */
struct shared_chunk;
int shared_chunk_new(struct span_unpacked *u, struct shared_chunk **ret); /* takes u over; one holder: the caller. -ENOMEM */
void shared_chunk_release(struct shared_chunk *c);

int span_stream_of_section(struct recording *r, struct shared_chunk *c, size_t section, uint32_t lane, uint32_t source,
			   uint32_t session, uint64_t hz, struct span_stream **ret, struct fault *f);
int span_stream_of_long(struct recording *r, uint32_t source, struct span_stream **ret, struct fault *f);

enum rows_kind {
	ROWS_UNFINISHED, /* slow ticks that were told while they lasted, and whose end never came */
	ROWS_SLOW,       /* finished ones: what there is without --ticks */
	ROWS_GAPS,       /* likewise */
	ROWS_KINDS,
};
int span_stream_of_rows(struct recording *r, enum rows_kind kind, struct span_stream **ret, struct fault *f);

#endif
