/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json_loop.c - the "loop" line. Names and order up to "observer_cost" are the design's; what we add comes after.
 */
#include <math.h>
#include <stdint.h>

#include "sink/json_record.h"
#include "sink/json_value.h"

static void wait_point(struct json_writer *w, const struct loop_record *r)
{
	json_object_begin(w, "wait_point");
	json_put_text(w, "syscall", r->wait_syscall, SIZE_MAX);
	json_put_count(w, "fd", r->wait_fd);
	json_object_end(w);
}

/* load, busy, wait, idle: rounded so that busy + wait + idle is 1 and load is busy + wait, also in print. */
static void shares(struct json_writer *w, const struct loop_record *r)
{
	struct share_rounder sum = { 0 };

	json_put_share(w, "load", r->load);
	json_put_share_next(w, "busy", &sum, r->busy);
	json_put_share_next(w, "wait", &sum, r->wait);
	json_put_share_next(w, "idle", &sum, r->idle);
	json_put_share(w, "spin", r->spin);
	json_put_share(w, "naive_load", r->naive_load);
}

/* The same running sum as busy and wait have, so that the parts sum to those. */
static void parts(struct json_writer *w, const struct loop_record *r)
{
	struct share_rounder sum = { 0 };

	json_object_begin(w, "parts");
	json_put_share_next(w, "io_cpu", &sum, r->io_cpu);
	json_put_share_next(w, "tick_cpu", &sum, r->tick_cpu);
	json_put_share_next(w, "tick_blocked", &sum, r->tick_blocked);
	json_put_share_next(w, "wait_io", &sum, r->wait_io);
	json_put_share_next(w, "wait_tick", &sum, r->wait_tick);
	json_put_share(w, "throttled", r->throttled);
	json_object_end(w);
}

static void quantiles(struct json_writer *w, const char *key, const struct quantiles *q)
{
	if (!q->known) {
		json_put_null(w, key);
		return;
	}
	json_object_begin(w, key);
	json_put_micros(w, "p50", q->p50);
	json_put_micros(w, "p90", q->p90);
	json_put_micros(w, "p99", q->p99);
	json_put_micros(w, "p999", q->p999);
	json_put_micros(w, "max", q->max);
	json_object_end(w);
}

static void blocked_by(struct json_writer *w, const struct loop_record *r)
{
	json_array_begin(w, "blocked_by");
	for (size_t i = 0; i < r->n_blocked_by && i < LOOP_BLOCKED_MAX + 1; i++) {
		const struct blocked_share *b = &r->blocked_by[i];

		json_object_begin(w, NULL);
		json_put_text(w, "syscall", b->what, sizeof(b->what));
		json_put_share(w, "share", b->share);
		json_object_end(w);
	}
	json_array_end(w);
}

static void waited_for(struct json_writer *w, const struct loop_record *r)
{
	json_array_begin(w, "waited_for");
	for (size_t i = 0; i < r->n_waited_for && i < LOOP_WAITED_MAX + 1; i++) {
		const struct waited_share *s = &r->waited_for[i];

		json_object_begin(w, NULL);
		json_put_text(w, "comm", s->comm, sizeof(s->comm));
		json_put_count(w, "pid", s->pid);
		json_put_share(w, "share", s->share);
		json_object_end(w);
	}
	json_array_end(w);
}

static void phases(struct json_writer *w, const struct loop_record *r)
{
	if (!r->n_phases) {
		json_put_null(w, "phases");
		return;
	}
	json_array_begin(w, "phases");
	for (size_t i = 0; i < r->n_phases && i < LOOP_PHASES_MAX; i++) {
		json_object_begin(w, NULL);
		json_put_text(w, "name", r->phases[i].name, SIZE_MAX);
		json_put_share(w, "share", r->phases[i].share);
		json_put_count(w, "entries", r->phases[i].entries);
		json_object_end(w);
	}
	json_array_end(w);
}

/* Identity beyond PID and TID (both are reused), and how far this record can be trusted. */
static void additions(struct json_writer *w, const struct loop_record *r)
{
	json_put_text(w, "observer_cost_from", cost_kind_name(r->cost_from), SIZE_MAX);
	json_put_text(w, "edges", edge_kind_name(r->edges), SIZE_MAX);
	json_put_count(w, "repaired", r->repaired);
	json_put_count(w, "io_sleeps", r->io_sleeps);
	json_put_decimal(w, "thread_start_s", r->id.start_ns ? (double)r->id.start_ns / 1e9 : NAN, 6);
	json_put_integer(w, "generation", r->id.generation);
	json_put_boolean(w, "in_progress_only", r->in_progress_only);
	json_put_boolean(w, "ended", r->ended);
	json_put_decimal(w, "events_per_wait", r->events_per_wait, 3);
	json_put_micros(w, "late_us", r->late_us);
	json_put_micros(w, "late_wait_us", r->late_wait_us);
	json_put_count(w, "slow_ticks", r->slow_ticks);
	json_put_boolean(w, "over_budget", r->over_budget);
	phases(w, r);
}

void json_loop(struct json_writer *w, const struct loop_record *r)
{
	json_line_begin(w, "loop");
	json_put_decimal(w, "ts", r->ts, 6);
	json_put_decimal(w, "interval_s", r->interval_s, 6);
	json_put_text(w, "source", record_source_name(r->source), SIZE_MAX);
	json_put_count(w, "pid", r->id.pid ? (int64_t)r->id.pid : -1);
	json_put_count(w, "tid", r->id.tid ? (int64_t)r->id.tid : -1);
	json_put_count(w, "nspid", r->nspid);
	json_put_text(w, "comm", r->comm, sizeof(r->comm));
	json_put_text(w, "thread", r->thread, sizeof(r->thread));
	json_put_text(w, "cgroup", r->cgroup, SIZE_MAX);
	json_put_text(w, "runtime", r->runtime, SIZE_MAX);
	wait_point(w, r);
	shares(w, r);
	parts(w, r);
	json_put_count(w, "io_waits", r->io_waits);
	json_put_count(w, "ticks", r->ticks);
	quantiles(w, "tick_us", &r->tick_us);
	quantiles(w, "io_us", &r->io_us);
	blocked_by(w, r);
	waited_for(w, r);
	json_put_count(w, "lost", r->lost);
	json_put_share(w, "observer_cost", r->observer_cost);
	additions(w, r);
}
