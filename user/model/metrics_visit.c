/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * metrics_visit.c - every family of loops, in one list: its name, its help, which samples a group has of it.
 *
 * Seconds and counts become doubles here: counts are exact up to 2^53, seconds to the nanosecond up to 2^23, which is 97 days;
 * beyond, they are rounded, and still never smaller than before.
 */
#include <math.h>

#include "lib/cleanup.h"
#include "model/metrics_internal.h"

/* --- handing out ------------------------------------------------------------------------------------------------------------ */

void family_visit(struct family_visit *fv, const struct metric_family *f)
{
	fv->family = f;
	fv->begun = false;
}

void family_sample(struct family_visit *fv, const struct metric_sample *s)
{
	if (!fv->err && !fv->begun)
		fv->err = fv->v->family(fv->arg, fv->family);
	fv->begun = true;
	if (!fv->err)
		fv->err = fv->v->sample(fv->arg, fv->family, s);
}

void family_value(struct family_visit *fv, const struct metric_label *labels, size_t n_labels, const char *extra_name,
		  const char *extra_value, double value, double start_s)
{
	struct metric_sample s = { .labels = labels, .n_labels = n_labels, .extra = { extra_name, extra_value }, .value = value,
				   .start_s = start_s };

	family_sample(fv, &s);
}

static void show(struct family_visit *fv, const struct group *g, const char *extra, const char *extra_value, double value)
{
	family_value(fv, g->labels, g->n_labels, extra, extra_value, value, g->start_s);
}

static bool knows(const struct group *g, unsigned what)
{
	return g->sums.known & (1u << what);
}

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

/* --- one function a family: what a group has of it ---------------------------------------------------------------------------- */

static void loops(struct family_visit *fv, const struct group *g)
{
	show(fv, g, NULL, NULL, (double)g->n_loops);
}

static void states(struct family_visit *fv, const struct group *g)
{
	static const char *const names[LOOP_NR_STATES] = {
		[LOOP_IDLE] = "idle",			[LOOP_IO_CPU] = "io_cpu",   [LOOP_TICK_CPU] = "tick_cpu",
		[LOOP_TICK_BLOCKED] = "tick_blocked", [LOOP_WAIT_IO] = "wait_io", [LOOP_WAIT_TICK] = "wait_tick",
	};

	for (unsigned i = 0; i < LOOP_NR_STATES; i++)
		if (knows(g, KNOW_STATES + i))
			show(fv, g, "state", names[i], seconds(g->sums.state_ns[i]));
}

static void throttled(struct family_visit *fv, const struct group *g)
{
	if (knows(g, KNOW_THROTTLED))
		show(fv, g, NULL, NULL, seconds(g->sums.throttled_ns));
}

static void waited_for(struct family_visit *fv, const struct group *g)
{
	for (unsigned i = 0; i < CULPRIT_CLASSES && knows(g, KNOW_WAITED); i++)
		show(fv, g, "culprit", culprit_class_names[i], seconds(g->sums.culprit_ns[i]));
}

static void spin(struct family_visit *fv, const struct group *g)
{
	if (knows(g, KNOW_SPIN))
		show(fv, g, NULL, NULL, seconds(g->sums.spin_ns));
}

static void io_sleeps(struct family_visit *fv, const struct group *g)
{
	if (knows(g, KNOW_SLEEPS))
		show(fv, g, NULL, NULL, (double)g->sums.io_sleeps);
}

static void io_waits(struct family_visit *fv, const struct group *g)
{
	if (knows(g, KNOW_IO_WAITS))
		show(fv, g, NULL, NULL, (double)g->sums.io_waits);
}

static void ticks(struct family_visit *fv, const struct group *g)
{
	if (knows(g, KNOW_TICKS))
		show(fv, g, NULL, NULL, (double)g->sums.ticks);
}

static void histogram(struct family_visit *fv, const struct group *g, const struct durations *d)
{
	double bound[DURATION_BOUNDS];
	struct metric_native_bucket buckets[DURATION_NATIVES];
	struct metric_native native;
	struct metric_histogram h = { .n_bounds = DURATION_BOUNDS, .bound = bound, .native = &native };
	struct metric_sample s = { .labels = g->labels, .n_labels = g->n_labels, .histogram = &h, .start_s = g->start_s };

	if (!d)
		return;
	for (unsigned i = 0; i < DURATION_BOUNDS; i++)
		bound[i] = duration_bound(i);
	durations_native(d, buckets, &native);
	h.count = d->count;
	h.n = d->n;
	h.sum = seconds(d->sum_ns);
	family_sample(fv, &s);
}

static void tick_durations(struct family_visit *fv, const struct group *g)
{
	histogram(fv, g, g->sums.tick);
}

static void io_durations(struct family_visit *fv, const struct group *g)
{
	histogram(fv, g, g->sums.io);
}

static void slow_ticks(struct family_visit *fv, const struct group *g)
{
	for (unsigned i = 0; i <= CAUSE_KINDS && knows(g, KNOW_SLOW); i++)
		show(fv, g, "cause", i == CAUSE_UNTOLD ? "untold" : cause_kind_name(i), (double)g->sums.slow.ticks[i]);
}

static void slow_seconds(struct family_visit *fv, const struct group *g)
{
	for (unsigned i = 0; i < CAUSE_KINDS && knows(g, KNOW_SLOW); i++)
		show(fv, g, "cause", cause_kind_name(i), seconds(g->sums.slow.ns[i]));
}

static void stall(struct family_visit *fv, const struct group *g)
{
	if (knows(g, KNOW_SLOW))
		show(fv, g, NULL, NULL, isnan(g->stall_s) ? 0 : g->stall_s);
}

static void observer(struct family_visit *fv, const struct group *g)
{
	if (knows(g, KNOW_OBSERVER))
		show(fv, g, NULL, NULL, seconds(g->sums.observer_ns));
}

static void contradictions(struct family_visit *fv, const struct group *g)
{
	if (knows(g, KNOW_LOST))
		show(fv, g, NULL, NULL, (double)g->sums.lost);
}

static void over_budget(struct family_visit *fv, const struct group *g)
{
	if (knows(g, KNOW_TICKS) || g->n_over_budget)
		show(fv, g, NULL, NULL, (double)g->n_over_budget);
}

static const struct loop_family {
	struct metric_family family;
	void (*samples)(struct family_visit *fv, const struct group *g);
} loop_families[] = {
	{ { "loopscope_loops", "", METRIC_GAUGE, "Event loops that live." }, loops },
	{ { "loopscope_loop_seconds", "seconds", METRIC_COUNTER,
	    "Time that loops have spent in each state: load is all but idle. Without a state io_cpu, tick_cpu holds both." }, states },
	{ { "loopscope_loop_throttled_seconds", "seconds", METRIC_COUNTER,
	    "Part of wait_io and wait_tick: the cgroup's CPU quota was used up." }, throttled },
	{ { "loopscope_loop_waited_for_seconds", "seconds", METRIC_COUNTER,
	    "wait_io and wait_tick by who had the CPU meanwhile." }, waited_for },
	{ { "loopscope_loop_spin_seconds", "seconds", METRIC_COUNTER,
	    "Part of io_cpu and tick_cpu: polls that asked for no time and found nothing." }, spin },
	{ { "loopscope_loop_io_sleeps", "", METRIC_COUNTER, "IO waits in which a loop slept." }, io_sleeps },
	{ { "loopscope_loop_io_waits", "", METRIC_COUNTER, "IO waits, where their edges are measured." }, io_waits },
	{ { "loopscope_loop_ticks", "", METRIC_COUNTER, "Ticks: what a loop does between two IO waits, where edges are measured." }, ticks },
	{ { "loopscope_loop_tick_duration_seconds", "seconds", METRIC_HISTOGRAM, "How long ticks took: the time without a response." },
	  tick_durations },
	{ { "loopscope_loop_io_duration_seconds", "seconds", METRIC_HISTOGRAM, "How long IO waits took." }, io_durations },
	{ { "loopscope_loop_slow_ticks", "", METRIC_COUNTER,
	    "Ticks over the threshold, by what took most of the time; untold: too many at once to be looked into." }, slow_ticks },
	{ { "loopscope_loop_slow_tick_seconds", "seconds", METRIC_COUNTER,
	    "Where the time of ticks over the threshold went." }, slow_seconds },
	{ { "loopscope_loop_stall_seconds", "seconds", METRIC_GAUGE,
	    "Age of the oldest tick over the threshold that is still running; 0: none is." }, stall },
	{ { "loopscope_loop_observer_seconds", "seconds", METRIC_COUNTER, "Time that observing took from loops, estimated." }, observer },
	{ { "loopscope_loop_contradictions", "", METRIC_COUNTER,
	    "Events that contradict each other: each may have misplaced a stretch of time." }, contradictions },
	{ { "loopscope_loop_over_budget", "", METRIC_GAUGE,
	    "Loops whose ticks are not measured now, as it would cost them too much." }, over_budget },
};

/* --- stalls: the oldest of each group ----------------------------------------------------------------------------------------- */

static void find_stalls(struct metrics *m, uint64_t now_ns)
{
	struct counted_loop *l, *ltmp;
	struct group *g, *gtmp;

	HASH_ITER(hh, m->groups, g, gtmp)
		g->stall_s = NAN;
	m->overflow.stall_s = NAN;
	HASH_ITER(hh, m->loops, l, ltmp) {
		double age = now_ns > l->stall_since_ns ? seconds(now_ns - l->stall_since_ns) : 0;

		if (l->stalled && l->group && !(age < l->group->stall_s))
			l->group->stall_s = age;
	}
}

/* --- the source as a whole ----------------------------------------------------------------------------------------------------- */

static void visit_whole(struct metrics *m, struct family_visit *fv)
{
	static const struct metric_family groups = { "loopscope_groups", "", METRIC_GAUGE, "Groups of loops that have series of their own." },
		limit = { "loopscope_groups_limit", "", METRIC_GAUGE, "How many there may be: --max-loops." },
		overflow = { "loopscope_overflow_loops", "", METRIC_GAUGE,
			     "Loops beyond that limit: summed up in the series with overflow=\"true\"." },
		gone = { "loopscope_groups_dropped", "", METRIC_COUNTER, "Groups whose loops have all been gone for some time." },
		asleep = { "loopscope_threads_asleep", "", METRIC_GAUGE,
			   "Threads asleep in an IO wait since before they were watched: not known to be loops." },
		beyond = { "loopscope_untracked_loops", "", METRIC_GAUGE, "Loops beyond what can be tracked at all: in no series." },
		excluded = { "loopscope_excluded_loops", "", METRIC_GAUGE, "Loops that --include and --exclude leave out." },
		lost = { "loopscope_lost_events", "", METRIC_COUNTER, "Events that the source as a whole has lost." },
		steal = { "loopscope_host_steal_seconds", "seconds", METRIC_COUNTER,
			  "CPU time that the hypervisor took, all CPUs: it counts as busy in the loops that had it." };
	const struct origin *k = &m->origins[METRICS_KERNEL];
	const struct {
		const struct metric_family *family;
		bool known;
		double value;
	} values[] = {
		{ &groups, true, (double)HASH_COUNT(m->groups) },
		{ &limit, true, (double)m->o.max_groups },
		{ &overflow, true, (double)m->overflow.n_loops },
		{ &gone, true, (double)m->dropped },
		{ &asleep, k->round, (double)k->n_asleep },
		{ &beyond, k->round, (double)k->n_beyond },
		{ &excluded, k->round && k->n_excluded, (double)k->n_excluded },
		{ &lost, k->lost_known, (double)k->lost },
		{ &steal, m->steal_known, seconds(m->steal_ns) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		family_visit(fv, values[i].family);
		if (values[i].known)
			family_value(fv, NULL, 0, NULL, NULL, values[i].value, m->o.start_s);
	}
}

int metrics_visit(struct metrics *m, uint64_t now_ns, const struct metrics_visitor *v, void *arg)
{
	struct family_visit fv = { .v = v, .arg = arg };
	struct group *g, *tmp;
	int err;

	find_stalls(m, now_ns);
	for (size_t i = 0; i < ARRAY_SIZE(loop_families) && !fv.err; i++) {
		family_visit(&fv, &loop_families[i].family);
		HASH_ITER(hh, m->groups, g, tmp)
			loop_families[i].samples(&fv, g);
		if (m->overflow.n_labels)
			loop_families[i].samples(&fv, &m->overflow);
	}
	if (!fv.err)
		visit_whole(m, &fv);
	if (fv.err)
		return fv.err;
	err = metrics_boards_visit(m, v, arg);
	return err ? err : metrics_own_visit(m, v, arg);
}
