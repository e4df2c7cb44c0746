/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loop.h - one loop's cumulative sums as a source reads them, and the arithmetic from two of them to a record.
 *
 * A sample is a point in time: all its sums are exact up to now_ns, the state in progress included, and
 * sum over state_ns == now_ns - birth_ns. Times are nanoseconds of one monotonic clock of the source.
 */
#ifndef LOOPSCOPE_MODEL_LOOP_H
#define LOOPSCOPE_MODEL_LOOP_H

#include "model/record.h"

enum loop_state {
	LOOP_IDLE,
	LOOP_IO_CPU,
	LOOP_TICK_CPU,
	LOOP_TICK_BLOCKED,
	LOOP_WAIT_IO,
	LOOP_WAIT_TICK,
	LOOP_NR_STATES,
};

struct loop_blocked {
	char what[32]; /* key */
	uint64_t ns;
};

struct loop_waited {
	char comm[LOOP_COMM_LEN]; /* key, with pid */
	int64_t pid;
	uint64_t ns;
};

struct loop_phase {
	const char *name; /* not copied: outlives the samples */
	uint64_t ns, entries;
	bool seen; /* its beginning can be seen */
};

struct loop_sample {
	struct loop_id id;
	enum record_source source;
	enum edge_kind edges;
	uint64_t now_ns, birth_ns;
	uint64_t state_ns[LOOP_NR_STATES];
	uint64_t throttled_ns, naive_idle_ns, outer_ns;
	uint64_t io_sleeps, events, lost, repaired;
	/* Only where the edges are measured: */
	uint64_t io_waits, ticks, spin_ns, io_events, slow_ticks;
	uint64_t late_n, late_ns, late_wait_ns; /* timeouts that overran, by how much, of that waiting for the CPU */
	struct quantiles tick_us, io_us;        /* of the time since the last sample */
	const struct hist_packed *tick_hist, *io_hist; /* likewise; NULL: not asked for; the source's until its next snapshot */
	bool over_budget;                       /* measuring the edges has cost too much: paused */
	char thread[LOOP_COMM_LEN];
	const char *wait_syscall; /* static */
	int wait_fd;
	int wait_nfds;         /* fds given to select or poll, -1 unknown */
	uint32_t wait_repeats; /* visits of the wait point; 1: seen once, no loop yet */
	bool in_progress_only; /* no event since observation began */
	bool ended;
	struct loop_blocked blocked[LOOP_BLOCKED_MAX];
	struct loop_waited waited[LOOP_WAITED_MAX];
	uint64_t blocked_other_ns, waited_other_ns;
	struct loop_phase phases[LOOP_PHASES_MAX];
	size_t n_phases;
	bool phases_known; /* they are being measured; the sums hold either way */
};

/* What the host knows of a loop beyond its sums; filled once per loop by who reads /proc, refreshed when asked. */
struct loop_facts {
	char comm[LOOP_COMM_LEN];
	int64_t nspid;
	char *cgroup; /* owned; may be NULL */
	const char *runtime;
	bool runtime_known;
	bool park_is_idle; /* a futex sleep is the runtime's own idle: Go, tokio */
	bool stdin_is_tty;
};

/* What the thread is. */
enum loop_class {
	LOOP_IS_LOOP,
	LOOP_IS_ASLEEP, /* asleep in an IO wait for all the time it was watched: may be a loop, may be anything */
	LOOP_IS_NO_LOOP, /* waited for IO once, reads a terminal, or is a pool's worker that polls inside jobs */
};

enum loop_class loop_classify(const struct loop_sample *s, const struct loop_facts *f);

/* The record of the time from `before` (NULL: from the loop's birth) to `now`. ts and observer cost are left to the caller
 * (0 and NAN). Returns false where no time has passed. */
bool loop_delta(const struct loop_sample *before, const struct loop_sample *now, const struct loop_facts *f,
		struct loop_record *ret);

#endif
