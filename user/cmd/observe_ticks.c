/* SPDX-License-Identifier: BSD-2-Clause */
/* observe_ticks.c - see observe_ticks.h. */
#include "cmd/observe_ticks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/cleanup.h"
#include "model/slow_sums.h"
#include "model/tick_names.h"
#include "registry/proc.h"
#include "registry/symbols.h"
#include "registry/sysargs.h"

struct observe_ticks {
	struct sink *sink;
	observe_who_fn who;
	void *arg;
	struct symbols *symbols;
	struct slow_sums *sums;
	struct tick_names *names;
	char what[SLOW_CAUSES_MAX][TICK_NAME_LEN];
};

int observe_ticks_new(struct sink *sink, observe_who_fn who, void *arg, struct observe_ticks **ret)
{
	struct observe_ticks *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	t->sink = sink;
	t->who = who;
	t->arg = arg;
	err = symbols_new(&t->symbols);
	if (!err)
		err = slow_sums_new(&t->sums);
	if (!err)
		err = tick_names_new(&t->names);
	if (err) {
		observe_ticks_free(t);
		return err;
	}
	*ret = t;
	return 0;
}

void observe_ticks_free(struct observe_ticks *t)
{
	if (!t)
		return;
	symbols_free(t->symbols);
	slow_sums_free(t->sums);
	tick_names_free(t->names);
	free(t);
}

/* CLOCK_MONOTONIC to unix time, as of now: a step of the wall clock between the event and this moment shows. */
static double wall_time(uint64_t mono_ns)
{
	struct timespec real, mono;

	clock_gettime(CLOCK_REALTIME, &real);
	clock_gettime(CLOCK_MONOTONIC, &mono);
	return (double)real.tv_sec - (double)mono.tv_sec + ((double)real.tv_nsec - (double)mono.tv_nsec) / 1e9 + (double)mono_ns / 1e9;
}

/* --- slow ticks --------------------------------------------------------------------------------------------------------- */

static void describe(const struct tick_report *r, const struct raw_cause *c, char *what)
{
	pid_t pid = (pid_t)r->id.pid;

	what[0] = '\0';
	switch (c->kind) {
	case CAUSE_SYSCALL:
		if (c->call[0])
			sysargs_describe(pid, c->call, c->args, what, TICK_NAME_LEN);
		return;
	case CAUSE_PAGE_FAULT:
		sysargs_describe_fault(pid, c->args[0], what, TICK_NAME_LEN);
		return;
	case CAUSE_WAIT:
		if (c->pid > 0)
			snprintf(what, TICK_NAME_LEN, "%s (pid %lld)", c->comm, (long long)c->pid);
		else
			snprintf(what, TICK_NAME_LEN, "%s", c->pid == 0 ? "wake-up of an idle CPU" : "");
		return;
	case CAUSE_THROTTLE: {
		_cleanup_free_ char *cgroup = NULL;

		if (!proc_cgroup_read(pid, &cgroup))
			snprintf(what, TICK_NAME_LEN, "%s", cgroup);
		return;
	}
	default:
		return;
	}
}

static bool may_be_gone_later(const struct raw_cause *c)
{
	return c->kind == CAUSE_SYSCALL || c->kind == CAUSE_PAGE_FAULT;
}

/* Once a call has its name it keeps it: it may be over by now, and its fd closed, or another's. */
static int name_it(struct observe_ticks *t, const struct tick_report *r, const struct raw_cause *c, char *what)
{
	const char *was = tick_names_find(t->names, r, c);

	if (was) {
		snprintf(what, TICK_NAME_LEN, "%s", was);
		return 0;
	}
	describe(r, c, what);
	return r->in_progress && may_be_gone_later(c) ? tick_names_keep(t->names, r, c, what) : 0;
}

/* What called main() began the program, also where a libc without its full symbol table leaves it no name. */
static bool reaches_the_beginning(struct observe_ticks *t, const struct tick_report *r, const struct raw_cause *from,
				  const struct stack_names *s)
{
	if (s->n < from->n_frames)
		return false;
	return (s->n > 1 && !strcmp(s->frame[s->n - 2], "main")) ||
	       symbols_is_outermost(t->symbols, (pid_t)r->id.pid, from->frame[from->n_frames - 1]);
}

static int name_cause(struct observe_ticks *t, const struct tick_report *r, const struct raw_cause *from, char *what,
		      struct slow_cause *ret)
{
	int err = name_it(t, r, from, what);

	if (err)
		return err;
	*ret = (struct slow_cause){ .kind = from->kind, .us = (double)from->ns / 1e3, .what = what, .samples = from->samples };
	if (!from->n_frames)
		return 0;
	ret->stack.n = symbols_resolve(t->symbols, (pid_t)r->id.pid, from->frame, from->n_frames, ret->stack.frame);
	ret->stack.incomplete = !reaches_the_beginning(t, r, from, &ret->stack);
	return 0;
}

static bool same_cause(const struct slow_cause *a, const struct slow_cause *b)
{
	if (a->kind != b->kind || strcmp(a->what, b->what) || a->stack.n != b->stack.n || a->stack.incomplete != b->stack.incomplete)
		return false;
	for (size_t i = 0; i < a->stack.n; i++)
		if (strcmp(a->stack.frame[i], b->stack.frame[i]))
			return false;
	return true;
}

static int by_us(const void *a, const void *b)
{
	const struct slow_cause *x = a, *y = b;

	return x->us < y->us ? 1 : x->us > y->us ? -1 : 0;
}

/* Stacks that differ by the place in a function have the same names: they are one cause. Returns how many are left, or -errno. */
static int name_causes(struct observe_ticks *t, const struct tick_report *r, struct slow_cause *causes)
{
	size_t n = 0;
	int err;

	for (size_t i = 0; i < r->n_causes && n < SLOW_CAUSES_MAX; i++) {
		struct slow_cause *c = &causes[n];
		size_t same = 0;

		err = name_cause(t, r, &r->cause[i], t->what[n], c);
		if (err)
			return err;
		while (same < n && !same_cause(&causes[same], c))
			same++;
		if (same == n) {
			n++;
			continue;
		}
		causes[same].us += c->us;
		if (c->samples > 0)
			causes[same].samples = c->samples + (causes[same].samples > 0 ? causes[same].samples : 0);
	}
	qsort(causes, n, sizeof(*causes), by_us);
	return (int)n;
}

/* For the record at its end. What is known already is not asked again: a table of sockets may be long. */
static int keep_names(struct observe_ticks *t, const struct tick_report *r)
{
	char what[TICK_NAME_LEN];
	int err = 0;

	for (size_t i = 0; i < r->n_causes && !err; i++)
		if (may_be_gone_later(&r->cause[i]))
			err = name_it(t, r, &r->cause[i], what);
	return err;
}

int observe_ticks_slow(struct observe_ticks *t, const struct tick_report *r, struct fault *f)
{
	_cleanup_free_ struct slow_cause *causes = calloc(SLOW_CAUSES_MAX, sizeof(*causes));
	struct slow_tick s = {
		.ts = wall_time(r->now_ns),
		.source = SOURCE_KERNEL,
		.id = r->id,
		.runtime = "unknown",
		.start_ns = r->start_ns,
		.duration_us = (double)(r->now_ns - r->start_ns) / 1e3,
		.in_progress = r->in_progress,
		.cpu_us = (double)r->cpu_ns / 1e3,
		.blocked_us = (double)r->blocked_ns / 1e3,
		.wait_us = (double)r->wait_ns / 1e3,
		.throttled_us = (double)r->throttled_ns / 1e3,
		.events = r->events,
		.suppressed = r->suppressed,
		.causes = causes,
	};
	int err;

	if (!causes)
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	if (r->told) {
		err = keep_names(t, r);
		return err ? fault(f, err, EXIT_FAILED, "out of memory") : 0;
	}
	memcpy(s.comm, r->thread, LOOP_COMM_LEN);
	memcpy(s.thread, r->thread, LOOP_COMM_LEN);
	t->who(t->arg, &r->id, r->wait_syscall, r->thread, s.comm, &s.runtime);
	err = name_causes(t, r, causes);
	if (err >= 0) {
		s.n_causes = (size_t)err;
		err = slow_sums_add(t->sums, &s);
	}
	if (!r->in_progress)
		tick_names_forget(t->names, r);
	if (err)
		return fault(f, err, EXIT_FAILED, "out of memory");
	return sink_slow_tick(t->sink, &s, f);
}

int observe_ticks_finish(struct observe_ticks *t, struct fault *f)
{
	struct slow_summary sum = { .ticks = slow_sums_ticks(t->sums),
				    .us = slow_sums_us(t->sums),
				    .held_back = slow_sums_held_back(t->sums) };

	sum.causes = slow_sums_list(t->sums, &sum.n_causes);
	return sink_slow_summary(t->sink, &sum, f);
}
