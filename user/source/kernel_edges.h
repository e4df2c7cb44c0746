/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel_edges.h - which way to the exact edges of IO waits works here, attaching it, letting it go when it costs too much.
 *
 * Kinds, cheapest first (a wait's added cost on one 6.18 VM; `make bench` tells yours):
 *   fentry      nothing for other calls; needs ftrace's direct calls
 *   tracepoint  also slows every system call of every process by some 50 ns while attached
 *   uprobe      a breakpoint in libc's wrappers of the observed processes only; sees entries, no returns: io_cpu, the number
 *               of events and the length of waits that do not sleep stay unknown
 * While attached, ls_edges in the BPF programs holds a number that changes each time.
 */
#ifndef LOOPSCOPE_SOURCE_KERNEL_EDGES_H
#define LOOPSCOPE_SOURCE_KERNEL_EDGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/fault.h"
#include "model/record.h"
#include "source/kernel.h"
#include "source/kernel_links.h"

struct btf;
struct loopscope_bpf;

/* As users choose; names in kernel_edge_choices[]. */
enum edge_choice {
	CHOOSE_AUTO = 0,
	CHOOSE_SCHED = 1,
	CHOOSE_TRACEPOINT = 2,
	CHOOSE_FENTRY = 3,
	CHOOSE_UPROBE = 4,
};
extern const char *const kernel_edge_choices[];

struct kernel_edges {
	enum edge_kind kind; /* EDGES_SCHED: none */
	bool attached;
	unsigned generation;
	struct kernel_links links, own_links; /* own: on ourselves, to calibrate */
	pid_t pids[64]; /* uprobe: whose libc */
	size_t n_pids;
	bool uprobe_multi; /* one link for all of a process's */
	kernel_find_fn find; /* set before kernel_edges_prepare(); as in struct kernel_source_options */
	void *find_arg;
	double wait_cost_ns; /* what one IO wait pays for its two edges, measured on ourselves; 0 unknown */
};

/* Before load: decides what is loaded. The kind that will be used is in e->kind; 'auto' tries fentry with a throw-away program.
 * kernel: its types. */
int kernel_edges_prepare(struct kernel_edges *e, struct loopscope_bpf *skel, const struct btf *kernel, enum edge_choice choice,
			 struct fault *f);
/* After load. */
int kernel_edges_attach(struct kernel_edges *e, struct loopscope_bpf *skel, struct fault *f);
/* Waits until the last link is closed. */
void kernel_edges_detach(struct kernel_edges *e, struct loopscope_bpf *skel);
/* The same without waiting: the kernel takes a grace period for each link, seconds in all while its CPUs are busy. */
void kernel_edges_let_go(struct kernel_edges *e, struct loopscope_bpf *skel);
/* uprobe: the wrappers in this process's libc too. */
int kernel_edges_add_process(struct kernel_edges *e, struct loopscope_bpf *skel, pid_t pid, struct fault *f);
/* Measures wait_cost_ns: our own waits with and without. */
void kernel_edges_calibrate(struct kernel_edges *e, struct loopscope_bpf *skel);

#endif
