/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel.h - the live source: loads the BPF programs, hands out samples of every observed thread.
 *
 * Costs while open: see README, "What it costs". Closing (or dying) detaches everything: nothing is pinned.
 * Errors: EXIT_IMPOSSIBLE with the remedy where the kernel or the privileges don't allow it.
 */
#ifndef LOOPSCOPE_SOURCE_KERNEL_H
#define LOOPSCOPE_SOURCE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/fault.h"
#include "model/loop.h"
#include "model/tick_report.h"
#include "model/turn.h"

struct kernel_source;

typedef int (*kernel_slow_fn)(void *arg, const struct tick_report *r);
typedef int (*kernel_turn_fn)(void *arg, const struct loop_turn *t);

/* Hands to place() where the named functions begin that a process waits for IO with: those of its libc. Returns how many places
 * that were, what place() returned below 0, or -errno. place(): which[i] is the index of the name; path_fd is an O_PATH descriptor
 * of the file, lent; places in it are handed over once. */
typedef int (*kernel_place_fn)(void *arg, int path_fd, const uint64_t *offset, const size_t *which, size_t n);
typedef int (*kernel_find_fn)(void *arg, pid_t pid, const char *const *names, size_t n_names, kernel_place_fn place,
			      void *place_arg);

/* Hands to place() where the phases of a process's runtime begin, as above; which[i]: the phase's place in *ret_names, which is
 * NULL-terminated, holds at most LOOP_PHASES_MAX and outlives the source. */
typedef int (*kernel_phases_fn)(void *arg, pid_t pid, const char *const **ret_names, kernel_place_fn place, void *place_arg);

struct kernel_source_options {
	const pid_t *pids; /* processes to observe; n_pids 0: all */
	size_t n_pids;
	bool only_pids;       /* true with n_pids 0: none yet, kernel_source_watch() adds them */
	bool follow_children; /* processes that they start are observed too */
	int edges;            /* enum edge_choice; 0: auto */
	uint64_t slow_ns;     /* ticks at least so long are reported one by one; 0: none */
	double budget;        /* share of a loop's time that measuring its edges may take; 0: no limit */
	bool stream;          /* every turn is reported */
	bool phases;          /* ticks are split by the runtime's phases */
	bool histograms;      /* samples carry their interval's histograms, where edges are measured */
	/* Called from kernel_source_poll() and kernel_source_snapshot(). */
	kernel_slow_fn slow;
	kernel_turn_fn turn;
	/* Called while edges are attached, for uprobes. */
	kernel_find_fn find;
	/* Called from kernel_source_measure(), for phases. */
	kernel_phases_fn find_phases;
	void *arg;
};

int kernel_source_open(const struct kernel_source_options *o, struct kernel_source **ret, struct fault *f);
void kernel_source_close(struct kernel_source *k);

/* Adds a process to those observed. Threads asleep in an IO wait are found at once. */
int kernel_source_watch(struct kernel_source *k, pid_t pid, bool follow_children, struct fault *f);

typedef int (*kernel_sample_fn)(void *arg, const struct loop_sample *s);

/* One walk over all observed threads, then what ended since the last one. A thread may come twice, the later sample holds. A
 * negative return of fn ends it. */
int kernel_source_snapshot(struct kernel_source *k, kernel_sample_fn fn, void *arg, struct fault *f);

/* As kernel_source_snapshot(), but a mere look: who there is. Ticks are unknown, what ended is left for the next snapshot, and
 * sums go on. */
int kernel_source_look(struct kernel_source *k, kernel_sample_fn fn, void *arg, struct fault *f);

/* Takes what ended out of the kernel's buffer, which is small, for the next snapshot: each second will do. */
int kernel_source_take_ended(struct kernel_source *k, struct fault *f);

/* Readable when slow ticks wait to be taken by kernel_source_poll(), or more turns than may wait; -1 where none can come. Turns
 * do not wake: who asked for them polls each 20 to 50 ms. One call takes a bounded number. */
int kernel_source_fd(struct kernel_source *k);
int kernel_source_poll(struct kernel_source *k, struct fault *f);
/* At the end, once: no more edges are measured; takes all that is left, and tells what was lost at the end of a loop's turns. */
int kernel_source_drain(struct kernel_source *k, struct fault *f);
/* A look at the ticks in progress and at what measuring costs: at least each 100 ms while edges or phases are measured. */
int kernel_source_pulse(struct kernel_source *k, struct fault *f);
/* Begins to measure edges and phases, where the options ask for it; a second call does nothing. Takes some 100 ms, on a slow machine
 * seconds. */
int kernel_source_measure(struct kernel_source *k, struct fault *f);
bool kernel_source_begins_to_measure(const struct kernel_source *k); /* whether such a call would do anything */
/* True where edges are measured, or would be but for the budget. */
bool kernel_source_measures(const struct kernel_source *k);

/* Losses since the last call: final sums without room, threads beyond the limit, torn snapshots, events for which the kernel left out a
 * program, of whichever thread. */
struct kernel_losses {
	uint64_t ended_lost; /* loops whose last interval was lost */
	uint64_t not_tracked;
	uint64_t torn;
	uint64_t missed;
	uint64_t edges, slow_ticks, stacks;
};
int kernel_source_losses(struct kernel_source *k, struct kernel_losses *ret);

/* Mean cost of one scheduler event of an observed thread, ns, from the kernel's BPF statistics: whole-time if the
 * administrator has them on (kernel.bpf_stats_enabled), else from the first intervals, for which they are switched on.
 * NAN until known. */
double kernel_source_event_cost(struct kernel_source *k, enum cost_kind *ret_kind);
/* A step of that calibration, each half second at first: meanwhile every BPF program of the machine pays for it. True while it goes
 * on. */
bool kernel_source_calibrate(struct kernel_source *k);
bool kernel_source_calibrates(const struct kernel_source *k);

/* What measuring adds to one IO wait, ns; 0 while the edges are not measured. */
double kernel_source_wait_cost(const struct kernel_source *k);

/* What one beginning of a phase costs, ns; 0 while phases are not measured. */
double kernel_source_entry_cost(const struct kernel_source *k);

/* What stands in the way of opening the source here: 0, or -errno with a sentence in *f. */
int kernel_source_check(struct fault *f);

#endif
