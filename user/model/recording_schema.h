/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recording_schema.h - the tables of a recording, as text: who writes one makes them, who reads one holds what it finds against
 * them to the letter, so that a file can't put something else behind a table's name. Columns that are a record's fields come from
 * fields.c. Reaches disk: what is here belongs to RECORDING_VERSION.
 */
#ifndef LOOPSCOPE_MODEL_RECORDING_SCHEMA_H
#define LOOPSCOPE_MODEL_RECORDING_SCHEMA_H

#include "model/fields.h"
#include "model/recording_format.h"

#define RECORDING_SQL_MAX 8192

struct recording_table {
	const struct field_table *fields; /* NULL: none; they come after the columns */
	const char *name, *columns, *key;
};

extern const struct recording_table recording_tables[];
extern const size_t recording_n_tables;

/* CREATE TABLE ... */
void recording_table_sql(const struct recording_table *t, char sql[RECORDING_SQL_MAX]);

#endif
