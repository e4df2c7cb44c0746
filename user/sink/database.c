/* SPDX-License-Identifier: BSD-2-Clause */
/* database.c - opening, committing and closing a recording; see database.h. */
#include "sink/database.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/cleanup.h"
#include "model/hist_bytes.h"
#include "model/recording_format.h"
#include "sink/database_internal.h"

#define PAGE_SIZE 4096 /* as database_schema.c sets it */
#define BUSY_MS 20 /* a reader that comes or goes; no longer, as turns are waiting to be taken */

/* --- the file --- */

/* A recording, or nothing at all: what may be written over. */
static bool is_ours(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	unsigned char head[72];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return false;
	if (!st.st_size)
		return true;
	return read(fd, head, sizeof(head)) == sizeof(head) && !memcmp(head, "SQLite format 3", 16) &&
	       ((uint32_t)head[68] << 24 | head[69] << 16 | head[70] << 8 | head[71]) == RECORDING_APPLICATION_ID;
}

static void remove_with_journals(const char *path)
{
	static const char *const suffixes[] = { "-wal", "-shm", "-journal", "" };

	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		char name[4096];

		if (snprintf(name, sizeof(name), "%s%s", path, suffixes[i]) < (int)sizeof(name))
			unlink(name);
	}
}

/* It names processes and paths of all users: nobody else's to read. */
static int make_file(const struct database_options *o, const char *path, struct fault *f)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0 && errno == EEXIST && o->overwrite) {
		if (!is_ours(path))
			return fault(f, -EEXIST, EXIT_FAILED, "%s is no recording and is not written over; give another name", o->path);
		remove_with_journals(path);
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	}
	if (fd < 0 && errno == EEXIST)
		return fault(f, -EEXIST, EXIT_FAILED, "%s is there already; give another name, or --overwrite", o->path);
	if (fd < 0)
		return fault(f, -errno, EXIT_FAILED, "%s can't be made: %s", o->path, strerror(errno));
	close(fd);
	return 0;
}

static int on_wal(void *arg, sqlite3 *sql, const char *name, int pages)
{
	struct database *db = arg;
	uint64_t n = (uint64_t)pages;

	/* The journal began anew where it has become shorter. */
	db->stats.written += (n > db->wal_pages ? n - db->wal_pages : n) * PAGE_SIZE;
	db->wal_pages = n;
	return SQLITE_OK;
}

/* SQLite takes some names for something else (":memory:"): a path that begins with a dot or a slash is none of them. */
static char *plain_path(const char *path)
{
	char *p = NULL;

	return asprintf(&p, "%s%s", path[0] == '/' ? "" : "./", path) < 0 ? NULL : p;
}

static int open_all(struct database *db, const struct database_options *o, struct fault *f)
{
	int err = make_file(o, db->path, f);

	if (err)
		return err;
	if (sqlite3_open_v2(db->path, &db->sql, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
		return db_error(db, f);
	sqlite3_busy_timeout(db->sql, BUSY_MS);
	err = db_create(db, o->host, f);
	if (!err)
		err = db_prepare_all(db, f);
	if (!err)
		err = db_commit(db, f);
	if (!err && checkpointer_start(db->path, &db->checkpointer))
		err = fault(f, -EIO, EXIT_FAILED, "%s: no thread can be started to write it", o->path);
	sqlite3_wal_hook(db->sql, on_wal, db); /* after all pragmas: one of them sets its own */
	return err;
}

int database_open(const struct database_options *o, struct database **ret, struct fault *f)
{
	struct database *db = calloc(1, sizeof(*db));
	int err;

	if (!db)
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	*db = (struct database){ .anchor_ns = o->anchor_ns, .max_bytes = o->max_bytes, .dropped_until_ns = INT64_MIN,
				 .has_ticks = o->host->has_ticks, .end_ns = o->host->start_ns, .path = plain_path(o->path), .hist = malloc(HIST_BYTES_MAX(HIST_BUCKETS)) };
	err = db->path && db->hist ? open_all(db, o, f) : fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	if (err) {
		database_abandon(db);
		return err;
	}
	*ret = db;
	return 0;
}

/* --- sources --- */

static void free_source(struct db_source *s)
{
	free((void *)s->o.name);
	free((void *)s->o.where);
	span_chunk_free(s->chunk);
	db_source_free_threads(s);
	free(s);
}

int database_source(struct database *db, const struct database_source_options *o, struct sink **ret, struct fault *f)
{
	struct db_source *s = calloc(1, sizeof(*s)), **end = &db->sources;
	sqlite3_stmt *st = db->statement[DB_SOURCE];
	int err;

	if (!s)
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	*s = (struct db_source){ .sink = { .ops = &db_sink_ops }, .db = db, .id = 1, .o = *o, .hz = o->host_clock ? 1000000000 : 0 };
	s->o.name = strdup(o->name ? o->name : "");
	s->o.where = strdup(o->where ? o->where : "");
	if (!s->o.name || !s->o.where) {
		free_source(s);
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	}
	for (; *end; end = &(*end)->next)
		s->id++;
	*end = s;
	sqlite3_bind_int64(st, 1, s->id);
	db_bind_text(st, 2, record_source_name(o->kind), SIZE_MAX);
	db_bind_text(st, 3, s->o.name, SIZE_MAX);
	db_bind_text(st, 4, s->o.where, SIZE_MAX);
	sqlite3_bind_int(st, 6, o->host_clock);
	sqlite3_bind_int(st, 7, 0);
	err = db_step(db, st, f);
	if (!err && o->host_clock) {
		s->clock = (struct db_clock){ .known = true, .at_ns = db->anchor_ns, .ns_per_tick = 1 };
		s->clock_moved = true;
		err = db_flush_spans(s, f);
	}
	*ret = &s->sink;
	return err;
}

/* --- commit --- */

/* Something was left out meanwhile: at least that is in the file. */
static int tell_missed(struct db_source *s, uint64_t mono_ns, struct fault *f)
{
	struct loop_event e = { .kind = EVENT_GAP, .ts = NAN, .mono_ns = mono_ns, .source = s->o.kind, .runtime = "", .timeout_us = NAN,
				.count = -1, .what = "not recorded: the file was being read for too long" };

	if (!s->missed || s->db->stalled)
		return 0;
	s->missed = false;
	return sink_event(&s->sink, &e, f);
}

static int write_end(struct database *db, bool complete, struct fault *f)
{
	sqlite3_stmt *s = db->statement[DB_END];

	sqlite3_bind_int64(s, 1, db->end_ns);
	sqlite3_bind_int(s, 2, complete);
	if (db->dropped_until_ns != INT64_MIN)
		sqlite3_bind_int64(s, 3, db->dropped_until_ns);
	return db_step(db, s, f);
}

static int commit(struct database *db, uint64_t mono_ns, bool complete, struct fault *f)
{
	int err = 0;

	if (db->anchor_ns + (int64_t)mono_ns > db->end_ns)
		db->end_ns = db->anchor_ns + (int64_t)mono_ns;
	for (struct db_source *s = db->sources; s && !err; s = s->next) {
		err = tell_missed(s, mono_ns, f);
		if (!err && complete)
			err = db_open_turns(s, mono_ns, f);
		if (!err && !db->stalled)
			err = db_flush_spans(s, f);
	}
	if (!err && !db->stalled)
		err = write_end(db, complete, f);
	return err ? err : db_commit(db, f);
}

int database_commit(struct database *db, uint64_t mono_ns, struct fault *f)
{
	int err = commit(db, mono_ns, false, f);

	return err ? err : db_keep_size(db, f);
}

struct database_stats database_stats(const struct database *db)
{
	return db->stats;
}

/* --- the end --- */

void database_abandon(struct database *db)
{
	struct db_source *next;

	if (!db)
		return;
	for (int i = 0; i < DB_STATEMENTS; i++)
		sqlite3_finalize(db->statement[i]);
	checkpointer_stop(db->checkpointer);
	sqlite3_close(db->sql); /* rolls back what is open; the last connection moves the journal into the file, if it can */
	for (struct db_source *s = db->sources; s; s = next) {
		next = s->next;
		free_source(s);
	}
	names_forget(&db->names);
	free(db->hist);
	free(db->path);
	free(db);
}

int database_close(struct database *db, uint64_t mono_ns, struct fault *f)
{
	int err;

	db->stalled = false;
	err = commit(db, mono_ns, true, f);
	if (!err) {
		checkpointer_stop(db->checkpointer);
		db->checkpointer = NULL;
		for (int i = 0; i < DB_STATEMENTS; i++) {
			sqlite3_finalize(db->statement[i]);
			db->statement[i] = NULL;
		}
		/* Not possible while somebody reads: then the file stays as it is, and is whole all the same. */
		sqlite3_exec(db->sql, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
	}
	database_abandon(db);
	return err;
}
