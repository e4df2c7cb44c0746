/* SPDX-License-Identifier: BSD-2-Clause */
/* recording_schema.c - see recording_schema.h. docs/recording.md says what each table is for. */
#include "model/recording_schema.h"

#include <stdio.h>

#include "lib/cleanup.h"

const struct recording_table recording_tables[] = {
	{ NULL, "recording",
	  "hostname TEXT, kernel TEXT, machine TEXT, version TEXT, command TEXT, cpus INTEGER, start_ns INTEGER NOT NULL, "
	  "end_ns INTEGER NOT NULL, interval_ns INTEGER, slow_ns INTEGER, ticks INTEGER NOT NULL, complete INTEGER NOT NULL, "
	  "dropped_until_ns INTEGER", "" },
	{ NULL, "source",
	  "id INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT, port TEXT, protocol TEXT, host_clock INTEGER NOT NULL, "
	  "slow_summary INTEGER NOT NULL", "" },
	{ NULL, "clock", "source INTEGER NOT NULL, session INTEGER NOT NULL, ticks INTEGER NOT NULL, at_ns INTEGER NOT NULL, ns_per_tick REAL",
	  ", PRIMARY KEY (source, session, ticks)" },
	{ NULL, "frame", "id INTEGER PRIMARY KEY, name TEXT NOT NULL", "" },
	{ NULL, "stack", "id INTEGER PRIMARY KEY, outer INTEGER, frame INTEGER NOT NULL", "" },
	{ NULL, "lane",
	  "id INTEGER PRIMARY KEY, source INTEGER NOT NULL, kind TEXT NOT NULL, parent INTEGER, pid INTEGER, tid INTEGER, "
	  "thread_start_ns INTEGER, generation INTEGER, name TEXT, process TEXT, runtime TEXT, number INTEGER, instance INTEGER", "" },
	{ &loop_who_fields, "who", "id INTEGER PRIMARY KEY, lane INTEGER NOT NULL", "" },
	{ &interval_fields, "interval", "id INTEGER PRIMARY KEY, source INTEGER NOT NULL, at_ns INTEGER NOT NULL", "" },
	{ &loop_fields, "loop", "interval INTEGER NOT NULL, place INTEGER NOT NULL, who INTEGER NOT NULL", ", PRIMARY KEY (interval, place)" },
	{ NULL, "blocked", "interval INTEGER NOT NULL, place INTEGER NOT NULL, n INTEGER NOT NULL, what TEXT, share REAL",
	  ", PRIMARY KEY (interval, place, n)" },
	{ NULL, "waited", "interval INTEGER NOT NULL, place INTEGER NOT NULL, n INTEGER NOT NULL, comm TEXT, pid INTEGER, share REAL",
	  ", PRIMARY KEY (interval, place, n)" },
	{ &task_fields, "task", "interval INTEGER NOT NULL, place INTEGER NOT NULL, lane INTEGER NOT NULL", ", PRIMARY KEY (interval, place)" },
	{ &source_fields, "state", "interval INTEGER NOT NULL, place INTEGER NOT NULL", ", PRIMARY KEY (interval, place)" },
	{ &slow_tick_fields, "slow_tick",
	  "id INTEGER PRIMARY KEY, lane INTEGER NOT NULL, at_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL", "" },
	{ &cause_fields, "cause", "tick INTEGER NOT NULL, n INTEGER NOT NULL, stack INTEGER, stack_incomplete INTEGER", ", PRIMARY KEY (tick, n)" },
	{ &event_fields, "event", "id INTEGER PRIMARY KEY, lane INTEGER NOT NULL, at_ns INTEGER NOT NULL", "" },
	{ NULL, "chunk",
	  "id INTEGER PRIMARY KEY, source INTEGER NOT NULL, session INTEGER NOT NULL, hz INTEGER NOT NULL, first INTEGER NOT NULL, "
	  "last INTEGER NOT NULL, at_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL, spans INTEGER NOT NULL, raw INTEGER NOT NULL, "
	  "bytes BLOB NOT NULL", "" },
	{ NULL, "long_span",
	  "id INTEGER PRIMARY KEY, source INTEGER NOT NULL, session INTEGER NOT NULL, hz INTEGER NOT NULL, lane INTEGER NOT NULL, "
	  "kind TEXT NOT NULL, start INTEGER NOT NULL, length INTEGER NOT NULL, net INTEGER, value INTEGER, timeout_ns INTEGER, "
	  "open INTEGER NOT NULL, unsure INTEGER NOT NULL, at_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL", "" },
};

const size_t recording_n_tables = ARRAY_SIZE(recording_tables);

static const char *column_type(const struct field *f)
{
	switch (f->kind) {
	case FIELD_REAL:
		return "REAL";
	case FIELD_TEXT:
	case FIELD_STRING:
	case FIELD_WORD:
		return "TEXT";
	case FIELD_HIST:
		return "BLOB";
	default:
		return "INTEGER";
	}
}

void recording_table_sql(const struct recording_table *t, char sql[RECORDING_SQL_MAX])
{
	int n = snprintf(sql, RECORDING_SQL_MAX, "CREATE TABLE %s (%s", t->name, t->columns);

	for (size_t i = 0; t->fields && i < t->fields->n; i++)
		n += snprintf(sql + n, RECORDING_SQL_MAX - (size_t)n, ", \"%s\" %s", t->fields->fields[i].name,
			      column_type(&t->fields->fields[i]));
	snprintf(sql + n, RECORDING_SQL_MAX - (size_t)n, "%s) STRICT%s", t->key, t->key[0] ? ", WITHOUT ROWID" : "");
}
