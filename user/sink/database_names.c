/* SPDX-License-Identifier: BSD-2-Clause */
/* database_names.c - see database_names.h; and rows of frames, stacks and of who a loop is. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "sink/database_internal.h"

#define FRAME_MAX 4096 /* bytes; a longer name is cut */

struct name {
	UT_hash_handle hh;
	int64_t number;
	struct name_lane lane;
	size_t size;
	unsigned char key[];
};

struct name *names_find(struct names *n, enum name_kind kind, const void *key, size_t size)
{
	struct name *found;

	HASH_FIND(hh, n->known[kind], key, size, found);
	return found;
}

struct name *names_add(struct names *n, enum name_kind kind, const void *key, size_t size, int64_t number)
{
	struct name *name = calloc(1, sizeof(*name) + size);

	if (!name)
		return NULL;
	name->number = number ? number : ++n->last[kind];
	name->size = size;
	memcpy(name->key, key, size);
	HASH_ADD_KEYPTR(hh, n->known[kind], name->key, size, name);
	n->n++;
	return name;
}

void names_remove(struct names *n, enum name_kind kind, struct name *name)
{
	HASH_DEL(n->known[kind], name);
	free(name);
	n->n--;
}

int64_t name_number(const struct name *name)
{
	return name->number;
}

struct name_lane *name_lane(struct name *name)
{
	return &name->lane;
}

void names_forget(struct names *n)
{
	for (int kind = 0; kind < NAME_KINDS; kind++) {
		struct name *name, *tmp;

		HASH_ITER(hh, n->known[kind], name, tmp) {
			HASH_DEL(n->known[kind], name);
			free(name);
		}
	}
	n->n = 0;
}

static int no_memory(struct fault *f)
{
	fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	return -ENOMEM;
}

/* --- stacks: a tree whose root is the outermost frame, so that what they have in common is written once --- */

static int frame(struct database *db, const char *text, int64_t *ret, struct fault *f)
{
	size_t n = strnlen(text, FRAME_MAX);
	struct name *name = names_find(&db->names, NAME_FRAME, text, n);
	sqlite3_stmt *s = db->statement[DB_FRAME];

	if (!name) {
		name = names_add(&db->names, NAME_FRAME, text, n, 0);
		if (!name)
			return no_memory(f);
		sqlite3_bind_int64(s, 1, name->number);
		sqlite3_bind_text(s, 2, text, (int)n, SQLITE_TRANSIENT);
		*ret = name->number;
		return db_step(db, s, f);
	}
	*ret = name->number;
	return 0;
}

static int node(struct database *db, int64_t outer, int64_t frame_id, int64_t *ret, struct fault *f)
{
	const int64_t key[] = { outer, frame_id };
	struct name *name = names_find(&db->names, NAME_STACK, key, sizeof(key));
	sqlite3_stmt *s = db->statement[DB_STACK];

	if (!name) {
		name = names_add(&db->names, NAME_STACK, key, sizeof(key), 0);
		if (!name)
			return no_memory(f);
		sqlite3_bind_int64(s, 1, name->number);
		if (outer)
			sqlite3_bind_int64(s, 2, outer);
		sqlite3_bind_int64(s, 3, frame_id);
		*ret = name->number;
		return db_step(db, s, f);
	}
	*ret = name->number;
	return 0;
}

/* 0: there is none. */
int db_stack(struct database *db, const struct stack_names *stack, int64_t *ret, struct fault *f)
{
	int64_t at = 0;
	int err = 0;

	for (size_t i = stack->n; i-- > 0 && !err;) {
		int64_t id = 0;

		err = frame(db, stack->frame[i], &id, f);
		if (!err)
			err = node(db, at, id, &at, f);
	}
	*ret = at;
	return err;
}

/* --- who a loop is ------------------------------------------------------------------------------------------------ */

static char *put(char *p, const void *bytes, size_t n)
{
	memcpy(p, bytes, n);
	return p + n;
}

/* Its lane and all of loop_who_fields, as bytes. To be freed. */
static char *who_key(uint32_t lane, const struct loop_record *r, size_t *ret_n)
{
	const char *const strings[] = { r->cgroup ? r->cgroup : "", r->runtime ? r->runtime : "", r->wait_syscall ? r->wait_syscall : "" };
	size_t n = sizeof(lane) + sizeof(r->nspid) + sizeof(r->wait_fd) + sizeof(r->edges) + 2 * LOOP_COMM_LEN;
	char *key, *p;

	for (size_t i = 0; i < ARRAY_SIZE(strings); i++)
		n += strlen(strings[i]) + 1;
	key = malloc(n);
	if (!key)
		return NULL;
	p = put(key, &lane, sizeof(lane));
	p = put(p, &r->nspid, sizeof(r->nspid));
	p = put(p, &r->wait_fd, sizeof(r->wait_fd));
	p = put(p, &r->edges, sizeof(r->edges));
	p = put(p, r->comm, LOOP_COMM_LEN);
	p = put(p, r->thread, LOOP_COMM_LEN);
	for (size_t i = 0; i < ARRAY_SIZE(strings); i++)
		p = put(p, strings[i], strlen(strings[i]) + 1);
	*ret_n = n;
	return key;
}

int db_who(struct db_source *src, uint32_t lane, const struct loop_record *r, int64_t *ret, struct fault *f)
{
	struct database *db = src->db;
	sqlite3_stmt *s = db->statement[DB_WHO];
	size_t n = 0;
	_cleanup_free_ char *key = who_key(lane, r, &n);
	struct name *name;

	if (!key)
		return no_memory(f);
	name = names_find(&db->names, NAME_WHO, key, n);
	if (name) {
		*ret = name->number;
		return 0;
	}
	name = names_add(&db->names, NAME_WHO, key, n, 0);
	if (!name)
		return no_memory(f);
	*ret = name->number;
	sqlite3_bind_int64(s, 1, name->number);
	sqlite3_bind_int64(s, 2, lane);
	db_bind_fields(db, s, 3, &loop_who_fields, r);
	return db_step(db, s, f);
}
