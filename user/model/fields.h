/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fields.h - the neutral records as data: every field's name, kind and place, so that what keeps records and what reads them
 * back can't differ. A new field of a record that shall be kept is one more line in fields.c.
 *
 * Names reach disk: append only. What can't be known is kept as nothing at all, never as 0: the kind says what stands for it.
 */
#ifndef LOOPSCOPE_MODEL_FIELDS_H
#define LOOPSCOPE_MODEL_FIELDS_H

#include <stddef.h>

enum field_kind {
	FIELD_REAL,    /* double; NAN: unknown */
	FIELD_COUNT,   /* int64_t; negative: unknown */
	FIELD_INTEGER, /* int64_t; all values are known ones */
	FIELD_FD,      /* int; negative: unknown */
	FIELD_UNSIGNED, /* unsigned of 32 or 64 bits, by size */
	FIELD_POSITIVE, /* uint64_t; 0: unknown */
	FIELD_FLAG,    /* bool */
	FIELD_TEXT,    /* char[size], ended by a NUL or its size; "": unknown */
	FIELD_STRING,  /* const char *, borrowed; NULL, "": unknown */
	FIELD_WORD,    /* an enum, kept by its name; no name: unknown */
	FIELD_HIST,    /* const struct hist_packed *, borrowed; NULL: unknown */
};

struct field {
	const char *name;
	enum field_kind kind;
	size_t offset, size;
	size_t known;                 /* where not 0: offset + 1 of a bool that says whether this is known */
	const char *(*word)(int v);   /* FIELD_WORD: its name, NULL for none */
	int words;                    /* its values are 0 to words - 1 */
};

struct field_table {
	const char *name;
	const struct field *fields;
	size_t n;
};

/* struct loop_record in two: who a loop is, which is the same for a long time, and its figures. Identity, source and the lists of
 * blocked_by and waited_for are not among them. */
extern const struct field_table loop_who_fields, loop_fields;
extern const struct field_table task_fields;      /* struct task_record */
extern const struct field_table source_fields;    /* struct source_record */
extern const struct field_table interval_fields;  /* struct interval, without what it points to */
extern const struct field_table slow_tick_fields; /* struct slow_tick, without identity and causes */
extern const struct field_table cause_fields;     /* struct slow_cause, without the stack */
extern const struct field_table event_fields;     /* struct loop_event, without identity */

/* The value of that name; -1: there is none. */
int field_word_value(const struct field *f, const char *name);

#endif
