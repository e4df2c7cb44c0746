/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_serial_fixture.h - recorded streams through a decoder and the board model, with every finished stretch kept.
 *
 * What the model's histograms round, the kept stretches have exactly: that is how the figures of the expect files are
 * compared to the tick.
 */
#ifndef TEST_SERIAL_FIXTURE_H
#define TEST_SERIAL_FIXTURE_H

#include <jansson.h>

#include "model/board.h"
#include "source/serial.h"

struct kept_edge {
	enum board_edge_kind kind;
	enum board_class class;
	uint32_t id;
	char name[TASK_NAME_LEN];
	uint64_t start, end, net;
	int64_t value;
	bool clean, open;
};

struct kept_name {
	enum board_class class;
	uint32_t id;
	uint64_t address;
	char text[TASK_NAME_LEN];
};

struct serial_run {
	struct board *board;
	struct serial_stream *stream;
	struct kept_edge *edges;
	size_t n_edges, room;
	struct kept_name names[64];
	size_t n_names;
	uint64_t n_events;
	uint64_t last_t; /* of any event */
	char *console;
	size_t n_console;
};

/* Durations in ticks, to be asked for what expect files state. */
struct kept_stats {
	size_t n;
	uint64_t total, min, max;
	double median;
};

struct serial_run *serial_run_new(enum serial_protocol p, const struct board_options *o);
void serial_run_free(struct serial_run *r);
#define _cleanup_serial_run_ __attribute__((__cleanup__(serial_run_free_ptr)))
static inline void serial_run_free_ptr(struct serial_run **r)
{
	serial_run_free(*r);
}

/* A file of tests/data/serial, whole; free() it. */
uint8_t *serial_data(const char *name, size_t *ret_n);
/* Its .times: nanoseconds a byte after the first one; free() it. */
uint64_t *serial_times(const char *name, size_t n);
json_t *serial_expect(const char *name);

/* Everything in pieces of `piece` bytes, without arrival times; then the end of the stream. */
void serial_run_feed(struct serial_run *r, const uint8_t *p, size_t n, size_t piece);
/* Byte by byte at t0 + times[i]. */
void serial_run_feed_timed(struct serial_run *r, const uint8_t *p, size_t n, const uint64_t *times, uint64_t t0);

/* Of the clean edges of that kind, class and id; net or gross. */
struct kept_stats serial_stats_of(const struct serial_run *r, enum board_edge_kind kind, uint32_t id, bool net);
/* ... against {"n","ticks":{"total","min","median","max"}} of an expect file. */
void serial_check_ticks(const struct kept_stats *s, const json_t *want, const char *what);
/* ... against {"n","total","min","median","max"} in microseconds, ticks being `ns` nanoseconds. */
void serial_check_us(const struct kept_stats *s, const json_t *want, double ns, const char *what);
const struct task_record *serial_task(const struct board_report *r, enum task_kind kind, uint32_t id);

#endif
