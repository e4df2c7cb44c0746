/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * serial_trace.h - what the bytes of one line say: a stream, decoded into a board, with its losses and sessions told as they are
 * found. It outlives the port: where the board comes back it goes on, or begins anew if another answers.
 *
 * Times are the host's monotonic nanoseconds, CLOCK_UNKNOWN where the arrival tells nothing.
 * Errors: the first one of a callback stays in `err`; nothing is fed after it.
 */
#ifndef LOOPSCOPE_CMD_SERIAL_TRACE_H
#define LOOPSCOPE_CMD_SERIAL_TRACE_H

#include "cmd/serial_line.h"
#include "cmd/serial_talk.h"

struct serial_trace {
	const struct serial_line_options *o; /* borrowed: what was asked for, and who hears of it */
	struct serial_talk *talk;            /* borrowed */
	struct serial_stream *stream;
	struct board *board;
	int err;
	bool at_end; /* serial_stream_end() was called */

	uint64_t arrival; /* of what is being decoded */
	struct clock_fit fit;
	uint64_t fit_at;

	bool resumes; /* the port is back, and nothing was understood yet: the stream goes on as before */
	struct serial_stats left_at;

	struct serial_stats before;    /* of streams that have ended */
	enum serial_protocol protocol; /* recognised last */
};

/* byte_ns: as serial_port_byte_ns(). What was made is freed by serial_trace_close(), also after an error. */
int serial_trace_open(struct serial_trace *t, const struct serial_line_options *o, struct serial_talk *talk, uint64_t byte_ns,
		      struct fault *f);
void serial_trace_close(struct serial_trace *t);

void serial_trace_take(struct serial_trace *t, const uint8_t *p, size_t n, uint64_t arrival_ns, struct fault *f);
/* Nothing came for a while. */
void serial_trace_quiet(struct serial_trace *t);
/* Nothing more comes from what is there now: what is half received is decided. Once is enough. */
void serial_trace_end(struct serial_trace *t);
/* The port is gone; and it is back. */
void serial_trace_leave(struct serial_trace *t);
int serial_trace_return(struct serial_trace *t, uint64_t byte_ns, struct fault *f);

/* The question's number, where the board would be asked for its clock now. */
bool serial_trace_ask(struct serial_trace *t, uint64_t now_ns, uint16_t *ret_nonce);
/* Something of what came was understood. */
bool serial_trace_recognised(const struct serial_trace *t);
/* Ends an interval: the board's report, and of *ret_s all but what the port knows. */
void serial_trace_interval(struct serial_trace *t, double ts, double interval_s, uint64_t now_ns, struct board_report *ret_r,
			   struct source_record *ret_s);

#endif
