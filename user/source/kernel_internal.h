/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel_internal.h - what the files of the live source share: kernel.c loads and attaches, kernel_walk.c runs iterators, kernel_snapshot.c
 * takes snapshots with them, kernel_edges.c finds and attaches the edges, kernel_ticks.c turns what they measured into the model's terms.
 */
#ifndef LOOPSCOPE_SOURCE_KERNEL_INTERNAL_H
#define LOOPSCOPE_SOURCE_KERNEL_INTERNAL_H

#include <bpf/libbpf.h>

#include "bpf/wire.h"
#include "loopscope.skel.h"
#include "source/kernel.h"
#include "source/kernel_budget.h"
#include "source/kernel_cost.h"
#include "source/kernel_edges.h"
#include "source/kernel_ended.h"
#include "source/kernel_phases.h"
#include "source/kernel_sampling.h"
#include "source/kernel_stream.h"
#include "source/kernel_ticks.h"

/* With at most so many processes, one iterator link each (the kernel then walks only their threads). */
#define MAX_PID_LINKS 16
#define MAX_PROGRAMS 16

enum kernel_walk {
	WALK_SNAPSHOT,
	WALK_TICKS,
	WALK_PULSE,
	WALK_PHASES,
	N_WALKS,
};

struct kernel_source {
	struct kernel_source_options o; /* but for the PIDs */
	struct loopscope_bpf *skel;
	struct ring_buffer *ended, *events;
	struct kernel_ended kept; /* since the last snapshot */
	struct bpf_link *links[MAX_PROGRAMS];
	size_t n_links;
	struct bpf_link *walks[N_WALKS][MAX_PID_LINKS];
	size_t n_walks;
	bool walk_all; /* the walks go over every thread of the machine */
	struct kernel_cost cost;
	struct kernel_edges edges;
	struct kernel_phases phases;
	bool measuring; /* kernel_source_measure() has been called */
	struct kernel_ticks ticks;
	struct kernel_stream stream;
	size_t taken; /* records, by one call of kernel_source_poll() */
	bool draining;
	struct kernel_sampling sampling;
	struct kernel_budget budget, phase_budget;
	uint64_t counters[LS_NR_COUNTERS]; /* as last read */
	uint64_t missed;                   /* events, as last read */
	uint64_t torn_mended;              /* torn since then, but read whole by another walk */
	/* for the time of a snapshot */
	kernel_sample_fn fn;
	void *arg;
	int fn_err;
};

/* Runs an iterator's program to its end. each: gets the bytes there are, returns how many it has used, or -errno. */
typedef ssize_t (*kernel_bytes_fn)(void *arg, const char *data, size_t n);
int kernel_walk_link(struct bpf_link *link, kernel_bytes_fn each, void *arg);
/* All links of one kind of walk. */
int kernel_walk(struct kernel_source *k, enum kernel_walk which, kernel_bytes_fn each, void *arg);
/* One of the kernel side's counters, summed over the CPUs. */
int kernel_counter(const struct kernel_source *k, __u32 which, uint64_t *ret);
/* Hands a struct ls_snap to whoever asked for a snapshot; arg: the source. */
void kernel_deliver(void *arg, const struct ls_snap *snap);
/* One thread of a snapshot, with its phases where it has some (ret->phases). Returns how many bytes it took, 0 where they are not whole. */
size_t kernel_read_snap(const char *data, size_t n, struct ls_snap *ret, struct ls_phases *ret_phases);
/* Has the threads of pid (0: all) walked from now on. */
int kernel_walk_add(struct kernel_source *k, pid_t pid);
void kernel_walk_close(struct kernel_source *k);
/* Attaches an iterator once; pid 0: all. NULL with errno. */
struct bpf_link *kernel_walk_attach(struct bpf_program *prog, pid_t pid);

#endif
