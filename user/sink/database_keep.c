/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * database_keep.c - the bounded recording: the oldest goes, slice by slice, so that file and journal together stay below a size.
 *
 * Pages of what is deleted are used again, so the file never grows beyond its part of the size and need not be packed. A slice
 * is a thirty-second of the time that is kept, or a few MB where that is less: no commit has much to delete. The journal is
 * emptied by the checkpointer; where a reader holds it for so long that it reaches its part, nothing is kept until it lets go.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "sink/database_internal.h"

#define JOURNAL_MAX (16ull << 20) /* of a bounded recording: a quarter of its size, but no more */
#define JOURNAL_WAKE (4ull << 20) /* of an unbounded one */
#define SLICES 32
#define SLICE_BYTES (8ull << 20)
#define FRAME_HEAD 24 /* bytes beside each page in the journal */

struct room {
	uint64_t page_size, pages, unused;
	uint64_t journal, journal_max, budget;
};

static int measure(struct database *db, struct room *r, struct fault *f)
{
	int64_t n[3];
	int err = db_number(db, "PRAGMA page_size", &n[0], f);

	if (!err)
		err = db_number(db, "PRAGMA page_count", &n[1], f);
	if (!err)
		err = db_number(db, "PRAGMA freelist_count", &n[2], f);
	if (err)
		return err;
	r->page_size = (uint64_t)n[0];
	r->pages = (uint64_t)n[1];
	r->unused = (uint64_t)n[2];
	r->journal = db->wal_pages * (r->page_size + FRAME_HEAD);
	r->journal_max = db->max_bytes / 4 < JOURNAL_MAX ? db->max_bytes / 4 : JOURNAL_MAX;
	r->budget = db->max_bytes - r->journal_max;
	db->stats.bytes = r->pages * r->page_size + r->journal;
	return 0;
}

/* --- dropping --- */

static const char oldest_sql[] =
	"SELECT coalesce(min(t), 0) FROM (SELECT at_ns AS t FROM (SELECT at_ns FROM interval ORDER BY id LIMIT 1) "
	"UNION ALL SELECT end_ns FROM (SELECT end_ns FROM chunk ORDER BY id LIMIT 1) "
	"UNION ALL SELECT end_ns FROM (SELECT end_ns FROM slow_tick ORDER BY id LIMIT 1) "
	"UNION ALL SELECT end_ns FROM (SELECT end_ns FROM long_span ORDER BY id LIMIT 1) "
	"UNION ALL SELECT at_ns FROM (SELECT at_ns FROM event ORDER BY id LIMIT 1))";

/* Numbers follow the order of writing, which is that of ends: the first row that stays ends each. */
static const char *const drop_sql[] = {
	"DELETE FROM interval WHERE id < coalesce((SELECT id FROM interval WHERE at_ns > ?1 ORDER BY id LIMIT 1), 9223372036854775807)",
	"DELETE FROM loop WHERE interval < coalesce((SELECT min(id) FROM interval), 9223372036854775807)",
	"DELETE FROM blocked WHERE interval < coalesce((SELECT min(id) FROM interval), 9223372036854775807)",
	"DELETE FROM waited WHERE interval < coalesce((SELECT min(id) FROM interval), 9223372036854775807)",
	"DELETE FROM task WHERE interval < coalesce((SELECT min(id) FROM interval), 9223372036854775807)",
	"DELETE FROM state WHERE interval < coalesce((SELECT min(id) FROM interval), 9223372036854775807)",
	"DELETE FROM slow_tick WHERE id < coalesce((SELECT id FROM slow_tick WHERE end_ns > ?1 ORDER BY id LIMIT 1), 9223372036854775807)",
	"DELETE FROM cause WHERE tick < coalesce((SELECT min(id) FROM slow_tick), 9223372036854775807)",
	"DELETE FROM event WHERE id < coalesce((SELECT id FROM event WHERE at_ns > ?1 ORDER BY id LIMIT 1), 9223372036854775807)",
	"DELETE FROM chunk WHERE id < coalesce((SELECT id FROM chunk WHERE end_ns > ?1 ORDER BY id LIMIT 1), 9223372036854775807)",
	"DELETE FROM long_span WHERE id < coalesce((SELECT id FROM long_span WHERE end_ns > ?1 ORDER BY id LIMIT 1), 9223372036854775807)",
	/* The last point before what is left still places it. */
	("DELETE FROM clock WHERE at_ns <= ?1 AND EXISTS (SELECT 1 FROM clock c WHERE c.source = clock.source AND "
	 "(c.session > clock.session OR (c.session = clock.session AND c.ticks > clock.ticks)) AND c.at_ns <= ?1)"),
};

static int drop_rows(struct database *db, const char *sql, int64_t ns, struct fault *f)
{
	sqlite3_stmt *s = NULL;
	int err;

	if (sqlite3_prepare_v2(db->sql, sql, -1, &s, NULL) != SQLITE_OK)
		return db_error(db, f);
	sqlite3_bind_int64(s, 1, ns); /* out of range where there is no ?1: no harm */
	err = db_step(db, s, f);
	sqlite3_finalize(s);
	return err;
}

static int drop_until(struct database *db, int64_t ns, struct fault *f)
{
	int err = 0;

	for (size_t i = 0; i < sizeof(drop_sql) / sizeof(drop_sql[0]) && !err; i++) {
		err = drop_rows(db, drop_sql[i], ns, f);
		if (!err && i == 0)
			db->stats.dropped_intervals += (uint64_t)sqlite3_changes(db->sql);
	}
	db->dropped_until_ns = ns;
	return err;
}

/* --- eras of names --- */

static int drop_names(struct database *db, struct fault *f)
{
	static const char *const tables[NAME_KINDS] = { "frame", "stack", "who", "lane" };
	int err = 0;

	for (int kind = 0; kind < NAME_KINDS && !err; kind++) {
		char sql[128];

		snprintf(sql, sizeof(sql), "DELETE FROM %s WHERE id <= %lld", tables[kind], (long long)db->names.ended_last[kind]);
		err = db_exec(db, sql, f);
	}
	db->names.ended = false;
	return err;
}

static void begin_era(struct database *db)
{
	struct names *n = &db->names;

	for (int kind = 0; kind < NAME_KINDS; kind++)
		n->ended_last[kind] = n->last[kind];
	n->ended_ns = db->end_ns;
	n->ended = true;
	n->written_before = db->stats.written;
	names_forget(n);
	for (struct db_source *s = db->sources; s; s = s->next)
		db_source_free_threads(s);
}

/* What is bounded begins one each time it was written over by half. */
static void keep_names(struct database *db)
{
	uint64_t written = db->stats.written - db->names.written_before;

	if (db->names.n > NAMES_MAX || (db->max_bytes && !db->names.ended && written > db->max_bytes / 2))
		begin_era(db);
}

/* --- the whole --- */

static int drop_slice(struct database *db, const struct room *r, uint64_t used, struct fault *f)
{
	double part = (double)SLICE_BYTES / (double)used;
	int64_t oldest, until;
	int err = db_number(db, oldest_sql, &oldest, f);

	if (err)
		return err;
	if (part > 1.0 / SLICES)
		part = 1.0 / SLICES;
	until = oldest + (int64_t)((double)(db->end_ns - oldest) * part);
	if (oldest >= db->end_ns || !oldest)
		return fault(f, -ENOSPC, EXIT_FAILED, "%s: one interval alone is larger than --max-size; give it more", db->path);
	err = drop_until(db, until, f);
	if (!err && db->names.ended && until > db->names.ended_ns)
		err = drop_names(db, f);
	return err;
}

static int drop_oldest(struct database *db, struct room *r, struct fault *f)
{
	uint64_t used = (r->pages - r->unused) * r->page_size, grown = used > db->last_used ? used - db->last_used : 0;
	/* What the next commit may need, without growing the file. */
	uint64_t reserve = 2 * grown > r->budget / 16 ? 2 * grown : r->budget / 16;
	int err = 0;

	while (!err && used + reserve > r->budget && used > r->budget / 8) {
		err = drop_slice(db, r, used, f);
		if (!err)
			err = measure(db, r, f);
		used = (r->pages - r->unused) * r->page_size;
	}
	db->last_used = used;
	return err ? err : db_commit(db, f);
}

int db_keep_size(struct database *db, struct fault *f)
{
	struct room r;
	int err = measure(db, &r, f);

	if (err)
		return err;
	keep_names(db);
	if (!db->max_bytes) {
		if (r.journal > JOURNAL_WAKE)
			checkpointer_wake(db->checkpointer);
		return 0;
	}
	if (r.journal > r.journal_max / 4)
		checkpointer_wake(db->checkpointer);
	db->stalled = false;
	if (r.journal > r.journal_max * 3 / 4) {
		/* The checkpointer was too slow, or somebody reads: wait for the one, but not for the other. */
		checkpointer_rest(db->checkpointer);
		if (sqlite3_wal_checkpoint_v2(db->sql, NULL, SQLITE_CHECKPOINT_RESTART, NULL, NULL) == SQLITE_OK)
			db->wal_pages = 0;
		else
			db->stalled = true;
	}
	return db->stalled ? 0 : drop_oldest(db, &r, f);
}

bool db_is_stalled(struct db_source *s)
{
	s->missed |= s->db->stalled;
	return s->db->stalled;
}
