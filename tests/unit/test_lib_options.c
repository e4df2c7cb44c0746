/* SPDX-License-Identifier: BSD-2-Clause */
/* test_lib_options.c - command lines into a typed config, or into one sentence; and what --help prints. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <criterion/redirect.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/options.h"

struct config {
	bool follow, all, stdio;
	const char *output;
	struct opt_strings names;
	struct opt_pids pids;
	uint64_t interval, duration, count;
	int format;
};

static const char *const formats[] = {"table", "json", NULL};

#define AT(field) .offset = offsetof(struct config, field)

static const struct opt_spec specs[] = {
	{'p', "pid", OPT_PIDS, AT(pids), .arg = "PID[,PID]", .help = "Watch this process."},
	{'n', "name", OPT_STRINGS, AT(names), .arg = "NAME", .help = "Watch the processes called so."},
	{'i', "interval", OPT_DURATION, AT(interval), .arg = "TIME", .min = 100000000, .max = 3600000000000,
	 .help = "Report each TIME. Default 1s."},
	{'d', "duration", OPT_DURATION, AT(duration), .arg = "TIME", .help = "End after TIME."},
	{'c', "count", OPT_COUNT, AT(count), .arg = "N", .max = 1000000, .help = "End after N reports."},
	{'o', "format", OPT_CHOICE, AT(format), .arg = "FORMAT", .choices = formats, .help = "How to report."},
	{'w', "write", OPT_STRING, AT(output), .arg = "FILE", .excludes = 1, .help = "Write to FILE."},
	{0, "stdio", OPT_FLAG, AT(stdio), .excludes = 1, .help = "Write to stdout."},
	{'a', "all", OPT_FLAG, AT(all), .help = "Also the idle ones."},
	{'f', "follow", OPT_FLAG, AT(follow), .help = "Also children."},
	{0},
};

static const struct opt_usage no_operands = {
	.command = "attach", .synopsis = "-p PID [options]", .about = "About.", .max_operands = 0};
static const struct opt_usage two_operands = {
	.command = "join", .synopsis = "A B", .about = "About.", .max_operands = 2};
static const struct opt_usage command_follows = {
	.command = "run", .synopsis = "CMD", .about = "About.", .max_operands = -1, .stop_at_operand = true};

#define MAX_WORDS 32

/* Splits words at spaces; "''" is an empty word. */
struct line {
	char text[512];
	int argc;
	char *argv[MAX_WORDS + 1];
};

static void split(struct line *l, const char *words)
{
	char *rest = l->text, *word;

	cr_assert_lt(snprintf(l->text, sizeof(l->text), "%s", words), (int)sizeof(l->text));
	for (l->argc = 0; (word = strsep(&rest, " ")) && l->argc < MAX_WORDS; l->argc++)
		l->argv[l->argc] = strcmp(word, "''") == 0 ? word + 2 : word;
	cr_assert_null(word, "MAX_WORDS is too small");
	l->argv[l->argc] = NULL;
}

static int parse(const struct opt_usage *usage, struct line *l, const char *words, struct config *c, int *operand,
		 struct fault *f)
{
	split(l, words);
	return options_parse(usage, specs, c, l->argc, l->argv, operand, f);
}

TestSuite(lib_options, .timeout = 30);

Test(lib_options, every_kind)
{
	struct config c = {.duration = 7, .format = 0};
	struct fault f = {0};
	struct line l;
	int operand = -1;

	cr_assert_eq(parse(&no_operands, &l,
			   "attach -p 1,22 --pid=333 -n node -nredis --interval 250ms -c 5 -o json -w x -af", &c,
			   &operand, &f),
		     0, "%s", f.text);
	cr_assert_eq(c.pids.n, 3);
	cr_assert(c.pids.v[0] == 1 && c.pids.v[1] == 22 && c.pids.v[2] == 333);
	cr_assert_eq(c.names.n, 2);
	cr_assert_str_eq(c.names.v[0], "node");
	cr_assert_str_eq(c.names.v[1], "redis");
	cr_assert_eq(c.interval, 250000000);
	cr_assert_eq(c.duration, 7, "a default stays");
	cr_assert_eq(c.count, 5);
	cr_assert_eq(c.format, 1);
	cr_assert_str_eq(c.output, "x");
	cr_assert(c.all && c.follow && !c.stdio);
	cr_assert_eq(operand, l.argc);
	cr_assert_str_eq(f.text, "");

	options_release(specs, &c);
	cr_assert(!c.pids.v && !c.pids.n && !c.names.v && !c.names.n);
	options_release(specs, &c);
}

Test(lib_options, a_pid_given_twice_counts_once_and_the_last_single_value_wins)
{
	struct config c = {0};
	struct fault f = {0};
	struct line l;
	int operand;

	cr_assert_eq(parse(&no_operands, &l, "attach -p 5,5 -p 5 -i 1s -i 2s", &c, &operand, &f), 0);
	cr_assert_eq(c.pids.n, 1);
	cr_assert_eq(c.interval, 2000000000);
	options_release(specs, &c);
}

Test(lib_options, unique_beginning_of_a_long_name)
{
	struct config c = {0};
	struct line l;
	int operand;

	cr_assert_eq(parse(&no_operands, &l, "attach --int=3", &c, &operand, NULL), 0);
	cr_assert_eq(c.interval, 3000000000);
}

Test(lib_options, operands)
{
	struct config c = {0};
	struct line l;
	int operand = -1;

	cr_assert_eq(parse(&two_operands, &l, "join one -a two", &c, &operand, NULL), 0);
	cr_assert(c.all);
	cr_assert_eq(operand, 2);
	cr_assert_str_eq(l.argv[2], "one");
	cr_assert_str_eq(l.argv[3], "two");

	c.all = false;
	cr_assert_eq(parse(&two_operands, &l, "join -- -a -", &c, &operand, NULL), 0);
	cr_assert(!c.all);
	cr_assert_eq(operand, 2);
}

Test(lib_options, first_operand_ends_the_options_of_run)
{
	struct config c = {0};
	struct line l;
	int operand = -1;

	cr_assert_eq(parse(&command_follows, &l, "run -a ls -f --help --nonsense", &c, &operand, NULL), 0);
	cr_assert(c.all && !c.follow);
	cr_assert_eq(operand, 2);
	cr_assert_str_eq(l.argv[operand], "ls");

	c.all = false;
	cr_assert_eq(parse(&command_follows, &l, "run -- -a", &c, &operand, NULL), 0);
	cr_assert(!c.all);
	cr_assert_eq(operand, 2);
}

Test(lib_options, nothing_but_the_name)
{
	struct config c = {0};
	struct line l;
	int operand = -1;

	cr_assert_eq(parse(&no_operands, &l, "attach", &c, &operand, NULL), 0);
	cr_assert_eq(operand, 1);
}

/* getopt remembers its place inside "-ax" and in argv: a failure must not leak into the next command line. */
Test(lib_options, calls_do_not_depend_on_each_other)
{
	for (int i = 0; i < 50; i++) {
		struct config c = {0};
		struct fault f = {0};
		struct line l;
		int operand = -1;

		cr_assert_eq(parse(&no_operands, &l, "attach -axf", &c, &operand, &f), -EINVAL);
		cr_assert(c.all && !c.follow, "stopped at the x");
		cr_assert_eq(operand, -1, "untouched on failure");
		f = (struct fault){0};
		cr_assert_eq(parse(&command_follows, &l, "run -f x -a", &c, &operand, &f), 0);
		cr_assert_eq(operand, 2);
		f = (struct fault){0};
		cr_assert_eq(parse(&no_operands, &l, "attach one two -a", &c, &operand, &f), -EINVAL);
		cr_assert_eq(operand, 2);
	}
}

#define TRY "; try 'loopscope attach --help'"

static const struct {
	const char *words, *sentence;
} wrong[] = {
	{"attach -x", "unknown option '-x'" TRY},
	{"attach -ax", "unknown option '-x'" TRY},
	{"attach --nonsense", "unknown option '--nonsense'" TRY},
	{"attach --nonsense=5", "unknown option '--nonsense'" TRY},
	{"attach one --nonsense", "unknown option '--nonsense'" TRY},
	{"attach --\x1b[2J", "unknown option '--\\x1b[2J'" TRY},
	{"attach -\x1b", "unknown option '-\\x1b'" TRY},
	{"attach -\xff", "unknown option '-\\xff'" TRY},
	{"attach --f", "option '--f' is ambiguous: it can be --format or --follow" TRY},
	{"attach --follow=yes", "option --follow takes no value" TRY},
	{"attach --help=all", "option --help takes no value" TRY},
	{"attach -i", "option -i needs a value: TIME" TRY},
	{"attach --interval", "option --interval needs a value: TIME" TRY},
	{"attach -i 5x", "option -i: '5x' is not a time; write for example 250us, 50ms or 5s" TRY},
	{"attach --interval=5x", "option --interval: '5x' is not a time; write for example 250us, 50ms or 5s" TRY},
	{"attach --int ''", "option --interval: '' is not a time; write for example 250us, 50ms or 5s" TRY},
	{"attach -i 1ms", "option -i: '1ms' is too short a time; give at least 100ms" TRY},
	{"attach -i 2h", "option -i: '2h' is too long a time; give at most 1h" TRY},
	{"attach -d 0", "option -d: '0' is too short a time; give at least 1ns" TRY},
	{"attach -d 99999999999h", "option -d: '99999999999h' is too long a time; give at most 5124095h" TRY},
	{"attach -c 0", "option -c: '0' is too small; give at least 1" TRY},
	{"attach -c -5", "option -c: '-5' is not a whole number; write for example 10" TRY},
	{"attach -c 1000001", "option -c: '1000001' is too large; give at most 1000000" TRY},
	{"attach -c 99999999999999999999", "option -c: '99999999999999999999' is too large; give at most 1000000" TRY},
	{"attach -p 0", "option -p: '0' is no PID: they go from 1 to 4194304" TRY},
	{"attach -p 1,,2", "option -p: '' is not a PID; write for example 1234, or 1234,1235" TRY},
	{"attach -p node", "option -p: 'node' is not a PID; write for example 1234, or 1234,1235" TRY},
	{"attach -n ''", "option -n: the NAME is empty" TRY},
	{"attach -o xml", "option -o: 'xml' is none of its choices; write table or json" TRY},
	{"attach -o tab", "option -o: 'tab' is none of its choices; write table or json" TRY},
	{"attach -w x --stdio", "-w and --stdio exclude each other; give one of them" TRY},
	{"attach --stdio --write x", "--stdio and --write exclude each other; give one of them" TRY},
	{"attach 1234", "unexpected '1234': 'attach' takes options only" TRY},
	{"attach -a -- -f", "unexpected '-f': 'attach' takes options only" TRY},
	{"attach -i aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	 "option -i: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...' is not a time; "
	 "write for example 250us, 50ms or 5s" TRY},
};

ParameterizedTestParameters(lib_options, wrong)
{
	static size_t index[ARRAY_SIZE(wrong)];

	for (size_t i = 0; i < ARRAY_SIZE(index); i++)
		index[i] = i;
	return cr_make_param_array(size_t, index, ARRAY_SIZE(index));
}

ParameterizedTest(const size_t *i, lib_options, wrong, .init = cr_redirect_stderr)
{
	struct config c = {0};
	struct fault f = {0};
	struct line l;
	int operand = -1;

	cr_assert_eq(parse(&no_operands, &l, wrong[*i].words, &c, &operand, &f), -EINVAL, "%s", wrong[*i].words);
	cr_assert_str_eq(f.text, wrong[*i].sentence);
	cr_assert_eq(f.status, EXIT_USAGE);
	cr_assert_eq(operand, -1);
	options_release(specs, &c);
	fflush(stderr);
	cr_assert_stderr_eq_str("", "getopt must not speak");
}

Test(lib_options, one_operand_too_many)
{
	struct config c = {0};
	struct fault f = {0};
	struct line l;
	int operand;

	cr_assert_eq(parse(&two_operands, &l, "join a b c d", &c, &operand, &f), -EINVAL);
	cr_assert_str_eq(f.text, "unexpected 'c': 'join' takes no more than 2 operands; try 'loopscope join --help'");
}

Test(lib_options, pids_are_bounded)
{
	_cleanup_free_ char *list = malloc(8 * (OPTIONS_PIDS_MAX + 1));
	char name[] = "attach", option[] = "-p";
	struct config c = {0};
	struct fault f = {0};
	size_t len = 0;
	int operand;

	cr_assert_not_null(list);
	for (int pid = 1; pid <= OPTIONS_PIDS_MAX; pid++)
		len += (size_t)sprintf(list + len, "%s%d", pid == 1 ? "" : ",", pid);
	cr_assert_eq(options_parse(&no_operands, specs, &c, 3, (char *[]){name, option, list, NULL}, &operand, &f), 0);
	cr_assert_eq(c.pids.n, OPTIONS_PIDS_MAX);
	options_release(specs, &c);
	sprintf(list + len, ",%d", OPTIONS_PIDS_MAX + 1);
	cr_assert_eq(options_parse(&no_operands, specs, &c, 3, (char *[]){name, option, list, NULL}, &operand, &f),
		     -EINVAL);
	cr_assert_str_eq(f.text, "option -p: more than 4096 PIDs" TRY);
	options_release(specs, &c);
}

/* --- help --------------------------------------------------------------------------------------------------------- */

static const struct opt_spec taught[] = {
	{'i', "interval", OPT_DURATION, 0, .arg = "TIME", .min = 100000000,
	 .help = "Report each TIME. Default 1s. The shorter it is, the less each report has to say about loops that "
		 "rarely wake.\nCounts from the start."},
	{'o', "format", OPT_CHOICE, 0, .arg = "FORMAT", .choices = formats,
	 .help = "How to report. Default table.\n  table  for people, as wide as the terminal is, and with the columns "
		 "that fit\n  json   for programs"},
	{0, "with-quite-a-long-name", OPT_FLAG, 0, .excludes = 2, .help = "Says little."},
	{0, "short", OPT_FLAG, 0, .excludes = 2, .help = "Says less."},
	{0},
};

static const struct opt_usage teaching = {
	.command = "attach",
	.synopsis = "-p PID [-p PID]... [-n NAME]... [-i TIME] [-c N] [-d TIME] [-o FORMAT]",
	.about = "Watches the loops of running processes, and says how loaded each is and why: one line for each loop "
		 "and interval.",
	.examples = "  loopscope attach -p 1234 -i 1s   # until Ctrl-C",
};

static const char taught_text[] =
	"Usage: loopscope attach -p PID [-p PID]... [-n NAME]... [-i TIME] [-c N]\n"
	"                        [-d TIME] [-o FORMAT]\n"
	"\n"
	"Watches the loops of running processes, and says how loaded each is and why: one\n"
	"line for each loop and interval.\n"
	"\n"
	"Options:\n"
	"  -i, --interval TIME  Report each TIME. Default 1s. The shorter it is, the less\n"
	"                       each report has to say about loops that rarely wake.\n"
	"                       Counts from the start. At least 100ms.\n"
	"  -o, --format FORMAT  How to report. Default table.\n"
	"                         table  for people, as wide as the terminal is, and with\n"
	"                                the columns that fit\n"
	"                         json   for programs\n"
	"                       One of table, json.\n"
	"      --with-quite-a-long-name\n"
	"                       Says little. Not together with --short.\n"
	"      --short          Says less. Not together with --with-quite-a-long-name.\n"
	"  -h, --help           Show this help.\n"
	"\n"
	"A TIME is a number with a unit: 250us, 50ms, 5s, 2m, 1h; without one, seconds.\n"
	"\n"
	"Examples:\n"
	"  loopscope attach -p 1234 -i 1s   # until Ctrl-C\n";

Test(lib_options, help_teaches_within_80_columns)
{
	char text[4096] = "";
	FILE *out = fmemopen(text, sizeof(text), "w");

	cr_assert_not_null(out);
	options_help(out, &teaching, taught);
	cr_assert_eq(fclose(out), 0);
	cr_assert_str_eq(text, taught_text);
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
		cr_assert_leq(strcspn(line, "\n"), 80, "%.*s", (int)strcspn(line, "\n"), line);
}

Test(lib_options, help_is_printed_to_stdout_wherever_it_stands, .init = cr_redirect_stdout)
{
	uint64_t interval = 0;
	struct fault f = {0};
	struct line l;
	int operand = -1;

	split(&l, "attach -i 1s --help --nonsense");
	cr_assert_eq(options_parse(&teaching, taught, &interval, l.argc, l.argv, &operand, &f), OPTIONS_HELP_SHOWN);
	cr_assert_str_eq(f.text, "");
	cr_assert_stdout_eq_str(taught_text);
}

Test(lib_options, help_by_letter, .init = cr_redirect_stdout)
{
	uint64_t interval = 0;
	struct line l;
	int operand = -1;

	split(&l, "attach -h");
	cr_assert_eq(options_parse(&teaching, taught, &interval, l.argc, l.argv, &operand, NULL), OPTIONS_HELP_SHOWN);
	cr_assert_stdout_eq_str(taught_text);
}

Test(lib_options, help_into_a_full_disk_is_a_fault)
{
	uint64_t interval = 0;
	struct fault f = {0};
	struct line l;
	int operand = -1;

	if (!freopen("/dev/full", "w", stdout))
		cr_skip_test("no /dev/full here");
	split(&l, "attach --help");
	cr_assert_eq(options_parse(&teaching, taught, &interval, l.argc, l.argv, &operand, &f), -EIO);
	cr_assert_eq(f.status, EXIT_FAILED);
	cr_assert(strstr(f.text, strerror(ENOSPC)), "%s", f.text);
}
