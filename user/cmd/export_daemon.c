/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * export_daemon.c - the wiring of an export: the kernel's loops and boards into the metrics, the metrics to who asks.
 *
 * One event loop for all. The loops are read at each turn of the timer, and before an answer where the last reading is not fresh
 * any more: what is answered is then of the moment of the question, as rates of it need it, and a storm of questions costs two
 * readings a second.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/board_watches.h"
#include "cmd/export.h"
#include "cmd/export_http.h"
#include "cmd/export_memory.h"
#include "cmd/export_metrics.h"
#include "cmd/export_own.h"
#include "cmd/export_push.h"
#include "cmd/export_records.h"
#include "cmd/export_service.h"
#include "cmd/export_sink.h"
#include "cmd/observe.h"
#include "cmd/processes.h"
#include "lib/cleanup.h"
#include "lib/evloop.h"
#include "lib/now.h"
#include "source/kernel_edges.h"

#define FRESH_NS 500000000ull /* who asks each second gets what is new each time */
#define FIND_NS 10000000000ull /* between two looks for processes of the names given: /proc is large */

#define LAST_PUSH_NS 2000000000ull /* how long the end waits for a receiver, and for a reader */

struct export {
	const struct export_settings *first; /* what can't change while it runs is this one's */
	struct export_settings *loaded;      /* by the last SIGHUP; NULL: none yet */
	const struct export_config *c;       /* the one in force: of these */
	int argc;
	char **argv;
	struct fault *f;
	int err; /* of a reading that was asked for from outside */
	bool ending; /* nothing is read any more */
	struct evloop *loop;
	struct ev_source *interval;
	struct metrics *metrics;
	struct loop_filter *filter;
	struct observation *ob; /* NULL: boards only */
	struct board_watches *boards;
	struct sink **sinks; /* the kernel's, then the boards' */
	size_t n_sinks;
	struct sink *records; /* where they hand on to */
	struct export_push *push;
	struct export_service service;
	struct export_http *http;
	struct process_finder *finder;
	uint64_t last_reading_ns, last_look_ns;
	struct export_own_readings readings;
	struct export_memory memory;
};

/* --- reading -------------------------------------------------------------------------------------------------------------------- */

static int watch_process(void *arg, pid_t pid, struct fault *f)
{
	struct fault ended = {};
	int err = kernel_source_watch(observation_source(((struct export *)arg)->ob), pid, false, &ended);

	/* It may have ended meanwhile: nothing is wrong then. */
	return err && err != -ESRCH && !kill(pid, 0) ? fault(f, err, ended.status, "%s", ended.text) : 0;
}

static int look_for_processes(struct export *e)
{
	if (!e->finder)
		return 0;
	e->last_look_ns = now_ns();
	return process_finder_look(e->finder, watch_process, e, e->f);
}

static int read_all(struct export *e, bool last)
{
	uint64_t from = now_ns();
	int err = 0;

	if (e->ob)
		err = observation_report(e->ob, last, e->f);
	if (!err)
		err = board_watches_report(e->boards, last);
	e->last_reading_ns = now_ns();
	e->readings.n++;
	e->readings.ns += e->last_reading_ns - from;
	export_memory_give_back(&e->memory, e->last_reading_ns);
	export_own_count(e->metrics, &e->readings);
	if (e->http)
		export_http_count(e->http);
	export_records_count(e->records, e->metrics);
	if (e->push)
		export_push_count(e->push);
	return err;
}

/* Also after a reading that somebody asked for: the next one is then not due yet. */
static int on_interval(void *arg, uint64_t expirations)
{
	struct export *e = arg;
	int err = 0;

	if (now_ns() - e->last_reading_ns >= e->c->interval_ns / 2)
		err = read_all(e, false);
	if (!err && e->finder && now_ns() - e->last_look_ns >= FIND_NS)
		err = look_for_processes(e);
	return err;
}

static void refresh(void *arg)
{
	struct export *e = arg;
	uint64_t fresh = e->c->interval_ns < FRESH_NS ? e->c->interval_ns : FRESH_NS;

	if (e->err || e->ending || now_ns() - e->last_reading_ns < fresh)
		return;
	e->err = read_all(e, false);
	if (e->err)
		evloop_stop(e->loop);
}

static bool healthy(void *arg)
{
	const struct export *e = arg;

	return !e->err && now_ns() - e->last_reading_ns < 3 * e->c->interval_ns;
}

/* --- signals -------------------------------------------------------------------------------------------------------------------- */

static int on_end(void *arg, int signo)
{
	evloop_stop(((struct export *)arg)->loop);
	return 0;
}

static int apply_filter(struct export *e, const struct export_config *c)
{
	struct loop_filter *filter = NULL;
	int err = loop_filter_new(c->include.v, c->include.n, c->exclude.v, c->exclude.n, &filter);

	if (err)
		return err;
	if (e->ob)
		observation_set_filter(e->ob, filter);
	loop_filter_free(e->filter);
	e->filter = filter;
	return 0;
}

/* All or nothing of what can change; what is wrong is said, and all goes on as it was. */
static int reload(struct export *e, struct fault *f)
{
	struct export_settings *s = NULL;
	char fixed[512];
	size_t n_fixed;
	int err = export_settings_load(e->argc, e->argv, &s, f);

	if (err)
		return err;
	n_fixed = export_settings_fixed_differ(e->first, s, fixed, sizeof(fixed));
	if (n_fixed)
		fprintf(stderr, "loopscope: %s can't change while it runs: what the file says of %s waits for a restart\n", fixed,
			n_fixed > 1 ? "them" : "it");
	err = export_push_configure(e->push, export_settings_config(s), f);
	if (!err)
		err = export_records_configure(e->records, export_settings_config(s)->ndjson, f);
	if (!err)
		err = apply_filter(e, export_settings_config(s));
	if (err)
		return err;
	export_settings_free(e->loaded);
	e->loaded = s;
	return 0;
}

/* What may have changed meanwhile is looked for now: settings, the file under --ndjson's name, processes. */
static int on_hangup(void *arg, int signo)
{
	struct export *e = arg;
	struct fault f = {};

	notify_reloading(&e->service.notify);
	if (reload(e, &f))
		fault_report(&f);
	notify_send(&e->service.notify, "READY=1");
	return look_for_processes(e);
}

/* --- setting up ------------------------------------------------------------------------------------------------------------------ */

static int make_sinks(struct export *e)
{
	int err = export_records_new(e->loop, &e->records, e->f);

	e->sinks = calloc(1 + e->c->boards.n, sizeof(struct sink *));
	if (!e->sinks && !err)
		return -ENOMEM;
	for (; e->n_sinks < 1 + e->c->boards.n && !err; e->n_sinks++)
		err = export_sink_new(e->metrics, (unsigned)e->n_sinks, e->records, &e->sinks[e->n_sinks], e->f);
	return err;
}

static int open_boards(struct export *e)
{
	const struct export_config *c = e->c;
	struct board_watch_options o = { .line = { .baud = (unsigned)c->baud, .paced = true, .sync_ns = 1000000000ull,
						   .hog_ns = c->no_slow ? 0 : c->slow_ns, .wishes = { .rate = -1 } } };

	if (c->boards.n >= METRICS_ORIGINS_MAX)
		return fault(e->f, -E2BIG, EXIT_USAGE, "export: at most %d boards", METRICS_ORIGINS_MAX - 1);
	return board_watches_open(c->boards.v, c->boards.n, &o, &e->boards, e->f);
}

static int open_kernel(struct export *e)
{
	const struct export_config *c = e->c;
	struct observe_options o = {
		.source = { .pids = c->pids.v,
			    .n_pids = c->pids.n,
			    .only_pids = export_names_processes(c),
			    .edges = c->edges,
			    .slow_ns = c->no_slow ? 0 : c->slow_ns,
			    .budget = c->budget >= 1 ? 0 : c->budget,
			    .histograms = true },
		.sink = e->sinks[0],
		.show_asleep = export_names_processes(c),
		.filter = e->filter,
	};
	int err = 0;

	for (size_t i = 0; i < c->pids.n && !err; i++)
		err = processes_check(c->pids.v[i], e->f);
	if (!err)
		err = observation_open(&o, &e->ob, e->f);
	if (!err && c->names.n)
		err = process_finder_new(&c->names, &e->finder);
	return err ? err : look_for_processes(e);
}

static int open_http(struct export *e)
{
	struct export_http_options o = { .listen = e->c->listen, .metrics = e->metrics, .refresh = refresh, .healthy = healthy, .arg = e };

	return !export_listens(e->c) ? 0 : export_http_new(&o, e->loop, &e->http, e->f);
}

static int open_push(struct export *e)
{
	struct export_push_options o = { .metrics = e->metrics, .refresh = refresh, .arg = e };

	return export_push_new(&o, e->c, e->loop, &e->push, e->f);
}

static void tell_features(struct export *e)
{
	bool measures = e->ob && kernel_source_measures(observation_source(e->ob));

	export_own_build(e->metrics);
	export_own_feature(e->metrics, "loops", e->ob != NULL);
	export_own_feature(e->metrics, "ticks", measures);
	export_own_feature(e->metrics, "slow_ticks", measures && !e->c->no_slow);
	export_own_feature(e->metrics, "boards", e->c->boards.n > 0);
}

static int start(struct export *e)
{
	int err = export_service_open(&e->service, e->loop, e->f);
	if (!err)
		err = evloop_add_signal(e->loop, SIGINT, on_end, e);
	if (!err)
		err = evloop_add_signal(e->loop, SIGTERM, on_end, e);
	if (!err)
		err = evloop_add_signal(e->loop, SIGHUP, on_hangup, e);
	if (!err && e->ob)
		err = observation_start(e->ob, e->loop, e->f);
	for (size_t i = 0; i < board_watches_count(e->boards) && !err; i++)
		err = board_watch_start(board_watches_get(e->boards, i), e->sinks[1 + i], e->loop, e->f);
	if (!err)
		err = evloop_add_timer(e->loop, e->c->interval_ns, e->c->interval_ns, on_interval, e, &e->interval);
	e->last_reading_ns = now_ns();
	return err;
}

static int set_up(struct export *e)
{
	const struct export_config *c = e->c;
	int err = evloop_new(&e->loop);

	if (!err)
		err = loop_filter_new(c->include.v, c->include.n, c->exclude.v, c->exclude.n, &e->filter);
	if (!err)
		err = export_metrics_new(c, &e->metrics);
	if (!err)
		err = make_sinks(e);
	if (!err) /* before what takes long: a port in use is said at once */
		err = open_http(e);
	if (!err)
		err = open_boards(e);
	if (!err && !c->no_kernel)
		err = open_kernel(e);
	if (!err)
		err = start(e);
	if (!err)
		err = export_service_confine(e->ob != NULL, c->edges == CHOOSE_UPROBE, e->f);
	/* As they will be able to write, not as they were. */
	if (!err)
		err = export_records_configure(e->records, c->ndjson, e->f);
	if (!err)
		err = open_push(e);
	return err;
}

static void tear_down(struct export *e)
{
	observation_close(e->ob);
	board_watches_free(e->boards);
	export_http_free(e->http);
	export_push_free(e->push);
	process_finder_free(e->finder);
	for (size_t i = 0; i < e->n_sinks; i++)
		sink_free(e->sinks[i]);
	free(e->sinks);
	sink_free(e->records);
	metrics_free(e->metrics);
	loop_filter_free(e->filter);
	export_service_close(&e->service);
	evloop_free(e->loop);
	export_settings_free(e->loaded);
}

static void tell_ready(struct export *e)
{
	char state[256];

	tell_features(e);
	snprintf(state, sizeof(state), "READY=1\nSTATUS=/metrics is served on %s", e->http ? export_http_address(e->http) : "no address");
	notify_send(&e->service.notify, state);
	if (e->http)
		fprintf(stderr, "loopscope: /metrics is served on %s\n", export_http_address(e->http));
}

/* A last reading, and what is to be pushed of it. */
static int wind_up(struct export *e)
{
	int err;

	notify_send(&e->service.notify, "STOPPING=1");
	evloop_remove(e->loop, e->interval);
	err = read_all(e, true);
	e->ending = true;
	if (!err)
		export_push_last(e->push, LAST_PUSH_NS);
	if (!err && e->ob)
		err = observation_finish(e->ob, e->f);
	if (!err)
		err = export_records_last(e->records, LAST_PUSH_NS);
	return err;
}

int export_daemon(const struct export_settings *s, int argc, char **argv, struct fault *f)
{
	struct export e = { .first = s, .c = export_settings_config(s), .argc = argc, .argv = argv, .f = f,
			    .service = { .notify = { .fd = -1 }, .healthy = healthy, .arg = &e } };
	int err = set_up(&e);

	if (!err) {
		tell_ready(&e);
		err = evloop_run(e.loop);
	}
	if (!err)
		err = e.err;
	if (!err)
		err = wind_up(&e);
	tear_down(&e);
	return err && err != -EPIPE ? fault(f, err, EXIT_FAILED, "the export can't go on: %s", strerror(-err)) : err;
}
