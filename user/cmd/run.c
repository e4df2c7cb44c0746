/* SPDX-License-Identifier: BSD-2-Clause */
/* run.c - `loopscope run -- CMD`: starts a command, watches its loops and those of its children, passes its status on. */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "cmd/child.h"
#include "cmd/command.h"
#include "cmd/loop_options.h"
#include "cmd/observe.h"
#include "lib/cleanup.h"
#include "lib/options.h"

struct run_config {
	uint64_t interval_ns;
	int format, sort;
	const char *columns, *report;
	bool all;
};

static const struct opt_spec specs[] = {
	{ 'i', "interval", OPT_DURATION, offsetof(struct run_config, interval_ns), "TIME",
	  "time between reports (default: one report, when the command ends)", NULL, 0, 10000000, 0 },
	OPTION_SORT(offsetof(struct run_config, sort)),
	OPTION_ALL(offsetof(struct run_config, all)),
	OPTION_OUTPUT(offsetof(struct run_config, format)),
	{ 'r', "report", OPT_STRING, offsetof(struct run_config, report), "FILE",
	  "write the report there and leave the command its stdout; without it the report has stdout to itself, and "
	  "what the command prints goes to stderr", NULL, 0, 0, 0 },
	OPTION_COLUMNS(offsetof(struct run_config, columns)),
	{ 0 },
};

static const struct opt_usage usage = {
	.command = "run",
	.synopsis = "[options] -- CMD [ARG ...]",
	.about = "Starts a command and watches its event loops, and those of the processes that it starts, from their first wait "
		 "on. The command's exit status is passed through; 128 + N if signal N ended it.",
	.examples = "  loopscope run -- node server.js\n"
		    "  loopscope run -i 1s -o json -r load.ndjson -- python3 app.py\n",
	.stop_at_operand = true,
	.max_operands = -1,
};

struct run {
	struct child child;
	struct observation *ob;
};

static int on_child_end(void *arg, int fd, uint32_t events)
{
	observation_stop(((struct run *)arg)->ob);
	return 0;
}

/* The command gets the signals of the terminal itself; SIGTERM, sent to us alone, is passed on. Then it ends as it likes. */
static int on_signal(void *arg, int signo)
{
	if (signo == SIGTERM)
		kill(((struct run *)arg)->child.pid, SIGTERM);
	return 0;
}

static int watch(const struct run_config *c, struct run *r, FILE *out, char **argv, struct fault *f)
{
	struct observe_options o = {
		.source = { .only_pids = true, .follow_children = true, .slow_ns = 50000000, .budget = 0.02 },
		.out = out,
		.format = c->format,
		.sort = c->sort,
		.layout = c->interval_ns ? TABLE_REPEAT : TABLE_ONCE,
		.columns = c->columns,
		.interval_ns = c->interval_ns,
		.show_asleep = true,
		.show_all = c->all,
	};
	struct observe_pace pace = { .interval_ns = c->interval_ns, .ignore_signals = true };
	struct ev_source *end = NULL;
	struct evloop *loop = NULL;
	int err = observation_open(&o, &r->ob, f);

	if (!err)
		err = kernel_source_watch(observation_source(r->ob), r->child.pid, true, f);
	if (!err) /* before it starts: a short run has no time to lose */
		err = kernel_source_measure(observation_source(r->ob), f);
	if (!err)
		err = child_release(&r->child, argv[0], f);
	if (!err)
		err = evloop_new(&loop);
	if (!err)
		err = evloop_add_fd(loop, r->child.pidfd, EPOLLIN | EPOLLONESHOT, on_child_end, r, &end);
	if (!err)
		err = evloop_add_signal(loop, SIGINT, on_signal, r);
	if (!err)
		err = evloop_add_signal(loop, SIGTERM, on_signal, r);
	if (!err)
		err = observation_run(r->ob, loop, &pace, f);
	evloop_remove(loop, end);
	evloop_free(loop);
	observation_close(r->ob);
	return err ? fault(f, err, EXIT_FAILED, "the event loop can't be set up") : 0;
}

static int start(const struct run_config *c, char **argv, int *ret_status, struct fault *f)
{
	struct run r = { .child = CHILD_NONE };
	_cleanup_fclose_ FILE *report = NULL;
	int err;

	if (c->report) {
		report = fopen(c->report, "we");
		if (!report)
			return fault(f, -errno, EXIT_FAILED, "%s can't be written: %s", c->report, strerror(errno));
	}
	err = child_spawn(&r.child, argv, c->report != NULL, f);
	if (!err)
		err = watch(c, &r, report ? report : stdout, argv, f);
	*ret_status = child_end(&r.child);
	return err;
}

static int run(int argc, char **argv)
{
	struct run_config c = {};
	struct fault f = {};
	int operand, status = EXIT_DONE, err = options_parse(&usage, specs, &c, argc, argv, &operand, &f);

	if (err == OPTIONS_HELP_SHOWN || (!err && observe_columns_help(c.columns))) {
		options_release(specs, &c);
		return EXIT_DONE;
	}
	if (!err && operand == argc)
		err = fault(&f, -EINVAL, EXIT_USAGE, "run: which command? Write loopscope run -- CMD [ARG ...]");
	if (!err)
		err = start(&c, argv + operand, &status, &f);
	options_release(specs, &c);
	if (!err || err == -EPIPE)
		return status;
	fault_report(&f);
	return child_could_not_start(status) ? status : (int)f.status;
}

const struct command cmd_run = { "run", "starts a command and watches its loops", run };
