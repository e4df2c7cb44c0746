/* SPDX-License-Identifier: BSD-2-Clause */
/* test_lib_options_file.c - a file of options into the config that the command line fills, which wins; or into one
 * sentence. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/options_file.h"

struct config {
	const char *file, *write;
	bool stdio, all;
	struct opt_strings names;
	struct opt_pids pids;
	uint64_t interval, count;
	int format;
	double share;
};

static int check_name(const char *value, char *sentence, size_t size)
{
	if (*value != '-')
		return 0;
	snprintf(sentence, size, "'%s' begins with a dash; write it without", value);
	return -EINVAL;
}

static const char *const formats[] = {"table", "json", NULL};

#define AT(field) .offset = offsetof(struct config, field)

static const struct opt_spec specs[] = {
	{'f', "file", OPT_STRING, AT(file), .arg = "FILE", .help = "Options.", .command_line_only = true},
	{'n', "name", OPT_STRINGS, AT(names), .arg = "NAME", .help = "Names.", .check = check_name},
	{'p', "pid", OPT_PIDS, AT(pids), .arg = "PID", .help = "Processes."},
	{'i', "interval", OPT_DURATION, AT(interval), .arg = "TIME", .min = 100000000, .help = "How often."},
	{'c', "count", OPT_COUNT, AT(count), .arg = "N", .help = "How many."},
	{'o', "output", OPT_CHOICE, AT(format), .arg = "FORMAT", .choices = formats, .help = "How."},
	{'s', "share", OPT_SHARE, AT(share), .arg = "SHARE", .help = "How much."},
	{'w', "write", OPT_STRING, AT(write), .arg = "FILE", .excludes = 1, .help = "To a file."},
	{0, "stdio", OPT_FLAG, AT(stdio), .excludes = 1, .help = "To stdout."},
	{'a', "all", OPT_FLAG, AT(all), .help = "All."},
	{0},
};

static const struct opt_usage usage = {.command = "export", .synopsis = "[options]", .about = "About."};

struct read {
	struct config c;
	struct opt_file *file;
	struct fault f;
	char line[256]; /* the config points into it */
	char path[64];
	int err;
};

/* words: of the command line, separated by spaces; they have to be right. */
static void read_both(struct read *r, const char *words, const char *text, size_t len)
{
	char *rest = r->line, *word, *argv[32] = {(char *)"export"};
	struct opt_given given;
	int argc = 1, operand, fd;

	*r = (struct read){.c = {.interval = 1, .share = 0.5}, .path = "/tmp/loopscope-options-XXXXXX"};
	snprintf(r->line, sizeof(r->line), "%s", words);
	while (argc < 31 && (word = strsep(&rest, " ")))
		if (*word)
			argv[argc++] = word;
	cr_assert_eq(options_parse_given(&usage, specs, &r->c, argc, argv, &operand, &given, &r->f), 0, "%s",
		     r->f.text);

	fd = mkstemp(r->path);
	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, text, len), (ssize_t)len);
	close(fd);
	r->err = options_file_read(r->path, &usage, specs, &given, &r->c, &r->file, &r->f);
	unlink(r->path);
}

static void done(struct read *r)
{
	options_release(specs, &r->c);
	options_file_free(r->file);
}

TestSuite(lib_options_file, .timeout = 30);

Test(lib_options_file, every_kind)
{
	static const char text[] = "; what a file may hold\n"
				   "[export]\n"
				   "name = one\n"
				   "name = two words ; said of it\n"
				   "pid = 7,8\n"
				   "pid = 9\n"
				   "interval=15s\n"
				   "count: 3\n"
				   "output = json\n"
				   "share = 2%\n"
				   "stdio = yes\n"
				   "all = no\n";
	struct read r;

	read_both(&r, "", text, strlen(text));
	cr_assert_eq(r.err, 0, "%s", r.f.text);
	cr_assert_eq(r.c.names.n, 2);
	cr_assert_str_eq(r.c.names.v[0], "one");
	cr_assert_str_eq(r.c.names.v[1], "two words");
	cr_assert_eq(r.c.pids.n, 3);
	cr_assert_eq(r.c.interval, 15000000000);
	cr_assert_eq(r.c.count, 3);
	cr_assert_eq(r.c.format, 1);
	cr_assert_float_eq(r.c.share, 0.02, 1e-12);
	cr_assert(r.c.stdio);
	cr_assert_not(r.c.all);
	cr_assert_null(r.c.write);
	done(&r);
}

Test(lib_options_file, what_is_not_in_it_keeps_its_default)
{
	struct read r;

	read_both(&r, "", "", 0);
	cr_assert_eq(r.err, 0, "%s", r.f.text);
	cr_assert_eq(r.c.interval, 1);
	cr_assert_float_eq(r.c.share, 0.5, 0);
	done(&r);
}

Test(lib_options_file, the_command_line_wins)
{
	static const char text[] =
		"[export]\ninterval = 15s\nname = one\nname = two\nwrite = there\nall = no\ncount = 5\n";
	struct read r;

	read_both(&r, "-i 2s --name three --stdio -a", text, strlen(text));
	cr_assert_eq(r.err, 0, "%s", r.f.text);
	cr_assert_eq(r.c.interval, 2000000000);
	cr_assert_eq(r.c.names.n, 1);
	cr_assert_str_eq(r.c.names.v[0], "three");
	cr_assert(r.c.all);
	cr_assert(r.c.stdio);
	cr_assert_null(r.c.write, "--stdio excludes it");
	cr_assert_eq(r.c.count, 5);
	done(&r);
}

struct wrong {
	char text[160], words[32], sentence[120];
	unsigned line;
};

ParameterizedTestParameters(lib_options_file, refused)
{
	static struct wrong cases[] = {
		{"[export]\nintervall = 15s\n", "", "unknown key 'intervall': keys are the long options", 2},
		{"[scan]\n", "", "unknown section [scan]: there is only [export]", 1},
		{"interval = 15s\n", "", "'interval' stands before any section: begin with [export]", 1},
		{"[export]\n\ninterval = 5x\n", "", "interval: '5x' is not a time", 3},
		{"[export]\ninterval = 1ms\n", "", "interval: '1ms' is too short a time; give at least 100ms", 2},
		{"[export]\ninterval = 5x\n", "-i 5s", "interval: '5x' is not a time", 2},
		{"[export]\ncount = many\n", "-c 3", "count: 'many' is not a whole number", 2},
		{"[export]\npid = 7,x\n", "-p 3", "pid: 'x' is not a PID", 2},
		{"[export]\noutput = xml\n", "", "output: 'xml' is none of its choices; write table or json", 2},
		{"[export]\nstdio = true\n", "", "stdio: 'true' is neither yes nor no", 2},
		{"[export]\nstdio\n", "", "neither [section] nor key = value", 2},
		{"[export]\nname =\n", "", "name: the NAME is empty", 2},
		{"[export]\nname = -x\n", "", "name: '-x' begins with a dash; write it without", 2},
		{"[export]\ninterval = 5s\ninterval = 6s\n", "", "'interval' is given twice", 3},
		{"[export]\nstdio = yes\nwrite = x\n", "", "'stdio' and 'write' exclude each other", 3},
		{"[export]\nfile = other\n", "", "'file' is for the command line only", 2},
		{"[export]\n  interval = 5s\n", "", "the line is indented", 2},
		{"[export\n", "", "the section's ] is missing", 1},
		{"[export]\n\"\x1b[31m\" = 5s\n", "", "unknown key '\"\\x1b[31m\"'", 2},
	};

	return cr_make_param_array(struct wrong, cases, sizeof(cases) / sizeof(cases[0]));
}

ParameterizedTest(struct wrong *w, lib_options_file, refused)
{
	struct read r;
	char where[96];

	read_both(&r, w->words, w->text, strlen(w->text));
	cr_assert_eq(r.err, -EINVAL, "%s", w->text);
	cr_assert_eq(r.f.status, EXIT_USAGE);
	snprintf(where, sizeof(where), "%s:%u: ", r.path, w->line);
	cr_assert_eq(strncmp(r.f.text, where, strlen(where)), 0, "'%s' does not begin with '%s'", r.f.text, where);
	cr_assert_eq(strncmp(r.f.text + strlen(where), w->sentence, strlen(w->sentence)), 0, "'%s' should be '%s'",
		     r.f.text + strlen(where), w->sentence);
	done(&r);
}

/* A token may be long: 300 and 8,000 characters of value, between other lines; no more. */
Test(lib_options_file, long_values)
{
	static const size_t lengths[] = {170, 180, 190, 198, 300, 8000};

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		_cleanup_free_ char *value = calloc(1, lengths[i] + 1), *text = NULL;
		struct read r;

		memset(value, 'a', lengths[i]);
		value[7] = '=';
		value[9] = ' ';
		value[11] = ';';
		cr_assert_geq(asprintf(&text, "[export]\n; %s\ncount = 4\nwrite =  %s \t;%s\ninterval = 5s\n", value, value, value + 20), 0);
		read_both(&r, "", text, strlen(text));
		if (2 * lengths[i] > OPTIONS_FILE_LINE_MAX) {
			cr_assert_eq(r.err, -EINVAL);
			cr_assert(strstr(r.f.text, ":4: the line is too long: at most 8190 characters"), "%s", r.f.text);
		} else {
			cr_assert_eq(r.err, 0, "%s", r.f.text);
			cr_assert_str_eq(r.c.write, value);
			cr_assert_eq(r.c.count, 4);
			cr_assert_eq(r.c.interval, 5000000000ull);
		}
		done(&r);
	}
}

Test(lib_options_file, a_nul_byte)
{
	static const char text[] = "[export]\nname = a\0b\n";
	struct read r;

	read_both(&r, "", text, sizeof(text) - 1);
	cr_assert_eq(r.err, -EINVAL);
	cr_assert(strstr(r.f.text, ":2: a NUL byte"), "%s", r.f.text);
	done(&r);
}

Test(lib_options_file, a_file_that_is_not_there)
{
	struct opt_given given = {0};
	struct opt_file *file = NULL;
	struct config c = {0};
	struct fault f = {0};

	cr_assert_eq(options_file_read("/nonexistent/file", &usage, specs, &given, &c, &file, &f), -ENOENT);
	cr_assert(strstr(f.text, "/nonexistent/file: No such file or directory"), "%s", f.text);
	cr_assert_null(file);
	f.text[0] = '\0';
	cr_assert_eq(options_file_read("/dev/null", &usage, specs, &given, &c, &file, &f), -EINVAL);
	cr_assert(strstr(f.text, "not a regular file"), "%s", f.text);
}

/* What is printed can be read again, and means the same. */
Test(lib_options_file, printed_and_read_again)
{
	static const char words[] = "-n a -n b -p 1,2 -i 1500ms -c 9 -o json -s 0.125 -w out -a";
	_cleanup_free_ char *first = NULL, *second = NULL;
	size_t n_first, n_second;
	FILE *out = open_memstream(&first, &n_first);
	struct read r;

	read_both(&r, words, "", 0);
	options_file_print(out, &usage, specs, &r.c);
	fclose(out);
	done(&r);
	cr_assert(strstr(first, "interval = 1500ms\n"), "%s", first);
	cr_assert(strstr(first, "name = b\n"), "%s", first);
	cr_assert(strstr(first, "all = yes\n"), "%s", first);
	cr_assert_null(strstr(first, "file"), "%s", first);

	read_both(&r, "", first, n_first);
	cr_assert_eq(r.err, 0, "%s", r.f.text);
	out = open_memstream(&second, &n_second);
	options_file_print(out, &usage, specs, &r.c);
	fclose(out);
	done(&r);
	cr_assert_str_eq(first, second);
}
