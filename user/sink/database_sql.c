/* SPDX-License-Identifier: BSD-2-Clause */
/* database_sql.c - statements, a record's fields as parameters, and what SQLite says as a sentence. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "model/hist_bytes.h"
#include "sink/database_internal.h"

#define TEXT_MAX 4096 /* bytes; a longer text is cut: no path of the kernel's is longer */

int db_error(struct database *db, struct fault *f)
{
	int code = sqlite3_errcode(db->sql), error = sqlite3_system_errno(db->sql);

	if (code == SQLITE_FULL || error == ENOSPC || error == EDQUOT || error == EFBIG)
		return fault(f, -ENOSPC, EXIT_FAILED,
			     "%s: no room left to write; what was written up to here can be read with 'loopscope report'", db->path);
	if (code == SQLITE_NOMEM)
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
		return fault(f, -EBUSY, EXIT_FAILED, "%s: another program writes to this recording; record to another file", db->path);
	if (code == SQLITE_READONLY || code == SQLITE_CORRUPT || code == SQLITE_NOTADB)
		return fault(f, -EIO, EXIT_FAILED, "%s was changed by another program while recording: %s", db->path,
			     sqlite3_errmsg(db->sql));
	return fault(f, error ? -error : -EIO, EXIT_FAILED, "%s can't be written: %s", db->path,
		     error ? strerror(error) : sqlite3_errmsg(db->sql));
}

int db_exec(struct database *db, const char *sql, struct fault *f)
{
	return sqlite3_exec(db->sql, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : db_error(db, f);
}

/* Late, with the first row: while nothing is open, the journal can be emptied. */
int db_begin(struct database *db, struct fault *f)
{
	int err;

	if (db->in_transaction)
		return 0;
	err = db_exec(db, "BEGIN IMMEDIATE", f);
	db->in_transaction = !err;
	return err;
}

int db_commit(struct database *db, struct fault *f)
{
	int err = db->in_transaction ? db_exec(db, "COMMIT", f) : 0;

	db->in_transaction = false;
	return err;
}

int db_step(struct database *db, sqlite3_stmt *s, struct fault *f)
{
	int err = db_begin(db, f);

	if (!err && sqlite3_step(s) != SQLITE_DONE)
		err = db_error(db, f);
	sqlite3_reset(s);
	sqlite3_clear_bindings(s);
	return err;
}

int db_number(struct database *db, const char *sql, int64_t *ret, struct fault *f)
{
	sqlite3_stmt *s = NULL;
	int err = 0;

	if (sqlite3_prepare_v2(db->sql, sql, -1, &s, NULL) != SQLITE_OK || sqlite3_step(s) != SQLITE_ROW)
		err = db_error(db, f);
	else
		*ret = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return err;
}

void db_bind_text(sqlite3_stmt *s, int i, const char *text, size_t max)
{
	size_t n = text ? strnlen(text, max < TEXT_MAX ? max : TEXT_MAX) : 0;

	if (n)
		sqlite3_bind_text(s, i, text, (int)n, SQLITE_TRANSIENT);
}

static void bind_hist(struct database *db, sqlite3_stmt *s, int i, const struct hist_packed *p)
{
	if (p && p->n_buckets <= HIST_BUCKETS)
		sqlite3_bind_blob(s, i, db->hist, (int)hist_bytes_put(p, db->hist), SQLITE_TRANSIENT);
}

static void bind_unsigned(sqlite3_stmt *s, int i, const void *p, size_t size)
{
	uint64_t v = size == sizeof(uint32_t) ? *(const uint32_t *)p : *(const uint64_t *)p;

	sqlite3_bind_int64(s, i, v > INT64_MAX ? INT64_MAX : (int64_t)v);
}

/* A parameter that is not bound is NULL: what is not known. */
static void bind_field(struct database *db, sqlite3_stmt *s, int i, const struct field *fd, const void *record)
{
	const void *p = (const char *)record + fd->offset;

	if (fd->known && !*((const bool *)record + fd->known - 1))
		return;
	switch (fd->kind) {
	case FIELD_REAL:
		if (!isnan(*(const double *)p))
			sqlite3_bind_double(s, i, *(const double *)p);
		break;
	case FIELD_COUNT:
		if (*(const int64_t *)p >= 0)
			sqlite3_bind_int64(s, i, *(const int64_t *)p);
		break;
	case FIELD_INTEGER:
		sqlite3_bind_int64(s, i, *(const int64_t *)p);
		break;
	case FIELD_FD:
		if (*(const int *)p >= 0)
			sqlite3_bind_int(s, i, *(const int *)p);
		break;
	case FIELD_UNSIGNED:
		bind_unsigned(s, i, p, fd->size);
		break;
	case FIELD_POSITIVE:
		if (*(const uint64_t *)p)
			bind_unsigned(s, i, p, fd->size);
		break;
	case FIELD_FLAG:
		sqlite3_bind_int(s, i, *(const bool *)p);
		break;
	case FIELD_TEXT:
		db_bind_text(s, i, p, fd->size);
		break;
	case FIELD_STRING:
		db_bind_text(s, i, *(const char *const *)p, SIZE_MAX);
		break;
	case FIELD_WORD:
		db_bind_text(s, i, fd->word(*(const int *)p), SIZE_MAX);
		break;
	case FIELD_HIST:
		bind_hist(db, s, i, *(const struct hist_packed *const *)p);
		break;
	}
}

void db_bind_fields(struct database *db, sqlite3_stmt *s, int first, const struct field_table *t, const void *record)
{
	for (size_t i = 0; i < t->n; i++)
		bind_field(db, s, first + (int)i, &t->fields[i], record);
}
