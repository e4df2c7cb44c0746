/* SPDX-License-Identifier: BSD-2-Clause */
/* report.c - `loopscope report`: what a recording holds, as the live command would have said it, or as a picture. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/loop_options.h"
#include "cmd/observe.h"
#include "cmd/report_progress.h"
#include "cmd/report_select.h"
#include "lib/options.h"
#include "lib/text.h"
#include "model/slow_sums.h"
#include "sink/diff.h"
#include "sink/html.h"
#include "sink/perfetto.h"
#include "sink/vcd.h"

enum report_format { REPORT_TABLE, REPORT_JSON, REPORT_FOLDED, REPORT_HTML, REPORT_PERFETTO, REPORT_VCD };

static const char *const formats[] = { "table", "json", "folded", "html", "perfetto", "vcd", NULL };

struct report_config {
	struct report_wishes wishes;
	int format;
	const char *columns, *other;
};

#define AT(field) offsetof(struct report_config, field)

static const struct opt_spec specs[] = {
	{ 'o', "output", OPT_CHOICE, AT(format), "FORMAT",
	  "\n  table     for people (default)"
	  "\n  json      for programs: one object a line, as the live command prints them"
	  "\n  folded    where slow ticks spent their time, as stacks for flame graph tools"
	  "\n  html      one page with charts, slow ticks and a time line, for a browser"
	  "\n  perfetto  a trace for ui.perfetto.dev"
	  "\n  vcd       wires for GTKWave or PulseView", formats, 0, 0, 0 },
	{ 0, "from", OPT_STRING, AT(wishes.from), "TIME",
	  "only what comes after: 10s after the start, -10s before the end, 14:05:30, '2025-12-01 14:05' (local time) or @SECONDS of unix time",
	  NULL, 0, 0, 0 },
	{ 0, "to", OPT_STRING, AT(wishes.to), "TIME", "only what comes up to that time, written likewise", NULL, 0, 0, 0 },
	{ 'p', "pid", OPT_PIDS, AT(wishes.pids), "PID", "only loops of this process", NULL, 0, 0, 0 },
	{ 'n', "name", OPT_STRINGS, AT(wishes.names), "NAME", "only loops of processes, or boards, of that name; * and ? are wildcards", NULL, 0,
	  0, 0 },
	OPTION_INCLUDE(AT(wishes.include)),
	OPTION_EXCLUDE(AT(wishes.exclude)),
	{ 0, "diff", OPT_STRING, AT(other), "OTHER",
	  "what differs in the recording OTHER, made after a change, by more than either varies in itself: load, ticks, where slow ones spent "
	  "their time", NULL, 0, 0, 0 },
	OPTION_COLUMNS(AT(columns)),
	{ 0 },
};

static const struct opt_usage usage = {
	.command = "report",
	.synopsis = "FILE [options]",
	.about = "Shows what loopscope record has kept, on standard output: all of it, or a stretch of time and some loops. Needs no privileges "
		 "but to read the file, which may still be written to.",
	.examples = "  loopscope report run.lsr                          as attach would have printed it\n"
		    "  loopscope report run.lsr -o html >run.html        look at it\n"
		    "  loopscope report run.lsr --from -30s -n node -o json\n"
		    "  loopscope report before.lsr --diff after.lsr      what has changed\n",
	.max_operands = 1,
};

/* --- one interval after the other --- */

struct replay {
	struct recording *r;
	struct sink *sink;
	struct slow_sums *sums;
	bool part; /* of its time only */
	bool folded; /* every slow tick is summed up, whether or not its live command does that */
	uint64_t handed_on;
	struct fault *f;
};

static int on_interval(void *arg, uint32_t source, const struct interval *iv)
{
	struct replay *p = arg;

	p->handed_on++;
	return sink_interval(p->sink, iv, p->f);
}

/* The live command sums up those of its own observation. */
static int on_slow_tick(void *arg, uint32_t source, const struct slow_tick *t)
{
	struct replay *p = arg;
	int err = p->folded || recording_has_summary(p->r, source) ? slow_sums_add(p->sums, t) : 0;

	p->handed_on++;
	return err ? fault(p->f, err, EXIT_FAILED, "out of memory") : sink_slow_tick(p->sink, t, p->f);
}

static int on_event(void *arg, uint32_t source, const struct loop_event *e)
{
	struct replay *p = arg;

	p->handed_on++;
	return sink_event(p->sink, e, p->f);
}

static bool has_summary(const struct recording *r)
{
	size_t n;

	recording_source_list(r, &n);
	for (size_t i = 0; i < n; i++)
		if (recording_has_summary(r, (uint32_t)i))
			return true;
	return false;
}

/* Of the whole machine's loops ticks are not known; boards always tell. */
static bool looked_for_slow(const struct recording *r)
{
	size_t n;
	const struct recording_source *s = recording_source_list(r, &n);
	bool boards = false;

	for (size_t i = 0; i < n; i++)
		boards |= s[i].kind == SOURCE_SERIAL;
	return recording_facts(r)->slow_ns >= 0 && (boards || has_summary(r));
}

/* Nothing at all would look like a report that failed. */
static void say_nothing_is_slow(const struct recording *r)
{
	char text[TEXT_DURATION_SIZE];

	if (!looked_for_slow(r))
		fputs("loopscope: no stacks to fold: slow ticks were not looked for; record with -p or -n, and without --no-slow\n", stderr);
	else
		fprintf(stderr, "loopscope: no stacks to fold: no tick that ended here took %s or longer; record with a smaller --slow\n",
			text_duration_exact(text, sizeof(text), (uint64_t)recording_facts(r)->slow_ns));
}

static int replay(struct replay *p, const struct recording_select *s)
{
	const struct recording_replay to = { on_interval, on_slow_tick, on_event, p };
	struct slow_summary sum;
	int err = recording_replay(p->r, s, &to, p->f);

	if (!err && p->part && !p->handed_on)
		err = fault(p->f, -ERANGE, EXIT_FAILED, "nothing was reported in just that time; give a longer stretch");
	if (err || !(p->folded || has_summary(p->r)))
		return err;
	sum = (struct slow_summary){ .ticks = slow_sums_ticks(p->sums), .us = slow_sums_us(p->sums),
				     .held_back = slow_sums_held_back(p->sums) };
	sum.causes = slow_sums_list(p->sums, &sum.n_causes);
	err = sink_slow_summary(p->sink, &sum, p->f);
	if (!err && p->folded && !sum.n_causes)
		say_nothing_is_slow(p->r);
	return err;
}

static int open_sink(const struct report_config *c, const struct recording *r, struct sink **ret, struct fault *f)
{
	int64_t interval_ns = recording_facts(r)->interval_ns;
	struct table_options t = { .out = stdout, .layout = TABLE_REPEAT, .columns = c->columns,
				   .interval_ns = interval_ns > 0 ? (uint64_t)interval_ns : 0 };

	if (c->format == REPORT_JSON)
		return sink_json_new(stdout, ret, f);
	return c->format == REPORT_FOLDED ? sink_folded_new(stdout, ret, f) : sink_table_new(&t, ret, f);
}

static int report_in_order(const struct report_config *c, struct recording *r, const struct recording_select *s, struct fault *f)
{
	struct replay p = { .r = r, .part = c->wishes.from || c->wishes.to, .folded = c->format == REPORT_FOLDED, .f = f };
	int err = open_sink(c, r, &p.sink, f);

	if (!err && slow_sums_new(&p.sums))
		err = fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	if (!err)
		err = replay(&p, s);
	slow_sums_free(p.sums);
	sink_free(p.sink);
	return err;
}

/* --- the whole --- */

static int report_whole(const struct report_config *c, struct recording *r, const struct recording_select *s, struct fault *f)
{
	static int (*const writers[])(struct recording_view *, const struct recording_select *, FILE *, struct fault *) = {
		[REPORT_HTML] = html_write, [REPORT_PERFETTO] = perfetto_write, [REPORT_VCD] = vcd_write,
	};
	struct recording_view *view;
	int err;

	if (c->format != REPORT_VCD && isatty(STDOUT_FILENO))
		return fault(f, -EINVAL, EXIT_USAGE, "report: -o %s is for a file, not for a terminal; write > FILE behind it", formats[c->format]);
	err = recording_look(r, &view, f);
	return err ? err : writers[c->format](view, s, stdout, f);
}

/* --- two of them --- */

static int look(const struct report_config *c, const char *path, struct report_progress *p, struct recording **ret,
		struct report_select *ret_select, struct fault *f)
{
	int err = recording_open(path, ret, f);

	if (!err)
		err = report_select_make(&c->wishes, *ret, ret_select, f);
	if (!err)
		recording_set_progress(*ret, report_progress_step, p);
	return err;
}

static int compare(const struct report_config *c, const char *path, struct fault *f)
{
	struct recording *before = NULL, *after = NULL;
	struct report_select select_before = { 0 }, select_after = { 0 };
	struct report_progress progress;
	int err;

	if (c->format != REPORT_TABLE)
		return fault(f, -EINVAL, EXIT_USAGE, "report: --diff makes a table; leave out -o");
	report_progress_begin(&progress);
	err = look(c, path, &progress, &before, &select_before, f);
	if (!err)
		err = look(c, c->other, &progress, &after, &select_after, f);
	if (!err)
		err = diff_write(recording_view(before), &select_before.select, recording_view(after), &select_after.select, stdout, f);
	report_progress_end(&progress);
	report_select_free(&select_before);
	report_select_free(&select_after);
	recording_close(before);
	recording_close(after);
	return err == -EINTR ? fault(f, err, EXIT_FAILED, "interrupted: nothing is compared yet") : err;
}

static int report(const struct report_config *c, const char *path, struct fault *f)
{
	struct report_progress progress;
	struct report_select select = { 0 };
	struct recording *r = NULL;
	int err = recording_open(path, &r, f);

	if (!err)
		err = report_select_make(&c->wishes, r, &select, f);
	if (!err) {
		report_progress_begin(&progress);
		recording_set_progress(r, report_progress_step, &progress);
		err = c->format < REPORT_HTML ? report_in_order(c, r, &select.select, f) : report_whole(c, r, &select.select, f);
		report_progress_end(&progress);
	}
	report_select_free(&select);
	recording_close(r);
	/* Ctrl-C: what was asked for up to there is written, and whole. */
	return err == -EINTR ? fault(f, err, EXIT_FAILED, "interrupted: the report ends before the recording does") : err;
}

static int run(int argc, char **argv)
{
	struct report_config c = { 0 };
	struct fault f = {};
	int operand, err = options_parse(&usage, specs, &c, argc, argv, &operand, &f);

	if (err == OPTIONS_HELP_SHOWN)
		err = 0;
	else if (!err && !observe_columns_help(c.columns))
		err = operand < argc ? (c.other ? compare : report)(&c, argv[operand], &f) :
				       fault(&f, -EINVAL, EXIT_USAGE, "report: which recording? Give its file, as in 'loopscope report run.lsr'");
	options_release(specs, &c);
	return observe_exit(err, &f);
}

const struct command cmd_report = { "report", "what a recording holds: tables, JSON, a page, a trace", run };
