/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel_sample.c - see kernel_sample.h. */
#include "source/kernel_sample.h"

#include <stdio.h>
#include <string.h>

#include "source/syscalls.h"

_Static_assert(LS_COMM_LEN == LOOP_COMM_LEN, "comm");
_Static_assert(LS_BLOCKED == LOOP_BLOCKED_MAX && LS_CULPRITS == LOOP_WAITED_MAX, "tables");

static const char *blocked_name(const struct ls_blocked *b)
{
	switch (b->nr) {
	case LS_NR_PAGE_FAULT:
		return "page_fault";
	case LS_NR_STOPPED:
		return "stopped";
	case LS_NR_UNKNOWN:
		return "unknown";
	default:
		return syscall_name(b->abi, b->nr);
	}
}

static void copy_tables(const struct ls_thread *t, struct loop_sample *ret)
{
	for (int i = 0; i < LS_BLOCKED; i++) {
		if (!t->blocked[i].used)
			continue;
		snprintf(ret->blocked[i].what, sizeof(ret->blocked[i].what), "%s", blocked_name(&t->blocked[i]));
		ret->blocked[i].ns = t->blocked[i].ns;
	}
	ret->blocked_other_ns = t->blocked_other_ns;
	for (int i = 0; i < LS_CULPRITS; i++) {
		const struct ls_culprit *c = &t->culprits[i];

		if (!c->used)
			continue;
		if (c->tgid)
			memcpy(ret->waited[i].comm, c->comm, LOOP_COMM_LEN - 1);
		else /* whichever CPU's */
			strcpy(ret->waited[i].comm, "(idle)");
		ret->waited[i].pid = c->tgid == LS_TGID_QUOTA   ? LOOP_WAITED_QUOTA :
				     c->tgid == LS_TGID_SEVERAL ? LOOP_WAITED_SEVERAL :
								  (int64_t)c->tgid;
		ret->waited[i].ns = c->ns;
	}
	ret->waited_other_ns = t->culprit_other_ns;
}

static void copy_wait_point(const struct ls_thread *t, struct loop_sample *ret)
{
	const struct ls_point *p;

	ret->wait_syscall = "";
	ret->wait_fd = -1;
	ret->wait_nfds = -1;
	if (t->home < 0 || t->home >= LS_POINTS)
		return;
	p = &t->points[t->home];
	ret->wait_syscall = syscall_name(p->abi, p->nr);
	ret->wait_fd = p->fd;
	ret->wait_nfds = p->nfds;
	ret->wait_repeats = p->count;
}

void kernel_sample(const struct ls_snap *s, struct loop_sample *ret)
{
	const struct ls_thread *t = &s->t;

	*ret = (struct loop_sample){
		.id = { .pid = s->tgid, .tid = s->tid, .start_ns = s->start_boottime_ns, .generation = t->generation },
		.source = SOURCE_KERNEL,
		.edges = EDGES_SCHED,
		.now_ns = t->last_ns, /* not s->now_ns: an event on another CPU may have been stamped after the walk's */
		.birth_ns = t->birth_ns,
		.state_ns = { [LOOP_IDLE] = t->sum_ns[LS_IDLE],
			      [LOOP_IO_CPU] = t->sum_ns[LS_IO_CPU],
			      [LOOP_TICK_CPU] = t->sum_ns[LS_TICK_CPU],
			      [LOOP_TICK_BLOCKED] = t->sum_ns[LS_TICK_BLOCKED],
			      [LOOP_WAIT_IO] = t->sum_ns[LS_WAIT_IO],
			      [LOOP_WAIT_TICK] = t->sum_ns[LS_WAIT_TICK] },
		.throttled_ns = t->throttled_ns,
		.naive_idle_ns = t->naive_idle_ns,
		.outer_ns = t->outer_ns,
		.io_sleeps = t->io_sleeps,
		.events = t->events,
		.lost = t->lost,
		.repaired = t->repaired,
		.in_progress_only = t->flags & LS_F_SEEDED,
		.ended = s->reason != LS_SNAP_LIVE,
	};
	memcpy(ret->thread, s->comm, LOOP_COMM_LEN);
	ret->thread[LOOP_COMM_LEN - 1] = '\0';
	copy_wait_point(t, ret);
	copy_tables(t, ret);
}
