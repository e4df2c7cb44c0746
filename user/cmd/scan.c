/* SPDX-License-Identifier: BSD-2-Clause */
/* scan.c - `loopscope scan`: every loop on the machine, once. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/loop_options.h"
#include "cmd/observe.h"
#include "lib/options.h"
#include "model/loop_filter.h"

struct scan_config {
	uint64_t duration_ns;
	int format, sort;
	const char *columns;
	bool all;
	struct opt_strings include, exclude;
};

static const struct opt_spec specs[] = {
	{ 'd', "duration", OPT_DURATION, offsetof(struct scan_config, duration_ns), "TIME",
	  "how long to watch (default 5s)", NULL, 0, 10000000, 0 },
	OPTION_SORT(offsetof(struct scan_config, sort)),
	OPTION_ALL(offsetof(struct scan_config, all)),
	OPTION_OUTPUT(offsetof(struct scan_config, format)),
	OPTION_COLUMNS(offsetof(struct scan_config, columns)),
	OPTION_INCLUDE(offsetof(struct scan_config, include)),
	OPTION_EXCLUDE(offsetof(struct scan_config, exclude)),
	{ 0 },
};

static const struct opt_usage usage = {
	.command = "scan",
	.synopsis = "[options]",
	.about = "Lists every event loop on the machine, the most loaded first. It watches the scheduler for the given time: no "
		 "process is touched, and no probe is placed on any system call. Ctrl-C prints what has been seen so far.",
	.examples = "  loopscope scan                 all loops, over 5 seconds\n"
		    "  loopscope scan -d 1s -s wait   who waits for the CPU most\n"
		    "  loopscope scan --include cgroup='/kubepods*' --exclude runtime=unknown\n"
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
	struct loop_filter *filter = NULL;
	struct evloop *loop = NULL;
	int err = loop_filter_new(c->include.v, c->include.n, c->exclude.v, c->exclude.n, &filter);

	if (!err)
		err = evloop_new(&loop);
	o.filter = filter;
	if (!err)
		err = observation_open(&o, &ob, f);
	if (!err)
		err = observation_run(ob, loop, &pace, f);
	observation_close(ob);
	evloop_free(loop);
	loop_filter_free(filter);
	return err && err != -EPIPE ? fault(f, err, EXIT_FAILED, "scan can't begin: %s", strerror(-err)) : err;
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
