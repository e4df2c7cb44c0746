/* SPDX-License-Identifier: BSD-2-Clause */
/* observe.c - see observe.h. */
#include "cmd/observe.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "cmd/observe_events.h"
#include "cmd/observe_facts.h"
#include "cmd/observe_probes.h"
#include "cmd/observe_ticks.h"
#include "lib/cleanup.h"
#include "lib/now.h"
#include "model/tracker.h"
#include "registry/proc.h"
#include "registry/registry.h"

/* Stalls are told within the threshold + 200 ms. */
#define PULSE_NS 100000000ull
#define CALIBRATE_NS 500000000ull
/* Reports that come so often read who their loops are often enough. */
#define LOOK_NS 1000000000ull
/* Without edges there are no stalls, but what ends between two reports is taken out of the kernel's buffer. */
#define CALM_PULSE_NS 1000000000ull
/* The event stream comes as fast as this. */
#define BATCH_NS 25000000ull

const char *const observe_formats[] = { "table", "json", NULL };
const char *const observe_tick_formats[] = { "table", "json", "folded", NULL };
const char *const observe_sorts[] = { "load", "busy", "wait", "pid", NULL };

struct observation {
	struct observe_options o;
	struct observe_facts facts;
	struct kernel_source *source;
	struct tracker *tracker;
	struct sink *sink, *own_sink;
	struct observe_ticks *ticks;
	struct observe_events *events;
	struct steal_meter steal;
	bool phases_told; /* which of them can't be seen */
	struct loop_record *sorted;
	/* while running */
	struct evloop *loop;
	struct ev_source *pulse, *ring, *batch, *calibration;
	struct observe_pace pace;
	uint64_t asked_ns; /* when it was opened */
	uint64_t reports, pulses;
	struct fault *f;
};

/* Who a loop is, for records of single ticks: as the last interval had it. One that was in none is asked itself; so is one that was
 * not recognised: it may have been seen for the first time inside a callback, in a call that its runtime does not wait in. */
static void who(void *arg, const struct loop_id *id, const char *wait_syscall, const char *thread, char comm[LOOP_COMM_LEN],
		const char **runtime)
{
	struct observation *ob = arg;
	const struct loop_facts *known = tracker_facts(ob->tracker, id);
	struct proc_info info;

	if (known)
		memcpy(comm, known->comm, LOOP_COMM_LEN);
	else if (!proc_info_read((pid_t)id->pid, &info))
		memcpy(comm, info.comm, LOOP_COMM_LEN);
	if (known && known->runtime_known)
		*runtime = known->runtime;
	else
		*runtime = registry_recognise(ob->facts.registry, (pid_t)id->pid, wait_syscall, thread)->name;
}

static int on_slow(void *arg, const struct tick_report *r)
{
	struct observation *ob = arg;

	return observe_ticks_slow(ob->ticks, r, ob->f);
}

static int on_turn(void *arg, const struct loop_turn *t)
{
	struct observation *ob = arg;

	return sink_takes_turns(ob->sink) ? sink_turn(ob->sink, t, ob->f) : observe_events_turn(ob->events, t, ob->f);
}

static int find_phases(void *arg, pid_t pid, const char *const **ret_names, kernel_place_fn place, void *place_arg)
{
	struct observation *ob = arg;

	return observe_find_phases(ob->facts.registry, pid, !ob->phases_told, ret_names, place, place_arg);
}

static int open_source(struct observation *ob, const struct observe_options *o, struct fault *f)
{
	struct kernel_source_options so = o->source;
	int err = observe_ticks_new(ob->sink, who, ob, &ob->ticks);

	if (!err)
		err = observe_events_new(ob->sink, who, ob, &ob->events);
	if (err)
		return err;
	so.slow = on_slow;
	so.turn = on_turn;
	so.find = observe_find_waits;
	so.find_phases = find_phases;
	so.arg = ob;
	return kernel_source_open(&so, &ob->source, f);
}

static int open_sink(struct observation *ob, struct fault *f)
{
	struct table_options t = { .out = ob->o.out, .layout = ob->o.layout, .columns = ob->o.columns,
				   .interval_ns = ob->o.interval_ns };

	int err;

	ob->sink = ob->o.sink;
	if (ob->sink)
		return 0;
	if (ob->o.format == OBSERVE_FOLDED)
		err = sink_folded_new(ob->o.out, &ob->own_sink, f);
	else if (ob->o.format == OBSERVE_JSON)
		err = sink_json_new(ob->o.out, &ob->own_sink, f);
	else
		err = sink_table_new(&t, &ob->own_sink, f);
	ob->sink = ob->own_sink;
	return err;
}

static int take(void *arg, const struct loop_sample *s)
{
	return tracker_sample(arg, s);
}

/* One round: all samples into the tracker, the interval out of it. */
static int round_trip(struct observation *ob, struct interval *ret, struct fault *f)
{
	struct kernel_losses lost;
	int err;

	tracker_begin(ob->tracker, (double)clock_ns(CLOCK_REALTIME) / 1e9, now_ns());
	observe_facts_round_begin(&ob->facts);
	err = kernel_source_snapshot(ob->source, take, ob->tracker, f);
	observe_facts_round_end(&ob->facts);
	if (!err) {
		enum cost_kind kind;
		double ns = kernel_source_event_cost(ob->source, &kind);

		tracker_set_event_cost(ob->tracker, ns, kind);
		tracker_set_wait_cost(ob->tracker, kernel_source_wait_cost(ob->source));
		tracker_set_entry_cost(ob->tracker, kernel_source_entry_cost(ob->source));
		err = tracker_end(ob->tracker, ret);
	}
	if (err)
		return fault(f, err, EXIT_FAILED, "the report can't be made: %s", strerror(-err));
	ret->steal = steal_meter_step(&ob->steal);
	if (!kernel_source_losses(ob->source, &lost))
		ret->lost = (int64_t)(lost.ended_lost + lost.not_tracked + lost.torn + lost.slow_ticks);
	return 0;
}

int observation_open(const struct observe_options *o, struct observation **ret, struct fault *f)
{
	struct observation *ob = calloc(1, sizeof(*ob));
	struct tracker_options to = { .facts = observe_facts_read, .arg = &ob->facts, .show_asleep = o->show_asleep, .show_all = o->show_all };
	struct interval first;
	int err;

	if (!ob)
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	ob->o = *o;
	ob->f = f;
	ob->asked_ns = now_ns();
	err = open_sink(ob, f);
	if (!err)
		err = tracker_new(&to, &ob->tracker);
	/* Before the probe files: without privileges, that is the cause to tell, even where those can't be read either. */
	if (!err)
		err = open_source(ob, o, f);
	if (!err)
		err = registry_load(NULL, &ob->facts.registry, f);
	if (!err)
		err = round_trip(ob, &first, f);
	if (err) {
		observation_close(ob);
		return fault(f, err, EXIT_FAILED, "out of memory");
	}
	*ret = ob;
	return 0;
}

static void leave_loop(struct observation *ob)
{
	if (!ob->loop)
		return;
	evloop_remove(ob->loop, ob->pulse);
	evloop_remove(ob->loop, ob->ring);
	evloop_remove(ob->loop, ob->batch);
	evloop_remove(ob->loop, ob->calibration);
	ob->pulse = ob->ring = ob->batch = ob->calibration = NULL;
	ob->loop = NULL;
}

void observation_close(struct observation *ob)
{
	if (!ob)
		return;
	leave_loop(ob);
	kernel_source_close(ob->source);
	observe_ticks_free(ob->ticks);
	observe_events_free(ob->events);
	tracker_free(ob->tracker);
	registry_free(ob->facts.registry);
	sink_free(ob->own_sink);
	free(ob->sorted);
	free(ob);
}

struct kernel_source *observation_source(struct observation *ob)
{
	return ob->source;
}

void observation_set_filter(struct observation *ob, const struct loop_filter *filter)
{
	ob->o.filter = filter;
}

static double sort_key(const struct loop_record *r, int by)
{
	switch (by) {
	case OBSERVE_BY_BUSY:
		return r->busy;
	case OBSERVE_BY_WAIT:
		return r->wait;
	case OBSERVE_BY_PID:
		return -(double)r->id.pid;
	default:
		return r->load;
	}
}

static int compare(const void *a, const void *b, void *by)
{
	const struct loop_record *x = a, *y = b;
	double kx = sort_key(x, *(int *)by), ky = sort_key(y, *(int *)by);

	if (kx != ky)
		return kx < ky ? 1 : -1;
	if (x->id.pid != y->id.pid)
		return x->id.pid < y->id.pid ? -1 : 1;
	return x->id.tid < y->id.tid ? -1 : x->id.tid > y->id.tid;
}

/* Those that are wanted, sorted. */
static int choose(struct observation *ob, struct interval *iv, struct fault *f)
{
	struct loop_record *p;
	size_t n = 0;

	if (!iv->n_loops)
		return 0;
	p = reallocarray(ob->sorted, iv->n_loops, sizeof(*p));
	if (!p)
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	ob->sorted = p;
	for (size_t i = 0; i < iv->n_loops; i++)
		if (loop_filter_takes(ob->o.filter, &iv->loops[i]))
			p[n++] = iv->loops[i];
	qsort_r(p, n, sizeof(*p), compare, &ob->o.sort);
	iv->n_excluded = iv->n_loops - n;
	iv->loops = p;
	iv->n_loops = n;
	return 0;
}

static int on_calibration(void *arg, uint64_t expirations)
{
	struct observation *ob = arg;

	if (kernel_source_calibrate(ob->source))
		return 0;
	evloop_remove(ob->loop, ob->calibration);
	ob->calibration = NULL;
	return 0;
}

/* Goes on in steps of its own, as an interval may last for minutes. */
static int continue_calibration(struct observation *ob, struct fault *f)
{
	int err;

	if (!ob->loop || ob->calibration || !kernel_source_calibrates(ob->source))
		return 0;
	err = evloop_add_timer(ob->loop, CALIBRATE_NS, CALIBRATE_NS, on_calibration, ob, &ob->calibration);
	return err ? fault(f, err, EXIT_FAILED, "the event loop can't be set up: %s", strerror(-err)) : 0;
}

int observation_report(struct observation *ob, bool last, struct fault *f)
{
	struct interval iv = {};
	int err = round_trip(ob, &iv, f);

	if (!err)
		err = choose(ob, &iv, f);
	if (err)
		return err;
	iv.last = last;
	ob->reports++;
	err = sink_interval(ob->sink, &iv, f);
	return err ? err : continue_calibration(ob, f);
}

static int on_tick(void *arg, uint64_t expirations)
{
	struct observation *ob = arg;
	bool last = ob->pace.count && ob->reports + 1 >= ob->pace.count;
	int err = observation_report(ob, last, ob->f);

	if (last)
		evloop_stop(ob->loop);
	return err;
}

static int learn(void *arg, const struct loop_sample *s)
{
	return tracker_learn(arg, s);
}

/* Whose loops they are is read while they live: at the next report, which may be the only one, their processes may be gone. Soon
 * after the start, then each ten pulses. */
static int look_who_is_there(struct observation *ob, struct fault *f)
{
	bool soon = !(ob->pulses & (ob->pulses - 1)), reported_soon = ob->pace.interval_ns && ob->pace.interval_ns <= LOOK_NS;
	int err;

	if (!ob->o.source.only_pids || reported_soon || (!soon && ob->pulses % 10))
		return 0;
	observe_facts_round_begin(&ob->facts);
	err = kernel_source_look(ob->source, learn, ob->tracker, f);
	observe_facts_round_end(&ob->facts);
	return err ? fault(f, err, EXIT_FAILED, "out of memory") : 0;
}

static int on_pulse(void *arg, uint64_t expirations)
{
	struct observation *ob = arg;
	int err = kernel_source_take_ended(ob->source, ob->f);

	ob->pulses++;
	if (!err)
		err = look_who_is_there(ob, ob->f);
	return err ? err : kernel_source_pulse(ob->source, ob->f);
}

static int on_events(void *arg, int fd, uint32_t events)
{
	struct observation *ob = arg;

	return kernel_source_poll(ob->source, ob->f);
}

static int on_batch(void *arg, uint64_t expirations)
{
	struct observation *ob = arg;
	int err = kernel_source_poll(ob->source, ob->f);

	return err ? err : sink_flush(ob->sink, ob->f);
}

static int on_end(void *arg, uint64_t expirations)
{
	evloop_stop(((struct observation *)arg)->loop);
	return 0;
}

static int on_signal(void *arg, int signo)
{
	evloop_stop(((struct observation *)arg)->loop);
	return 0;
}

void observation_stop(struct observation *ob)
{
	if (ob->loop)
		evloop_stop(ob->loop);
}

/* A rest shorter than this share of the interval is not worth a report of its own, unless it is the only one. */
static bool worth_reporting(const struct observation *ob, uint64_t since_last_ns)
{
	return !ob->reports || since_last_ns > ob->pace.interval_ns / 20;
}

static bool any_ended(const struct interval *iv)
{
	for (size_t i = 0; i < iv->n_loops; i++)
		if (iv->loops[i].ended)
			return true;
	return false;
}

/* Attaching takes from 0.1 s to seconds: the first interval begins when it is done, so that its ticks are all counted. What ended
 * meanwhile would be in none: then that time is an interval of its own. */
static int begin_to_measure(struct observation *ob, struct fault *f)
{
	struct interval iv = {};
	int err;

	if (!kernel_source_begins_to_measure(ob->source))
		return 0;
	err = kernel_source_measure(ob->source, f);
	ob->phases_told = true;
	if (!err)
		err = round_trip(ob, &iv, f);
	if (err || !any_ended(&iv))
		return err;
	err = choose(ob, &iv, f);
	return err ? err : sink_interval(ob->sink, &iv, f);
}

int observation_start(struct observation *ob, struct evloop *loop, struct fault *f)
{
	uint64_t pulse = kernel_source_measures(ob->source) || ob->o.source.phases ? PULSE_NS : CALM_PULSE_NS;
	int err;

	ob->loop = loop;
	ob->f = f;
	err = evloop_add_timer(loop, pulse, pulse, on_pulse, ob, &ob->pulse);
	if (!err && kernel_source_fd(ob->source) >= 0)
		err = evloop_add_fd(loop, kernel_source_fd(ob->source), EPOLLIN, on_events, ob, &ob->ring);
	if (!err && ob->o.source.stream)
		err = evloop_add_timer(loop, BATCH_NS, BATCH_NS, on_batch, ob, &ob->batch);
	if (err)
		return fault(f, err, EXIT_FAILED, "the event loop can't be set up: %s", strerror(-err));
	err = begin_to_measure(ob, f);
	return err ? err : continue_calibration(ob, f);
}

int observation_finish(struct observation *ob, struct fault *f)
{
	int err = kernel_source_drain(ob->source, f);

	if (!err && kernel_source_measures(ob->source))
		err = observe_ticks_finish(ob->ticks, f);
	leave_loop(ob);
	return err;
}

static int watch_signals(struct observation *ob, struct evloop *loop, struct fault *f)
{
	int err = evloop_add_signal(loop, SIGINT, on_signal, ob);

	if (!err)
		err = evloop_add_signal(loop, SIGTERM, on_signal, ob);
	return err ? fault(f, err, EXIT_FAILED, "the event loop can't be set up: %s", strerror(-err)) : 0;
}

/* The first report comes an interval after the start, and is of as much less as attaching took, unless that would leave too
 * little of it. */
static uint64_t first_interval_ns(uint64_t interval_ns, uint64_t attaching_ns)
{
	return attaching_ns < interval_ns / 2 ? interval_ns - attaching_ns : interval_ns;
}

/* What paces the reports and ends the run. */
static int set_pace(struct observation *ob, struct evloop *loop, const struct observe_pace *pace, uint64_t first_ns,
		    struct fault *f)
{
	int err = 0;

	if (pace->interval_ns)
		err = evloop_add_timer(loop, first_ns, pace->interval_ns, on_tick, ob, NULL);
	if (!err && pace->duration_ns)
		err = evloop_add_timer(loop, pace->duration_ns, 0, on_end, ob, NULL);
	return err ? fault(f, err, EXIT_FAILED, "the event loop can't be set up: %s", strerror(-err)) : 0;
}

int observation_run(struct observation *ob, struct evloop *loop, const struct observe_pace *pace, struct fault *f)
{
	uint64_t first, begin, rest;
	int err = pace->ignore_signals ? 0 : watch_signals(ob, loop, f);

	ob->pace = *pace;
	if (!err)
		err = observation_start(ob, loop, f);
	begin = now_ns();
	first = first_interval_ns(pace->interval_ns, begin - ob->asked_ns);
	begin -= pace->interval_ns - first;
	if (!err)
		err = set_pace(ob, loop, pace, first, f);
	if (!err)
		err = evloop_run(loop);
	rest = now_ns() - begin - ob->reports * pace->interval_ns;
	if (!err && !(pace->count && ob->reports >= pace->count) && worth_reporting(ob, rest))
		err = observation_report(ob, true, f);
	if (!err)
		err = observation_finish(ob, f);
	leave_loop(ob);
	return err;
}

bool observe_columns_help(const char *columns)
{
	if (!columns || strcmp(columns, "help"))
		return false;
	sink_table_columns_help(stdout);
	return true;
}

int observe_exit(int err, const struct fault *f)
{
	if (!err || err == -EPIPE)
		return EXIT_DONE;
	return fault_report(f);
}
