/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench_codec.c - how fast the wire's codec is on one core: bytes to checked records, and the memory that endless
 * garbage takes. Prints one line a figure: name, value, unit. Fails (1) below the bound given as argument, in MB/s.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "targets/codec/lswire.h"

#define FRAMES 4096
#define READ_SIZE 4096 /* as a serial line's reader would feed it */
#define LEAST_SECONDS 0.5

struct sums {
	uint64_t frames, records, ticks;
};

static void on_frame(void *ctx, const struct lsw_frame *f)
{
	struct sums *s = ctx;
	struct lsw_record r;
	size_t pos = 0;

	s->frames++;
	while (lsw_record_next(f, &pos, &r)) {
		s->records++;
		s->ticks += r.dt;
	}
}

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static size_t make_stream(uint8_t *out)
{
	struct lsw_builder w;
	uint32_t t = 0, x = 1;
	size_t n = 0;

	for (uint32_t i = 0; i < FRAMES; i++) {
		struct lsw_record r = { .type = LSW_RUN };
		size_t len;

		lsw_frame_begin(&w, (uint8_t)i, t, 7);
		do {
			x = x * 1664525 + 1013904223;
			r.id = (uint16_t)(1 + (x >> 28));
			r.u.run.dur = x >> 20 & 0x3FF;
			r.dt = r.u.run.dur + (x >> 8 & 0xFFF);
			t += r.dt;
		} while (lsw_frame_put(&w, &r) > 0);
		len = lsw_frame_end(&w);
		memcpy(out + n, w.wire, len);
		n += len;
	}
	return n;
}

/* MB/s of the stream through a parser. */
static double decode(const uint8_t *stream, size_t len, struct sums *sums)
{
	static struct lsw_parser p;
	struct lsw_handler h = { .frame = on_frame, .ctx = sums };
	double start = cpu_seconds(), now;

	lsw_parser_init(&p);
	do {
		for (size_t i = 0; i < len; i += READ_SIZE)
			lsw_parser_feed(&p, stream + i, len - i < READ_SIZE ? len - i : READ_SIZE, &h);
		now = cpu_seconds();
	} while (now - start < LEAST_SECONDS);
	return (double)p.bytes / 1e6 / (now - start);
}

int main(int argc, char **argv)
{
	uint8_t *stream = malloc((size_t)FRAMES * LSW_WIRE_MAX);
	struct sums sums = { 0 }, none = { 0 };
	double bound = argc > 1 ? atof(argv[1]) : 0, rate, garbage;
	struct rusage before, after;
	size_t len;

	if (!stream)
		return 1;
	len = make_stream(stream);
	rate = decode(stream, len, &sums);
	if (!sums.frames || sums.records != sums.frames * 48) {
		fprintf(stderr, "bench_codec: the stream did not decode to what was put in\n");
		return 1;
	}
	getrusage(RUSAGE_SELF, &before);
	for (size_t i = 0; i < len; i++)
		stream[i] = (uint8_t)(stream[i] * 167 + i * 13);
	garbage = decode(stream, len, &none);
	getrusage(RUSAGE_SELF, &after);
	printf("codec_decode %.1f MB/s\n", rate);
	printf("codec_decode_records %.1f M/s\n", rate / 255 * 48);
	printf("codec_garbage %.1f MB/s\n", garbage);
	printf("codec_garbage_rss_growth %ld KiB\n", after.ru_maxrss - before.ru_maxrss);
	free(stream);
	return rate < bound;
}
