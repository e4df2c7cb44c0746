/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record_run.c - the wiring of a recording: the kernel's loops and boards, each through a sink of its own, into one file; and the event
 * loop that paces it.
 *
 * Each second what has come is committed: nothing that is older than that is lost, whatever ends the program.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "cmd/board_watches.h"
#include "cmd/child.h"
#include "cmd/observe.h"
#include "cmd/process_ends.h"
#include "cmd/processes.h"
#include "cmd/record.h"
#include "lib/cleanup.h"
#include "lib/now.h"
#include "lib/text.h"
#include "sink/database.h"
#include "source/kernel_edges.h"

#define COMMIT_NS 1000000000ull

struct record {
	const struct record_config *c;
	struct fault *f;
	struct evloop *loop;
	struct database *db;
	struct loop_filter *filter;
	struct observation *ob; /* NULL: boards only */
	struct sink *kernel_sink;
	struct board_watches *boards;
	struct process_ends *ends;
	pid_t *pids;
	size_t n_pids;
	struct child child;
	struct ev_source *child_end;
	uint64_t begun_ns;
	unsigned reports;
	bool progress, shown;
};

/* --- what is said while it goes on --- */

static void say_how_far(struct record *r, uint64_t now, const char *lead, const char *end)
{
	struct database_stats s = database_stats(r->db);
	char span[TEXT_DURATION_SIZE];

	fprintf(stderr, "%sloopscope: %s recorded, %.1f MB", lead, text_duration(span, sizeof(span), now - r->begun_ns),
		(double)s.bytes / 1e6);
	if (r->c->ticks)
		fprintf(stderr, ", %llu spans", (unsigned long long)s.spans);
	if (s.slow_ticks)
		fprintf(stderr, ", %llu slow ticks", (unsigned long long)s.slow_ticks);
	if (s.lost)
		fprintf(stderr, ", %llu events lost", (unsigned long long)s.lost);
	fputs(end, stderr);
	fflush(stderr);
}

static void show_progress(struct record *r)
{
	if (!r->progress)
		return;
	r->shown = true;
	say_how_far(r, now_ns(), "\r", "\x1b[K");
}

/* --- reading --- */

static int commit(struct record *r)
{
	int err = database_commit(r->db, now_ns(), r->f);

	if (!err)
		show_progress(r);
	return err;
}

static int report(struct record *r, bool last)
{
	int err = r->ob ? observation_report(r->ob, last, r->f) : 0;

	r->reports++;
	return err ? err : board_watches_report(r->boards, last);
}

static int on_interval(void *arg, uint64_t expirations)
{
	struct record *r = arg;
	int err = report(r, false);

	return err ? err : commit(r);
}

static int on_commit(void *arg, uint64_t expirations)
{
	return commit(arg);
}

/* --- what ends it --- */

static int on_end(void *arg, uint64_t expirations)
{
	evloop_stop(((struct record *)arg)->loop);
	return 0;
}

static void on_all_ended(void *arg)
{
	evloop_stop(((struct record *)arg)->loop);
}

static int on_child_end(void *arg, int fd, uint32_t events)
{
	evloop_stop(((struct record *)arg)->loop);
	return 0;
}

/* A command gets the signals of the terminal itself, and ends as it likes; then so does the recording. */
static int on_signal(void *arg, int signo)
{
	struct record *r = arg;

	if (r->child.pid <= 0)
		evloop_stop(r->loop);
	else if (signo == SIGTERM)
		kill(r->child.pid, SIGTERM);
	return 0;
}

/* --- setting up --- */

static int open_database(struct record *r)
{
	uint64_t mono = now_ns(), wall = clock_ns(CLOCK_REALTIME);
	struct recording_host host;
	struct database_options o = { .path = r->c->path, .overwrite = r->c->overwrite, .max_bytes = r->c->max_bytes, .host = &host,
				      .anchor_ns = (int64_t)wall - (int64_t)mono };
	int err = record_host(r->c, (int64_t)wall, &host, r->f);

	if (err)
		return err;
	err = database_open(&o, &r->db, r->f);
	record_host_free(&host);
	return err;
}

static int open_kernel(struct record *r)
{
	const struct record_config *c = r->c;
	const struct database_source_options so = { .kind = SOURCE_KERNEL, .name = "kernel", .host_clock = true };
	bool named = c->pids.n || c->names.n || c->argv;
	struct observe_options o = {
		.source = { .only_pids = named,
			    .follow_children = c->argv,
			    .edges = c->edges,
			    .slow_ns = c->no_slow ? 0 : c->slow_ns,
			    .budget = c->budget >= 1 ? 0 : c->budget,
			    .stream = c->ticks && named,
			    .histograms = named },
		.sort = c->sort,
		.show_asleep = named || c->all,
		.show_all = c->all,
		.filter = r->filter,
	};
	int err = processes_collect(&c->pids, &c->names, &r->pids, &r->n_pids, r->f);

	if (!err)
		err = database_source(r->db, &so, &r->kernel_sink, r->f);
	if (err)
		return err;
	o.source.pids = r->pids;
	o.source.n_pids = r->n_pids;
	o.sink = r->kernel_sink;
	err = observation_open(&o, &r->ob, r->f);
	if (!err && c->argv)
		err = kernel_source_watch(observation_source(r->ob), r->child.pid, true, r->f);
	return err;
}

static int open_boards(struct record *r)
{
	const struct record_config *c = r->c;
	struct board_watch_options o = { .line = { .baud = (unsigned)c->baud, .paced = true, .sync_ns = 1000000000ull, .hog_ns = c->slow_ns,
						   .wishes = { .rate = -1 } } };

	return board_watches_open(c->boards.v, c->boards.n, &o, &r->boards, r->f);
}

static int start_boards(struct record *r)
{
	int err = 0;

	for (size_t i = 0; i < board_watches_count(r->boards) && !err; i++) {
		struct board_watch *w = board_watches_get(r->boards, i);
		struct database_source_options so = { .kind = SOURCE_SERIAL, .name = board_watch_label(w), .where = board_watch_where(w) };
		struct sink *sink = NULL;

		err = database_source(r->db, &so, &sink, r->f);
		if (!err)
			err = board_watch_start(w, sink, r->loop, r->f);
	}
	return err;
}

/* A command must not run before it is measured: a short run has no time to lose. */
static int start_child(struct record *r)
{
	int err = kernel_source_measure(observation_source(r->ob), r->f);

	if (!err)
		err = child_release(&r->child, r->c->argv[0], r->f);
	if (!err)
		err = evloop_add_fd(r->loop, r->child.pidfd, EPOLLIN | EPOLLONESHOT, on_child_end, r, &r->child_end);
	return err;
}

static int set_pace(struct record *r)
{
	const struct record_config *c = r->c;
	int err = evloop_add_timer(r->loop, c->interval_ns, c->interval_ns, on_interval, r, NULL);

	if (!err && c->interval_ns > COMMIT_NS)
		err = evloop_add_timer(r->loop, COMMIT_NS, COMMIT_NS, on_commit, r, NULL);
	if (!err && c->duration_ns)
		err = evloop_add_timer(r->loop, c->duration_ns, 0, on_end, r, NULL);
	r->begun_ns = now_ns();
	return err;
}

/* The time begins when all is attached. */
static int start(struct record *r)
{
	int err = evloop_add_signal(r->loop, SIGINT, on_signal, r);

	if (!err)
		err = evloop_add_signal(r->loop, SIGTERM, on_signal, r);
	if (!err && r->n_pids)
		err = process_ends_new(r->pids, r->n_pids, r->loop, on_all_ended, r, &r->ends, r->f);
	if (!err && r->c->argv)
		err = start_child(r);
	if (!err && r->ob)
		err = observation_start(r->ob, r->loop, r->f);
	if (!err)
		err = start_boards(r);
	return err ? err : set_pace(r);
}

static int set_up(struct record *r)
{
	const struct record_config *c = r->c;
	int err = 0;

	r->begun_ns = now_ns();
	if (c->argv) /* before there are threads, and before signals are blocked */
		err = child_spawn(&r->child, c->argv, true, r->f);
	if (!err)
		err = loop_filter_new(c->include.v, c->include.n, c->exclude.v, c->exclude.n, &r->filter);
	if (!err)
		err = open_database(r);
	if (!err)
		err = evloop_new(&r->loop);
	if (!err)
		err = open_boards(r);
	if (!err && !c->no_kernel)
		err = open_kernel(r);
	return err ? err : start(r);
}

/* As for attach: a rest too short is not worth a record of its own, unless it is the only one. */
static bool has_rest(const struct record *r)
{
	uint64_t rest = now_ns() - r->begun_ns - r->reports * r->c->interval_ns;

	return !r->reports || rest > r->c->interval_ns / 20;
}

static int finish(struct record *r)
{
	int err = has_rest(r) ? report(r, true) : 0;

	return !err && r->ob ? observation_finish(r->ob, r->f) : err;
}

static void tear_down(struct record *r)
{
	evloop_remove(r->loop, r->child_end);
	process_ends_free(r->ends);
	observation_close(r->ob);
	board_watches_free(r->boards);
	loop_filter_free(r->filter);
	free(r->pids);
	evloop_free(r->loop);
}

int record(const struct record_config *c, int *ret_status, struct fault *f)
{
	struct record r = { .c = c, .f = f, .child = CHILD_NONE, .progress = !c->quiet && isatty(STDERR_FILENO) };
	int err = set_up(&r);
	uint64_t end_ns;

	if (!err)
		err = evloop_run(r.loop);
	if (!err)
		err = finish(&r);
	end_ns = now_ns(); /* what follows may take the kernel seconds, and nothing is known of them */
	if (r.ends && !err)
		process_ends_say(r.ends);
	tear_down(&r);
	if (r.shown)
		fputs("\r\x1b[K", stderr);
	if (r.db && !c->quiet)
		say_how_far(&r, end_ns, "", "\n");
	if (err)
		database_abandon(r.db);
	else
		err = database_close(r.db, end_ns, f);
	*ret_status = c->argv ? child_end(&r.child) : EXIT_DONE;
	return err ? fault(f, err, EXIT_FAILED, "the recording can't go on: %s", strerror(-err)) : 0;
}
