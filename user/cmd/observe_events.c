/* SPDX-License-Identifier: BSD-2-Clause */
/* observe_events.c - see observe_events.h. */
#include "cmd/observe_events.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uthash.h>

#include "registry/proc.h"

#define LOOPS_MAX 65536
#define CLOCKS_FIT_NS 50000000 /* for so long the two clocks are taken to go together */

/* One thread's events but for what each has of its own; filled in at its first. */
struct stream {
	uint32_t tid;
	struct loop_event event;
	UT_hash_handle hh;
};

struct observe_events {
	struct sink *sink;
	observe_who_fn who;
	void *arg;
	struct stream *streams, *latest;
	uint64_t fitted_ns; /* when the clocks were compared */
	int64_t wall_ns;    /* what the wall clock is ahead of the monotonic one */
};

int observe_events_new(struct sink *sink, observe_who_fn who, void *arg, struct observe_events **ret)
{
	struct observe_events *v = calloc(1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	v->sink = sink;
	v->who = who;
	v->arg = arg;
	*ret = v;
	return 0;
}

void observe_events_free(struct observe_events *v)
{
	struct stream *s, *tmp;

	if (!v)
		return;
	HASH_ITER(hh, v->streams, s, tmp) {
		HASH_DEL(v->streams, s);
		free(s);
	}
	free(v);
}

/* As of now, or nearly: a step of the wall clock between the event and this moment shows. */
static double wall_time(struct observe_events *v, uint64_t mono_ns)
{
	struct timespec real, mono;

	if (llabs((long long)(mono_ns - v->fitted_ns)) > CLOCKS_FIT_NS) {
		clock_gettime(CLOCK_REALTIME, &real);
		clock_gettime(CLOCK_MONOTONIC, &mono);
		v->wall_ns = ((int64_t)real.tv_sec - (int64_t)mono.tv_sec) * 1000000000 + real.tv_nsec - mono.tv_nsec;
		v->fitted_ns = mono_ns;
	}
	return (double)((int64_t)mono_ns + v->wall_ns) / 1e9;
}

static struct stream *add(struct observe_events *v, const struct loop_turn *t)
{
	struct stream *s = HASH_COUNT(v->streams) < LOOPS_MAX ? calloc(1, sizeof(*s)) : NULL;
	struct loop_event *e;
	struct proc_info info;

	if (!s)
		return NULL;
	s->tid = t->tid;
	e = &s->event;
	e->source = SOURCE_KERNEL;
	e->id = (struct loop_id){ .pid = t->pid, .tid = t->tid };
	e->runtime = "unknown";
	if (!proc_info_read((pid_t)t->pid, &info))
		memcpy(e->comm, info.comm, LOOP_COMM_LEN);
	proc_thread_comm_read((pid_t)t->pid, (pid_t)t->tid, e->thread);
	v->who(v->arg, &e->id, "", e->thread, e->comm, &e->runtime);
	HASH_ADD(hh, v->streams, tid, sizeof(s->tid), s);
	return s;
}

static struct stream *stream_of(struct observe_events *v, const struct loop_turn *t)
{
	struct stream *s = v->latest;

	if (s && s->tid == t->tid)
		return s;
	HASH_FIND(hh, v->streams, &t->tid, sizeof(t->tid), s);
	if (!s)
		s = add(v, t);
	v->latest = s;
	return s;
}

int observe_events_turn(struct observe_events *v, const struct loop_turn *t, struct fault *f)
{
	struct turn_event events[TURN_EVENTS_MAX];
	size_t n = turn_events(t, events);
	struct stream *s = stream_of(v, t);

	if (!s)
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	for (size_t i = 0; i < n; i++) {
		struct loop_event *e = &s->event;
		int err;

		e->kind = events[i].kind;
		e->mono_ns = events[i].ns;
		e->ts = wall_time(v, e->mono_ns);
		e->timeout_us = events[i].timeout_ns == TURN_NO_TIMEOUT ? NAN : (double)events[i].timeout_ns / 1e3;
		e->count = events[i].count;
		err = sink_event(v->sink, e, f);
		if (err)
			return err;
	}
	return 0;
}
