/* SPDX-License-Identifier: BSD-2-Clause */
/* scan.c - `loopscope scan`: every loop on the machine, once. */
#include <stddef.h>

#include "cmd/command.h"
#include "cmd/observe.h"
#include "lib/options.h"

struct scan_config {
	uint64_t duration_ns;
	int format, sort;
	const char *columns;
	bool all;
};

static const struct opt_spec specs[] = {
	{ 'd', "duration", OPT_DURATION, offsetof(struct scan_config, duration_ns), "TIME",
	  "how long to watch (default 5s)", NULL, 0, 10000000, 0 },
	{ 's', "sort", OPT_CHOICE, offsetof(struct scan_config, sort), "KEY", "order, largest first (default load)",
	  observe_sorts, 0, 0, 0 },
	{ 'a', "all", OPT_FLAG, offsetof(struct scan_config, all), NULL,
	  "also threads that waited for IO but are not known to be loops", NULL, 0, 0, 0 },
	{ 'o', "output", OPT_CHOICE, offsetof(struct scan_config, format), "FORMAT",
	  "table for people (default), json for programs: one object a line", observe_formats, 0, 0, 0 },
	{ 0, "columns", OPT_STRING, offsetof(struct scan_config, columns), "LIST",
	  "columns of the table: names, separated by commas; +NAME adds to the default; all. "
	  "'--columns help' lists them", NULL, 0, 0, 0 },
	{ 0 },
};

static const struct opt_usage usage = {
	.command = "scan",
	.synopsis = "[options]",
	.about = "Lists every event loop on the machine, the most loaded first. It watches the scheduler for the given time: no "
		 "process is touched, and no probe is placed on any system call. Ctrl-C prints what has been seen so far.",
	.examples = "  loopscope scan                 all loops, over 5 seconds\n"
		    "  loopscope scan -d 1s -s wait   who waits for the CPU most\n"
		    "  loopscope scan -o json | jq 'select(.wait > 0.1)'\n",
};

static int scan(const struct scan_config *c, struct fault *f)
{
	struct observe_options o = {
		.out = stdout,
		.format = c->format,
		.sort = c->sort,
		.layout = TABLE_ONCE,
		.columns = c->columns,
		.show_asleep = c->all,
		.show_all = c->all,
	};
	struct observe_pace pace = { .duration_ns = c->duration_ns };
	struct observation *ob = NULL;
	struct evloop *loop = NULL;
	int err = evloop_new(&loop);

	if (err)
		return fault(f, err, EXIT_FAILED, "the event loop can't be made");
	err = observation_open(&o, &ob, f);
	if (!err)
		err = observation_run(ob, loop, &pace, f);
	observation_close(ob);
	evloop_free(loop);
	return err;
}

static int run(int argc, char **argv)
{
	struct scan_config c = { .duration_ns = 5000000000ull };
	struct fault f = {};
	int operand, err = options_parse(&usage, specs, &c, argc, argv, &operand, &f);

	if (err == OPTIONS_HELP_SHOWN)
		err = 0;
	else if (!err && !observe_columns_help(c.columns))
		err = scan(&c, &f);
	options_release(specs, &c);
	return observe_exit(err, &f);
}

const struct command cmd_scan = { "scan", "every loop on the machine, the most loaded first", run };
