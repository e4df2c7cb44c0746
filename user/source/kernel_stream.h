/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel_stream.h - turns from the kernel side's records, with what was lost between them told in its place.
 *
 * A thread's records count its events, the lost ones too, so a gap shows with the next record. Where none follows, the walks over
 * the threads (pulses) show how many there should have been, and a tick that goes on. Pure: no kernel.
 */
#ifndef LOOPSCOPE_SOURCE_KERNEL_STREAM_H
#define LOOPSCOPE_SOURCE_KERNEL_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/wire.h"
#include "source/kernel.h"

struct stream_thread;

struct kernel_stream {
	struct stream_thread *threads, *latest;
	unsigned round;
	uint64_t told; /* events told as lost */
	kernel_turn_fn fn; /* a negative return is handed on */
	void *arg;
};

void kernel_stream_free(struct kernel_stream *s);
int kernel_stream_turn(struct kernel_stream *s, const struct ls_turn *r);

/* One walk: a pulse each thread, then its end, which forgets threads that are gone. Between two walks the buffer must have been
 * read. last: nothing follows any more, and the buffer has been read since the last edge. */
int kernel_stream_pulse(struct kernel_stream *s, const struct ls_pulse *p, bool last);
void kernel_stream_pulsed(struct kernel_stream *s);
/* Of all that the kernel side has counted as lost, what was told at no thread. */
int kernel_stream_rest(struct kernel_stream *s, uint64_t lost, uint64_t now_ns);

#endif
