/* SPDX-License-Identifier: BSD-2-Clause */
/* export_records.c - see export_records.h. */
#include "cmd/export_records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/trouble.h"
#include "sink/outfile.h"

struct export_records {
	struct sink sink; /* first: the ops get this */
	char *path;        /* NULL: nowhere, and so are the next two */
	struct outfile *file;
	struct sink *json; /* into it */
	struct trouble trouble;
	uint64_t written, lost; /* intervals and slow ticks */
};

/* What has been written, and how that went; the fault of what failed is told here, not handed on. */
static int settle(struct export_records *r, int err, const struct fault *why, struct fault *f)
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

static int interval(struct sink *s, const struct interval *iv, struct fault *f)
{
	struct export_records *r = (struct export_records *)s;
	struct fault why = {};

	return !r->json ? 0 : settle(r, sink_interval(r->json, iv, &why), &why, f);
}

static int slow_tick(struct sink *s, const struct slow_tick *t, struct fault *f)
{
	struct export_records *r = (struct export_records *)s;
	struct fault why = {};

	return !r->json ? 0 : settle(r, sink_slow_tick(r->json, t, &why), &why, f);
}

static void close_file(struct export_records *r)
{
	sink_free(r->json);
	outfile_close(r->file);
	free(r->path);
	r->json = NULL;
	r->file = NULL;
	r->path = NULL;
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

static int open_file(struct export_records *r, const char *path, struct fault *f)
{
	struct outfile *file = NULL;
	struct sink *json = NULL;
	char *copy = strdup(path);
	int err = copy ? outfile_open(path, &file, f) : -ENOMEM;

	if (!err)
		err = sink_json_new(outfile_stream(file), &json, f);
	if (err) {
		outfile_close(file);
		free(copy);
		return fault(f, err, EXIT_FAILED, "out of memory");
	}
	close_file(r);
	r->path = copy;
	r->file = file;
	r->json = json;
	return 0;
}

int export_records_configure(struct sink *s, const char *path, struct fault *f)
{
	struct export_records *r = (struct export_records *)s;

	if (path && r->path && !strcmp(path, r->path))
		return outfile_reopen(r->file, f);
	if (path)
		return open_file(r, path, f);
	close_file(r);
	return 0;
}

int export_records_new(struct sink **ret, struct fault *f)
{
	struct export_records *r = calloc(1, sizeof(*r));

	if (!r)
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	*r = (struct export_records){ .sink = { .ops = &ops }, .trouble = { .what = "--ndjson" } };
	*ret = &r->sink;
	return 0;
}

void export_records_count(const struct sink *s, struct metrics *m)
{
	static const struct metric_family written = { "loopscope_ndjson_records", "", METRIC_COUNTER, "Intervals and slow ticks written by --ndjson." },
		lost = { "loopscope_ndjson_lost_records", "", METRIC_COUNTER, "Intervals and slow ticks that --ndjson could not write." };
	const struct export_records *r = (const struct export_records *)s;

	if (!r->path && !r->written && !r->lost)
		return;
	metrics_own(m, &written, NULL, 0, (double)r->written);
	metrics_own(m, &lost, NULL, 0, (double)r->lost);
}
