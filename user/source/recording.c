/* SPDX-License-Identifier: BSD-2-Clause */
/* recording.c - opening a recording and the facts about it; see recording.h. */
#include "source/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/cleanup.h"
#include "model/recording_schema.h"
#include "source/recording_internal.h"

#define HEAD 100 /* bytes of SQLite's header */
#define BUSY_MS 2000

/* --- is it one of ours --- */

static uint32_t big_endian(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static int check_head(const char *path, struct fault *f)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	unsigned char head[HEAD];
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return fault(f, -errno, EXIT_FAILED, "%s can't be read: %s", path, strerror(errno));
	if (fstat(fd, &st))
		return fault(f, -errno, EXIT_FAILED, "%s can't be read: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return fault(f, -EINVAL, EXIT_FAILED, "%s is no regular file; give a recording made by 'loopscope record'", path);
	n = read(fd, head, sizeof(head));
	if (n < 0)
		return fault(f, -errno, EXIT_FAILED, "%s can't be read: %s", path, strerror(errno));
	if (n < HEAD || memcmp(head, "SQLite format 3", 16) != 0 || big_endian(head + 68) != RECORDING_APPLICATION_ID)
		return fault(f, -EBADMSG, EXIT_FAILED, "%s is no recording%s; give one made by 'loopscope record'", path,
			     st.st_size ? "" : ", it is empty");
	return 0;
}

/* --- opening --- */

static int configure(struct recording *r, struct fault *f)
{
	static const struct {
		int what, most;
	} limits[] = {
		{ SQLITE_LIMIT_LENGTH, 64 << 20 },    { SQLITE_LIMIT_SQL_LENGTH, 1 << 20 }, { SQLITE_LIMIT_COLUMN, 200 },
		{ SQLITE_LIMIT_EXPR_DEPTH, 100 },     { SQLITE_LIMIT_ATTACHED, 0 },	    { SQLITE_LIMIT_TRIGGER_DEPTH, 1 },
		{ SQLITE_LIMIT_WORKER_THREADS, 0 },
	};

	sqlite3_extended_result_codes(r->sql, 0);
	sqlite3_busy_timeout(r->sql, BUSY_MS);
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		sqlite3_limit(r->sql, limits[i].what, limits[i].most);
	sqlite3_db_config(r->sql, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(r->sql, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(r->sql, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(r->sql, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	if (sqlite3_exec(r->sql, "PRAGMA query_only = ON; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY;",
			 NULL, NULL, NULL) != SQLITE_OK)
		return rec_error(r, f);
	return 0;
}

/* As a URI that says that nobody writes: for a file in a folder where no journal's index can be made, if it has no journal. */
static char *immutable_uri(const char *path)
{
	char *uri = NULL;
	size_t n = 0;
	FILE *mem = open_memstream(&uri, &n);

	if (!mem)
		return NULL;
	fputs("file:", mem);
	for (const unsigned char *p = (const unsigned char *)path; *p; p++)
		if ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') || strchr("/._-", *p))
			fputc(*p, mem);
		else
			fprintf(mem, "%%%02x", *p);
	fputs("?immutable=1", mem);
	if (fclose(mem)) {
		free(uri);
		return NULL;
	}
	return uri;
}

static bool has_journal(const char *path)
{
	_cleanup_free_ char *journal = NULL;
	struct stat st;

	return asprintf(&journal, "%s-wal", path) >= 0 && !stat(journal, &st) && st.st_size > 0;
}

static int open_sql(struct recording *r, struct fault *f)
{
	_cleanup_free_ char *plain = NULL, *uri = NULL;
	int code;

	if (asprintf(&plain, "%s%s", r->path[0] == '/' ? "" : "./", r->path) < 0)
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	code = sqlite3_open_v2(plain, &r->sql, SQLITE_OPEN_READONLY, NULL);
	/* Opening reads nothing: the first question does. */
	if (code == SQLITE_OK)
		code = sqlite3_exec(r->sql, "SELECT 1 FROM sqlite_schema LIMIT 1", NULL, NULL, NULL);
	if (code != SQLITE_CANTOPEN && code != SQLITE_READONLY)
		return r->sql ? 0 : fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	if (has_journal(r->path))
		return fault(f, -EACCES, EXIT_FAILED,
			     "%s was not closed, and its journal %s-wal can't be used from here; copy both into a folder that you can write", r->path,
			     r->path);
	sqlite3_close(r->sql);
	r->sql = NULL;
	uri = immutable_uri(plain);
	if (!uri)
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	sqlite3_open_v2(uri, &r->sql, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
	return r->sql ? 0 : fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
}

static int one_number(const struct recording *r, const char *sql, int64_t *ret, struct fault *f)
{
	sqlite3_stmt *s = NULL;
	int err = rec_prepare(r, &s, f, "%s", sql);

	if (!err)
		err = rec_step(r, s, f);
	if (err == 1)
		*ret = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return err < 0 ? err : err == 1 ? 0 : rec_damaged(r, f);
}

static int check_version(const struct recording *r, struct fault *f)
{
	int64_t version = 0;
	int err = one_number(r, "PRAGMA user_version", &version, f);

	if (err)
		return err;
	if (version > RECORDING_VERSION)
		return fault(f, -EPROTONOSUPPORT, EXIT_FAILED,
			     "%s is of format %lld, and this loopscope reads up to %d; read it with a newer one", r->path, (long long)version,
			     RECORDING_VERSION);
	return version < 1 ? rec_damaged(r, f) : 0;
}

/* Tables are ours to the letter: no view, no virtual table, no generated column stands in the place of one. */
static int check_tables(const struct recording *r, struct fault *f)
{
	sqlite3_stmt *s = NULL;
	int err = rec_prepare(r, &s, f, "SELECT count(*), max(sql) FROM sqlite_schema WHERE name = ? AND type = 'table'");

	for (size_t i = 0; i < recording_n_tables && !err; i++) {
		char wanted[RECORDING_SQL_MAX];
		const char *sql;

		recording_table_sql(&recording_tables[i], wanted);
		sqlite3_bind_text(s, 1, recording_tables[i].name, -1, SQLITE_STATIC);
		err = rec_step(r, s, f);
		sql = err == 1 ? (const char *)sqlite3_column_text(s, 1) : NULL;
		if (err == 1)
			err = sqlite3_column_int64(s, 0) == 1 && sql && !strcmp(sql, wanted) ? 0 : rec_damaged(r, f);
		sqlite3_reset(s);
	}
	sqlite3_finalize(s);
	return err;
}

/* Pages that are of no use: what holds together of a file that was cut short or written over. */
static int check_pages(const struct recording *r, struct fault *f)
{
	sqlite3_stmt *s = NULL;
	const char *text;
	int err = rec_prepare(r, &s, f, "PRAGMA quick_check(1)");

	if (!err)
		err = rec_step(r, s, f);
	text = err == 1 ? (const char *)sqlite3_column_text(s, 0) : NULL;
	if (err >= 0)
		err = text && !strcmp(text, "ok") ? 0 : rec_damaged(r, f);
	sqlite3_finalize(s);
	return err;
}

/* Of one moment of a file that may still be written. */
static int check(const struct recording *r, struct fault *f)
{
	int err = sqlite3_exec(r->sql, "BEGIN", NULL, NULL, NULL) == SQLITE_OK ? 0 : rec_error(r, f);

	if (!err)
		err = check_version(r, f);
	if (!err)
		err = check_tables(r, f);
	return err ? err : check_pages(r, f);
}

/* --- facts --- */

static int read_host(struct recording *r, struct fault *f)
{
	struct recording_host *h = &r->host;
	sqlite3_stmt *s = NULL;
	int err = rec_prepare(r, &s, f,
			      "SELECT hostname, kernel, machine, version, command, cpus, start_ns, end_ns, interval_ns, slow_ns, ticks, "
			      "complete, dropped_until_ns FROM recording");

	if (!err)
		err = rec_step(r, s, f);
	if (err == 0)
		err = rec_damaged(r, f);
	if (err < 0) {
		sqlite3_finalize(s);
		return err;
	}
	*h = (struct recording_host){
		.hostname = rec_row_text(s, 0, &r->strings), .kernel = rec_row_text(s, 1, &r->strings),
		.machine = rec_row_text(s, 2, &r->strings), .version = rec_row_text(s, 3, &r->strings),
		.command = rec_row_text(s, 4, &r->strings), .cpus = rec_row_count(s, 5, -1), .start_ns = rec_row_count(s, 6, 0),
		.end_ns = rec_row_count(s, 7, 0), .interval_ns = rec_row_count(s, 8, 0), .slow_ns = rec_row_count(s, 9, -1),
		.has_ticks = rec_row_count(s, 10, 0) != 0, .complete = rec_row_count(s, 11, 0) != 0,
		.dropped_until_ns = rec_row_count(s, 12, INT64_MIN),
	};
	sqlite3_finalize(s);
	if (!h->hostname || !h->kernel || !h->machine || !h->version || !h->command)
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	if (h->start_ns < -(INT64_MAX / 4) || h->end_ns > INT64_MAX / 4 || h->end_ns < h->start_ns)
		return rec_damaged(r, f);
	return 0;
}

static int read_facts(struct recording *r, struct fault *f)
{
	int err = read_host(r, f);

	if (!err)
		err = rec_read_sources(r, f);
	if (!err)
		err = rec_read_clocks(r, f);
	if (!err)
		err = rec_read_lanes(r, f);
	return err ? err : rec_add_line_of(r, f);
}

static const struct recording_host *view_host(struct recording_view *v)
{
	return &((struct recording *)v)->host;
}

static const struct recording_source *view_sources(struct recording_view *v, size_t *ret_n)
{
	return recording_source_list((struct recording *)v, ret_n);
}

static const struct lane *view_lanes(struct recording_view *v, size_t *ret_n)
{
	return recording_lane_list((struct recording *)v, ret_n);
}

static const struct recording_ops ops = {
	.host = view_host,
	.sources = view_sources,
	.lanes = view_lanes,
	.loops = rec_view_loops,
	.slow_ticks = rec_view_slow_ticks,
	.tasks = rec_view_tasks,
	.states = rec_view_states,
	.spans = rec_view_spans,
};

int recording_open(const char *path, struct recording **ret, struct fault *f)
{
	struct recording *r = calloc(1, sizeof(*r));
	int err;

	if (!r || !(r->path = strdup(path))) {
		free(r);
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	}
	r->view.ops = &ops;
	err = check_head(path, f);
	if (!err)
		err = open_sql(r, f);
	if (!err)
		err = configure(r, f);
	if (!err)
		err = check(r, f);
	if (!err)
		err = read_facts(r, f);
	if (err) {
		recording_close(r);
		return err;
	}
	*ret = r;
	return 0;
}

void recording_close(struct recording *r)
{
	if (!r)
		return;
	sqlite3_close(r->sql);
	for (size_t i = 0; i < r->n_sources; i++) {
		free(r->sources[i].points);
		free(r->sources[i].rates);
	}
	free(r->sources);
	free(r->public_sources);
	free(r->lanes);
	free(r->numbers);
	arena_free(&r->strings);
	free(r->path);
	free(r);
}

const struct recording_host *recording_facts(const struct recording *r)
{
	return &r->host;
}

const struct recording_source *recording_source_list(const struct recording *r, size_t *ret_n)
{
	*ret_n = r->n_sources;
	return r->public_sources;
}

const struct lane *recording_lane_list(const struct recording *r, size_t *ret_n)
{
	*ret_n = r->n_lanes;
	return r->lanes;
}

/* One that was cut off did not come to tell it; there is one all the same. */
bool recording_has_summary(const struct recording *r, uint32_t source)
{
	const struct recorded_source *s = &r->sources[source];

	return s->slow_summary || (!r->host.complete && s->host_clock && r->host.slow_ns >= 0);
}

void recording_set_progress(struct recording *r, recording_progress_fn fn, void *arg)
{
	r->progress = fn;
	r->progress_arg = arg;
}

/* --- the lanes' reach --- */

static void reach(struct recording *r, uint32_t lane, int64_t from_ns, int64_t to_ns)
{
	struct lane *l = &r->lanes[lane];

	if (from_ns < l->first_ns)
		l->first_ns = from_ns;
	if (to_ns > l->last_ns)
		l->last_ns = to_ns;
}

static int look_at_span(void *arg, const struct timeline_span *s)
{
	struct recording *r = arg;

	reach(r, s->lane, s->start_ns, s->end_ns);
	r->lanes[s->lane].spans++;
	return 0;
}

static int look_at_loop(void *arg, const struct recording_loop *l)
{
	reach(arg, l->lane, l->start_ns, l->end_ns);
	return 0;
}

static int look_at_task(void *arg, const struct recording_task *t)
{
	reach(arg, t->lane, t->start_ns, t->end_ns);
	return 0;
}

static int look_at_slow(void *arg, const struct recording_slow *s)
{
	reach(arg, s->lane, s->start_ns, s->end_ns);
	return 0;
}

struct recording_view *recording_view(struct recording *r)
{
	return &r->view;
}

int recording_look(struct recording *r, struct recording_view **ret, struct fault *f)
{
	const struct recording_select all = RECORDING_ALL;
	int err = r->looked ? 0 : recording_spans(&r->view, &all, look_at_span, r, f);

	if (!err && !r->looked)
		err = recording_loops(&r->view, &all, look_at_loop, r, f);
	if (!err && !r->looked)
		err = recording_tasks(&r->view, &all, look_at_task, r, f);
	if (!err && !r->looked)
		err = recording_slow_ticks(&r->view, &all, look_at_slow, r, f);
	r->looked |= !err;
	*ret = &r->view;
	return err;
}
