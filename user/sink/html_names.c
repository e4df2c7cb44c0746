/* SPDX-License-Identifier: BSD-2-Clause */
/* html_names.c - see html_names.h. */
#include "sink/html_names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A table that has no memory to grow keeps what it has: a name is left out, and counted. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#define NAMES_MAX 200000
#define NAME_BYTES_MAX ((size_t)16 << 20)

struct html_name {
	UT_hash_handle hh;
	int64_t number;
	size_t n;
	char text[];
};

/* The table's own memory failed: uthash leaves the entry out, and its hh.tbl NULL. */
static bool add(struct html_names *names, struct html_name *e)
{
	HASH_ADD_KEYPTR(hh, names->known, e->text, e->n, e);
	return e->hh.tbl != NULL;
}

int64_t html_names_number(struct html_names *names, const char *bytes, size_t max)
{
	size_t n = bytes ? strnlen(bytes, max) : 0;
	struct html_name *e = NULL;

	if (!n)
		return HTML_NAME_NONE;
	HASH_FIND(hh, names->known, bytes, n, e);
	if (e)
		return e->number;
	if (names->n < NAMES_MAX && n <= NAME_BYTES_MAX - names->bytes)
		e = calloc(1, sizeof(*e) + n + 1);
	if (e) {
		e->n = n;
		e->number = names->n;
		memcpy(e->text, bytes, n);
		if (add(names, e)) {
			names->bytes += n;
			return names->n++;
		}
		free(e);
	}
	names->left_out++;
	return HTML_NAME_NONE;
}

int html_names_each(const struct html_names *names, int (*fn)(void *arg, const char *name), void *arg)
{
	int err = 0;

	for (const struct html_name *e = names->known; e && !err; e = e->hh.next)
		err = fn(arg, e->text);
	return err;
}

void html_names_free(struct html_names *names)
{
	struct html_name *e, *next;

	HASH_ITER (hh, names->known, e, next) {
		HASH_DEL(names->known, e);
		free(e);
	}
	*names = (struct html_names){ 0 };
}
