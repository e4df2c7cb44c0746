/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * marks.h - what probe files look for inside files, numbered over all of them: a set of marks is then a few words, and
 * one pass over a file answers for every runtime.
 *
 * Internal to registry/. Strings are borrowed from the probes.
 */
#ifndef LOOPSCOPE_REGISTRY_MARKS_H
#define LOOPSCOPE_REGISTRY_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MARKS_MAX 256

struct mark_set {
	uint64_t w[MARKS_MAX / 64];
};

static inline void mark_set_add(struct mark_set *s, size_t i)
{
	s->w[i / 64] |= UINT64_C(1) << (i % 64);
}

static inline bool mark_set_has(const struct mark_set *s, size_t i)
{
	return s->w[i / 64] >> (i % 64) & 1;
}

static inline bool mark_set_empty(const struct mark_set *s)
{
	return !(s->w[0] | s->w[1] | s->w[2] | s->w[3]);
}

static inline bool mark_set_meet(const struct mark_set *a, const struct mark_set *b)
{
	return (a->w[0] & b->w[0]) | (a->w[1] & b->w[1]) | (a->w[2] & b->w[2]) | (a->w[3] & b->w[3]);
}

static inline void mark_set_join(struct mark_set *to, const struct mark_set *from)
{
	for (size_t i = 0; i < MARKS_MAX / 64; i++)
		to->w[i] |= from->w[i];
}

_Static_assert(MARKS_MAX / 64 == 4, "mark_set_empty and mark_set_meet are written out for four words");

enum mark_kind {
	MARK_MAPPED, /* fnmatch pattern */
	MARK_SYMBOL, /* exact, or a prefix where it ends in * */
	MARK_IMPORT, /* the same, of an undefined symbol */
	MARK_SECTION,
	MARK_TEXT,
};

struct mark {
	enum mark_kind kind;
	const char *what;
	size_t len; /* without the * */
	bool prefix;
};

struct mark_table {
	struct mark v[MARKS_MAX];
	size_t n;
};

/* How much of a file to read: what is dear comes later. */
enum mark_depth {
	DEPTH_DYNAMIC, /* section names and .dynsym: always there, small */
	DEPTH_SYMTAB,  /* .symtab: megabytes where a binary isn't stripped */
	DEPTH_TEXT,    /* .rodata */
	DEPTH_COUNT,
};

/*
 * Adds to *set what an ELF file of any class and byte order shows at one depth. fd: a regular file open for reading;
 * its offset is left anywhere. The content is hostile: every table is bounded, nothing is mapped, a file may shrink
 * while it is read. -ENOEXEC: no ELF file, or one beyond the bounds; what was found until then stays in *set.
 */
int elf_marks_read(int fd, const struct mark_table *marks, enum mark_depth depth, struct mark_set *set);

#endif
