/* SPDX-License-Identifier: BSD-2-Clause */
/* record.c - `loopscope record`: keeps what is measured in a file. Its options; record_run.c does it. */
#include "cmd/record.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/child.h"
#include "cmd/command.h"
#include "cmd/loop_options.h"
#include "cmd/observe.h"
#include "lib/cleanup.h"
#include "lib/parse.h"
#include "sink/database.h"
#include "source/kernel_edges.h"
#include "source/serial_port.h"


enum { SLOW = 1, PLACE = 2 };

static int check_size(const char *text, char *sentence, size_t size)
{
	uint64_t bytes;

	if (!parse_size(text, &bytes) && bytes >= DATABASE_MIN_BYTES)
		return 0;
	snprintf(sentence, size, "'%.32s' is no size of a recording; write for example 64M or 1.5G, at least %lluM", text,
		 DATABASE_MIN_BYTES >> 20);
	return -EINVAL;
}

#define AT(field) offsetof(struct record_config, field)

static const struct opt_spec specs[] = {
	{ 'p', "pid", OPT_PIDS, AT(pids), "PID", "record only this process, all its threads", NULL, 0, 0, 0 },
	{ 'n', "name", OPT_STRINGS, AT(names), "NAME", "record only processes of that name, now running; * and ? are wildcards", NULL, 0, 0, 0 },
	{ 'i', "interval", OPT_DURATION, AT(interval_ns), "TIME", "time between two records of a loop (default 1s)", NULL, 0, 100000000, 0 },
	{ 'd', "duration", OPT_DURATION, AT(duration_ns), "TIME", "end after that time", NULL, 0, 10000000, 0 },
	{ 't', "ticks", OPT_FLAG, AT(ticks), NULL,
	  "also every single tick and IO wait, and all that boards tell: what the time line shows. 2 to 6 bytes a tick; needs -p, -n, a command or a "
	  "board", NULL, 0, 0, 0 },
	{ 0, "max-size", OPT_STRING, AT(max_size), "SIZE",
	  "keep the newest: the file and its journal together stay below that, as in 64M or 1.5G", .check = check_size },
	{ 0, "overwrite", OPT_FLAG, AT(overwrite), NULL, "replace FILE if it is a recording", NULL, 0, 0, 0 },
	{ 'e', "edges", OPT_CHOICE, AT(edges), "KIND",
	  "how the edges of IO waits are found (default auto with -p, -n or a command, else sched; see loopscope attach --help)",
	  kernel_edge_choices, 0, 0, 0 },
	{ 0, "slow", OPT_DURATION, AT(slow_ns), "TIME",
	  "keep each tick that takes at least so long with what made it slow, and each step of a board's task (default 50ms)", NULL, SLOW, 100000, 0 },
	{ 0, "no-slow", OPT_FLAG, AT(no_slow), NULL, "keep no slow ticks of processes", NULL, SLOW, 0, 0 },
	{ 0, "budget", OPT_SHARE, AT(budget), "SHARE",
	  "share of a loop's time that measuring its edges may cost (default 2%, with --ticks 10%): beyond it, fall back to sched and try again later; "
	  "100% is no limit", NULL, 0, 0, 0 },
	OPTION_INCLUDE(AT(include)),
	OPTION_EXCLUDE(AT(exclude)),
	OPTION_ALL(AT(all)),
	OPTION_SORT(AT(sort)),
	{ 0, "serial", OPT_STRINGS, AT(boards), "PORT",
	  "also a board's loop and tasks, from the trace that it sends: PORT, or NAME=PORT (else it is board0, board1, ...)", NULL, 0, 0, 0 },
	{ 'b', "baud", OPT_COUNT, AT(baud), "RATE", "of the serial ports (default 115200)", NULL, 0, 1, SERIAL_BAUD_MAX },
	{ 0, "no-kernel", OPT_FLAG, AT(no_kernel), NULL, "boards only: needs no privileges", NULL, 0, 0, 0 },
	{ 'q', "quiet", OPT_FLAG, AT(quiet), NULL, "say nothing while recording", NULL, 0, 0, 0 },
	{ 0 },
};

static const struct opt_usage usage = {
	.command = "record",
	.synopsis = "FILE [options] [-- CMD [ARG ...]]",
	.about = "Keeps what attach, scan and serial would report in a file, for loopscope report: the whole machine's loops, or those of some "
		 "processes or of a command that it starts, and those of boards, all on one time line. It ends with Ctrl-C, after --duration, or "
		 "with the processes. What was recorded up to a second or two ago survives whatever ends it. FILE is an SQLite database; "
		 "docs/recording.md describes it.",
	.examples = "  loopscope record run.lsr -n node --ticks        until Ctrl-C\n"
		    "  loopscope record run.lsr --max-size 64M         the whole machine, the last hours of it\n"
		    "  loopscope record run.lsr --ticks -- node app.js\n"
		    "  loopscope record run.lsr -n node -d 30s --serial left=/dev/ttyACM0 --serial right=/dev/ttyACM1\n",
	.max_operands = -1,
};

static bool names_processes(const struct record_config *c)
{
	return c->pids.n || c->names.n || c->argv;
}

static int check_config(struct record_config *c, struct fault *f)
{
	if (!c->path)
		return fault(f, -EINVAL, EXIT_USAGE, "record: to which file? Name one, as in 'loopscope record run.lsr'");
	if (c->no_kernel && names_processes(c))
		return fault(f, -EINVAL, EXIT_USAGE, "record: --no-kernel leaves no processes to record; leave out -p, -n and the command");
	if (c->no_kernel && !c->boards.n)
		return fault(f, -EINVAL, EXIT_USAGE, "record: --no-kernel leaves nothing to record; give a board with --serial");
	if (!names_processes(c) && c->edges != CHOOSE_AUTO && c->edges != CHOOSE_SCHED)
		return fault(f, -EINVAL, EXIT_USAGE,
			     "record: edges are measured only of processes that are named; give -p, -n or a command, or leave out --edges");
	if (c->ticks && !c->boards.n && (!names_processes(c) || c->edges == CHOOSE_SCHED))
		return fault(f, -EINVAL, EXIT_USAGE,
			     "record: --ticks needs measured edges, which only processes that are named have; give -p, -n or a command%s",
			     names_processes(c) ? ", and leave out --edges sched" : "");
	if (!names_processes(c))
		c->edges = CHOOSE_SCHED;
	if (c->max_size)
		parse_size(c->max_size, &c->max_bytes);
	if (c->budget < 0)
		c->budget = c->ticks ? 0.1 : 0.02;
	return 0;
}

/* What was typed, words separated by blanks. */
static char *join(int argc, char **argv)
{
	size_t n = sizeof("loopscope");
	char *text, *p;

	for (int i = 0; i < argc; i++)
		n += strlen(argv[i]) + 1;
	text = malloc(n);
	if (!text)
		return NULL;
	p = stpcpy(text, "loopscope");
	for (int i = 0; i < argc; i++)
		p = stpcpy(stpcpy(p, " "), argv[i]);
	return text;
}

/* A command stands behind "--": without one, what follows FILE is a mistake. */
static int take_operands(struct record_config *c, int argc, char **argv, int operand, bool has_command, struct fault *f)
{
	if (operand < argc)
		c->path = argv[operand++];
	if (operand == argc)
		return 0;
	if (!has_command)
		return fault(f, -EINVAL, EXIT_USAGE, "record: '%.64s' is one word too many; a command to start stands behind --, as in -- node app.js",
			     argv[operand]);
	c->argv = argv + operand;
	return 0;
}

static int run(int argc, char **argv)
{
	struct record_config c = { .interval_ns = 1000000000ull, .slow_ns = 50000000ull, .budget = -1, .baud = 115200 };
	_cleanup_free_ char *command = join(argc, argv);
	struct fault f = {};
	bool has_command = false;
	int operand, err, status = EXIT_DONE;

	for (int i = 1; i < argc; i++)
		has_command |= !strcmp(argv[i], "--");
	err = options_parse(&usage, specs, &c, argc, argv, &operand, &f);
	if (err == OPTIONS_HELP_SHOWN) {
		options_release(specs, &c);
		return EXIT_DONE;
	}
	c.command = command ? command : "";
	if (!err)
		err = take_operands(&c, argc, argv, operand, has_command, &f);
	if (!err)
		err = check_config(&c, &f);
	if (!err)
		err = record(&c, &status, &f);
	options_release(specs, &c);
	if (!err)
		return status;
	fault_report(&f);
	return child_could_not_start(status) ? status : (int)f.status;
}

const struct command cmd_record = { "record", "keeps what is measured in a file, to be looked at later", run };
