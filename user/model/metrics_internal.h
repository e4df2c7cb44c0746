/* SPDX-License-Identifier: BSD-2-Clause */
/* metrics_internal.h - what the files of metrics.h share: a group's sums, groups, loops, boards. */
#ifndef LOOPSCOPE_MODEL_METRICS_INTERNAL_H
#define LOOPSCOPE_MODEL_METRICS_INTERNAL_H

/* Without memory a thing is not added, rather than the program ended. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "model/hist_packed.h"
#include "model/loop.h"
#include "model/metrics.h"
#include "model/source_record.h"
#include "model/task.h"

/* --- sums: metrics_sums.c ----------------------------------------------------------------------------------------------- */

/* Who had the CPU while a loop waited for it. Names as in the exposition. */
enum culprit_class {
	CULPRIT_SAME_PROCESS, /* another of its threads */
	CULPRIT_SAME_CGROUP,
	CULPRIT_OTHER_PROCESS, /* in another control group, or gone before it could be looked at */
	CULPRIT_KERNEL_THREAD,
	CULPRIT_WAKE_UP, /* nobody: an idle CPU was being woken */
	CULPRIT_QUOTA,   /* its cgroup's quota was used up */
	CULPRIT_UNKNOWN, /* too many or too short to be told apart */
	CULPRIT_CLASSES,
};

extern const char *const culprit_class_names[CULPRIT_CLASSES];

#define CAUSE_KINDS (CAUSE_OTHER + 1)
#define CAUSE_UNTOLD CAUSE_KINDS /* slow ticks that the rate limit held back: nobody knows why they were slow */

struct slow_counts {
	uint64_t ticks[CAUSE_KINDS + 1]; /* by the cause of most of the time */
	uint64_t ns[CAUSE_KINDS];
};

/* Upper bounds are ends of buckets of struct hist, 2^k - 1 ns, so that no value is ever on the wrong side: 4 us to 17 s. */
#define DURATION_FIRST_BIT 12
#define DURATION_LAST_BIT 34
#define DURATION_BOUNDS (DURATION_LAST_BIT - DURATION_FIRST_BIT + 1)

/* The native buckets, 8 an octave: the finest in which a bucket of struct hist, 32 an octave, seldom spans two. It is counted where its
 * middle is: a value may be up to 1.6 % beyond its bucket's bound. Values that struct hist tells apart no more are in the last. */
#define DURATION_SCHEMA 3
#define DURATION_NATIVE_FIRST (-239) /* of 1 ns: 2^(-239/8) s */
#define DURATION_NATIVE_LAST 97	     /* of HIST_LIMIT ns: 73 minutes */
#define DURATION_NATIVES (DURATION_NATIVE_LAST - DURATION_NATIVE_FIRST + 1)
#define DURATION_ZERO_S 0x1p-30 /* below 1 ns */

struct durations {
	uint64_t n, sum_ns;
	uint64_t count[DURATION_BOUNDS + 1];
	uint64_t zeros, native[DURATION_NATIVES];
};

/* Which of the sums have ever been known: the others are not exposed. */
enum known {
	KNOW_STATES = 0, /* a bit a state */
	KNOW_THROTTLED = LOOP_NR_STATES,
	KNOW_WAITED,
	KNOW_SPIN,
	KNOW_SLEEPS,
	KNOW_IO_WAITS,
	KNOW_TICKS,
	KNOW_SLOW,
	KNOW_OBSERVER,
	KNOW_LOST,
};

struct sums {
	uint32_t known; /* bits by enum known */
	uint64_t state_ns[LOOP_NR_STATES];
	uint64_t throttled_ns, spin_ns, observer_ns;
	uint64_t culprit_ns[CULPRIT_CLASSES];
	uint64_t io_sleeps, io_waits, ticks, lost;
	struct slow_counts slow;
	struct durations *tick, *io; /* NULL: unknown */
};

double duration_bound(unsigned i); /* seconds */
void durations_add(struct durations *d, const struct hist_packed *p);
/* Those of the native buckets that hold any; bucket has room for all, and is what ret points to. */
void durations_native(const struct durations *d, struct metric_native_bucket bucket[DURATION_NATIVES], struct metric_native *ret);

struct metrics;
int sums_add(struct sums *s, struct metrics *m, const struct loop_record *r);
void sums_release(struct sums *s);
void slow_counts_add(struct slow_counts *c, const struct slow_tick *t);
void slow_counts_merge(struct slow_counts *a, const struct slow_counts *b);

/* --- groups and loops: metrics_group.c ---------------------------------------------------------------------------------- */

struct group {
	char *key; /* label values, a NUL after each; what the labels point to */
	size_t key_len;
	struct metric_label labels[METRIC_LABELS_MAX];
	size_t n_labels;
	struct sums sums;
	size_t n_refs;                 /* of metrics.loops, those that point here */
	size_t n_loops, n_over_budget; /* those of them that live */
	uint64_t live_ns;              /* when it had a living loop last */
	double start_s;
	double stall_s; /* for the time of a visit; NAN: none */
	UT_hash_handle hh;
};

/* A loop, from the first that is heard of it until it has not been in three intervals, or for one more interval after its end:
 * what is heard of its last ticks may come late. Finds a single tick's group. */
struct counted_loop_id {
	struct loop_id id; /* zeroed before it is filled, padding included */
	uint64_t origin;
};

struct counted_loop {
	struct counted_loop_id id;
	struct group *group;          /* NULL: not in an interval yet */
	struct slow_counts *pending;  /* until then */
	unsigned round;               /* of its origin's */
	bool over_budget, ended, stalled;
	uint64_t stall_tick_ns; /* which tick: its start on the source's clock */
	uint64_t stall_since_ns; /* the same on ours */
	UT_hash_handle hh;
};

/* The overflow group where there is no room; NULL: out of memory. */
struct group *group_of(struct metrics *m, const struct loop_record *r, uint64_t now_ns);
struct counted_loop *counted_loop_find(struct metrics *m, unsigned origin, const struct loop_id *id);
struct counted_loop *counted_loop_add(struct metrics *m, unsigned origin, const struct loop_id *id);
/* Gives the loop, and what was pending of it, to g. */
void counted_loop_belongs(struct counted_loop *l, struct group *g, bool over_budget);
void counted_loop_end(struct counted_loop *l);
void counted_loops_age(struct metrics *m, unsigned origin);
void groups_age(struct metrics *m, uint64_t now_ns);
void groups_free(struct metrics *m);

/* --- boards: metrics_board.c -------------------------------------------------------------------------------------------- */

#define METRICS_MAX_TASKS 2000
#define METRICS_MAX_SOURCES 256

struct task_group;
struct source_group;

int metrics_tasks(struct metrics *m, unsigned origin, const struct interval *iv, uint64_t now_ns);
int metrics_sources(struct metrics *m, const struct interval *iv);
void metrics_boards_free(struct metrics *m);
int metrics_boards_visit(struct metrics *m, const struct metrics_visitor *v, void *arg);

/* --- the program's own: metrics_own.c ------------------------------------------------------------------------------------ */

struct own_metric {
	const struct metric_family *family;
	struct metric_label labels[METRICS_OWN_LABELS]; /* as they were given, made safe */
	size_t n_labels;
	struct metric_label shown[METRICS_OWN_LABELS]; /* those that are not "" */
	size_t n_shown;
	char *text; /* what the label values point to */
	double value;
};

void metrics_own_free(struct metrics *m);
int metrics_own_visit(struct metrics *m, const struct metrics_visitor *v, void *arg);

/* --- all of it ------------------------------------------------------------------------------------------------------------ */

struct culprit {
	int64_t pid;
	struct metrics_culprit facts;
	UT_hash_handle hh;
};

struct origin {
	unsigned round;
	uint64_t lost; /* events lost by the source as a whole */
	bool lost_known;
	size_t n_beyond, n_asleep, n_excluded;
};

struct metrics {
	struct metrics_options o;
	struct group *groups;
	struct group overflow; /* not in the table; n_labels 0 until it is needed */
	struct counted_loop *loops;
	struct culprit *culprits; /* of this interval */
	struct origin origins[METRICS_ORIGINS_MAX];
	struct task_group *tasks;
	struct source_group *sources;
	uint64_t tasks_beyond;
	struct own_metric own[METRICS_OWN_MAX];
	size_t n_own;
	uint64_t version, dropped; /* groups dropped so far */
	uint64_t steal_ns;
	bool steal_known;
};

/* Walks one family: `begin` once before the first sample. Small helpers for those that visit. */
struct family_visit {
	const struct metrics_visitor *v;
	void *arg;
	const struct metric_family *family;
	bool begun;
	int err; /* of the visitor: nothing more is handed out */
};

void family_visit(struct family_visit *fv, const struct metric_family *f);
void family_sample(struct family_visit *fv, const struct metric_sample *s);
/* A value without labels of its own. */
void family_value(struct family_visit *fv, const struct metric_label *labels, size_t n_labels, const char *extra_name,
		  const char *extra_value, double value, double start_s);

/* Copies a label value: safe and bounded as metric.h says. "" stays "". Returns the length. */
size_t label_value(char dst[METRIC_LABEL_MAX], const char *src, size_t max);

#endif
