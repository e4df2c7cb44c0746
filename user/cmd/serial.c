/* SPDX-License-Identifier: BSD-2-Clause */
/* serial.c - `loopscope serial`: a board's loop and tasks from the trace that it sends over a serial line. */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/board_watch.h"
#include "cmd/command.h"
#include "cmd/loop_options.h"
#include "cmd/observe.h"
#include "lib/cleanup.h"
#include "lib/now.h"
#include "lib/options.h"
#include "lib/text.h"
#include "source/serial_port.h"

#define CONSOLE_PIECE SERIAL_DETECT_MAX /* no decoder passes on more at once */

struct serial_config {
	int protocol, rate, format;
	uint64_t baud, interval_ns, count, duration_ns, sync_ns, hog_ns, min_step_ns;
	const char *filter, *name, *columns;
	bool reset, console, listen;
};

enum { ENDS_BY = 1 };

#define AT(field) offsetof(struct serial_config, field)

static const struct opt_spec specs[] = {
	{ 0, "protocol", OPT_CHOICE, AT(protocol), "NAME",
	  "what the board speaks (default auto: recognised by its bytes). A board that waits for its host to begin has to be named",
	  serial_protocol_names, 0, 0, 0 },
	{ 'b', "baud", OPT_COUNT, AT(baud), "RATE", "of the serial port, any number (default 115200)", NULL, 0, 1, SERIAL_BAUD_MAX },
	{ 0, "reset", OPT_FLAG, AT(reset), NULL, "reset the board by DTR and RTS; otherwise opening the port does not touch it", NULL,
	  0, 0, 0 },
	{ 0, "listen", OPT_FLAG, AT(listen), NULL, "send the board nothing at all", NULL, 0, 0, 0 },
	{ 0, "console", OPT_FLAG, AT(console), NULL, "pass on text that comes beside the trace, to standard error", NULL, 0, 0, 0 },
	{ 'i', "interval", OPT_DURATION, AT(interval_ns), "TIME",
	  "time between reports (default 1s). A file or a pipe gives one report, at its end; with -i a pipe is taken for a line on "
	  "which bytes arrive as they are made", NULL, 0, 10000000, 0 },
	{ 'c', "count", OPT_COUNT, AT(count), "N", "end after N reports", NULL, ENDS_BY, 1, 0 },
	{ 'd', "duration", OPT_DURATION, AT(duration_ns), "TIME", "end after that time", NULL, ENDS_BY, 10000000, 0 },
	{ 0, "slow", OPT_DURATION, AT(hog_ns), "TIME", "a step of a task that takes longer is a hog (default 50ms)", NULL, 0, 1000, 0 },
	{ 0, "rate", OPT_CHOICE, AT(rate), "WHAT",
	  "ask a loopscope board to send that much: sums alone (off), each task's sums (totals), each step (runs), also idle, "
	  "interrupts and marks (all). Default: as it is", serial_rates, 0, 0, 0 },
	{ 0, "min-step", OPT_DURATION, AT(min_step_ns), "TIME", "ask it to send only steps at least that long; its sums keep them all",
	  NULL, 0, 1000, SERIAL_MIN_STEP_MAX_NS },
	{ 0, "filter", OPT_STRING, AT(filter), "IDS", "ask it to send the steps of these tasks only: ids, separated by commas", NULL, 0,
	  0, 0 },
	{ 0, "sync", OPT_DURATION, AT(sync_ns), "TIME", "ask it for its clock so often (default 1s), to compare it with ours", NULL, 0,
	  10000000, 0 },
	{ 0, "name", OPT_STRING, AT(name), "NAME", "what the loop is called in the report (default board0)", NULL, 0, 0, 0 },
	OPTION_OUTPUT(AT(format)),
	{ 0, "columns", OPT_STRING, AT(columns), "LIST",
	  "columns of the loop's row: names, separated by commas; +NAME adds to the default; all. '--columns help' lists them", NULL, 0,
	  0, 0 },
	{ 0 },
};

static const struct opt_usage usage = {
	.command = "serial",
	.synopsis = "PORT [options]",
	.about = "Reports a microcontroller's loop and tasks from the trace it sends: how loaded it is, what each task takes, how much "
		 "more fits. PORT is a serial port, tcp:HOST:PORT, a file, or - for standard input. An unplugged board is waited for; "
		 "one that was reset begins a new session in the same run.",
	.examples = "  loopscope serial /dev/ttyACM0              until Ctrl-C\n"
		    "  loopscope serial /dev/ttyUSB0 -b 1000000 --console\n"
		    "  loopscope serial trace.bin -o json         a file: one report\n",
	.max_operands = 1,
};

struct serial {
	const struct serial_config *c;
	struct board_watch *watch;
	struct sink *sink;
	struct evloop *loop;
	struct fault *f;
	uint64_t reports, last_report;
};

/* A board's text may hold anything: it reaches a terminal without what could move its cursor. */
static void on_console(void *arg, const uint8_t *p, size_t n)
{
	while (n) {
		const uint8_t *newline = memchr(p, '\n', n);
		size_t len = newline ? (size_t)(newline - p) : n, shown = len;
		char safe[TEXT_ESCAPED_SIZE(CONSOLE_PIECE)];

		if (shown > CONSOLE_PIECE) {
			len = shown = CONSOLE_PIECE;
			newline = NULL;
		}
		if (shown && p[shown - 1] == '\r')
			shown--;
		if (shown) {
			text_escape_control(safe, sizeof(safe), (const char *)p, shown);
			fputs(safe, stderr);
		}
		if (newline) {
			fputc('\n', stderr);
			len++;
		}
		p += len;
		n -= len;
	}
	fflush(stderr);
}

/* ---- reports ---- */
static int report(struct serial *s, bool last)
{
	s->last_report = now_ns();
	s->reports++;
	return board_watch_report(s->watch, last);
}

static int on_tick(void *arg, uint64_t expirations)
{
	struct serial *s = arg;
	bool last = s->c->count && s->reports + 1 >= s->c->count;
	int err = report(s, last);

	if (last)
		evloop_stop(s->loop);
	return err;
}

static int on_end(void *arg, uint64_t expirations)
{
	evloop_stop(((struct serial *)arg)->loop);
	return 0;
}

static int on_signal(void *arg, int signo)
{
	evloop_stop(((struct serial *)arg)->loop);
	return 0;
}

/* As for attach: a rest too short is not worth a report of its own, unless it is the only one. */
static bool has_rest(const struct serial *s)
{
	if (s->c->count && s->reports >= s->c->count)
		return false;
	return !s->reports || now_ns() - s->last_report > s->c->interval_ns / 20;
}

static int observe(struct serial *s)
{
	const struct serial_config *c = s->c;
	int err = 0;

	if (c->interval_ns)
		err = evloop_add_timer(s->loop, c->interval_ns, c->interval_ns, on_tick, s, NULL);
	if (!err && c->duration_ns)
		err = evloop_add_timer(s->loop, c->duration_ns, 0, on_end, s, NULL);
	if (!err)
		err = evloop_add_signal(s->loop, SIGINT, on_signal, s);
	if (!err)
		err = evloop_add_signal(s->loop, SIGTERM, on_signal, s);
	if (err)
		return fault(s->f, err, EXIT_FAILED, "the event loop can't be set up: %s", strerror(-err));
	s->last_report = now_ns();
	err = board_watch_start(s->watch, s->sink, s->loop, s->f);
	if (!err)
		err = evloop_run(s->loop);
	if (!err && has_rest(s))
		err = report(s, true);
	if (!err && !serial_line_recognised(board_watch_line(s->watch)))
		err = fault(s->f, -EBADMSG, EXIT_FAILED,
			    "no trace was recognised; check --baud, that the board sends one, or name it with --protocol");
	return err;
}

static int open_sink(const struct serial_config *c, bool goes_on, struct sink **ret, struct fault *f)
{
	struct table_options t = { .out = stdout, .layout = goes_on ? TABLE_REPEAT : TABLE_ONCE, .columns = c->columns,
				   .interval_ns = c->interval_ns };

	return c->format == OBSERVE_JSON ? sink_json_new(stdout, ret, f) : sink_table_new(&t, ret, f);
}

static int wishes(const struct serial_config *c, struct serial_wishes *w, struct fault *f)
{
	*w = (struct serial_wishes){ .rate = c->rate, .min_step_us = c->min_step_ns / 1000 };
	if (c->listen && (c->rate >= 0 || c->min_step_ns || c->filter))
		return fault(f, -EINVAL, EXIT_USAGE, "serial: with --listen nothing is sent: leave out --rate, --min-step and --filter");
	return c->filter ? serial_wishes_filter(w, c->filter, f) : 0;
}

/* A line has a pace of its own; a file has none, and a pipe only where the user says so. */
static int set_pace(struct serial *s, struct serial_config *c)
{
	const struct serial_line *line = board_watch_line(s->watch);

	if (serial_line_is_live(line) && !c->interval_ns)
		c->interval_ns = 1000000000ull;
	if (serial_line_is_file(line) && c->interval_ns)
		return fault(s->f, -EINVAL, EXIT_USAGE, "serial: a file is reported as a whole: leave out -i");
	if (!c->interval_ns && c->count > 1)
		return fault(s->f, -EINVAL, EXIT_USAGE, "serial: a file or a pipe gives one report; with -i a pipe gives more");
	return 0;
}

static int serial(struct serial_config *c, const char *where, struct fault *f)
{
	struct serial s = { .c = c, .f = f };
	struct board_watch_options o = { .line = {
		.where = where, .label = c->name, .baud = (unsigned)c->baud, .protocol = c->protocol, .reset = c->reset,
		.listen = c->listen, .paced = c->interval_ns, .hog_ns = c->hog_ns, .sync_ns = c->sync_ns,
		.console = c->console ? on_console : NULL,
	} };
	int err = wishes(c, &o.line.wishes, f);

	if (!err)
		err = evloop_new(&s.loop);
	if (!err)
		err = board_watch_open(&o, &s.watch, f);
	if (!err)
		err = set_pace(&s, c);
	if (!err)
		err = open_sink(c, c->interval_ns, &s.sink, f);
	if (!err)
		err = observe(&s);
	board_watch_free(s.watch);
	sink_free(s.sink);
	evloop_free(s.loop);
	return err ? fault(f, err, EXIT_FAILED, "the event loop can't be set up") : 0;
}

static int run(int argc, char **argv)
{
	struct serial_config c = { .rate = -1, .baud = 115200, .hog_ns = 50000000ull, .sync_ns = 1000000000ull, .name = "board0" };
	struct fault f = {};
	int operand, err = options_parse(&usage, specs, &c, argc, argv, &operand, &f);

	if (err == OPTIONS_HELP_SHOWN)
		err = 0;
	else if (!err && !observe_columns_help(c.columns))
		err = operand < argc ? serial(&c, argv[operand], &f) :
				       fault(&f, -EINVAL, EXIT_USAGE,
					     "serial: which port? Give one, as in 'loopscope serial /dev/ttyACM0'; ls /dev/serial/by-id shows "
					     "those that are there");
	options_release(specs, &c);
	return observe_exit(err, &f);
}

const struct command cmd_serial = { "serial", "a board's loop and tasks, from the trace it sends over a serial line", run };
