/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * column.c - every column of the loops' table: what it is called, what it means, how its value reads.
 */
#include "sink/column.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/cleanup.h"
#include "lib/text.h"

#define FIELD(type, c, r) (*(const type *)(const void *)((const char *)(r) + (c)->offset))

static void set_unknown(char *dst)
{
	strcpy(dst, CELL_UNKNOWN);
}

void column_format_share(char *dst, size_t size, double share)
{
	double tenths = round(share * 1000);

	/* A tiny negative share would read "-0.0%". */
	snprintf(dst, size, "%.1f%%", tenths == 0 ? 0.0 : tenths / 10);
}

static void share_text(const struct column *c, const struct loop_record *r, char dst[CELL_SIZE])
{
	double share = FIELD(double, c, r);

	if (isfinite(share))
		column_format_share(dst, CELL_SIZE, share);
	else
		set_unknown(dst);
}

/* The observer's cost is a matter of tenths of a percent: one digit more. */
static void cost_text(const struct column *c, const struct loop_record *r, char dst[CELL_SIZE])
{
	double share = FIELD(double, c, r);

	if (isfinite(share))
		snprintf(dst, CELL_SIZE, "%.2f%%", share * 100);
	else
		set_unknown(dst);
}

static void id_text(const struct column *c, const struct loop_record *r, char dst[CELL_SIZE])
{
	uint32_t id = FIELD(uint32_t, c, r);

	if (id)
		snprintf(dst, CELL_SIZE, "%" PRIu32, id);
	else
		set_unknown(dst);
}

static void count_text(const struct column *c, const struct loop_record *r, char dst[CELL_SIZE])
{
	int64_t n = FIELD(int64_t, c, r);

	if (n >= 0)
		snprintf(dst, CELL_SIZE, "%" PRId64, n);
	else
		set_unknown(dst);
}

static void rate_text(const struct column *c, const struct loop_record *r, char dst[CELL_SIZE])
{
	int64_t n = FIELD(int64_t, c, r);
	double rate = (double)n / r->interval_s;

	if (n < 0 || !isfinite(rate) || rate < 0)
		set_unknown(dst);
	else
		snprintf(dst, CELL_SIZE, "%.*f", rate < 9.95 ? 1 : 0, rate);
}

static void micros_text(double us, bool known, char dst[CELL_SIZE])
{
	/* 1e15 us are 30 years: what is above is rubbish and would overflow. */
	if (known && us >= 0 && us < 1e15)
		text_duration(dst, CELL_SIZE, (uint64_t)llround(us * 1000));
	else
		set_unknown(dst);
}

static void tick_text(const struct column *c, const struct loop_record *r, char dst[CELL_SIZE])
{
	micros_text(FIELD(double, c, r), r->tick_us.known, dst);
}

static void io_text(const struct column *c, const struct loop_record *r, char dst[CELL_SIZE])
{
	micros_text(FIELD(double, c, r), r->io_us.known, dst);
}

static void put_time(double ts, unsigned digits, char dst[CELL_SIZE])
{
	static const long scales[] = { 1, 10, 100, 1000 };
	long scale = scales[digits];
	long long n;
	struct tm tm;
	size_t len;

	/* Up to the year 2500 or so: no time_t overflows. */
	if (!(ts >= 0 && ts < 1.7e10)) {
		set_unknown(dst);
		return;
	}
	/* The nearest, as timers come a little late or early: cut, two rows could have the same tenth, and none the next. */
	n = digits ? llround(ts * (double)scale) : (long long)ts;
	len = localtime_r(&(time_t){ (time_t)(n / scale) }, &tm) ? strftime(dst, CELL_SIZE, "%H:%M:%S", &tm) : 0;
	if (!len)
		set_unknown(dst);
	else if (digits)
		snprintf(dst + len, CELL_SIZE - len, ".%0*lld", (int)digits, n % scale);
}

static void time_text(const struct column *c, const struct loop_record *r, char dst[CELL_SIZE])
{
	put_time(FIELD(double, c, r), 0, dst);
}

static void tenths_text(const struct column *c, const struct loop_record *r, char dst[CELL_SIZE])
{
	put_time(FIELD(double, c, r), 1, dst);
}

static void hundredths_text(const struct column *c, const struct loop_record *r, char dst[CELL_SIZE])
{
	put_time(FIELD(double, c, r), 2, dst);
}

static void thousandths_text(const struct column *c, const struct loop_record *r, char dst[CELL_SIZE])
{
	put_time(FIELD(double, c, r), 3, dst);
}

static void span_text(const struct column *c, const struct loop_record *r, char dst[CELL_SIZE])
{
	micros_text(FIELD(double, c, r) * 1e6, true, dst);
}

static void string_text(const struct column *c, const struct loop_record *r, char dst[CELL_SIZE])
{
	cell_set_bytes(dst, FIELD(const char *, c, r), SIZE_MAX);
}

/* The process's name, and the thread's where that is another one: "redis-server/io_thd_1". */
static void comm_text(const struct column *c, const struct loop_record *r, char dst[CELL_SIZE])
{
	char both[2 * LOOP_COMM_LEN + 1];
	bool differs = r->thread[0] && strncmp(r->comm, r->thread, LOOP_COMM_LEN) != 0;

	(void)c;
	snprintf(both, sizeof(both), "%.*s%s%.*s", LOOP_COMM_LEN, r->comm, differs && r->comm[0] ? "/" : "",
		 LOOP_COMM_LEN, differs ? r->thread : "");
	cell_set_bytes(dst, both, sizeof(both));
}

static void wait_point_text(const struct column *c, const struct loop_record *r, char dst[CELL_SIZE])
{
	char call[64];

	(void)c;
	if (!r->wait_syscall || !r->wait_syscall[0])
		call[0] = '\0';
	else if (r->wait_fd >= 0)
		snprintf(call, sizeof(call), "%.40s(%d)", r->wait_syscall, r->wait_fd);
	else
		snprintf(call, sizeof(call), "%.40s", r->wait_syscall);
	cell_set_bytes(dst, call, sizeof(call));
}

/* The share comes first: it aligns there, and a long name is cut at its end without losing it. */
static void format_top(char dst[CELL_SIZE], double share, const char *what, size_t max)
{
	char number[32] = CELL_UNKNOWN, name[CELL_SIZE];

	if (isfinite(share))
		column_format_share(number, sizeof(number), share);
	cell_set_bytes(name, what, max);
	snprintf(dst, CELL_SIZE, "%6s %.*s", number, CELL_SIZE - 64, name);
}

static void blocked_by_text(const struct column *c, const struct loop_record *r, char dst[CELL_SIZE])
{
	(void)c;
	if (r->n_blocked_by == 0)
		set_unknown(dst);
	else
		format_top(dst, r->blocked_by[0].share, r->blocked_by[0].what, sizeof(r->blocked_by[0].what));
}

static void waited_for_text(const struct column *c, const struct loop_record *r, char dst[CELL_SIZE])
{
	const struct waited_share *w = &r->waited_for[0];

	(void)c;
	if (r->n_waited_for == 0) {
		set_unknown(dst);
		return;
	}
	/* Those who did not fit the table come last, and may be most. */
	if (r->waited_for[r->n_waited_for - 1].share > w->share)
		w = &r->waited_for[r->n_waited_for - 1];
	if (w->pid == 0)
		format_top(dst, w->share, "(wake-up)", SIZE_MAX);
	else if (w->pid == -1)
		format_top(dst, w->share, "(others)", SIZE_MAX);
	else
		format_top(dst, w->share, w->comm, sizeof(w->comm));
}

static const struct phase_share *largest_phase(const struct loop_record *r)
{
	const struct phase_share *top = NULL;

	for (size_t i = 0; i < r->n_phases; i++)
		if (isfinite(r->phases[i].share) && (!top || r->phases[i].share > top->share))
			top = &r->phases[i];
	return top;
}

/* Whole entries only, in the runtime's order; where they don't all fit, the largest alone. */
static void phases_text(const struct column *c, const struct loop_record *r, char dst[CELL_SIZE])
{
	const struct phase_share *top = largest_phase(r);
	char all[CELL_SIZE] = "", one[CELL_SIZE];
	size_t len = 0;

	if (!top) {
		set_unknown(dst);
		return;
	}
	for (size_t i = 0; i < r->n_phases; i++) {
		if (!(r->phases[i].share > 0) && &r->phases[i] != top)
			continue;
		format_top(one, r->phases[i].share, r->phases[i].name, SIZE_MAX);
		len += (size_t)snprintf(all + len, len < sizeof(all) ? sizeof(all) - len : 0, "%s%s", len ? " " : "", one);
	}
	if (len > c->max)
		format_top(dst, top->share, top->name, SIZE_MAX);
	else
		strcpy(dst, all);
}

static void edges_text(const struct column *c, const struct loop_record *r, char dst[CELL_SIZE])
{
	(void)c;
	strcpy(dst, edge_kind_name(r->edges));
}

static void source_text(const struct column *c, const struct loop_record *r, char dst[CELL_SIZE])
{
	(void)c;
	strcpy(dst, record_source_name(r->source));
}

static void note_text(const struct column *c, const struct loop_record *r, char dst[CELL_SIZE])
{
	(void)c;
	strcpy(dst, r->ended ? "ended" : r->in_progress_only ? "asleep" : CELL_UNKNOWN);
}

/* libsmartcols's brown is the plain yellow; its yellow is bold. */
static const char *load_colour(const struct loop_record *r)
{
	return r->load >= 0.9 ? "red" : r->load >= 0.7 ? "brown" : NULL;
}

static const char *wait_colour(const struct loop_record *r)
{
	return r->wait >= 0.1 ? "magenta" : NULL;
}

#define AT(field) .offset = offsetof(struct loop_record, field)
#define SHARE(f) .unit = "%", .text = share_text, AT(f), .flags = COLUMN_RIGHT
#define HOST_SHARE(f) .unit = "%", .text = share_text, AT(f), .flags = COLUMN_RIGHT | COLUMN_HOST
#define RATE(f) .unit = "1/s", .text = rate_text, AT(f), .flags = COLUMN_RIGHT | COLUMN_IF_KNOWN
#define TIME(fn, f) .unit = "time", .text = fn, AT(f), .flags = COLUMN_RIGHT | COLUMN_IF_KNOWN
#define WIDTH(n) .min = (n), .width = (n), .max = (n)

/* clang-format off */
const struct column columns[] = {
	{ "time", "TIME", .unit = "time", .text = time_text, AT(ts), WIDTH(8),
	  .help = "local time at the interval's end; leads the rows of a table that goes on" },
	{ "pid", "PID", .unit = "", .text = id_text, AT(id.pid), .flags = COLUMN_RIGHT | COLUMN_HOST, WIDTH(7), .priority = 1,
	  .help = "process, in the root PID namespace" },
	{ "tid", "TID", .unit = "", .text = id_text, AT(id.tid), .flags = COLUMN_RIGHT | COLUMN_HOST, WIDTH(7), .priority = 13,
	  .help = "thread, in the root PID namespace" },
	{ "nspid", "NSPID", .unit = "", .text = count_text, AT(nspid), .flags = COLUMN_RIGHT, WIDTH(7),
	  .help = "process, as its own container numbers it" },
	{ "comm", "COMM", .unit = "", .text = comm_text, .min = 15, .width = 18, .max = 31, .priority = 2,
	  .help = "program's name, and /THREAD where the thread has another name" },
	{ "runtime", "RUNTIME", .unit = "", .text = string_text, AT(runtime), .flags = COLUMN_IF_KNOWN, .min = 9, .width = 9, .max = 16,
	  .priority = 7, .help = "who wrote the loop: libuv, asyncio, redis, ..." },
	{ "load", "LOAD", SHARE(load), WIDTH(6), .priority = 3, .colour = load_colour,
	  .help = "share of time in which the loop was not free: busy + wait" },
	{ "busy", "BUSY", SHARE(busy), WIDTH(6), .priority = 4,
	  .help = "its own use: on a CPU, or blocked inside a callback" },
	{ "wait", "WAIT", HOST_SHARE(wait), WIDTH(6), .priority = 5, .colour = wait_colour,
	  .help = "ready to run, but others had the CPU or its quota was used up" },
	{ "idle", "IDLE", SHARE(idle), WIDTH(6), .priority = 8,
	  .help = "asleep where it waits for work: headroom" },
	{ "naive-load", "NAIVE", HOST_SHARE(naive_load), WIDTH(6), .priority = 9,
	  .help = "the load a clock inside the program would show; wrong where WAIT is not 0" },
	{ "spin", "SPIN", .unit = "%", .text = share_text, AT(spin), .flags = COLUMN_RIGHT | COLUMN_IF_KNOWN, WIDTH(6),
	  .priority = 19, .help = "part of BUSY spent in empty polls: not real load" },
	{ "io-cpu", "IO-CPU", SHARE(io_cpu), WIDTH(6),
	  .help = "part of BUSY: on a CPU inside the IO wait" },
	{ "tick-cpu", "TICK-CPU", SHARE(tick_cpu), WIDTH(8),
	  .help = "part of BUSY: on a CPU in callbacks (and in the IO wait, where that can't be told apart)" },
	{ "tick-blocked", "TICK-BLOCKED", SHARE(tick_blocked), WIDTH(12),
	  .help = "part of BUSY: asleep in callbacks, see BLOCKED-BY" },
	{ "wait-io", "WAIT-IO", SHARE(wait_io), WIDTH(7),
	  .help = "part of WAIT: woken from the IO wait, not yet running" },
	{ "wait-tick", "WAIT-TICK", SHARE(wait_tick), WIDTH(9),
	  .help = "part of WAIT: preempted in callbacks, or woken from a block" },
	{ "throttled", "THROTTLED", HOST_SHARE(throttled), WIDTH(9), .priority = 14,
	  .help = "part of WAIT: the cgroup's CPU quota was used up" },
	{ "io-waits", "WAITS/s", RATE(io_waits), WIDTH(7),
	  .help = "IO waits, whether they slept or not" },
	{ "io-sleeps", "SLEEPS/s", RATE(io_sleeps), WIDTH(8), .priority = 11,
	  .help = "IO waits in which the loop slept" },
	{ "ticks", "TICKS/s", RATE(ticks), WIDTH(7),
	  .help = "ticks: rounds of callbacks between two IO waits" },
	{ "tick-p50", "TICK-P50", TIME(tick_text, tick_us.p50), WIDTH(8),
	  .help = "half of the ticks took no longer" },
	{ "tick-p99", "TICK-P99", TIME(tick_text, tick_us.p99), WIDTH(8), .priority = 17,
	  .help = "99 of 100 ticks took no longer" },
	{ "tick-max", "TICK-MAX", TIME(tick_text, tick_us.max), WIDTH(8), .priority = 18,
	  .help = "the longest tick" },
	{ "io-p50", "IO-P50", TIME(io_text, io_us.p50), WIDTH(7),
	  .help = "half of the IO waits took no longer" },
	{ "io-p99", "IO-P99", TIME(io_text, io_us.p99), WIDTH(7),
	  .help = "99 of 100 IO waits took no longer" },
	{ "io-max", "IO-MAX", TIME(io_text, io_us.max), WIDTH(7),
	  .help = "the longest IO wait" },
	{ "blocked-by", "BLOCKED-BY", .unit = "%", .text = blocked_by_text, .flags = COLUMN_HOST, .min = 16, .width = 17, .max = 22,
	  .priority = 10, .help = "what blocked callbacks most, with its share of time; - for nothing" },
	{ "waited-for", "WAITED-FOR", .unit = "%", .text = waited_for_text, .flags = COLUMN_HOST, .min = 16, .width = 17, .max = 22,
	  .priority = 6, .help = "who had the CPU most while it waited, with the share of time; (wake-up): nobody" },
	{ "phases", "PHASES", .unit = "%", .text = phases_text, .flags = COLUMN_IF_KNOWN, WIDTH(48),
	  .priority = 22, .help = "what its ticks were spent on: the runtime's phases, with their shares of time (--phases)" },
	{ "wait-point", "WAITPOINT", .unit = "", .text = wait_point_text, .flags = COLUMN_HOST, .min = 15, .width = 16, .max = 20,
	  .priority = 12, .help = "where the loop waits for work: syscall(fd)" },
	{ "observer-cost", "COST", .unit = "%", .text = cost_text, AT(observer_cost), .flags = COLUMN_RIGHT | COLUMN_HOST, WIDTH(6),
	  .priority = 16, .help = "share of time that observing took from this loop" },
	{ "lost", "LOST", .unit = "", .text = count_text, AT(lost), .flags = COLUMN_RIGHT | COLUMN_IF_ANY, WIDTH(5), .priority = 15,
	  .help = "contradictions in its events: each may have misplaced a stretch of time" },
	{ "edges", "EDGES", .unit = "", .text = edges_text, WIDTH(10),
	  .help = "how begin and end of IO waits were found" },
	{ "source", "SOURCE", .unit = "", .text = source_text, WIDTH(9),
	  .help = "where the record comes from" },
	{ "interval", "SPAN", .unit = "time", .text = span_text, AT(interval_s), .flags = COLUMN_RIGHT, WIDTH(6),
	  .help = "the time the row covers: shorter where the loop began or ended within" },
	{ "note", "NOTE", .unit = "", .text = note_text, .flags = COLUMN_IF_KNOWN, WIDTH(6), .priority = 20,
	  .help = "ended: the loop is gone; asleep: it slept throughout" },
	{ "cgroup", "CGROUP", .unit = "", .text = string_text, AT(cgroup), .flags = COLUMN_KEEP_TAIL | COLUMN_IF_KNOWN,
	  .min = 16, .width = 20, .max = 80, .priority = 21, .help = "the control group, below the root" },
};
/* clang-format on */

const size_t n_columns = ARRAY_SIZE(columns);
_Static_assert(ARRAY_SIZE(columns) <= COLUMN_MAX, "a table must hold every column");

const struct column *column_time(void)
{
	return &columns[0];
}

const struct column *column_time_of(uint64_t interval_ns)
{
	static const struct column finer[] = {
		{ "time", "TIME", .unit = "time", .text = tenths_text, AT(ts), WIDTH(10) },
		{ "time", "TIME", .unit = "time", .text = hundredths_text, AT(ts), WIDTH(11) },
		{ "time", "TIME", .unit = "time", .text = thousandths_text, AT(ts), WIDTH(12) },
	};

	if (interval_ns == 0 || interval_ns >= 1000000000)
		return column_time();
	return &finer[interval_ns >= 100000000 ? 0 : interval_ns >= 10000000 ? 1 : 2];
}

static bool same_name(const char *known, const char *name, size_t n)
{
	if (strlen(known) != n)
		return false;
	for (size_t i = 0; i < n; i++) {
		char c = name[i] == '_' ? '-' : name[i];

		if (tolower((unsigned char)known[i]) != tolower((unsigned char)c))
			return false;
	}
	return true;
}

const struct column *column_find(const char *name, size_t n)
{
	for (size_t i = 0; i < n_columns; i++)
		if (same_name(columns[i].name, name, n) || same_name(columns[i].header, name, n))
			return &columns[i];
	return NULL;
}

const struct column *column_named(const char *name)
{
	return column_find(name, strlen(name));
}
