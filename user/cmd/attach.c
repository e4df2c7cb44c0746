/* SPDX-License-Identifier: BSD-2-Clause */
/* attach.c - `loopscope attach`: the loops of running processes, interval by interval. */
#include <errno.h>
#include <stddef.h>

#include "cmd/command.h"
#include "cmd/loop_options.h"
#include "cmd/observe.h"
#include "cmd/process_ends.h"
#include "cmd/processes.h"
#include "lib/cleanup.h"
#include "lib/options.h"
#include "source/kernel_edges.h"

struct attach_config {
	struct opt_pids pids;
	struct opt_strings names;
	uint64_t interval_ns, duration_ns, count;
	uint64_t slow_ns;
	double budget;
	int format, sort, edges;
	const char *columns;
	bool all, events, no_slow, phases;
};

enum { ENDS_BY = 1, SLOW = 2 };

static const struct opt_spec specs[] = {
	{ 'p', "pid", OPT_PIDS, offsetof(struct attach_config, pids), "PID", "process to watch, all its threads", NULL, 0, 0, 0 },
	{ 'n', "name", OPT_STRINGS, offsetof(struct attach_config, names), "NAME",
	  "processes of that name, now running; * and ? are wildcards", NULL, 0, 0, 0 },
	{ 'i', "interval", OPT_DURATION, offsetof(struct attach_config, interval_ns), "TIME",
	  "time between reports (default 1s)", NULL, 0, 10000000, 0 },
	{ 'c', "count", OPT_COUNT, offsetof(struct attach_config, count), "N", "end after N reports", NULL, ENDS_BY, 1, 0 },
	{ 'd', "duration", OPT_DURATION, offsetof(struct attach_config, duration_ns), "TIME", "end after that time", NULL,
	  ENDS_BY, 10000000, 0 },
	OPTION_SORT(offsetof(struct attach_config, sort)),
	{ 'e', "edges", OPT_CHOICE, offsetof(struct attach_config, edges), "KIND",
	  "how the beginning and end of each IO wait are found (default auto: the cheapest that works here).\n"
	  "  sched       from the scheduler alone: no ticks, nothing is added to any system call\n"
	  "  fentry      exact, and costs other calls nothing\n"
	  "  tracepoint  exact; slows every system call of the machine by some 50 ns meanwhile\n"
	  "  uprobe      entries only, by a breakpoint in the process's libc", kernel_edge_choices, 0, 0, 0 },
	{ 0, "slow", OPT_DURATION, offsetof(struct attach_config, slow_ns), "TIME",
	  "report each tick that takes at least so long, and what made it slow (default 50ms)", NULL, SLOW, 100000, 0 },
	{ 0, "no-slow", OPT_FLAG, offsetof(struct attach_config, no_slow), NULL, "report no single ticks", NULL, SLOW, 0, 0 },
	{ 0, "budget", OPT_SHARE, offsetof(struct attach_config, budget), "SHARE",
	  "share of a loop's time that measuring its edges may cost (default 2%): beyond it, fall back to sched and try again "
	  "later; 100% is no limit", NULL, 0, 0, 0 },
	{ 0, "events", OPT_FLAG, offsetof(struct attach_config, events), NULL,
	  "with -o json: every loop_start, tick_start, io_start, io_end, tick_end and loop_stop as a line of its own", NULL, 0, 0, 0 },
	{ 0, "phases", OPT_FLAG, offsetof(struct attach_config, phases), NULL,
	  "split what ticks are spent on by the runtime's phases (timers, polling, callbacks), where its functions have symbols: a "
	  "breakpoint at each; within --budget", NULL, 0, 0, 0 },
	OPTION_ALL(offsetof(struct attach_config, all)),
	{ 'o', "output", OPT_CHOICE, offsetof(struct attach_config, format), "FORMAT",
	  "table for people (default); json for programs: one object a line; folded: where slow ticks spent their time, as "
	  "stacks for flame graph tools, at the end", observe_tick_formats, 0, 0, 0 },
	OPTION_COLUMNS(offsetof(struct attach_config, columns)),
	{ 0 },
};

static const struct opt_usage usage = {
	.command = "attach",
	.synopsis = "-p PID [options]",
	.about = "Watches the event loops of running processes and reports each interval how loaded they are and why. Loops and "
		 "threads that appear later are picked up. It ends when the processes do, or with Ctrl-C, which prints the rest.",
	.examples = "  loopscope attach -p 4711                 until Ctrl-C\n"
		    "  loopscope attach -n redis-server -i 5s   every process of that name\n"
		    "  loopscope attach -p 4711 -i 1 -c 5 -o json\n",
};

/* The last of them has ended. */
static void on_all_ended(void *arg)
{
	observation_stop(arg);
}

static int observe(const struct attach_config *c, const pid_t *pids, size_t n_pids, struct fault *f)
{
	struct observe_options o = {
		.source = { .pids = pids,
			    .n_pids = n_pids,
			    .only_pids = true,
			    .edges = c->edges,
			    .slow_ns = c->no_slow ? 0 : c->slow_ns,
			    .budget = c->budget >= 1 ? 0 : c->budget,
			    .stream = c->events,
			    .phases = c->phases },
		.out = stdout,
		.format = c->format,
		.sort = c->sort,
		.layout = TABLE_REPEAT,
		.columns = c->columns ? c->columns : c->phases ? "+phases" : NULL,
		.interval_ns = c->interval_ns,
		.show_asleep = true,
		.show_all = c->all,
	};
	struct observe_pace pace = { .interval_ns = c->interval_ns, .duration_ns = c->duration_ns, .count = c->count };
	struct process_ends *ends = NULL;
	struct observation *ob = NULL;
	struct evloop *loop = NULL;
	int err = evloop_new(&loop);

	if (!err)
		err = observation_open(&o, &ob, f);
	if (!err)
		err = process_ends_new(pids, n_pids, loop, on_all_ended, ob, &ends, f);
	if (!err)
		err = observation_run(ob, loop, &pace, f);
	if (!err)
		process_ends_say(ends);
	process_ends_free(ends);
	observation_close(ob);
	evloop_free(loop);
	return err ? fault(f, err, EXIT_FAILED, "the event loop can't be set up") : 0;
}

static int check_config(const struct attach_config *c, struct fault *f)
{
	bool sched = c->edges == CHOOSE_SCHED;

	if (c->events && c->format != OBSERVE_JSON)
		return fault(f, -EINVAL, EXIT_USAGE, "attach: --events needs -o json");
	if (c->events && sched)
		return fault(f, -EINVAL, EXIT_USAGE, "attach: --events needs measured edges; leave out --edges sched");
	if (c->format == OBSERVE_FOLDED && (sched || c->no_slow))
		return fault(f, -EINVAL, EXIT_USAGE, "attach: -o folded is made of slow ticks; leave out --edges sched and --no-slow");
	return 0;
}

static int attach(const struct attach_config *c, struct fault *f)
{
	_cleanup_free_ pid_t *pids = NULL;
	size_t n = 0;
	int err = check_config(c, f);

	if (!err && !c->pids.n && !c->names.n)
		err = fault(f, -EINVAL, EXIT_USAGE,
			    "attach: which process? Give -p PID or -n NAME; 'loopscope scan' lists the loops that run now");
	if (!err)
		err = processes_collect(&c->pids, &c->names, &pids, &n, f);
	return err ? err : observe(c, pids, n, f);
}

static int run(int argc, char **argv)
{
	struct attach_config c = { .interval_ns = 1000000000ull, .slow_ns = 50000000ull, .budget = 0.02 };
	struct fault f = {};
	int operand, err = options_parse(&usage, specs, &c, argc, argv, &operand, &f);

	if (err == OPTIONS_HELP_SHOWN)
		err = 0;
	else if (!err && !observe_columns_help(c.columns))
		err = attach(&c, &f);
	options_release(specs, &c);
	return observe_exit(err, &f);
}

const struct command cmd_attach = { "attach", "the loops of running processes, interval by interval", run };
