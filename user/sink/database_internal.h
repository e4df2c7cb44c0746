/* SPDX-License-Identifier: BSD-2-Clause */
/* database_internal.h - what the files of the database share. */
#ifndef LOOPSCOPE_SINK_DATABASE_INTERNAL_H
#define LOOPSCOPE_SINK_DATABASE_INTERNAL_H

#include <sqlite3.h>
#include <uthash.h>

#include "model/fields.h"
#include "model/span_chunk.h"
#include "sink/database.h"
#include "sink/database_names.h"

struct checkpointer;

/* A thread whose turns come one by one. */
struct db_thread {
	uint32_t tid;
	struct loop_id id;
	uint32_t lane;
	uint64_t known_ns;   /* up to here its time is told; 0: nothing is */
	uint64_t io_end_ns;  /* of the tick that goes on, if that was told; else 0: it waits */
	UT_hash_handle hh;
};

/* How a source's clock stands to the time line now: ns = at_ns + (ticks - at_ticks) * ns_per_tick. */
struct db_clock {
	bool known;
	uint64_t at_ticks;
	int64_t at_ns;
	double ns_per_tick;
};

struct db_source {
	struct sink sink; /* first: the ops get this */
	struct database *db;
	int64_t id;
	struct database_source_options o; /* its strings are owned */
	char protocol[32];                /* as written to the file */
	struct span_chunk *chunk;         /* of this session; NULL until the first span */
	unsigned session;
	uint64_t hz;
	struct db_clock clock;
	bool clock_moved;                 /* since the last commit */
	uint64_t reached;                 /* last end of this session's spans, ticks */
	struct db_thread *threads;
	struct db_thread *last_thread;
	bool missed; /* something was left out while the database was stalled */
	struct db_source *next;
};

enum db_statement {
	DB_INTERVAL, DB_LOOP, DB_BLOCKED, DB_WAITED, DB_TASK, DB_STATE, DB_SLOW_TICK, DB_CAUSE, DB_EVENT,
	DB_FRAME, DB_STACK, DB_WHO, DB_LANE, DB_LANE_NAMES, DB_SOURCE, DB_SOURCE_PROTOCOL, DB_SOURCE_SUMMARY, DB_CLOCK, DB_CHUNK, DB_LONG_SPAN, DB_END,
	DB_STATEMENTS,
};

struct database {
	sqlite3 *sql;
	char *path; /* owned */
	sqlite3_stmt *statement[DB_STATEMENTS];
	int64_t anchor_ns;
	int64_t wall_behind_ns; /* the time line minus the wall clock, as of the last interval that told both */
	bool has_ticks;         /* spans are kept */
	bool in_transaction;
	bool stalled;           /* the journal can't be emptied, and must not grow: nothing is kept for now */
	int64_t last_id;        /* of intervals, slow ticks and events: one sequence, the order in which they came */
	int64_t end_ns;
	int64_t dropped_until_ns; /* INT64_MIN: nothing was dropped */
	struct names names;
	struct db_source *sources;
	struct checkpointer *checkpointer;
	uint64_t max_bytes;
	uint64_t wal_pages;
	uint64_t last_used; /* bytes of the file in use, as of the last commit */
	struct database_stats stats;
	uint8_t *hist; /* room for one as bytes */
};

/* --- database_sql.c: statements, fields, errors */
int db_exec(struct database *db, const char *sql, struct fault *f);
int db_error(struct database *db, struct fault *f); /* of the last call, as a sentence */
int db_begin(struct database *db, struct fault *f);
int db_commit(struct database *db, struct fault *f); /* what is open, if anything is */
/* Runs it, and leaves it ready for the next time. */
int db_step(struct database *db, sqlite3_stmt *s, struct fault *f);
/* The same for one that answers with a row of one number. */
int db_number(struct database *db, const char *sql, int64_t *ret, struct fault *f);
void db_bind_fields(struct database *db, sqlite3_stmt *s, int first, const struct field_table *t, const void *record);
void db_bind_text(sqlite3_stmt *s, int i, const char *text, size_t max); /* "": NULL */

/* --- database_schema.c */
int db_create(struct database *db, const struct recording_host *h, struct fault *f);
int db_prepare_all(struct database *db, struct fault *f);

/* --- database_names.c, database_lanes.c */
int db_lane_of_loop(struct db_source *s, const struct loop_id *id, const char *comm, const char *thread, const char *runtime,
		    uint32_t *ret, struct fault *f);
int db_lane_of_span(struct db_source *s, enum lane_kind kind, uint32_t number, uint32_t instance, const char *name, uint32_t *ret,
		    struct fault *f);
/* The thread as its turns know it. */
int db_thread(struct db_source *s, uint32_t pid, uint32_t tid, struct db_thread **ret, struct fault *f);
int db_who(struct db_source *s, uint32_t lane, const struct loop_record *r, int64_t *ret, struct fault *f);
int db_stack(struct database *db, const struct stack_names *stack, int64_t *ret, struct fault *f);
void db_source_free_threads(struct db_source *s);

/* --- database_records.c */
extern const struct sink_ops db_sink_ops;
/* What a record's time is on the time line. */
int64_t db_line_of_wall(const struct database *db, double ts);

/* --- database_spans.c */
int db_flush_spans(struct db_source *s, struct fault *f);
int db_put_span(struct db_source *s, const struct span_entry *e, struct fault *f);
int db_span(struct sink *sink, const struct source_span *sp, struct fault *f);

/* --- database_turns.c */
int db_turn(struct sink *sink, const struct loop_turn *t, struct fault *f);
/* Edges were let go: nothing more is known of its turns until they are back. */
int db_turns_stop(struct db_source *s, const struct loop_id *id, struct fault *f);
/* A slow tick that was told while it lasts: the thread does not wait. */
int db_turn_goes_on(struct db_source *s, const struct slow_tick *t, struct fault *f);
/* At the end: what still goes on. */
int db_open_turns(struct db_source *s, uint64_t mono_ns, struct fault *f);

/* --- database_keep.c */
/* After a commit, while no transaction is open. */
int db_keep_size(struct database *db, struct fault *f);
/* Whether what comes now has to be left out; says so in the file once it is over. */
bool db_is_stalled(struct db_source *s);

/* --- database_checkpoint.c: a thread that moves what is in the journal into the file */
int checkpointer_start(const char *path, struct checkpointer **ret);
void checkpointer_wake(struct checkpointer *c);
void checkpointer_rest(struct checkpointer *c); /* what runs is over, and nothing begins until it is woken */
void checkpointer_stop(struct checkpointer *c); /* accepts NULL */

#endif
