/* SPDX-License-Identifier: BSD-2-Clause */
/* test_recording_keep.c - a bounded recording stays bounded and whole; one that was cut off is read; what is none is refused. */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>

#include "model/span_chunk.h"
#include "test_recording_file.h"

TestSuite(recording_keep, .timeout = 120);

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static uint64_t size_of(const struct recording_file *rf)
{
	static const char *const suffixes[] = { "", "-wal" };
	uint64_t sum = 0;

	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		char name[128];
		struct stat st;

		snprintf(name, sizeof(name), "%s%s", rf->path, suffixes[i]);
		sum += stat(name, &st) ? 0 : (uint64_t)st.st_size;
	}
	return sum;
}

/* A second of a busy loop whose turns are noise, with a record, a slow tick and a name of its own each. */
static uint64_t tell_second(struct recording_file *rf, struct sink *sink, unsigned n, uint64_t mono, uint64_t *seed, unsigned turns)
{
	struct loop_record loop = fixture_node();
	struct interval iv = fixture_interval(&loop, 1);
	char name[64];
	struct slow_cause cause = { .kind = CAUSE_CPU, .us = 60000, .what = "", .samples = 6, .stack = { { name, "main" }, 2, false } };
	struct slow_tick t = { .source = SOURCE_KERNEL, .id = loop.id, .runtime = "libuv", .ts = FIXTURE_TS, .start_ns = mono + 1000,
			       .duration_us = 60000, .events = -1, .causes = &cause, .n_causes = 1 };

	snprintf(name, sizeof(name), "function_%u", n);
	cr_assert_eq(sink_slow_tick(sink, &t, &rf->f), 0, "%s", rf->f.text);
	for (unsigned i = 0; i < turns; i++) {
		struct loop_turn turn = { .kind = TURN_WHOLE, .pid = loop.id.pid, .tid = loop.id.tid, .timeout_ns = TURN_NO_TIMEOUT, .io_start_ns = mono };

		turn.io_end_ns = mono + next_random(seed) % 20000;
		turn.end_ns = mono = turn.io_end_ns + next_random(seed) % 20000;
		cr_assert_eq(sink_turn(sink, &turn, &rf->f), 0, "%s", rf->f.text);
	}
	iv.mono_ns = mono;
	iv.seq = n;
	cr_assert_eq(sink_interval(sink, &iv, &rf->f), 0, "%s", rf->f.text);
	cr_assert_eq(database_commit(rf->db, mono, &rf->f), 0, "%s", rf->f.text);
	return mono;
}

static int nothing_i(void *arg, uint32_t source, const struct interval *iv)
{
	return 0;
}

static int nothing_s(void *arg, uint32_t source, const struct slow_tick *t)
{
	return 0;
}

static int nothing_e(void *arg, uint32_t source, const struct loop_event *e)
{
	return 0;
}

struct seen {
	size_t n;
	int64_t first, last;
};

static int see_span(void *arg, const struct timeline_span *s)
{
	struct seen *v = arg;

	if (!v->n++)
		v->first = s->start_ns;
	if (s->end_ns > v->last)
		v->last = s->end_ns;
	return 0;
}

static int see_slow(void *arg, const struct recording_slow *s)
{
	((struct seen *)arg)->n++;
	cr_assert_eq(s->tick->n_causes, 1);
	cr_assert_eq(s->tick->causes[0].stack.n, 2);
	cr_assert_eq(strncmp(s->tick->causes[0].stack.frame[0], "function_", 9), 0);
	return 0;
}

Test(recording_keep, a_bounded_recording_stays_below_its_size_and_keeps_the_newest)
{
	enum { SECONDS = 300 };
	struct recording_file rf = { 0 };
	const struct recording_select all = RECORDING_ALL;
	struct seen spans = { .last = INT64_MIN }, slow = { 0 };
	uint64_t mono = FILE_MONO, seed = 11, most = 0;
	struct recording_view *view;
	struct recording *r;
	struct sink *sink;
	size_t n_lanes;

	file_open_as(&rf, true, DATABASE_MIN_BYTES);
	sink = file_source(&rf, SOURCE_KERNEL);
	for (unsigned n = 0; n < SECONDS; n++) {
		mono = tell_second(&rf, sink, n, mono, &seed, 20000);
		if (size_of(&rf) > most)
			most = size_of(&rf);
	}
	cr_assert_gt(database_stats(rf.db).dropped_intervals, SECONDS / 2);
	file_close(&rf, mono);
	cr_assert_leq(most, DATABASE_MIN_BYTES);
	cr_assert_gt(most, DATABASE_MIN_BYTES / 2);
	r = file_read(&rf);
	cr_assert_eq(recording_look(r, &view, &rf.f), 0, "%s", rf.f.text);
	recording_lanes(view, &n_lanes);
	cr_assert_eq(n_lanes, 1); /* of many eras */
	cr_assert_eq(recording_spans(view, &all, see_span, &spans, &rf.f), 0, "%s", rf.f.text);
	cr_assert_eq(recording_slow_ticks(view, &all, see_slow, &slow, &rf.f), 0, "%s", rf.f.text);
	cr_assert_gt(slow.n, 10);
	cr_assert_lt(slow.n, SECONDS);
	cr_assert_gt(spans.n, 10 * 40000);
	/* An edge may be kept a little early. */
	cr_assert_leq(spans.last, FIXTURE_START_NS + (int64_t)(mono - FILE_MONO));
	cr_assert_gt(spans.last, FIXTURE_START_NS + (int64_t)(mono - FILE_MONO) - SPAN_CHUNK_GRID_MAX);
	cr_assert_neq(recording_host(view)->dropped_until_ns, INT64_MIN);
	cr_assert_gt(spans.last, recording_host(view)->dropped_until_ns);
	recording_close(r);
	file_remove(&rf);
}

static int see_gap(void *arg, uint32_t source, const struct loop_event *e)
{
	if (e->kind == EVENT_GAP && e->what && strstr(e->what, "not recorded"))
		++*(unsigned *)arg;
	return 0;
}

/* Somebody reads for very long: the journal can't be emptied meanwhile. */
Test(recording_keep, a_reader_that_stays_makes_it_no_larger_and_the_hole_is_told)
{
	struct recording_file rf = { 0 };
	const struct recording_select all = RECORDING_ALL;
	unsigned gaps = 0;
	const struct recording_replay to = { nothing_i, nothing_s, see_gap, &gaps };
	uint64_t mono = FILE_MONO, seed = 11, most = 0;
	struct recording *reader, *r;
	struct sink *sink;

	file_open_as(&rf, true, DATABASE_MIN_BYTES);
	sink = file_source(&rf, SOURCE_KERNEL);
	mono = tell_second(&rf, sink, 0, mono, &seed, 20000);
	reader = file_read(&rf);
	for (unsigned n = 1; n < 60; n++) {
		mono = tell_second(&rf, sink, n, mono, &seed, 20000);
		if (size_of(&rf) > most)
			most = size_of(&rf);
	}
	recording_close(reader);
	for (unsigned n = 60; n < 70; n++)
		mono = tell_second(&rf, sink, n, mono, &seed, 20000);
	file_close(&rf, mono);
	cr_assert_leq(most, DATABASE_MIN_BYTES);
	r = file_read(&rf);
	cr_assert_eq(recording_replay(r, &all, &to, &rf.f), 0, "%s", rf.f.text);
	cr_assert_eq(gaps, 1);
	recording_close(r);
	file_remove(&rf);
}

/* Without a word more, as after SIGKILL: the journal is still there. */
Test(recording_keep, what_was_committed_is_read_while_it_is_written_and_after_an_abrupt_end)
{
	struct recording_file rf = { 0 };
	const struct recording_select all = RECORDING_ALL;
	struct seen before = { .last = INT64_MIN }, after = { .last = INT64_MIN };
	uint64_t mono = FILE_MONO, seed = 5;
	struct recording_view *view;
	struct recording *r;
	struct sink *sink;

	file_open_as(&rf, true, 0);
	sink = file_source(&rf, SOURCE_KERNEL);
	for (unsigned n = 0; n < 5; n++)
		mono = tell_second(&rf, sink, n, mono, &seed, 1000);
	r = file_read(&rf);
	cr_assert_not(recording_facts(r)->complete);
	cr_assert_eq(recording_look(r, &view, &rf.f), 0, "%s", rf.f.text);
	cr_assert_eq(recording_spans(view, &all, see_span, &before, &rf.f), 0);
	cr_assert_eq(before.n, 10000);
	recording_close(r);
	database_abandon(rf.db);
	r = file_read(&rf);
	cr_assert_not(recording_facts(r)->complete);
	cr_assert_eq(recording_look(r, &view, &rf.f), 0, "%s", rf.f.text);
	cr_assert_eq(recording_spans(view, &all, see_span, &after, &rf.f), 0);
	cr_assert_eq(after.n, 10000);
	recording_close(r);
	file_remove(&rf);
}

/* --- what is no recording --- */

static void refused(const char *path, const char *because)
{
	struct recording *r = NULL;
	struct fault f = { 0 };

	cr_assert_lt(recording_open(path, &r, &f), 0, "%s", path);
	cr_assert_not_null(strstr(f.text, because), "%s", f.text);
	cr_assert_eq(f.status, EXIT_FAILED);
	cr_assert_null(r);
}

static void sql(const char *path, const char *text)
{
	sqlite3 *db = NULL;

	cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
	cr_assert_eq(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
	sqlite3_close(db);
}

static void make(struct recording_file *rf)
{
	uint64_t seed = 5;
	struct sink *sink;

	file_open_as(rf, true, 0);
	sink = file_source(rf, SOURCE_KERNEL);
	tell_second(rf, sink, 0, FILE_MONO, &seed, 2000);
	file_close(rf, FILE_MONO);
}

Test(recording_keep, what_is_no_recording_is_refused_in_a_sentence)
{
	struct recording_file rf = { 0 };
	FILE *f;

	make(&rf);
	refused("/nonexistent/file", "can't be read");
	refused(rf.dir, "no regular file");
	sql(rf.path, "PRAGMA user_version = 99");
	refused(rf.path, "read it with a newer one");
	sql(rf.path, "PRAGMA user_version = 2; PRAGMA application_id = 7");
	refused(rf.path, "is no recording");
	f = fopen(rf.path, "w");
	fputs("hello", f);
	fclose(f);
	refused(rf.path, "is no recording");
	f = fopen(rf.path, "w");
	fclose(f);
	refused(rf.path, "it is empty");
	file_remove(&rf);
}

Test(recording_keep, a_table_that_is_another_is_refused)
{
	static const char *const tricks[] = {
		"DROP TABLE frame; CREATE VIEW frame AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id, 'x' AS name FROM n",
		"DROP TABLE frame; CREATE TABLE frame (id INTEGER PRIMARY KEY, name TEXT NOT NULL AS (hex(zeroblob(1000000000)))) STRICT",
		"DROP TABLE frame; CREATE VIRTUAL TABLE frame USING fts5(id, name)",
		"DROP TABLE frame",
		"DELETE FROM recording",
		"UPDATE recording SET end_ns = start_ns - 1",
		"INSERT INTO lane (id, source, kind) VALUES (77, 5, 'loop')",
		"INSERT INTO lane (id, source, kind) VALUES (77, 1, 'no such kind')",
	};

	for (size_t i = 0; i < ARRAY_SIZE(tricks); i++) {
		struct recording_file rf = { 0 };

		make(&rf);
		sql(rf.path, tricks[i]);
		refused(rf.path, "is damaged");
		file_remove(&rf);
	}
}

Test(recording_keep, nothing_but_a_recording_is_written_over)
{
	struct recording_file rf = { 0 };
	const struct recording_host host = { .hostname = "", .kernel = "", .machine = "", .version = "", .command = "" };
	struct database_options o = { .host = &host };
	struct database *db = NULL;
	FILE *f;

	make(&rf);
	o.path = rf.path;
	cr_assert_eq(database_open(&o, &db, &rf.f), -EEXIST);
	cr_assert_not_null(strstr(rf.f.text, "--overwrite"));
	o.overwrite = true;
	cr_assert_eq(database_open(&o, &db, NULL), 0);
	cr_assert_eq(database_close(db, FILE_MONO, NULL), 0);
	f = fopen(rf.path, "w");
	fputs("precious", f);
	fclose(f);
	rf.f = (struct fault){ 0 };
	cr_assert_eq(database_open(&o, &db, &rf.f), -EEXIST);
	cr_assert_not_null(strstr(rf.f.text, "is no recording and is not written over"), "%s", rf.f.text);
	file_remove(&rf);
}

/* --- damage --- */

/* Reads all there is; 0 or a refusal with a sentence. */
static int read_all(const char *path)
{
	const struct recording_select all = RECORDING_ALL;
	const struct recording_replay to = { nothing_i, nothing_s, nothing_e, NULL };
	struct recording_view *view;
	struct recording *r = NULL;
	struct fault f = { 0 };
	int err = recording_open(path, &r, &f);

	if (!err)
		err = recording_replay(r, &all, &to, &f);
	if (!err)
		err = recording_look(r, &view, &f);
	cr_assert(!err || f.text[0]);
	recording_close(r);
	return err;
}

Test(recording_keep, damage_anywhere_is_a_sentence)
{
	struct recording_file rf = { 0 };
	_cleanup_free_ unsigned char *whole = NULL, *damaged = NULL;
	uint64_t seed = 17;
	unsigned told = 0;
	size_t n;
	FILE *f;

	make(&rf);
	f = fopen(rf.path, "r");
	n = size_of(&rf);
	whole = malloc(n);
	damaged = malloc(n);
	cr_assert_eq(fread(whole, 1, n, f), n);
	fclose(f);
	for (unsigned i = 0; i < 400; i++) {
		size_t cut = i % 4 ? n : next_random(&seed) % n;

		memcpy(damaged, whole, n);
		for (unsigned k = 0; k < 1 + i % 8; k++)
			damaged[next_random(&seed) % n] = (unsigned char)next_random(&seed);
		f = fopen(rf.path, "w");
		cr_assert_eq(fwrite(damaged, 1, cut, f), cut);
		fclose(f);
		told += read_all(rf.path) != 0;
	}
	cr_assert_gt(told, 100);
	file_remove(&rf);
}
