/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_recording.c - libFuzzer's entry into everything that a recording's bytes reach. The first byte chooses what is fuzzed:
 *
 *   0  the input is the bytes of a chunk of spans: how many entries they claim, then they themselves
 *   1  the input is a packed histogram
 *   2  a real recording with bytes of it overwritten: pairs of a place (3 bytes) and what stands there (a byte)
 *   3  a real recording with values of it replaced, as SQLite writes them: any column of any table, any type
 *
 * What can be opened is read whole: replayed, looked at, handed to the dump and to the comparison. It traps where a promise of
 * recording.h or timeline.h is broken.
 */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/hist_bytes.h"
#include "model/recording_schema.h"
#include "model/span_chunk.h"
#include "sink/database.h"
#include "sink/diff.h"
#include "sink/vcd.h"
#include "source/recording.h"
#include "tests/fuzz/check.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char dir[64], base_path[80], path[80];
static unsigned char *base;
static size_t base_size;
static FILE *nowhere;

/* --- a recording with something of everything in it --- */

static void fill(struct sink *sink, struct sink *board)
{
	struct slow_cause cause = { .kind = CAUSE_CPU, .us = 60000, .what = "x", .samples = 6, .stack = { { "inner", "main" }, 2, false } };
	struct slow_tick t = { .id = { .pid = 7, .tid = 7, .start_ns = 1 }, .comm = "n", .thread = "n", .runtime = "libuv", .start_ns = 5000000000,
			       .duration_us = 60000, .causes = &cause, .n_causes = 1, .in_progress = true };
	struct loop_record r = { .id = t.id, .comm = "n", .thread = "n", .runtime = "libuv", .cgroup = "/", .wait_syscall = "poll", .interval_s = 1,
				 .n_blocked_by = 1, .blocked_by = { { "futex", 0.1 } }, .n_waited_for = 1, .waited_for = { { "hog", 3, 0.2 } },
				 .tick_hist = &hist_packed_empty };
	struct task_record task = { .loop = "b", .task = "blink", .id = 3, .interval_s = 1 };
	struct source_record state = { .loop = "b", .name = "b", .where = "", .protocol = "p" };
	struct interval iv = { .ts = 1764554401, .mono_ns = 6000000000, .interval_s = 1, .loops = &r, .n_loops = 1 };
	struct loop_event e = { .kind = EVENT_GAP, .mono_ns = 5500000000, .id = t.id, .runtime = "", .count = 3, .what = "w" };
	struct source_span s = { .kind = SPAN_RUN, .lane = LANE_TASK, .number = 3, .name = "blink", .start = 100, .end = 200, .net = 90, .hz = 1000 };

	CHECK(!sink_slow_tick(sink, &t, NULL) && !sink_event(sink, &e, NULL));
	for (uint64_t i = 0; i < 100; i++) {
		struct loop_turn turn = { .kind = TURN_WHOLE, .pid = 7, .tid = 7, .io_start_ns = 5000000000 + i * 1000, .timeout_ns = 5000000 };

		turn.io_end_ns = turn.io_start_ns + 100 + i;
		turn.end_ns = turn.io_start_ns + 1000;
		CHECK(!sink_turn(sink, &turn, NULL));
		s.start += 300;
		s.end += 300;
		s.arrival_ns = turn.end_ns;
		CHECK(!sink_span(board, &s, NULL));
	}
	CHECK(!sink_interval(sink, &iv, NULL));
	iv.loops = NULL;
	iv.n_loops = 0;
	iv.tasks = &task;
	iv.n_tasks = 1;
	iv.sources = &state;
	iv.n_sources = 1;
	CHECK(!sink_interval(board, &iv, NULL));
	s.end = s.start + 100000;
	CHECK(!sink_span(board, &s, NULL)); /* a long one */
}

static void make_base(void)
{
	const struct recording_host host = { .hostname = "h", .kernel = "k", .machine = "m", .version = "v", .command = "c", .has_ticks = true,
					     .start_ns = 1764554400000000000, .interval_ns = 1000000000, .slow_ns = 50000000 };
	const struct database_options o = { .path = base_path, .host = &host, .anchor_ns = 1764554395000000000 };
	const struct database_source_options kernel = { .kind = SOURCE_KERNEL, .name = "kernel", .host_clock = true };
	const struct database_source_options serial = { .kind = SOURCE_SERIAL, .name = "b" };
	struct sink *sink, *board;
	struct database *db;
	FILE *f;

	CHECK(!database_open(&o, &db, NULL) && !database_source(db, &kernel, &sink, NULL) && !database_source(db, &serial, &board, NULL));
	fill(sink, board);
	CHECK(!database_close(db, 6000000000, NULL));
	f = fopen(base_path, "r");
	CHECK(f && !fseek(f, 0, SEEK_END));
	base_size = (size_t)ftell(f);
	base = malloc(base_size);
	rewind(f);
	CHECK(base && fread(base, 1, base_size, f) == base_size);
	fclose(f);
}

static void clean_up(void)
{
	unlink(base_path);
	unlink(path);
	rmdir(dir);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	snprintf(dir, sizeof(dir), "%s/loopscope-fuzz-XXXXXX", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	CHECK(mkdtemp(dir));
	snprintf(base_path, sizeof(base_path), "%s/base", dir);
	snprintf(path, sizeof(path), "%s/file", dir);
	atexit(clean_up);
	nowhere = fopen("/dev/null", "w");
	make_base();
	return 0;
}

/* --- reading it whole --- */

static int on_interval(void *arg, uint32_t source, const struct interval *iv)
{
	for (size_t i = 0; i < iv->n_loops; i++)
		CHECK(iv->loops[i].cgroup && iv->loops[i].runtime && iv->loops[i].wait_syscall && iv->loops[i].n_blocked_by <= LOOP_BLOCKED_MAX + 1);
	for (size_t i = 0; i < iv->n_tasks; i++)
		CHECK(iv->tasks[i].loop && memchr(iv->tasks[i].task, 0, TASK_NAME_LEN));
	for (size_t i = 0; i < iv->n_sources; i++)
		CHECK(iv->sources[i].name && iv->sources[i].where && iv->sources[i].protocol);
	return 0;
}

static int on_slow_tick(void *arg, uint32_t source, const struct slow_tick *t)
{
	CHECK(t->runtime && t->n_causes <= SLOW_CAUSES_MAX);
	for (size_t i = 0; i < t->n_causes; i++) {
		CHECK(t->causes[i].what && t->causes[i].stack.n <= STACK_FRAMES_MAX);
		for (size_t j = 0; j < t->causes[i].stack.n; j++)
			CHECK(t->causes[i].stack.frame[j]);
	}
	return 0;
}

static int on_event(void *arg, uint32_t source, const struct loop_event *e)
{
	CHECK(e->runtime && loop_event_name(e->kind));
	return 0;
}

struct order {
	int64_t now;
	size_t n_lanes;
};

static int on_span(void *arg, const struct timeline_span *s)
{
	struct order *o = arg;

	CHECK(s->start_ns >= o->now && s->end_ns >= s->start_ns && s->lane < o->n_lanes);
	o->now = s->start_ns;
	return 0;
}

static void read_whole(void)
{
	const struct recording_select all = RECORDING_ALL, some = { .from_ns = 1764554400000050000, .to_ns = 1764554400000070000 };
	const struct recording_replay to = { on_interval, on_slow_tick, on_event, NULL };
	struct order o = { .now = INT64_MIN };
	struct recording_view *view;
	struct recording *r = NULL;
	struct fault f = { 0 };
	int err = recording_open(path, &r, &f);

	if (err) {
		CHECK(f.text[0]);
		return;
	}
	err = recording_replay(r, &all, &to, &f);
	CHECK(err <= 0 && (!err || f.text[0]));
	err = recording_look(r, &view, &f);
	CHECK(err <= 0 && (!err || f.text[0]));
	if (!err) {
		recording_lanes(view, &o.n_lanes);
		recording_spans(view, &all, on_span, &o, &f);
		o.now = INT64_MIN;
		recording_spans(view, &some, on_span, &o, &f);
		vcd_write(view, &all, nowhere, &f);
		diff_write(view, &all, view, &some, nowhere, &f);
	}
	recording_close(r);
}

/* --- what is fuzzed --- */

static void fuzz_chunk(const uint8_t *data, size_t size)
{
	struct span_unpacked *u = NULL;

	if (size < 6)
		return;
	if (!span_chunk_unpack(data + 6, size - 6, data[0] | (size_t)data[1] << 8 | (size_t)data[2] << 16, data[3], data[4] | (size_t)data[5] << 8, &u))
		for (size_t i = 0; i < u->n_sections; i++)
			for (size_t j = 0; j < u->sections[i].n; j++)
				CHECK(u->sections[i].entries[j].start >= data[3] && u->sections[i].entries[j].length < SPAN_CHUNK_TIME_MAX);
	span_unpacked_free(u);
}

static void fuzz_histogram(const uint8_t *data, size_t size)
{
	struct hist_packed *h = NULL;

	if (!hist_bytes_get(data, size, &h))
		for (size_t i = 0; i < h->n_buckets; i++)
			CHECK(h->bucket[i].n && h->bucket[i].bucket < HIST_BUCKETS);
	free(h);
}

static void write_file(const unsigned char *bytes, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	CHECK(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
	close(fd);
}

static void fuzz_bytes(const uint8_t *data, size_t size)
{
	unsigned char *copy = malloc(base_size);
	size_t n = base_size;

	CHECK(copy);
	memcpy(copy, base, base_size);
	for (; size >= 4; data += 4, size -= 4)
		copy[(data[0] | (size_t)data[1] << 8 | (size_t)data[2] << 16) % base_size] = data[3];
	if (size)
		n -= (size_t)data[0] * 512 % base_size;
	write_file(copy, n);
	free(copy);
	read_whole();
}

/* Of a table's columns, in the order of its text; STRICT tables take any value while they are not checked. */
static void replace(sqlite3 *db, const uint8_t *data, const uint8_t *value, size_t size)
{
	const struct recording_table *t = &recording_tables[data[0] % recording_n_tables];
	char sql[256];
	sqlite3_stmt *s = NULL;
	const char *column;

	snprintf(sql, sizeof(sql), "SELECT * FROM %s LIMIT 1", t->name);
	CHECK(sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK);
	column = sqlite3_column_name(s, data[1] % sqlite3_column_count(s));
	snprintf(sql, sizeof(sql), "UPDATE OR IGNORE %s SET \"%s\" = ?1", t->name, column);
	sqlite3_finalize(s);
	CHECK(sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK);
	if (data[2] % 5 == 0) {
		int64_t v = 0;

		memcpy(&v, value, size < sizeof(v) ? size : sizeof(v));
		sqlite3_bind_int64(s, 1, v);
	} else if (data[2] % 5 == 1) {
		double v = 0;

		memcpy(&v, value, size < sizeof(v) ? size : sizeof(v));
		sqlite3_bind_double(s, 1, v);
	} else if (data[2] % 5 == 2) {
		sqlite3_bind_text(s, 1, (const char *)value, (int)size, SQLITE_TRANSIENT);
	} else if (data[2] % 5 == 3) {
		sqlite3_bind_blob(s, 1, value, (int)size, SQLITE_TRANSIENT);
	}
	sqlite3_step(s); /* what the table refuses is refused */
	sqlite3_finalize(s);
}

static void fuzz_values(const uint8_t *data, size_t size)
{
	sqlite3 *db = NULL;

	write_file(base, base_size);
	CHECK(sqlite3_open(path, &db) == SQLITE_OK);
	sqlite3_exec(db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF", NULL, NULL, NULL);
	while (size >= 4) {
		size_t n = data[3] % 32u;

		if (n > size - 4)
			n = size - 4;
		replace(db, data, data + 4, n);
		data += 4 + n;
		size -= 4 + n;
	}
	sqlite3_close(db);
	read_whole();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const what[])(const uint8_t *, size_t) = { fuzz_chunk, fuzz_histogram, fuzz_bytes, fuzz_values };

	if (size)
		what[data[0] & 3](data + 1, size - 1);
	return 0;
}
