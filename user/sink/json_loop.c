/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json_loop.c - the "loop" line. Names and order up to "observer_cost" are the design's; what we add comes after.
 */
#include <string.h>

#include "sink/json_record.h"
#include "sink/json_value.h"

static json_t *wait_point(const struct loop_record *r)
{
	struct json_object o = json_object_new();

	json_put(&o, "syscall", json_text(r->wait_syscall, SIZE_MAX));
	json_put(&o, "fd", json_count(r->wait_fd));
	return json_object_take(&o);
}

/* load, busy, wait, idle: rounded so that busy + wait + idle is 1 and load is busy + wait, also in print. */
static void put_shares(struct json_object *o, const struct loop_record *r)
{
	struct share_rounder sum = { 0 };

	json_put(o, "load", json_share(r->load));
	json_put(o, "busy", share_rounder_next(&sum, r->busy));
	json_put(o, "wait", share_rounder_next(&sum, r->wait));
	json_put(o, "idle", share_rounder_next(&sum, r->idle));
	json_put(o, "spin", json_share(r->spin));
	json_put(o, "naive_load", json_share(r->naive_load));
}

/* The same running sum as busy and wait have, so that the parts sum to those. */
static json_t *parts(const struct loop_record *r)
{
	struct json_object o = json_object_new();
	struct share_rounder sum = { 0 };

	json_put(&o, "io_cpu", share_rounder_next(&sum, r->io_cpu));
	json_put(&o, "tick_cpu", share_rounder_next(&sum, r->tick_cpu));
	json_put(&o, "tick_blocked", share_rounder_next(&sum, r->tick_blocked));
	json_put(&o, "wait_io", share_rounder_next(&sum, r->wait_io));
	json_put(&o, "wait_tick", share_rounder_next(&sum, r->wait_tick));
	json_put(&o, "throttled", json_share(r->throttled));
	return json_object_take(&o);
}

static json_t *quantiles(const struct quantiles *q)
{
	struct json_object o;

	if (!q->known)
		return json_null();
	o = json_object_new();
	json_put(&o, "p50", json_micros(q->p50));
	json_put(&o, "p90", json_micros(q->p90));
	json_put(&o, "p99", json_micros(q->p99));
	json_put(&o, "p999", json_micros(q->p999));
	json_put(&o, "max", json_micros(q->max));
	return json_object_take(&o);
}

/* Steals the element; false without memory. */
static bool append(json_t *array, struct json_object *element)
{
	return json_array_append_new(array, json_object_take(element)) == 0;
}

static json_t *blocked_by(const struct loop_record *r)
{
	json_t *a = json_array();

	for (size_t i = 0; i < r->n_blocked_by && i < LOOP_BLOCKED_MAX + 1; i++) {
		const struct blocked_share *b = &r->blocked_by[i];
		struct json_object o = json_object_new();

		json_put(&o, "syscall", json_text(b->what, sizeof(b->what)));
		json_put(&o, "share", json_share(b->share));
		if (!append(a, &o)) {
			json_decref(a);
			return NULL;
		}
	}
	return a;
}

static json_t *waited_for(const struct loop_record *r)
{
	json_t *a = json_array();

	for (size_t i = 0; i < r->n_waited_for && i < LOOP_WAITED_MAX + 1; i++) {
		const struct waited_share *w = &r->waited_for[i];
		struct json_object o = json_object_new();

		json_put(&o, "comm", json_text(w->comm, sizeof(w->comm)));
		json_put(&o, "pid", json_count(w->pid));
		json_put(&o, "share", json_share(w->share));
		if (!append(a, &o)) {
			json_decref(a);
			return NULL;
		}
	}
	return a;
}

static json_t *name_or_null(const char *name)
{
	return name ? json_string(name) : json_null();
}

/* Identity beyond PID and TID (both are reused), and how far this record can be trusted. */
static void put_additions(struct json_object *o, const struct loop_record *r)
{
	json_put(o, "observer_cost_from", name_or_null(cost_kind_name(r->cost_from)));
	json_put(o, "edges", json_string(edge_kind_name(r->edges)));
	json_put(o, "repaired", json_count(r->repaired));
	json_put(o, "io_sleeps", json_count(r->io_sleeps));
	json_put(o, "thread_start_s", r->id.start_ns ? json_decimal((double)r->id.start_ns / 1e9, 6) : json_null());
	json_put(o, "generation", json_integer(r->id.generation));
	json_put(o, "in_progress_only", json_boolean(r->in_progress_only));
	json_put(o, "ended", json_boolean(r->ended));
}

json_t *json_loop(const struct loop_record *r)
{
	struct json_object o = json_line_new("loop");

	json_put(&o, "ts", json_decimal(r->ts, 3));
	json_put(&o, "interval_s", json_decimal(r->interval_s, 6));
	json_put(&o, "source", json_string(record_source_name(r->source)));
	json_put(&o, "pid", json_integer(r->id.pid));
	json_put(&o, "tid", json_integer(r->id.tid));
	json_put(&o, "nspid", json_count(r->nspid));
	json_put(&o, "comm", json_text(r->comm, sizeof(r->comm)));
	json_put(&o, "thread", json_text(r->thread, sizeof(r->thread)));
	json_put(&o, "cgroup", json_text(r->cgroup, SIZE_MAX));
	json_put(&o, "runtime", json_text(r->runtime, SIZE_MAX));
	json_put(&o, "wait_point", wait_point(r));
	put_shares(&o, r);
	json_put(&o, "parts", parts(r));
	json_put(&o, "io_waits", json_count(r->io_waits));
	json_put(&o, "ticks", json_count(r->ticks));
	json_put(&o, "tick_us", quantiles(&r->tick_us));
	json_put(&o, "io_us", quantiles(&r->io_us));
	json_put(&o, "blocked_by", blocked_by(r));
	json_put(&o, "waited_for", waited_for(r));
	json_put(&o, "lost", json_count(r->lost));
	json_put(&o, "observer_cost", json_share(r->observer_cost));
	put_additions(&o, r);
	return json_object_take(&o);
}
