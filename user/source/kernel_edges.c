/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel_edges.c - see kernel_edges.h. */
#include "source/kernel_edges.h"

#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "lib/cleanup.h"
#include "lib/privilege.h"
#include "loopscope.skel.h"
#include "source/kernel_check.h"
#include "source/kernel_cost.h"
#include "source/kernel_edges_try.h"
#include "source/kernel_uprobe.h"

const char *const kernel_edge_choices[] = { "auto", "sched", "tracepoint", "fentry", "uprobe", NULL };

/* restart_syscall: what a poll that was stopped goes on as. The kernel's types don't tell of its function, so fentry does without. */
static const char *const io_waits[] = { "epoll_wait", "epoll_pwait", "epoll_pwait2",   "poll",         "ppoll",
					"select",     "pselect6",    "io_uring_enter", "io_getevents", "restart_syscall" };

static bool is_fentry(const struct bpf_program *p)
{
	enum bpf_attach_type t = bpf_program__expected_attach_type(p);

	return t == BPF_TRACE_FENTRY || t == BPF_TRACE_FEXIT;
}

static void choose_loaded(struct loopscope_bpf *skel, enum edge_kind kind)
{
	struct bpf_program *p;

	bpf_object__for_each_program(p, skel->obj)
		if (is_fentry(p))
			bpf_program__set_autoload(p, kind == EDGES_FENTRY);
	bpf_program__set_autoload(skel->progs.ls_tp_enter, kind == EDGES_TRACEPOINT);
	bpf_program__set_autoload(skel->progs.ls_tp_exit, kind == EDGES_TRACEPOINT);
	bpf_program__set_autoload(skel->progs.ls_tp_close, kind == EDGES_TRACEPOINT);
	bpf_program__set_autoload(skel->progs.ls_up_enter, kind == EDGES_UPROBE);
	bpf_program__set_autoload(skel->progs.ls_sample, kind != EDGES_SCHED);
	bpf_program__set_autoload(skel->progs.ls_page_fault, kind != EDGES_SCHED);
	bpf_program__set_autoload(skel->progs.ls_tick_walk, kind != EDGES_SCHED);
	bpf_program__set_autoload(skel->progs.ls_pulse_walk, kind != EDGES_SCHED);
}

static enum edge_kind kind_of(enum edge_choice choice)
{
	switch (choice) {
	case CHOOSE_TRACEPOINT:
		return EDGES_TRACEPOINT;
	case CHOOSE_FENTRY:
		return EDGES_FENTRY;
	case CHOOSE_UPROBE:
		return EDGES_UPROBE;
	default:
		return EDGES_SCHED;
	}
}

int kernel_edges_prepare(struct kernel_edges *e, struct loopscope_bpf *skel, const struct btf *kernel, enum edge_choice choice,
			 struct fault *f)
{
	struct edges_trial t;

	e->kind = choice == CHOOSE_AUTO ? kernel_edges_auto(kernel) : kind_of(choice);
	kernel_edges_try(e->kind, kernel, &t);
	if (!t.works)
		return fault(f, -ENOTSUP, EXIT_IMPOSSIBLE, "--edges %s: %s; %s", edge_kind_name(e->kind), t.found, t.remedy);
	choose_loaded(skel, e->kind);
	e->uprobe_multi = e->kind == EDGES_UPROBE && kernel_uprobe_multi_works();
	kernel_uprobe_prepare(skel->progs.ls_up_enter, e->uprobe_multi);
	return 0;
}

static int attach_tracepoint(struct kernel_edges *e, struct bpf_program *prog, const char *edge, const char *call)
{
	char name[64];

	snprintf(name, sizeof(name), "%s_%s", edge, call);
	return kernel_links_add(&e->links, bpf_program__attach_tracepoint(prog, "syscalls", name));
}

/* Returns first: an entry whose return is missed would leave a wait open. */
static int attach_tracepoints(struct kernel_edges *e, struct loopscope_bpf *skel)
{
	int err = 0, found = 0;

	for (size_t i = 0; i < ARRAY_SIZE(io_waits); i++) {
		err = attach_tracepoint(e, skel->progs.ls_tp_exit, "sys_exit", io_waits[i]);
		if (err == -ENOENT)
			continue;
		if (!err)
			err = attach_tracepoint(e, skel->progs.ls_tp_enter, "sys_enter", io_waits[i]);
		if (err)
			return err;
		found++;
	}
	err = attach_tracepoint(e, skel->progs.ls_tp_close, "sys_enter", "close");
	return found ? err : -ENOENT;
}

static int attach_fentry(struct kernel_edges *e, struct loopscope_bpf *skel)
{
	struct bpf_program *p;
	int err;

	for (int exits = 1; exits >= 0; exits--)
		bpf_object__for_each_program(p, skel->obj) {
			if (!is_fentry(p) || (bpf_program__expected_attach_type(p) == BPF_TRACE_FEXIT) != exits)
				continue;
			err = kernel_links_add(&e->links, bpf_program__attach(p));
			if (err)
				return err;
		}
	return 0;
}

static int attach_waits(struct kernel_edges *e, struct kernel_links *l, struct loopscope_bpf *skel, pid_t pid)
{
	int err = kernel_uprobe_attach_waits(l, skel->progs.ls_up_enter, e->uprobe_multi, pid, e->find, e->find_arg);

	return err && kill(pid, 0) && errno == ESRCH ? 0 : err; /* one that has ended is no error */
}

static int attach_by_kind(struct kernel_edges *e, struct loopscope_bpf *skel)
{
	int err = 0;

	switch (e->kind) {
	case EDGES_TRACEPOINT:
		return attach_tracepoints(e, skel);
	case EDGES_FENTRY:
		return attach_fentry(e, skel);
	case EDGES_UPROBE:
		for (size_t i = 0; i < e->n_pids && !err; i++)
			err = attach_waits(e, &e->links, skel, e->pids[i]);
		return err;
	default:
		return 0;
	}
}

static bool is_refusal(int err)
{
	return err == -EPERM || err == -EACCES;
}

int kernel_edges_attach(struct kernel_edges *e, struct loopscope_bpf *skel, struct fault *f)
{
	int err;

	if (e->kind == EDGES_SCHED || e->attached)
		return 0;
	kernel_links_wait(&e->links);
	skel->bss->ls_edges = ++e->generation;
	err = attach_by_kind(e, skel);
	if (err) {
		kernel_edges_detach(e, skel);
		if (err == -ENOENT && e->kind == EDGES_UPROBE)
			return fault(f, err, EXIT_IMPOSSIBLE,
				     "--edges uprobe: a process has no libc with the usual calls; try --edges auto");
		return fault(f, err, EXIT_IMPOSSIBLE, "the edges of IO waits can't be measured by %s: %s%s; try --edges sched",
			     edge_kind_name(e->kind), strerror(-err),
			     is_refusal(err) && !privilege_has(CAP_SYS_ADMIN) ? " (CAP_SYS_ADMIN is missing)" : "");
	}
	e->attached = true;
	return 0;
}

void kernel_edges_let_go(struct kernel_edges *e, struct loopscope_bpf *skel)
{
	skel->bss->ls_edges = 0;
	e->attached = false;
	kernel_links_let_go(&e->links);
}

void kernel_edges_detach(struct kernel_edges *e, struct loopscope_bpf *skel)
{
	kernel_edges_let_go(e, skel);
	kernel_links_wait(&e->links);
	kernel_links_wait(&e->own_links);
}

int kernel_edges_add_process(struct kernel_edges *e, struct loopscope_bpf *skel, pid_t pid, struct fault *f)
{
	if (e->kind != EDGES_UPROBE)
		return 0;
	if (e->n_pids == ARRAY_SIZE(e->pids))
		return fault(f, -ENOSPC, EXIT_FAILED, "--edges uprobe: at most %zu processes", ARRAY_SIZE(e->pids));
	e->pids[e->n_pids++] = pid;
	if (e->attached && attach_waits(e, &e->links, skel, pid))
		return fault(f, -ENOENT, EXIT_FAILED, "--edges uprobe: process %d has no libc with the usual calls; try --edges auto",
			     pid);
	return 0;
}

static void empty_poll(void *arg)
{
	struct epoll_event ev;

	epoll_wait(*(int *)arg, &ev, 1, 0);
}

static double ns_per_wait(int epfd)
{
	return kernel_cost_least_ns(empty_poll, &epfd, 100);
}

static void forget_ourselves(struct loopscope_bpf *skel)
{
	_cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	bpf_map__delete_elem(skel->maps.ls_ticks_of, &pidfd, sizeof(pidfd), 0);
	bpf_map__delete_elem(skel->maps.ls_tick_hist_of, &pidfd, sizeof(pidfd), 0);
	bpf_map__delete_elem(skel->maps.ls_threads, &pidfd, sizeof(pidfd), 0);
}

/* The uprobes of others need not be there for it; the other kinds stay attached, they are due anyway. */
static int attach_to_ourselves(struct kernel_edges *e, struct loopscope_bpf *skel)
{
	if (e->kind != EDGES_UPROBE)
		return kernel_edges_attach(e, skel, NULL);
	skel->bss->ls_edges = ++e->generation;
	return attach_waits(e, &e->own_links, skel, getpid());
}

void kernel_edges_calibrate(struct kernel_edges *e, struct loopscope_bpf *skel)
{
	_cleanup_close_ int epfd = epoll_create1(EPOLL_CLOEXEC);
	__u32 self = (__u32)getpid();
	__u8 no = 0;
	double bare, with;

	if (epfd < 0 || e->kind == EDGES_SCHED)
		return;
	bare = ns_per_wait(epfd);
	if (!attach_to_ourselves(e, skel) &&
	    !bpf_map__update_elem(skel->maps.ls_targets, &self, sizeof(self), &no, sizeof(no), BPF_ANY)) {
		with = ns_per_wait(epfd);
		e->wait_cost_ns = with > bare ? with - bare : 0;
		bpf_map__delete_elem(skel->maps.ls_targets, &self, sizeof(self), 0);
	}
	forget_ourselves(skel);
	kernel_links_let_go(&e->own_links);
}
