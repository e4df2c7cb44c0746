/* SPDX-License-Identifier: BSD-2-Clause */
/* fields.c - see fields.h. The order is that of the records. */
#include "model/fields.h"

#include <string.h>

#include "lib/cleanup.h"
#include "model/slow_tick.h"
#include "model/source_record.h"
#include "model/task.h"

/* Typed enums behind one type of function. A name outside of an enum's values is none. */
static const char *edge_word(int v)
{
	return edge_kind_name((enum edge_kind)v);
}

static const char *cost_word(int v)
{
	return cost_kind_name((enum cost_kind)v);
}

static const char *task_word(int v)
{
	return task_kind_name((enum task_kind)v);
}

static const char *clock_word(int v)
{
	return clock_method_name((enum clock_method)v);
}

static const char *cause_word(int v)
{
	return cause_kind_name((enum cause_kind)v);
}

static const char *event_word(int v)
{
	return loop_event_name((enum loop_event_kind)v);
}

#define FIELD(kind_, name_, member) \
	{ .name = (name_), .kind = (kind_), .offset = offsetof(RECORD, member), .size = sizeof(((RECORD *)0)->member) }
#define REAL(member) FIELD(FIELD_REAL, #member, member)
#define COUNT(member) FIELD(FIELD_COUNT, #member, member)
#define INTEGER(member) FIELD(FIELD_INTEGER, #member, member)
#define FD(member) FIELD(FIELD_FD, #member, member)
#define UNSIGNED(member) FIELD(FIELD_UNSIGNED, #member, member)
#define POSITIVE(member) FIELD(FIELD_POSITIVE, #member, member)
#define FLAG(member) FIELD(FIELD_FLAG, #member, member)
#define TEXT(member) FIELD(FIELD_TEXT, #member, member)
#define STRING(member) FIELD(FIELD_STRING, #member, member)
#define HIST(member) { .name = #member, .kind = FIELD_HIST, .offset = offsetof(RECORD, member) }
#define WORD(name_, member, word_, words_) \
	{ .name = (name_), .kind = FIELD_WORD, .offset = offsetof(RECORD, member), .word = (word_), .words = (words_) }

#define QUANTILE(member, q) \
	{ .name = #member "_" #q, .kind = FIELD_REAL, .offset = offsetof(RECORD, member.q), .known = offsetof(RECORD, member.known) + 1 }
#define QUANTILES(member) \
	QUANTILE(member, p50), QUANTILE(member, p90), QUANTILE(member, p99), QUANTILE(member, p999), QUANTILE(member, max)

#define STATS(member) \
	FIELD(FIELD_INTEGER, #member "_n", member.n), FIELD(FIELD_REAL, #member "_min", member.min), \
		FIELD(FIELD_REAL, #member "_p50", member.p50), FIELD(FIELD_REAL, #member "_p90", member.p90), \
		FIELD(FIELD_REAL, #member "_p99", member.p99), FIELD(FIELD_REAL, #member "_max", member.max), \
		FIELD(FIELD_REAL, #member "_total", member.total)

#define TABLE(symbol, name_) const struct field_table symbol##_fields = { name_, symbol, ARRAY_SIZE(symbol) }

#define RECORD struct loop_record
static const struct field loop_who[] = {
	COUNT(nspid), TEXT(comm), TEXT(thread), STRING(cgroup), STRING(runtime), STRING(wait_syscall), FD(wait_fd),
	WORD("edges", edges, edge_word, EDGES_BOARD + 1),
};
static const struct field loop[] = {
	REAL(ts), REAL(interval_s),
	REAL(load), REAL(busy), REAL(wait), REAL(idle), REAL(spin), REAL(naive_load),
	REAL(io_cpu), REAL(tick_cpu), REAL(tick_blocked), REAL(wait_io), REAL(wait_tick), REAL(throttled),
	COUNT(io_waits), COUNT(ticks), REAL(events_per_wait), REAL(late_us), REAL(late_wait_us), COUNT(slow_ticks), FLAG(over_budget),
	COUNT(io_sleeps), QUANTILES(tick_us), QUANTILES(io_us),
	COUNT(lost), COUNT(repaired), REAL(observer_cost), WORD("cost_from", cost_from, cost_word, COST_KERNEL + 1),
	FLAG(in_progress_only), FLAG(ended), HIST(tick_hist), HIST(io_hist),
};
#undef RECORD

#define RECORD struct task_record
static const struct field task[] = {
	REAL(ts), REAL(interval_s), WORD("kind", kind, task_word, TASK_IDLE + 1), STRING(loop), TEXT(task), UNSIGNED(id),
	UNSIGNED(instance), INTEGER(instances), COUNT(runs), REAL(busy), REAL(wait), REAL(alive), STATS(run_us), STATS(ready_us),
	INTEGER(left_out), INTEGER(hogs), REAL(hog_open_us), REAL(last_seen_s), REAL(uncertainty_us), FLAG(ended),
};
#undef RECORD

#define RECORD struct source_record
static const struct field source[] = {
	REAL(ts), REAL(interval_s), STRING(loop), STRING(name), FIELD(FIELD_STRING, "port", where), STRING(protocol), FLAG(present),
	FIELD(FIELD_REAL, "margin_mean", margin.mean), FIELD(FIELD_REAL, "margin_worst", margin.worst),
	FIELD(FIELD_REAL, "margin_worst_ago_s", margin.worst_ago_s), FIELD(FIELD_REAL, "margin_window_s", margin.window_s),
	FIELD(FIELD_INTEGER, "margin_windows", margin.windows), FIELD(FIELD_REAL, "margin_beyond", margin.beyond),
	STATS(sleep_us), STATS(pass_us),
	WORD("clock_method", clock.method, clock_word, CLOCK_PINGS + 1), FIELD(FIELD_INTEGER, "clock_offset_ns", clock.offset_ns),
	FIELD(FIELD_INTEGER, "clock_board_ns", clock.board_ns), FIELD(FIELD_REAL, "clock_drift_ppm", clock.drift_ppm),
	FIELD(FIELD_REAL, "clock_drift_error_ppm", clock.drift_error_ppm), FIELD(FIELD_COUNT, "clock_error_ns", clock.error_ns),
	FIELD(FIELD_UNSIGNED, "clock_samples", clock.samples),
	POSITIVE(hz), FLAG(hz_measured), INTEGER(lost_frames), INTEGER(lost_events), INTEGER(lost_bytes), INTEGER(gaps),
	INTEGER(gaps_uncounted), INTEGER(resets), INTEGER(orphans), INTEGER(untracked), UNSIGNED(bytes), UNSIGNED(events),
	UNSIGNED(garbage), UNSIGNED(resyncs), UNSIGNED(console), REAL(silent_s), REAL(uncertainty_us), FLAG(from_sums),
};
#undef RECORD

#define RECORD struct interval
static const struct field interval[] = {
	REAL(ts), REAL(interval_s), UNSIGNED(seq), FIELD(FIELD_UNSIGNED, "asleep", n_asleep), FIELD(FIELD_UNSIGNED, "beyond", n_beyond),
	REAL(steal), COUNT(lost), FLAG(last),
};
#undef RECORD

#define RECORD struct slow_tick
static const struct field slow_tick[] = {
	REAL(ts), TEXT(comm), TEXT(thread), STRING(runtime), FIELD(FIELD_UNSIGNED, "clock_ns", start_ns), REAL(duration_us),
	FLAG(in_progress), REAL(cpu_us), REAL(blocked_us), REAL(wait_us), REAL(throttled_us), COUNT(events), COUNT(suppressed),
};
#undef RECORD

#define RECORD struct slow_cause
static const struct field cause[] = {
	WORD("kind", kind, cause_word, CAUSE_OTHER + 1), REAL(us), STRING(what), COUNT(samples),
};
#undef RECORD

#define RECORD struct loop_event
static const struct field event[] = {
	WORD("kind", kind, event_word, EVENT_GAP + 1), REAL(ts), POSITIVE(mono_ns), TEXT(comm), TEXT(thread), STRING(runtime),
	REAL(timeout_us), FIELD(FIELD_INTEGER, "n", count), STRING(what),
};
#undef RECORD

TABLE(loop_who, "who");
TABLE(loop, "loop");
TABLE(task, "task");
TABLE(source, "state");
TABLE(interval, "interval");
TABLE(slow_tick, "slow_tick");
TABLE(cause, "cause");
TABLE(event, "event");

int field_word_value(const struct field *f, const char *name)
{
	for (int v = 0; v < f->words; v++) {
		const char *word = f->word(v);

		if (word && !strcmp(word, name))
			return v;
	}
	return -1;
}
