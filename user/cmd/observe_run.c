/* SPDX-License-Identifier: BSD-2-Clause */
/* observe_run.c - an observation in an event loop: what it does between its reports, what paces them, what ends it. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>

#include "cmd/observe_state.h"
#include "lib/now.h"

/* Stalls are told within the threshold + 200 ms. */
#define PULSE_NS 100000000ull
#define CALIBRATE_NS 500000000ull
/* Reports that come so often read who their loops are often enough. */
#define LOOK_NS 1000000000ull
/* Without edges there are no stalls, but what ends between two reports is taken out of the kernel's buffer. */
#define CALM_PULSE_NS 1000000000ull
/* The event stream comes as fast as this. */
#define BATCH_NS 25000000ull

void observe_leave_loop(struct observation *ob)
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

static int on_calibration(void *arg, uint64_t expirations)
{
	struct observation *ob = arg;

	if (kernel_source_calibrate(ob->source))
		return 0;
	evloop_remove(ob->loop, ob->calibration);
	ob->calibration = NULL;
	return 0;
}

int observe_continue_calibration(struct observation *ob, struct fault *f)
{
	int err;

	if (!ob->loop || ob->calibration || !kernel_source_calibrates(ob->source))
		return 0;
	err = evloop_add_timer(ob->loop, CALIBRATE_NS, CALIBRATE_NS, on_calibration, ob, &ob->calibration);
	return err ? fault(f, err, EXIT_FAILED, "the event loop can't be set up: %s", strerror(-err)) : 0;
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
		err = observe_round(ob, &iv, f);
	if (err || !any_ended(&iv))
		return err;
	return observe_tell(ob, &iv, f);
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
	return err ? err : observe_continue_calibration(ob, f);
}

int observation_finish(struct observation *ob, struct fault *f)
{
	int err = kernel_source_drain(ob->source, f);

	if (!err && kernel_source_measures(ob->source))
		err = observe_ticks_finish(ob->ticks, f);
	observe_leave_loop(ob);
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
	observe_leave_loop(ob);
	return err;
}
