/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_serial.c - libFuzzer's entry into everything that serial bytes reach: detection, all decoders, the board model.
 *
 * The first byte chooses the protocol (or detection), the second how the bytes are cut up and whether they have arrival
 * times, the third how far these lie apart. It traps wherever a promise of serial.h or board.h is broken: shares outside
 * 0 to 1, stretches that end before they begin, a decode that depends on how the bytes were cut.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/board.h"
#include "source/serial.h"
#include "tests/fuzz/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HEAD 3

struct digest {
	struct board *board;
	uint64_t events, hash, console, t;
	uint64_t edges;
};

static void fold(uint64_t *h, uint64_t v)
{
	*h = (*h ^ v) * 0x100000001b3ull;
}

static void on_event(void *arg, const struct board_event *ev)
{
	struct digest *d = arg;

	if (ev->kind != BOARD_STAMP) { /* one a read: depends on the cuts by design */
		d->events++;
		fold(&d->hash, ev->kind);
		fold(&d->hash, ev->id);
		fold(&d->hash, ev->t);
	}
	if (ev->kind == BOARD_NAME)
		CHECK(memchr(ev->u.name.text, 0, 4096));
	if (ev->kind == BOARD_RESET)
		d->t = ev->t;
	CHECK(ev->t >= d->t || ev->kind == BOARD_RUN); /* time never runs backwards in a session */
	d->t = ev->t;
	if (d->board)
		board_event(d->board, ev);
}

static void on_console(void *arg, const uint8_t *p, size_t n)
{
	struct digest *d = arg;

	CHECK(n > 0 && !memchr(p, 0, n));
	d->console += n;
}

static void on_edge(void *arg, const struct board_edge *e)
{
	struct digest *d = arg;

	CHECK(e->end >= e->start);
	CHECK(strlen(e->name) < TASK_NAME_LEN);
	/* Told steps are taken at their word; what switches bound is bounded. */
	if (e->kind == EDGE_ISR || (e->kind == EDGE_IDLE && e->net <= e->end - e->start))
		CHECK(e->net <= e->end - e->start);
	d->edges++;
}

static void check_share(double s)
{
	CHECK(isnan(s) || (s >= 0 && s <= 1));
}

static void check_stats(const struct span_stats *s)
{
	CHECK(s->n >= 0);
	if (s->n && !isnan(s->min))
		CHECK(s->min <= s->p50 && s->p50 <= s->p90 && s->p90 <= s->p99 && s->p99 <= s->max);
}

static void check_report(struct board *b, uint64_t host_ns)
{
	struct board_report r;

	board_interval(b, 1, 1, host_ns, &r);
	check_share(r.loop.load);
	check_share(r.loop.idle);
	if (!isnan(r.loop.idle))
		CHECK(fabs(r.loop.load + r.loop.idle - 1) < 1e-9);
	CHECK(r.loop.interval_s >= 0);
	CHECK(r.n_tasks <= BOARD_TASKS_MAX);
	for (size_t i = 0; i < r.n_tasks; i++) {
		const struct task_record *t = &r.tasks[i];

		check_share(t->busy);
		check_share(t->wait);
		check_share(t->alive);
		check_stats(&t->run_us);
		check_stats(&t->ready_us);
		CHECK(t->runs >= -1 && t->left_out >= 0 && t->hogs >= 0);
		CHECK(memchr(t->task, 0, sizeof(t->task)));
	}
	check_share(r.summary.margin.mean);
	check_share(r.summary.margin.worst);
	check_stats(&r.summary.sleep_us);
	check_stats(&r.summary.pass_us);
}

/* cut 0: all at once; n: pieces of n bytes. step_ns 0: no arrival times. */
static void decode(enum serial_protocol p, const uint8_t *data, size_t size, size_t cut, uint64_t step_ns, bool model,
		   struct digest *d)
{
	struct board_options o = { .label = "fuzz", .edge = on_edge, .arg = d, .byte_ns = step_ns / 16 };
	struct serial_out out = { .event = on_event, .console = on_console, .arg = d };
	struct serial_stream *s = NULL;
	uint64_t now = step_ns ? 1000000000 : CLOCK_UNKNOWN;
	unsigned pieces = 0;

	if (model && board_new(&o, &d->board) < 0)
		abort();
	if (serial_stream_new(p, &out, &s) < 0)
		abort();
	for (size_t i = 0, n; i < size; i += n) {
		n = cut && cut < size - i ? cut : size - i;
		serial_stream_feed(s, data + i, n, now);
		now += step_ns;
		if (step_ns && data[i] == 0xEE)
			now += 1200000000000ull; /* a silence of twenty minutes */
		if (d->board && ++pieces % 256 == 0) {
			board_quiet(d->board, now);
			check_report(d->board, now);
			board_ping_sent(d->board, data[i], now);
		}
	}
	serial_stream_end(s);
	CHECK(serial_stream_stats(s).bytes == size);
	CHECK(serial_stream_stats(s).console == d->console);
	CHECK(serial_stream_stats(s).garbage + d->console <= size + serial_stream_stats(s).resyncs + 1);
	if (d->board)
		check_report(d->board, now);
	serial_stream_free(s);
	board_free(d->board);
	d->board = NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum serial_protocol p;
	struct digest a = { 0 }, b = { 0 }, c = { 0 };
	size_t cut;
	uint64_t step;

	if (size < HEAD)
		return 0;
	p = (enum serial_protocol)(data[0] % SERIAL_PROTOCOLS);
	cut = data[1] & 63;
	step = data[1] & 64 ? 1000000ull << (data[2] & 15) : 0;
	data += HEAD;
	size -= HEAD;
	decode(p, data, size, cut, step, true, &a);
	/* Without arrival times nothing may depend on the cuts. Detection may: it decides when it has seen enough. */
	if (p != SERIAL_AUTO) {
		decode(p, data, size, 0, 0, false, &b);
		decode(p, data, size, 1 + cut, 0, false, &c);
		CHECK(b.events == c.events && b.hash == c.hash);
	}
	return 0;
}
