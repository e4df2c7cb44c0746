/* SPDX-License-Identifier: BSD-2-Clause */
/* test_recording_file.h - a recording in a folder of its own, written and read again by the tests. */
#ifndef LOOPSCOPE_TEST_RECORDING_FILE_H
#define LOOPSCOPE_TEST_RECORDING_FILE_H

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sink/database.h"
#include "source/recording.h"
#include "test_recording_fixture.h"

#define FILE_MONO 5000000000ull /* CLOCK_MONOTONIC where the recording begins */

struct recording_file {
	char dir[64], path[96];
	struct database *db;
	struct fault f;
};

static inline void file_open_as(struct recording_file *rf, bool ticks, uint64_t max_bytes)
{
	const struct recording_host host = {
		.hostname = "vega", .kernel = "6.18.0", .machine = "x86_64", .version = "0.1.0", .command = "loopscope record", .cpus = 2,
		.start_ns = FIXTURE_START_NS, .end_ns = FIXTURE_START_NS, .interval_ns = 1000000000, .slow_ns = 50000000, .has_ticks = ticks,
	};
	struct database_options o = { .path = rf->path, .host = &host, .max_bytes = max_bytes, .overwrite = true,
				      .anchor_ns = FIXTURE_START_NS - (int64_t)FILE_MONO };

	if (!rf->dir[0]) {
		snprintf(rf->dir, sizeof(rf->dir), "/tmp/loopscope-test-XXXXXX");
		cr_assert_not_null(mkdtemp(rf->dir));
		snprintf(rf->path, sizeof(rf->path), "%s/rec.lsr", rf->dir);
		o.path = rf->path;
	}
	cr_assert_eq(database_open(&o, &rf->db, &rf->f), 0, "%s", rf->f.text);
}

static inline struct sink *file_source(struct recording_file *rf, enum record_source kind)
{
	struct sink *sink = NULL;
	const struct database_source_options o = { .kind = kind, .name = kind == SOURCE_KERNEL ? "kernel" : "board0",
						   .where = kind == SOURCE_KERNEL ? "" : "/dev/ttyX", .host_clock = kind == SOURCE_KERNEL };

	cr_assert_eq(database_source(rf->db, &o, &sink, &rf->f), 0, "%s", rf->f.text);
	return sink;
}

static inline void file_close(struct recording_file *rf, uint64_t mono_ns)
{
	cr_assert_eq(database_close(rf->db, mono_ns, &rf->f), 0, "%s", rf->f.text);
	rf->db = NULL;
}

static inline struct recording *file_read(struct recording_file *rf)
{
	struct recording *r = NULL;

	cr_assert_eq(recording_open(rf->path, &r, &rf->f), 0, "%s", rf->f.text);
	return r;
}

static inline int file_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static inline void file_remove(struct recording_file *rf)
{
	nftw(rf->dir, file_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

#endif
