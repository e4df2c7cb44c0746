/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel_causes.c - see kernel_causes.h. */
#include "source/kernel_causes.h"

#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "lib/cleanup.h"
#include "source/syscalls.h"

_Static_assert(LS_POLLED_KNOWN == 1ull << 32, "as registry/sysargs.h takes it");
_Static_assert(LS_STACK_FRAMES <= STACK_FRAMES_MAX, "stacks");

static void read_stack(int stacks_fd, int32_t id, struct raw_cause *c)
{
	uint64_t frames[LS_STACK_FRAMES] = {};
	__u32 key = (__u32)id;

	if (id < 0 || bpf_map_lookup_elem(stacks_fd, &key, frames))
		return;
	while (c->n_frames < LS_STACK_FRAMES && frames[c->n_frames]) {
		c->frame[c->n_frames] = frames[c->n_frames];
		c->n_frames++;
	}
}

static struct raw_cause *add_cause(struct tick_report *r, enum cause_kind kind, uint64_t ns)
{
	struct raw_cause *c;

	if (!ns || r->n_causes == ARRAY_SIZE(r->cause))
		return NULL;
	c = &r->cause[r->n_causes++];
	*c = (struct raw_cause){ .kind = kind, .ns = ns, .call = "", .pid = -1, .samples = -1 };
	return c;
}

static void add_remembered(int stacks_fd, struct tick_report *r, const struct ls_cause *from, uint64_t ns)
{
	static const enum cause_kind kinds[] = { [LS_CAUSE_SYSCALL] = CAUSE_SYSCALL,
						 [LS_CAUSE_FAULT] = CAUSE_PAGE_FAULT,
						 [LS_CAUSE_WAIT] = CAUSE_WAIT };
	struct raw_cause *c = add_cause(r, from->kind <= LS_CAUSE_WAIT ? kinds[from->kind] : CAUSE_OTHER, ns);

	if (!c)
		return;
	memcpy(c->args, from->args, sizeof(c->args));
	if (from->kind == LS_CAUSE_SYSCALL)
		c->call = from->nr == LS_NR_STOPPED ? "stopped" : from->nr == LS_NR_UNKNOWN ? "" : syscall_name(from->abi, from->nr);
	if (from->kind == LS_CAUSE_WAIT) {
		memcpy(c->comm, from->comm, LOOP_COMM_LEN);
		c->comm[LOOP_COMM_LEN - 1] = '\0';
		c->pid = from->nr;
	}
	read_stack(stacks_fd, from->stack, c);
}

/* The CPU time is shared out over the sampled stacks; without a sample it is one cause without a stack. */
static void add_cpu(int stacks_fd, struct tick_report *r, const struct ls_tick *t)
{
	uint32_t kept = 0;
	uint64_t left = r->cpu_ns;

	for (int i = 0; i < LS_SAMPLES && t->samples[i].count; i++)
		kept += t->samples[i].count;
	for (int i = 0; kept && i < LS_SAMPLES && t->samples[i].count; i++) {
		uint64_t ns = (uint64_t)((double)r->cpu_ns * t->samples[i].count / (t->n_samples > kept ? t->n_samples : kept));
		struct raw_cause *c = add_cause(r, CAUSE_CPU, ns);

		if (!c)
			break;
		c->samples = t->samples[i].count;
		read_stack(stacks_fd, t->samples[i].stack, c);
		left -= ns < left ? ns : left;
	}
	/* Rounding is no cause of its own. */
	if (left > r->cpu_ns / 1000)
		add_cause(r, CAUSE_CPU, left);
}

static int by_ns(const void *a, const void *b)
{
	const struct raw_cause *x = a, *y = b;

	return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : 0;
}

/* What the causes don't account for: sleeps and waits too short to be remembered one by one. */
static void add_rest(struct tick_report *r)
{
	uint64_t blocked = r->blocked_ns, wait = r->wait_ns - (r->throttled_ns < r->wait_ns ? r->throttled_ns : r->wait_ns);

	for (size_t i = 0; i < r->n_causes; i++) {
		struct raw_cause *c = &r->cause[i];
		uint64_t *from = c->kind == CAUSE_WAIT ? &wait : c->kind == CAUSE_SYSCALL || c->kind == CAUSE_PAGE_FAULT ? &blocked : NULL;

		if (from)
			*from -= c->ns < *from ? c->ns : *from;
	}
	add_cause(r, CAUSE_OTHER, blocked + wait > (r->now_ns - r->start_ns) / 1000 ? blocked + wait : 0);
}

static void add_past(int stacks_fd, struct tick_report *r, const struct ls_slow *s)
{
	uint64_t throttled = s->throttled_ns;

	add_cpu(stacks_fd, r, &s->tick);
	add_cause(r, CAUSE_THROTTLE, throttled);
	for (int i = 0; i < LS_CAUSES && s->tick.causes[i].kind; i++) {
		uint64_t ns = s->tick.causes[i].ns;

		/* A wait for the quota is remembered with whoever ran meanwhile: it is the throttle's. */
		if (s->tick.causes[i].kind == LS_CAUSE_WAIT && throttled) {
			uint64_t part = ns < throttled ? ns : throttled;

			ns -= part;
			throttled -= part;
		}
		add_remembered(stacks_fd, r, &s->tick.causes[i], ns);
	}
}

/* What it is held up by now is not among the tick's causes yet. */
static void add_present(int stacks_fd, struct tick_report *r, const struct ls_slow *s)
{
	if (s->state == LS_TICK_BLOCKED && s->tick.blocked.kind)
		add_remembered(stacks_fd, r, &s->tick.blocked, s->state_ns);
	if (s->state == LS_WAIT_TICK)
		add_cause(r, CAUSE_WAIT, s->state_ns);
}

void kernel_causes(int stacks_fd, const struct ls_slow *s, struct tick_report *r)
{
	if (!r->told)
		add_past(stacks_fd, r, s);
	if (s->in_progress)
		add_present(stacks_fd, r, s);
	if (!r->told)
		add_rest(r);
	qsort(r->cause, r->n_causes, sizeof(r->cause[0]), by_ns);
}
