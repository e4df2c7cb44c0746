/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * database_schema.c - makes the tables of model/recording_schema.c, views on them for people, and the statements that fill them.
 */
#include <stdio.h>

#include "model/recording_schema.h"
#include "sink/database_internal.h"

#define STRINGIFY(x) #x
#define TO_STRING(x) STRINGIFY(x)

static const char views[] =
	"CREATE VIEW loops AS SELECT datetime(i.at_ns / 1000000000, 'unixepoch') AS time, i.at_ns, w.lane, l.pid, l.tid, w.comm, w.thread, "
	"w.runtime, p.* FROM loop p JOIN interval i ON i.id = p.interval JOIN who w ON w.id = p.who JOIN lane l ON l.id = w.lane;"
	"CREATE VIEW causes AS SELECT datetime(t.at_ns / 1000000000, 'unixepoch') AS time, t.at_ns, t.lane, l.pid, l.tid, t.comm, "
	"t.duration_us, t.in_progress, c.* FROM cause c JOIN slow_tick t ON t.id = c.tick JOIN lane l ON l.id = t.lane;";

static int insert_recording(struct database *db, const struct recording_host *h, struct fault *f)
{
	sqlite3_stmt *s = NULL;
	int err;

	if (sqlite3_prepare_v2(db->sql, "INSERT INTO recording VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, NULL)", -1, &s, NULL) != SQLITE_OK)
		return db_error(db, f);
	db_bind_text(s, 1, h->hostname, SIZE_MAX);
	db_bind_text(s, 2, h->kernel, SIZE_MAX);
	db_bind_text(s, 3, h->machine, SIZE_MAX);
	db_bind_text(s, 4, h->version, SIZE_MAX);
	db_bind_text(s, 5, h->command, SIZE_MAX);
	if (h->cpus >= 0)
		sqlite3_bind_int64(s, 6, h->cpus);
	sqlite3_bind_int64(s, 7, h->start_ns);
	sqlite3_bind_int64(s, 8, h->start_ns);
	sqlite3_bind_int64(s, 9, h->interval_ns);
	if (h->slow_ns >= 0)
		sqlite3_bind_int64(s, 10, h->slow_ns);
	sqlite3_bind_int(s, 11, h->has_ticks);
	err = db_step(db, s, f);
	sqlite3_finalize(s);
	return err;
}

/* The journal is a WAL from the first row on; its pages go to the file when the checkpointer says so, not when a commit finds
 * many of them. */
static const char setup[] = "PRAGMA page_size = 4096; PRAGMA application_id = " TO_STRING(RECORDING_APPLICATION_ID) ";"
			    "PRAGMA user_version = " TO_STRING(RECORDING_VERSION) "; PRAGMA journal_mode = WAL;"
			    "PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0; PRAGMA temp_store = MEMORY;"
			    "PRAGMA foreign_keys = OFF; PRAGMA cache_size = -8000;";

int db_create(struct database *db, const struct recording_host *h, struct fault *f)
{
	int err = db_exec(db, setup, f);

	if (!err)
		err = db_begin(db, f);
	for (size_t i = 0; i < recording_n_tables && !err; i++) {
		char sql[RECORDING_SQL_MAX];

		recording_table_sql(&recording_tables[i], sql);
		err = db_exec(db, sql, f);
	}
	if (!err)
		err = db_exec(db, views, f);
	return err ? err : insert_recording(db, h, f);
}

/* --- statements --- */

struct statement {
	const char *table, *leading; /* INSERT: parameters before the fields */
	const struct field_table *fields;
	const char *sql; /* anything else */
};

static const struct statement statements[DB_STATEMENTS] = {
	[DB_INTERVAL] = { "interval", "id, source, at_ns", &interval_fields, NULL },
	[DB_LOOP] = { "loop", "interval, place, who", &loop_fields, NULL },
	[DB_BLOCKED] = { "blocked", "interval, place, n, what, share", NULL, NULL },
	[DB_WAITED] = { "waited", "interval, place, n, comm, pid, share", NULL, NULL },
	[DB_TASK] = { "task", "interval, place, lane", &task_fields, NULL },
	[DB_STATE] = { "state", "interval, place", &source_fields, NULL },
	[DB_SLOW_TICK] = { "slow_tick", "id, lane, at_ns, end_ns", &slow_tick_fields, NULL },
	[DB_CAUSE] = { "cause", "tick, n, stack, stack_incomplete", &cause_fields, NULL },
	[DB_EVENT] = { "event", "id, lane, at_ns", &event_fields, NULL },
	[DB_FRAME] = { "frame", "id, name", NULL, NULL },
	[DB_STACK] = { "stack", "id, outer, frame", NULL, NULL },
	[DB_WHO] = { "who", "id, lane", &loop_who_fields, NULL },
	[DB_LANE] = { "lane",
		      "id, source, kind, parent, pid, tid, thread_start_ns, generation, name, process, runtime, number, instance", NULL, NULL },
	[DB_LANE_NAMES] = { .sql = "UPDATE lane SET pid = ?, tid = ?, thread_start_ns = ?, generation = ?, name = ?, process = ?, "
				   "runtime = ? WHERE id = ?" },
	[DB_SOURCE] = { "source", "id, kind, name, port, protocol, host_clock, slow_summary", NULL, NULL },
	[DB_SOURCE_PROTOCOL] = { .sql = "UPDATE source SET protocol = ? WHERE id = ?" },
	[DB_SOURCE_SUMMARY] = { .sql = "UPDATE source SET slow_summary = 1 WHERE id = ?" },
	[DB_CLOCK] = { .sql = "INSERT OR REPLACE INTO clock (source, session, ticks, at_ns, ns_per_tick) VALUES (?, ?, ?, ?, ?)" },
	[DB_CHUNK] = { "chunk", "id, source, session, hz, first, last, at_ns, end_ns, spans, raw, bytes", NULL, NULL },
	[DB_LONG_SPAN] = { "long_span",
			   "id, source, session, hz, lane, kind, start, length, net, value, timeout_ns, open, unsure, at_ns, end_ns", NULL, NULL },
	[DB_END] = { .sql = "UPDATE recording SET end_ns = ?, complete = ?, dropped_until_ns = ?" },
};

static void statement_sql(const struct statement *st, char *sql, size_t size)
{
	size_t leading = 1;
	int n;

	if (st->sql) {
		snprintf(sql, size, "%s", st->sql);
		return;
	}
	n = snprintf(sql, size, "INSERT INTO %s (%s", st->table, st->leading);

	for (const char *p = st->leading; *p; p++)
		leading += *p == ',';
	for (size_t i = 0; st->fields && i < st->fields->n; i++)
		n += snprintf(sql + n, size - (size_t)n, ", \"%s\"", st->fields->fields[i].name);
	n += snprintf(sql + n, size - (size_t)n, ") VALUES (?");
	for (size_t i = 1; i < leading + (st->fields ? st->fields->n : 0); i++)
		n += snprintf(sql + n, size - (size_t)n, ", ?");
	snprintf(sql + n, size - (size_t)n, ")");
}

int db_prepare_all(struct database *db, struct fault *f)
{
	for (int i = 0; i < DB_STATEMENTS; i++) {
		char sql[RECORDING_SQL_MAX];

		statement_sql(&statements[i], sql, sizeof(sql));
		if (sqlite3_prepare_v3(db->sql, sql, -1, SQLITE_PREPARE_PERSISTENT, &db->statement[i], NULL) != SQLITE_OK)
			return db_error(db, f);
	}
	return 0;
}
