/* SPDX-License-Identifier: BSD-2-Clause */
/* recording_row.c - rows into records: every value is checked for what it may be, and what can't be is unknown or damage. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "model/hist_bytes.h"
#include "model/record.h"
#include "source/recording_internal.h"

/* No share, time or count that was measured reaches this. */
#define NUMBER_MAX 1e18
/* Rows and spans between two looks at whether the user has had enough. */
#define STEPS 10000

int rec_damaged(const struct recording *r, struct fault *f)
{
	fault(f, -EBADMSG, EXIT_FAILED, "%s is damaged: it holds what no recording holds; what 'sqlite3 %s .recover' saves may help", r->path,
	      r->path);
	return -EBADMSG;
}

int rec_error(const struct recording *r, struct fault *f)
{
	switch (sqlite3_errcode(r->sql)) {
	case SQLITE_NOMEM:
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_TOOBIG:
		return fault(f, -EBADMSG, EXIT_FAILED, "%s is damaged (%s); what 'sqlite3 %s .recover' saves may help", r->path,
			     sqlite3_errmsg(r->sql), r->path);
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return fault(f, -EBUSY, EXIT_FAILED, "%s is in use by a program that lets nobody read; wait for it to end", r->path);
	default:
		return fault(f, -EIO, EXIT_FAILED, "%s can't be read: %s", r->path, sqlite3_errmsg(r->sql));
	}
}

int rec_progress(struct recording *r, int64_t at_ns)
{
	const struct recording_host *h = &r->host;

	if (!r->progress || ++r->steps < STEPS)
		return 0;
	r->steps = 0;
	return r->progress(r->progress_arg, h->end_ns > h->start_ns ? (double)(at_ns - h->start_ns) / (double)(h->end_ns - h->start_ns) : 0);
}

int rec_prepare(const struct recording *r, sqlite3_stmt **ret, struct fault *f, const char *fmt, ...)
{
	_cleanup_free_ char *sql = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&sql, fmt, ap);
	va_end(ap);
	if (n < 0) {
		sql = NULL;
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	}
	return sqlite3_prepare_v2(r->sql, sql, -1, ret, NULL) == SQLITE_OK ? 0 : rec_error(r, f);
}

int rec_step(const struct recording *r, sqlite3_stmt *s, struct fault *f)
{
	switch (sqlite3_step(s)) {
	case SQLITE_ROW:
		return 1;
	case SQLITE_DONE:
		return 0;
	default:
		return rec_error(r, f);
	}
}

char *rec_columns(const struct field_table *t, const char *table)
{
	char *text = NULL;
	size_t n = 0;
	FILE *mem = open_memstream(&text, &n);

	if (!mem)
		return NULL;
	for (size_t i = 0; i < t->n; i++)
		fprintf(mem, ", %s.\"%s\"", table, t->fields[i].name);
	if (fclose(mem)) {
		free(text);
		return NULL;
	}
	return text;
}

/* --- values --- */

static double real(sqlite3_stmt *s, int i)
{
	double v = sqlite3_column_double(s, i);

	return sqlite3_column_type(s, i) == SQLITE_NULL || !(fabs(v) < NUMBER_MAX) ? NAN : v;
}

int64_t rec_row_count(sqlite3_stmt *s, int i, int64_t unknown)
{
	return sqlite3_column_type(s, i) == SQLITE_INTEGER ? sqlite3_column_int64(s, i) : unknown;
}

static bool put_unsigned(int64_t v, size_t size, void *p)
{
	if (v < 0 || (size == sizeof(uint32_t) && v > UINT32_MAX))
		return false;
	if (size == sizeof(uint32_t))
		*(uint32_t *)p = (uint32_t)v;
	else
		*(uint64_t *)p = (uint64_t)v;
	return true;
}

const char *rec_row_text(sqlite3_stmt *s, int i, struct arena *a)
{
	const char *text = (const char *)sqlite3_column_text(s, i);
	int n = sqlite3_column_bytes(s, i);

	return text && n > 0 ? arena_text(a, text, strnlen(text, (size_t)n)) : "";
}

static int hist(sqlite3_stmt *s, int i, const struct hist_packed **ret, struct arena *a)
{
	_cleanup_free_ struct hist_packed *h = NULL;
	struct hist_packed *kept;
	int err;

	*ret = NULL;
	if (sqlite3_column_type(s, i) != SQLITE_BLOB)
		return 0;
	err = hist_bytes_get(sqlite3_column_blob(s, i), (size_t)sqlite3_column_bytes(s, i), &h);
	if (err)
		return err;
	kept = arena_get(a, sizeof(*h) + h->n_buckets * sizeof(h->bucket[0]));
	if (!kept)
		return -ENOMEM;
	memcpy(kept, h, sizeof(*h) + h->n_buckets * sizeof(h->bucket[0]));
	*ret = kept;
	return 0;
}

static int row_field(sqlite3_stmt *s, int i, const struct field *fd, void *record, struct arena *a)
{
	void *p = (char *)record + fd->offset;
	const char *text;
	int64_t n;
	int word;

	switch (fd->kind) {
	case FIELD_REAL:
		*(double *)p = real(s, i);
		if (fd->known)
			*((bool *)record + fd->known - 1) = !isnan(*(double *)p);
		return 0;
	case FIELD_COUNT:
		n = rec_row_count(s, i, -1);
		*(int64_t *)p = n < 0 ? -1 : n;
		return 0;
	case FIELD_INTEGER:
		*(int64_t *)p = rec_row_count(s, i, 0);
		return 0;
	case FIELD_FD:
		n = rec_row_count(s, i, -1);
		*(int *)p = n < 0 || n > INT32_MAX ? -1 : (int)n;
		return 0;
	case FIELD_UNSIGNED:
	case FIELD_POSITIVE:
		return put_unsigned(rec_row_count(s, i, 0), fd->size, p) ? 0 : -EBADMSG;
	case FIELD_FLAG:
		*(bool *)p = rec_row_count(s, i, 0) != 0;
		return 0;
	case FIELD_TEXT:
		text = (const char *)sqlite3_column_text(s, i);
		memset(p, 0, fd->size);
		if (text) /* a comm of 16 bytes needs no NUL, see record.h; all else has one */
			memcpy(p, text, strnlen(text, fd->size - (fd->size > LOOP_COMM_LEN)));
		return 0;
	case FIELD_STRING:
		text = rec_row_text(s, i, a);
		*(const char **)p = text;
		return text ? 0 : -ENOMEM;
	case FIELD_WORD:
		text = (const char *)sqlite3_column_text(s, i);
		word = text ? field_word_value(fd, text) : 0;
		*(int *)p = word;
		return word < 0 ? -EBADMSG : 0;
	case FIELD_HIST:
		return hist(s, i, p, a);
	}
	return -EBADMSG;
}

int rec_row_fields(sqlite3_stmt *s, int first, const struct field_table *t, void *record, struct arena *a)
{
	for (size_t i = 0; i < t->n; i++) {
		int err = row_field(s, first + (int)i, &t->fields[i], record, a);

		if (err)
			return err;
	}
	return 0;
}
