/* SPDX-License-Identifier: BSD-2-Clause */
/* export.c - `loopscope export`: the daemon that feeds a monitoring. Its options; export_daemon.c does it. */
#include "cmd/export.h"

#include <errno.h>
#include <stddef.h>

#include "cmd/command.h"
#include "cmd/observe.h"
#include "model/loop_filter.h"
#include "source/kernel_edges.h"

#define BAUD_MAX 20000000u
#define MAX_LOOPS 65536

enum { SLOW = 1 };

#define AT(field) offsetof(struct export_config, field)

static const struct opt_spec specs[] = {
	{ 'l', "listen", OPT_STRING, AT(listen), "WHERE",
	  "where /metrics is served: ADDR:PORT, [ADDR]:PORT or unix:PATH (default 127.0.0.1:9464). There is neither TLS nor a password: put a "
	  "proxy before it where others than this machine shall reach it", NULL, 0, 0, 0 },
	{ 'i', "interval", OPT_DURATION, AT(interval_ns), "TIME",
	  "the loops are read at least so often (default 5s), and when they are asked for, at most twice a second", NULL, 0, 100000000, 600000000000ull },
	{ 'p', "pid", OPT_PIDS, AT(pids), "PID", "export only this process, with its ticks measured", NULL, 0, 0, 0 },
	{ 'n', "name", OPT_STRINGS, AT(names), "NAME",
	  "export only processes of that name, those that start later too, with their ticks measured; * and ? are wildcards", NULL, 0, 0, 0 },
	{ 0, "include", OPT_STRINGS, AT(include), "WHAT=PATTERN",
	  "only loops that match this: comm=, thread=, cgroup= or runtime= and a shell's pattern, in which * also stands for slashes; of "
	  "several, one has to match", .check = loop_filter_check },
	{ 0, "exclude", OPT_STRINGS, AT(exclude), "WHAT=PATTERN", "no loops that match this, written likewise", .check = loop_filter_check },
	{ 0, "max-loops", OPT_COUNT, AT(max_loops), "N",
	  "series for at most so many groups of loops (default 2000); what is beyond is summed up in one, overflow=\"true\"", NULL, 0, 1, MAX_LOOPS },
	{ 0, "pid-label", OPT_FLAG, AT(pid_label), NULL,
	  "tell loops of the same name apart by a label pid; without it they are one group, whose counters outlive a restart", NULL, 0, 0, 0 },
	{ 'e', "edges", OPT_CHOICE, AT(edges), "KIND",
	  "how the edges of IO waits are found (default auto with -p or -n, else sched; see loopscope attach --help). Ticks, their histograms, "
	  "spin, slow ticks and stalls are known only where edges are measured, which needs -p or -n", kernel_edge_choices, 0, 0, 0 },
	{ 0, "slow", OPT_DURATION, AT(slow_ns), "TIME", "a tick that takes at least so long is slow (default 50ms)", NULL, SLOW, 100000, 0 },
	{ 0, "no-slow", OPT_FLAG, AT(no_slow), NULL, "count no slow ticks", NULL, SLOW, 0, 0 },
	{ 0, "budget", OPT_SHARE, AT(budget), "SHARE",
	  "share of a loop's time that measuring its edges may cost (default 2%): beyond it, fall back to sched and try again later; 100% is "
	  "no limit", NULL, 0, 0, 0 },
	{ 0, "serial", OPT_STRINGS, AT(boards), "PORT",
	  "also a board's loop and tasks, from the trace that it sends: PORT, or NAME=PORT (else it is board0, board1, ...)", NULL, 0, 0, 0 },
	{ 'b', "baud", OPT_COUNT, AT(baud), "RATE", "of the serial ports (default 115200)", NULL, 0, 1, BAUD_MAX },
	{ 0, "no-kernel", OPT_FLAG, AT(no_kernel), NULL, "boards only: needs no privileges", NULL, 0, 0, 0 },
	{ 0 },
};

static const struct opt_usage usage = {
	.command = "export",
	.synopsis = "[options]",
	.about = "Serves what is measured of all event loops of this machine to Prometheus and its kin, until it is told to end by SIGTERM or "
		 "Ctrl-C. The whole machine is measured from the scheduler alone, which costs little; with -p or -n only those processes are, "
		 "and their ticks too. For both, run two of them.",
	.examples = "  loopscope export                            every loop, at http://127.0.0.1:9464/metrics\n"
		    "  loopscope export -n node -n 'python3*'      these, with histograms of their ticks\n"
		    "  loopscope export -l unix:/run/loopscope     for a proxy\n"
		    "  loopscope export --serial left=/dev/ttyACM0 --no-kernel\n",
};

static int check_config(struct export_config *c, struct fault *f)
{
	bool named = export_names_processes(c);

	if (!named && c->edges != CHOOSE_AUTO && c->edges != CHOOSE_SCHED)
		return fault(f, -EINVAL, EXIT_USAGE, "export: edges are measured only of processes that are named; give -p or -n, or leave out --edges");
	if (!named)
		c->edges = CHOOSE_SCHED;
	if (c->no_kernel && named)
		return fault(f, -EINVAL, EXIT_USAGE, "export: --no-kernel leaves no processes to export; leave out -p and -n");
	if (c->no_kernel && !c->boards.n)
		return fault(f, -EINVAL, EXIT_USAGE, "export: --no-kernel leaves nothing to export; give a board with --serial");
	return 0;
}

static int export_as_told(struct export_config *c, struct fault *f)
{
	int err = check_config(c, f);

	return err ? err : export_daemon(c, f);
}

static int run(int argc, char **argv)
{
	struct export_config c = { .listen = "127.0.0.1:9464", .interval_ns = 5000000000ull, .max_loops = 2000, .baud = 115200,
				   .slow_ns = 50000000ull, .budget = 0.02 };
	struct fault f = {};
	int operand, err = options_parse(&usage, specs, &c, argc, argv, &operand, &f);

	if (err == OPTIONS_HELP_SHOWN)
		err = 0;
	else if (!err)
		err = export_as_told(&c, &f);
	options_release(specs, &c);
	return observe_exit(err, &f);
}

const struct command cmd_export = { "export", "a daemon that serves all loops to Prometheus and its kin", run };
