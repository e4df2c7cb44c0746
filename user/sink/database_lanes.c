/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * database_lanes.c - which lane a record or span belongs to, and the lanes' rows.
 *
 * Records say exactly who a loop is, single turns only name the thread. So a thread that is met first by a turn gets a lane
 * whose beginning is not known, and the first record of that thread tells it; a record of another beginning is another loop, and
 * turns go to it from then on. A lane's names are those that were last in use.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sink/database_internal.h"

#define SPAN_NAME_MAX 256 /* of a task, bytes; a longer name is cut */

struct loop_key {
	int64_t source;
	uint32_t kind, pid, tid, generation;
	uint64_t start_ns;
};

struct span_key {
	int64_t source;
	uint32_t kind, number, instance;
	uint32_t none; /* no padding in what is compared as bytes */
	char name[SPAN_NAME_MAX];
};

static struct loop_key key_of(const struct db_source *src, const struct loop_id *id)
{
	return (struct loop_key){ .source = src->id, .kind = LANE_LOOP, .pid = id->pid, .tid = id->tid,
				  .generation = id->generation, .start_ns = id->start_ns };
}

static int no_memory(struct fault *f)
{
	fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	return -ENOMEM;
}

/* --- rows --- */

static void bind_identity(sqlite3_stmt *s, int i, const struct loop_id *id)
{
	if (id->pid)
		sqlite3_bind_int64(s, i, id->pid);
	if (id->tid)
		sqlite3_bind_int64(s, i + 1, id->tid);
	if (id->start_ns)
		sqlite3_bind_int64(s, i + 2, (int64_t)id->start_ns);
	sqlite3_bind_int64(s, i + 3, id->generation);
}

static int add_loop_row(struct db_source *src, struct name *name, struct fault *f)
{
	sqlite3_stmt *s = src->db->statement[DB_LANE];
	const struct name_lane *l = name_lane(name);

	sqlite3_bind_int64(s, 1, name_number(name));
	sqlite3_bind_int64(s, 2, src->id);
	sqlite3_bind_text(s, 3, lane_kind_name(LANE_LOOP), -1, SQLITE_STATIC);
	bind_identity(s, 5, &l->id);
	db_bind_text(s, 9, l->name, LOOP_COMM_LEN);
	db_bind_text(s, 10, l->process, LOOP_COMM_LEN);
	db_bind_text(s, 11, l->runtime, sizeof(l->runtime));
	return db_step(src->db, s, f);
}

static int update_row(struct db_source *src, struct name *name, struct fault *f)
{
	sqlite3_stmt *s = src->db->statement[DB_LANE_NAMES];
	const struct name_lane *l = name_lane(name);

	bind_identity(s, 1, &l->id);
	db_bind_text(s, 5, l->name, LOOP_COMM_LEN);
	db_bind_text(s, 6, l->process, LOOP_COMM_LEN);
	db_bind_text(s, 7, l->runtime, sizeof(l->runtime));
	sqlite3_bind_int64(s, 8, name_number(name));
	return db_step(src->db, s, f);
}

/* --- threads --- */

static struct db_thread *thread_of(struct db_source *src, uint32_t tid)
{
	struct db_thread *t = src->last_thread;

	if (t && t->tid == tid)
		return t;
	HASH_FIND(hh, src->threads, &tid, sizeof(tid), t);
	if (t)
		src->last_thread = t;
	return t;
}

static int set_thread(struct db_source *src, const struct loop_id *id, uint32_t lane, struct fault *f)
{
	struct db_thread *t = thread_of(src, id->tid);

	if (!t) {
		t = calloc(1, sizeof(*t));
		if (!t)
			return no_memory(f);
		t->tid = id->tid;
		HASH_ADD(hh, src->threads, tid, sizeof(t->tid), t);
	}
	if (t->lane != lane)
		t->known_ns = t->io_end_ns = 0;
	t->id = *id;
	t->lane = lane;
	return 0;
}

void db_source_free_threads(struct db_source *src)
{
	struct db_thread *t, *tmp;

	HASH_ITER(hh, src->threads, t, tmp) {
		HASH_DEL(src->threads, t);
		free(t);
	}
	src->last_thread = NULL;
}

int db_thread(struct db_source *src, uint32_t pid, uint32_t tid, struct db_thread **ret, struct fault *f)
{
	const struct loop_id id = { .pid = pid, .tid = tid };
	uint32_t lane;
	int err;

	*ret = thread_of(src, tid);
	if (*ret && (*ret)->id.pid == pid)
		return 0;
	err = db_lane_of_loop(src, &id, NULL, NULL, NULL, &lane, f);
	*ret = thread_of(src, tid);
	return err;
}

/* --- loops --- */

/* What the thread's turns were put on so far, if that may be this loop. */
static struct name *unborn(struct db_source *src, const struct loop_id *id)
{
	const struct loop_id thread = { .pid = id->pid, .tid = id->tid };
	struct loop_key key = key_of(src, &thread);

	return id->start_ns ? names_find(&src->db->names, NAME_LANE, &key, sizeof(key)) : NULL;
}

static bool copy(char *dst, const char *src, size_t size)
{
	char new[32] = "";

	if (!src)
		return false;
	memcpy(new, src, strnlen(src, size - 1));
	if (!memcmp(dst, new, size))
		return false;
	memcpy(dst, new, size);
	return true;
}

static bool rename_lane(struct name_lane *l, const char *comm, const char *thread, const char *runtime)
{
	bool changed = copy(l->process, comm, sizeof(l->process));

	changed |= copy(l->name, thread, sizeof(l->name));
	changed |= copy(l->runtime, runtime, sizeof(l->runtime));
	return changed;
}

/* Another key, the same number. */
static struct name *born(struct db_source *src, struct name *before, const struct loop_id *id)
{
	struct names *n = &src->db->names;
	struct loop_key key = key_of(src, id);
	struct name_lane l = *name_lane(before);
	int64_t number = name_number(before);
	struct name *name;

	names_remove(n, NAME_LANE, before);
	name = names_add(n, NAME_LANE, &key, sizeof(key), number);
	if (name) {
		*name_lane(name) = l;
		name_lane(name)->id = *id;
	}
	return name;
}

int db_lane_of_loop(struct db_source *src, const struct loop_id *id, const char *comm, const char *thread, const char *runtime,
		    uint32_t *ret, struct fault *f)
{
	struct loop_key key = key_of(src, id);
	struct name *name = names_find(&src->db->names, NAME_LANE, &key, sizeof(key));
	bool is_new = false, changed = false;
	int err = 0;

	if (!name) {
		struct name *before = unborn(src, id);

		changed = before;
		is_new = !before;
		name = before ? born(src, before, id) : names_add(&src->db->names, NAME_LANE, &key, sizeof(key), 0);
		if (!name)
			return no_memory(f);
		name_lane(name)->id = *id;
	}
	changed |= rename_lane(name_lane(name), comm, thread, runtime);
	*ret = (uint32_t)name_number(name);
	if (is_new)
		err = add_loop_row(src, name, f);
	else if (changed)
		err = update_row(src, name, f);
	return err || !id->tid ? err : set_thread(src, id, *ret, f);
}

/* --- tasks and what else a source has --- */

int db_lane_of_span(struct db_source *src, enum lane_kind kind, uint32_t number, uint32_t instance, const char *text, uint32_t *ret,
		    struct fault *f)
{
	static const struct loop_id none;
	struct span_key key = { .source = src->id, .kind = kind, .number = number, .instance = instance };
	sqlite3_stmt *s = src->db->statement[DB_LANE];
	uint32_t parent = 0;
	struct name *name;
	int err;

	if (kind == LANE_LOOP)
		return db_lane_of_loop(src, &none, src->o.name, src->o.name, NULL, ret, f);
	memcpy(key.name, text, strnlen(text, sizeof(key.name) - 1));
	name = names_find(&src->db->names, NAME_LANE, &key, sizeof(key));
	if (name) {
		*ret = (uint32_t)name_number(name);
		return 0;
	}
	err = db_lane_of_loop(src, &none, src->o.name, src->o.name, NULL, &parent, f);
	if (err)
		return err;
	name = names_add(&src->db->names, NAME_LANE, &key, sizeof(key), 0);
	if (!name)
		return no_memory(f);
	*ret = (uint32_t)name_number(name);
	sqlite3_bind_int64(s, 1, name_number(name));
	sqlite3_bind_int64(s, 2, src->id);
	sqlite3_bind_text(s, 3, lane_kind_name(kind), -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 4, parent);
	db_bind_text(s, 9, key.name, sizeof(key.name));
	db_bind_text(s, 10, src->o.name, SIZE_MAX);
	sqlite3_bind_int64(s, 12, number);
	sqlite3_bind_int64(s, 13, instance);
	return db_step(src->db, s, f);
}
