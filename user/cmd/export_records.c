/* SPDX-License-Identifier: BSD-2-Clause */
/* export_records.c - see export_records.h. */
#include "cmd/export_records.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/trouble.h"
#include "lib/cleanup.h"
#include "lib/outqueue.h"
#include "sink/outfile.h"

#define QUEUE_MAX (16u << 20) /* as that of --otlp */

struct export_records {
	struct sink sink; /* first: the ops get this */
	struct evloop *loop;
	char *path;             /* NULL: nowhere, and so are the next three */
	struct outfile *file;   /* of what never makes us wait; else NULL, and */
	struct outqueue *queue; /* of what may, on this: */
	int fd;                 /* -1: none */
	struct sink *json;      /* into one of them */
	struct trouble trouble;
	uint64_t written, lost; /* intervals and slow ticks: of files, and of queues that are no more */
};

static bool is_stdout(const char *path)
{
	return !strcmp(path, "-");
}

static const char *shown(const struct export_records *r)
{
	return is_stdout(r->path) ? "standard output" : r->path;
}

/* --- records -------------------------------------------------------------------------------------------------------------- */

/* What has been written, and how that went; the fault of what failed is told here, not handed on. */
static int settle_file(struct export_records *r, int err, const struct fault *why)
{
	if (err == -EPIPE)
		return err;
	if (err) {
		outfile_rollback(r->file);
		r->lost++;
		trouble_is(&r->trouble, why);
		return 0;
	}
	outfile_commit(r->file);
	r->written++;
	trouble_is_over(&r->trouble);
	return 0;
}

/* It is over when the reader has caught up, not when there is room for one. */
static int settle_queue(struct export_records *r, int err)
{
	struct outqueue_stats before;
	struct fault why = {};

	outqueue_stats(r->queue, &before);
	if (err) {
		outqueue_rollback(r->queue);
		r->lost++;
	} else {
		err = outqueue_commit(r->queue);
	}
	if (err == -ENOBUFS)
		fault(&why, err, EXIT_FAILED,
		      "the reader of %s does not keep up: records are lost, and counted; let it read faster, or give --ndjson a file", shown(r));
	else if (err)
		fault(&why, err, EXIT_FAILED, "records for %s are lost: %s", shown(r), strerror(-err));
	if (err)
		trouble_is(&r->trouble, &why);
	else if (!before.records)
		trouble_is_over(&r->trouble);
	return 0;
}

static int settle(struct export_records *r, int err, const struct fault *why)
{
	return r->queue ? settle_queue(r, err) : settle_file(r, err, why);
}

static int interval(struct sink *s, const struct interval *iv, struct fault *f)
{
	struct export_records *r = (struct export_records *)s;
	struct fault why = {};

	return !r->json ? 0 : settle(r, sink_interval(r->json, iv, &why), &why);
}

static int slow_tick(struct sink *s, const struct slow_tick *t, struct fault *f)
{
	struct export_records *r = (struct export_records *)s;
	struct fault why = {};

	return !r->json ? 0 : settle(r, sink_slow_tick(r->json, t, &why), &why);
}

/* Who asked for standard output and went has had enough; somebody else may come to a named pipe. */
static int on_failed(void *arg, int err)
{
	struct export_records *r = arg;
	struct fault why = {};

	if (err == -EPIPE && is_stdout(r->path))
		return err;
	fault(&why, err, EXIT_FAILED, err == -EPIPE ? "nobody reads from %s: records are lost, and counted" : "records for %s are lost: %s",
	      shown(r), strerror(-err));
	trouble_is(&r->trouble, &why);
	return 0;
}

/* --- where they go ---------------------------------------------------------------------------------------------------------- */

static void close_queue(struct export_records *r)
{
	struct outqueue_stats s;

	if (!r->queue)
		return;
	outqueue_stats(r->queue, &s);
	r->written += s.written;
	r->lost += s.lost + s.records;
	outqueue_free(r->queue);
	r->queue = NULL;
}

static void close_file(struct export_records *r)
{
	sink_free(r->json);
	outfile_close(r->file);
	close_queue(r);
	if (r->fd > STDERR_FILENO)
		close(r->fd);
	free(r->path);
	r->json = NULL;
	r->file = NULL;
	r->path = NULL;
	r->fd = -1;
}

static void free_records(struct sink *s)
{
	close_file((struct export_records *)s);
	free(s);
}

static const struct sink_ops ops = {
	.name = "records",
	.interval = interval,
	.slow_tick = slow_tick,
	.free = free_records,
};

/* *ret: -1 where it is nothing that makes a writer wait. Opening a pipe must not do so either. */
static int open_slow(const char *path, int *ret, struct fault *f)
{
	struct stat st;

	*ret = -1;
	if (is_stdout(path)) {
		*ret = outqueue_needed(STDOUT_FILENO) ? STDOUT_FILENO : -1;
		return 0;
	}
	if (stat(path, &st) || (!S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode)))
		return 0;
	*ret = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (*ret < 0 && errno == ENXIO)
		return fault(f, -ENXIO, EXIT_FAILED, "nobody reads from %s: start its reader first", path);
	if (*ret < 0)
		return fault(f, -errno, EXIT_FAILED, "%s can't be opened: %m; see that it can be written", path);
	if (!outqueue_needed(*ret)) {
		close(*ret);
		*ret = -1;
	}
	return 0;
}

/* All of it, or nothing: r is then as it was. */
static int open_file(struct export_records *r, const char *path, struct fault *f)
{
	struct export_records n = { .path = strdup(path), .fd = -1 };
	struct outqueue_options o = { .max = QUEUE_MAX, .failed = on_failed, .arg = r };
	int err = n.path ? open_slow(path, &n.fd, f) : -ENOMEM;

	o.fd = n.fd;
	if (!err)
		err = n.fd >= 0 ? outqueue_new(&o, r->loop, &n.queue) : outfile_open(path, &n.file, f);
	if (!err)
		err = sink_json_new(n.queue ? outqueue_stream(n.queue) : outfile_stream(n.file), &n.json, f);
	if (err) {
		fault(f, err, EXIT_FAILED, "%s can't be written: %s", path, strerror(-err));
		close_file(&n);
		return err;
	}
	close_file(r);
	r->path = n.path;
	r->file = n.file;
	r->queue = n.queue;
	r->fd = n.fd;
	r->json = n.json;
	return 0;
}

/* A pipe's reader stays the same one unless another pipe has the name now. */
static bool still_there(const struct export_records *r)
{
	struct stat ours, now;

	return is_stdout(r->path) || (!fstat(r->fd, &ours) && !stat(r->path, &now) && ours.st_dev == now.st_dev && ours.st_ino == now.st_ino);
}

int export_records_configure(struct sink *s, const char *path, struct fault *f)
{
	struct export_records *r = (struct export_records *)s;

	if (path && r->path && !strcmp(path, r->path)) {
		if (r->file)
			return outfile_reopen(r->file, f);
		if (still_there(r))
			return 0;
	}
	if (path)
		return open_file(r, path, f);
	close_file(r);
	return 0;
}

/* --- the end ---------------------------------------------------------------------------------------------------------------- */

static size_t waiting(const struct export_records *r)
{
	struct outqueue_stats s = {};

	if (r->queue)
		outqueue_stats(r->queue, &s);
	return s.records;
}

static bool has_all(void *arg)
{
	return !waiting(arg);
}

int export_records_last(struct sink *s, uint64_t wait_ns)
{
	struct export_records *r = (struct export_records *)s;
	struct fault f = {};
	int err = 0;

	if (waiting(r) && !r->trouble.told.text[0]) /* stuck before: why should it read now */
		err = evloop_run_until(r->loop, wait_ns, has_all, r);
	if (err)
		return err;
	if (waiting(r)) {
		fault(&f, -EAGAIN, EXIT_FAILED, "the reader of %s has not taken the last %zu records: they are lost", shown(r), waiting(r));
		fault_report(&f);
	}
	return 0;
}

/* --- life, and its own numbers ------------------------------------------------------------------------------------------------ */

int export_records_new(struct evloop *loop, struct sink **ret, struct fault *f)
{
	struct export_records *r = calloc(1, sizeof(*r));

	if (!r)
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	*r = (struct export_records){ .sink = { .ops = &ops }, .loop = loop, .fd = -1, .trouble = { .what = "--ndjson" } };
	*ret = &r->sink;
	return 0;
}

void export_records_count(const struct sink *s, struct metrics *m)
{
	static const struct metric_family written = { "loopscope_ndjson_records", "", METRIC_COUNTER, "Intervals and slow ticks written by --ndjson." },
		lost = { "loopscope_ndjson_lost_records", "", METRIC_COUNTER, "Intervals and slow ticks that --ndjson could not write." },
		bytes = { "loopscope_ndjson_queued_bytes", "bytes", METRIC_GAUGE, "What waits for the reader of --ndjson, where it is a pipe." };
	const struct export_records *r = (const struct export_records *)s;
	struct outqueue_stats q = {};

	if (r->queue)
		outqueue_stats(r->queue, &q);
	if (!r->path && !r->written && !r->lost)
		return;
	metrics_own(m, &written, NULL, 0, (double)(r->written + q.written));
	metrics_own(m, &lost, NULL, 0, (double)(r->lost + q.lost));
	metrics_own(m, &bytes, NULL, 0, r->queue ? (double)q.bytes : NAN);
}
