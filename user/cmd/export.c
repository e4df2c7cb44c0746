/* SPDX-License-Identifier: BSD-2-Clause */
/* export.c - `loopscope export`: the daemon that feeds a monitoring. Its options; export_daemon.c does it. */
#include "cmd/export.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/loop_options.h"
#include "cmd/observe.h"
#include "lib/cleanup.h"
#include "lib/options_file.h"
#include "sink/otlp.h"
#include "sink/output.h"
#include "source/kernel_edges.h"
#include "source/serial_port.h"

#define MAX_LOOPS 65536

enum { SLOW = 1 };

#define AT(field) offsetof(struct export_config, field)

static const struct opt_spec specs[] = {
	{ 0, "config", OPT_STRING, AT(config), "FILE",
	  "also read options from this file: [export], then NAME = VALUE, a line each, with the long names of those below; a flag's value is "
	  "yes or no. What is given on the command line wins. SIGHUP reads it again", .command_line_only = true },
	{ 0, "check-config", OPT_FLAG, AT(check_config), NULL, "check all options, print them as such a file and end", .command_line_only = true },
	{ 'l', "listen", OPT_STRING, AT(listen), "WHERE",
	  "where /metrics is served: ADDR:PORT, [ADDR]:PORT or unix:PATH (default 127.0.0.1:9464). There is neither TLS nor a password: put a "
	  "proxy before it where others than this machine shall reach it. none: nowhere", NULL, 0, 0, 0 },
	{ 'i', "interval", OPT_DURATION, AT(interval_ns), "TIME",
	  "the loops are read at least so often (default 5s), and when they are asked for, at most twice a second", NULL, 0, 100000000, 600000000000ull },
	{ 'p', "pid", OPT_PIDS, AT(pids), "PID", "export only this process, with its ticks measured", NULL, 0, 0, 0 },
	{ 'n', "name", OPT_STRINGS, AT(names), "NAME",
	  "export only processes of that name, those that start later too, with their ticks measured; * and ? are wildcards", NULL, 0, 0, 0 },
	OPTION_INCLUDE(AT(include)),
	OPTION_EXCLUDE(AT(exclude)),
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
	{ 'b', "baud", OPT_COUNT, AT(baud), "RATE", "of the serial ports (default 115200)", NULL, 0, 1, SERIAL_BAUD_MAX },
	{ 0, "textfile", OPT_STRING, AT(textfile), "DIR",
	  "also write the metrics to DIR/loopscope.prom, replaced as a whole, for node_exporter's textfile collector" },
	{ 0, "otlp", OPT_STRING, AT(otlp), "URL",
	  "also push the metrics to this OpenTelemetry receiver, over HTTP; without a path in it /v1/metrics is meant. What can't be delivered "
	  "is tried again and, beyond --otlp-queue, lost and counted", .check = otlp_check_url },
	{ 0, "push-interval", OPT_DURATION, AT(push_ns), "TIME", "how often --textfile is written and --otlp is pushed to (default 15s)",
	  .min = 1000000000, .max = 3600000000000 },
	{ 0, "otlp-header", OPT_STRINGS, AT(otlp_headers), "NAME: VALUE", "a header of each request; better in a file, as others see a command line",
	  .check = otlp_check_header },
	{ 0, "otlp-resource", OPT_STRINGS, AT(otlp_resource), "KEY=VALUE",
	  "an attribute of what sends, beside service.name, service.version and host.name", .check = otlp_check_resource },
	{ 0, "otlp-timeout", OPT_DURATION, AT(otlp_timeout_ns), "TIME", "of a request (default 10s)", .min = 100000000, .max = 600000000000 },
	{ 0, "otlp-queue", OPT_COUNT, AT(otlp_queue_mib), "MIB", "bound of what waits to be delivered, in MiB, compressed (default 16)", .max = 4096 },
	{ 0, "ndjson", OPT_STRING, AT(ndjson), "FILE",
	  "also write every record to this file, one JSON object a line, as attach -o json does; it is appended to, and opened anew on SIGHUP, for "
	  "logrotate. -: stdout. For a reader that is slow, of stdout or of a named pipe, up to 16 MiB wait; records beyond that are lost and "
	  "counted" },
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

static const struct export_config defaults = {
	.listen = "127.0.0.1:9464", .interval_ns = 5000000000ull, .max_loops = 2000, .baud = 115200, .slow_ns = 50000000ull, .budget = 0.02,
	.push_ns = 15000000000ull, .otlp_timeout_ns = 10000000000ull, .otlp_queue_mib = 16,
};

struct export_settings {
	struct export_config c;
	struct opt_file *file; /* what strings of c may point into; NULL: no file */
};

static int check(struct export_config *c, struct fault *f)
{
	bool named = export_names_processes(c);

	if (!export_listens(c) && !c->textfile && !c->otlp && !c->ndjson)
		return fault(f, -EINVAL, EXIT_USAGE, "export: --listen none leaves nobody to export to; give --textfile, --otlp or --ndjson");

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

void export_settings_free(struct export_settings *s)
{
	if (!s)
		return;
	options_release(specs, &s->c);
	options_file_free(s->file);
	free(s);
}

const struct export_config *export_settings_config(const struct export_settings *s)
{
	return &s->c;
}

int export_settings_load(int argc, char **argv, struct export_settings **ret, struct fault *f)
{
	struct export_settings *s = calloc(1, sizeof(*s));
	struct opt_given given;
	int operand, err;

	if (!s)
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	s->c = defaults;
	err = options_parse_given(&usage, specs, &s->c, argc, argv, &operand, &given, f);
	if (!err && s->c.config)
		err = options_file_read(s->c.config, &usage, specs, &given, &s->c, &s->file, f);
	if (!err)
		err = check(&s->c, f);
	if (err) {
		export_settings_free(s);
		return err;
	}
	*ret = s;
	return 0;
}

/* What shapes the kernel source, the groups or the boards stays for the whole run. */
size_t export_settings_fixed_differ(const struct export_settings *a, const struct export_settings *b, char *names, size_t size)
{
	static const char *const may_change[] = {"include", "exclude", "textfile", "ndjson", "otlp", "push-interval", "otlp-header",
						 "otlp-resource", "otlp-timeout", "otlp-queue"};
	size_t n = 0, len = 0;

	for (const struct opt_spec *s = specs; s->name; s++) {
		bool may = s->command_line_only;

		for (size_t i = 0; i < ARRAY_SIZE(may_change); i++)
			may = may || !strcmp(may_change[i], s->name);
		if (may || options_same(s, &a->c, &b->c))
			continue;
		len += (size_t)snprintf(names + len, size - len, "%s%s", n++ ? ", " : "", s->name);
		if (len >= size)
			len = size - 1;
	}
	return n;
}

static int print_settings(const struct export_settings *s, struct fault *f)
{
	options_file_print(stdout, &usage, specs, &s->c);
	return output_flush(stdout, f);
}

static int run(int argc, char **argv)
{
	struct export_settings *s = NULL;
	struct fault f = {};
	int err = export_settings_load(argc, argv, &s, &f);

	if (err == OPTIONS_HELP_SHOWN)
		return EXIT_DONE;
	if (!err && s)
		err = s->c.check_config ? print_settings(s, &f) : export_daemon(s, argc, argv, &f);
	export_settings_free(s);
	return observe_exit(err, &f);
}

const struct command cmd_export = { "export", "a daemon that serves all loops to Prometheus and its kin", run };
