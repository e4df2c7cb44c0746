/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench_serial.c - how many bytes a second go from the line to the board model on one core, and the memory that endless
 * garbage takes.
 *
 * usage: bench_serial MIN_MB_S FILE... ; besides the files: frames of our own, and garbage. Everything is detected, in
 * reads of 4096 bytes, with an interval each MiB. Prints a line a figure: name, value, unit, protocol. Fails (1) where
 * something is slower than MIN_MB_S, or where 64 MB of garbage grew the program by more than 1 MiB.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "lib/cleanup.h"
#include "model/board.h"
#include "source/serial.h"
#include "targets/codec/lswire.h"

#define PIECE 4096
#define ENOUGH_S 0.5
#define PASS (1u << 20)
#define FRAMES 4096
#define GARBAGE (1u << 20)
#define GARBAGE_ROUNDS 64
#define GROWTH_KIB 1024

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static long max_rss_kib(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss;
}

static uint8_t *read_file(const char *path, size_t *ret_n)
{
	_cleanup_fclose_ FILE *f = fopen(path, "rb");
	uint8_t *p;
	long n;

	if (!f || fseek(f, 0, SEEK_END) < 0)
		return NULL;
	n = ftell(f);
	rewind(f);
	p = n > 0 ? malloc((size_t)n) : NULL;
	if (p && fread(p, 1, (size_t)n, f) != (size_t)n) {
		free(p);
		return NULL;
	}
	*ret_n = (size_t)n;
	return p;
}

/* A superloop's trace at full detail: a SYNC a frame in 16, the others full of steps and sleeps. */
static uint8_t *make_frames(size_t *ret_n)
{
	uint8_t *out = malloc((size_t)FRAMES * LSW_WIRE_MAX);
	uint64_t busy = 0, idle = 0;
	struct lsw_builder b;
	uint32_t t = 0;

	*ret_n = 0;
	for (uint32_t i = 0; out && i < FRAMES; i++) {
		struct lsw_record r = { .type = LSW_SYNC };
		size_t n;

		lsw_frame_begin(&b, (uint8_t)i, t, 7);
		if (i % 16 == 0) {
			r.u.sync.version = LSW_VERSION;
			r.u.sync.bits = 32;
			r.u.sync.rate = LSW_RATE_ALL;
			r.u.sync.hz = 1000000;
			r.u.sync.frames = i;
			r.u.sync.busy = busy;
			r.u.sync.idle = idle;
			lsw_frame_put(&b, &r);
		}
		for (uint16_t k = 0;; k++) {
			r = (struct lsw_record){ .type = LSW_RUN, .id = (uint16_t)(1 + k % 20), .dt = 300 };
			r.u.run.dur = 200 + k;
			if (k % 10 == 9) {
				r = (struct lsw_record){ .type = LSW_IDLE, .dt = 2000 };
				r.u.idle.slept = 2000;
			}
			if (lsw_frame_put(&b, &r) < 0)
				break;
			t += r.dt;
			busy += r.type == LSW_RUN ? r.dt : 0;
			idle += r.type == LSW_IDLE ? r.dt : 0;
		}
		n = lsw_frame_end(&b);
		memcpy(out + *ret_n, b.wire, n);
		*ret_n += n;
	}
	return out;
}

static uint8_t *make_garbage(size_t *ret_n)
{
	uint8_t *out = malloc(GARBAGE);
	uint64_t s = 88172645463325252ull;

	for (size_t i = 0; out && i < GARBAGE; i++) {
		s ^= s << 13;
		s ^= s >> 7;
		s ^= s << 17;
		out[i] = (uint8_t)(s >> 32);
	}
	*ret_n = GARBAGE;
	return out;
}

static void on_event(void *arg, const struct board_event *ev)
{
	board_event(arg, ev);
}

/* The bytes `rounds` times in a row as one board's stream. */
static enum serial_protocol pass(const uint8_t *p, size_t n, unsigned rounds)
{
	struct board_options o = { .label = "bench" };
	struct serial_out out = { .event = on_event };
	struct serial_stream *s = NULL;
	struct board_report rep;
	enum serial_protocol protocol;
	struct board *b = NULL;

	if (board_new(&o, &b) < 0)
		exit(1);
	out.arg = b;
	if (serial_stream_new(SERIAL_AUTO, &out, &s) < 0)
		exit(1);
	for (unsigned round = 0; round < rounds; round++) {
		for (size_t i = 0; i < n; i += PIECE) {
			serial_stream_feed(s, p + i, n - i < PIECE ? n - i : PIECE, 1 + i);
			if (i % (1 << 20) == 0)
				board_interval(b, 0, 1, 1 + i, &rep);
		}
	}
	serial_stream_end(s);
	protocol = serial_stream_protocol(s);
	serial_stream_free(s);
	board_free(b);
	return protocol;
}

static int measure(const char *name, const uint8_t *p, size_t n, double least)
{
	double begin = cpu_seconds(), took, rate;
	enum serial_protocol protocol;
	unsigned rounds = (unsigned)(1 + PASS / n); /* making a board is not what is measured */
	size_t bytes = 0;

	do {
		protocol = pass(p, n, rounds);
		bytes += n * rounds;
		took = cpu_seconds() - begin;
	} while (took < ENOUGH_S);
	rate = (double)bytes / took / 1e6;
	printf("serial %-20s %8.1f MB/s  %s\n", name, rate, serial_protocol_names[protocol]);
	if (rate >= least)
		return 0;
	fprintf(stderr, "bench_serial: %s: less than %.0f MB/s\n", name, least);
	return 1;
}

static int measure_memory(const uint8_t *p, size_t n)
{
	long before, grown;

	pass(p, n, 1);
	before = max_rss_kib();
	pass(p, n, GARBAGE_ROUNDS);
	grown = max_rss_kib() - before;
	printf("serial garbage_growth       %8ld KiB   after %u MB\n", grown, GARBAGE_ROUNDS);
	return grown > GROWTH_KIB;
}

int main(int argc, char **argv)
{
	double least = argc > 1 ? strtod(argv[1], NULL) : 0;
	_cleanup_free_ uint8_t *frames = NULL, *garbage = NULL;
	size_t n;
	int bad = 0;

	for (int i = 2; i < argc; i++) {
		_cleanup_free_ uint8_t *p = read_file(argv[i], &n);
		const char *name = strrchr(argv[i], '/');

		if (!p) {
			fprintf(stderr, "bench_serial: cannot read %s\n", argv[i]);
			return 1;
		}
		bad |= measure(name ? name + 1 : argv[i], p, n, least);
	}
	frames = make_frames(&n);
	bad |= measure("frames", frames, n, least);
	garbage = make_garbage(&n);
	bad |= measure("garbage", garbage, n, least);
	bad |= measure_memory(garbage, n);
	return bad;
}
