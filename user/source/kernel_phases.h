/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel_phases.h - uprobes on the functions that begin a phase of a runtime's loop, and what they bring.
 *
 * Entries only. Each costs its thread a breakpoint, a microsecond or more: measured on a function of ours, so that who watches can let
 * them go where that is too much (kernel_budget.h). While attached, ls_phases_attached in the BPF programs holds a number that changes
 * each time.
 */
#ifndef LOOPSCOPE_SOURCE_KERNEL_PHASES_H
#define LOOPSCOPE_SOURCE_KERNEL_PHASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/wire.h"
#include "lib/fault.h"
#include "model/loop.h"
#include "source/kernel.h"
#include "source/kernel_links.h"

struct loopscope_bpf;

#define PHASED_MAX 64 /* processes */

struct phased {
	pid_t pid;
	const char *const *names; /* NULL: not known yet, or none */
	unsigned seen;            /* a bit for each that has a probe */
};

struct kernel_phases {
	bool wanted, begun, attached, multi;
	unsigned generation;
	struct kernel_links links;
	struct phased processes[PHASED_MAX];
	size_t n_processes;
	kernel_phases_fn find;
	void *find_arg;
	double entry_cost_ns; /* 0: not known */
};

/* Before load: decides what is loaded. */
void kernel_phases_prepare(struct kernel_phases *p, struct loopscope_bpf *skel, bool wanted);
/* Nothing where phases are not wanted. */
int kernel_phases_add_process(struct kernel_phases *p, pid_t pid, struct fault *f);
/* Once, after load: measures what an entry costs, and attaches. find() is asked again whenever they are attached. */
int kernel_phases_begin(struct kernel_phases *p, struct loopscope_bpf *skel, kernel_phases_fn find, void *arg, struct fault *f);
int kernel_phases_attach(struct kernel_phases *p, struct loopscope_bpf *skel, struct fault *f);
/* As kernel_edges_let_go() and kernel_edges_detach(). */
void kernel_phases_let_go(struct kernel_phases *p, struct loopscope_bpf *skel);
void kernel_phases_detach(struct kernel_phases *p, struct loopscope_bpf *skel);

/* Adds to the sample of a thread what it has spent in which phase. attached: ls_phases_attached, 0 where they were let go. */
void kernel_phases_fill(const struct kernel_phases *p, const struct ls_phases *from, uint32_t attached, struct loop_sample *s);

#endif
