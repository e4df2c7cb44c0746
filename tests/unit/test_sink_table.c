/* SPDX-License-Identifier: BSD-2-Clause */
/* test_sink_table.c - what a person sees, at the widths of real terminals. */
#include <errno.h>
#include <locale.h>
#include <pty.h>
#include <signal.h>
#include <unistd.h>

#include "lib/text.h"
#include "sink/cell.h"
#include "test_sink_fixture.h"

static void init(void)
{
	fixture_environment();
}

TestSuite(sink_table, .init = init, .timeout = 20);

static struct sink *table(FILE *out, enum table_layout layout, int width, const char *columns)
{
	struct table_options o = { .out = out, .layout = layout, .columns = columns, .width = width };
	struct sink *s = NULL;
	struct fault f = { 0 };

	cr_assert_eq(sink_table_new(&o, &s, &f), 0, "%s", f.text);
	return s;
}

static void show(struct sink *s, const struct interval *iv)
{
	struct fault f = { 0 };

	cr_assert_eq(sink_interval(s, iv, &f), 0, "%s", f.text);
}

static void golden_once(int width, const char *columns, const char *golden)
{
	struct loop_record loops[FIXTURE_LOOPS];
	struct interval iv = fixture_interval(loops, FIXTURE_LOOPS);
	struct capture c;
	struct sink *s;

	fixture_all(loops);
	iv.lost = 12;
	iv.steal = 0.032;
	iv.n_asleep = 2000;
	capture_open(&c);
	s = table(c.out, TABLE_ONCE, width, columns);
	show(s, &iv);
	golden_check(golden, c.text);
	sink_free(s);
	capture_free(&c);
}

Test(sink_table, once_80) { golden_once(80, NULL, "once-80.txt"); }
Test(sink_table, once_100) { golden_once(100, NULL, "once-100.txt"); }
Test(sink_table, once_120) { golden_once(120, NULL, "once-120.txt"); }
Test(sink_table, once_200) { golden_once(200, NULL, "once-200.txt"); }
Test(sink_table, once_30) { golden_once(30, NULL, "once-30.txt"); }
Test(sink_table, once_all) { golden_once(80, "all", "once-all.txt"); }
Test(sink_table, once_chosen) { golden_once(80, "comm,Wait_Point,LOAD,sleeps/S,tick-p99,load", "once-chosen.txt"); }
Test(sink_table, once_added) { golden_once(80, "+note,tid", "once-added.txt"); }

Test(sink_table, once_120_utf8)
{
	cr_assert_not_null(setlocale(LC_CTYPE, "C.UTF-8"));
	golden_once(120, NULL, "once-120-utf8.txt");
}

/* Five intervals: a loop comes, one goes, none is left; the header returns after 20 rows. */
static void golden_repeat(int width, const char *golden)
{
	struct loop_record loops[5 * FIXTURE_LOOPS];
	struct interval iv = fixture_interval(loops, 2);
	struct capture c;
	struct sink *s;

	for (size_t i = 0; i < 5; i++)
		fixture_all(loops + i * FIXTURE_LOOPS);
	capture_open(&c);
	s = table(c.out, TABLE_REPEAT, width, NULL);

	iv.loops = loops + 2;
	iv.n_asleep = 1;
	show(s, &iv);
	iv.loops = loops;
	iv.n_loops = FIXTURE_LOOPS;
	iv.lost = 1;
	show(s, &iv);
	iv.n_loops = 2 * FIXTURE_LOOPS;
	iv.lost = 0;
	iv.steal = 0.25;
	show(s, &iv);
	iv.steal = 0.005;
	iv.n_loops = 0;
	show(s, &iv);
	show(s, &iv);
	iv.loops = loops + 3;
	iv.n_loops = 1;
	iv.n_asleep = 2;
	show(s, &iv);
	golden_check(golden, c.text);
	sink_free(s);
	capture_free(&c);
}

Test(sink_table, repeat_80) { golden_repeat(80, "repeat-80.txt"); }
Test(sink_table, repeat_120) { golden_repeat(120, "repeat-120.txt"); }
Test(sink_table, repeat_200) { golden_repeat(200, "repeat-200.txt"); }

Test(sink_table, no_loops_is_a_sentence_that_helps)
{
	struct interval iv = fixture_interval(NULL, 0);
	struct capture c;
	struct sink *s;

	iv.interval_s = 5;
	iv.n_asleep = 1;
	capture_open(&c);
	s = table(c.out, TABLE_ONCE, 80, NULL);
	show(s, &iv);
	golden_check("no-loops.txt", c.text);
	sink_free(s);
	capture_free(&c);
}

Test(sink_table, loops_that_nobody_asked_for_are_no_reason_to_watch_longer)
{
	struct interval iv = fixture_interval(NULL, 0);
	struct capture c;
	struct sink *s;

	iv.n_excluded = 3;
	capture_open(&c);
	s = table(c.out, TABLE_ONCE, 80, NULL);
	show(s, &iv);
	cr_assert(strstr(c.text, "# 3 loops seen, none of them is one of those that were asked for\n"), "%s", c.text);
	cr_assert_null(strstr(c.text, "watch for longer"), "%s", c.text);
	sink_free(s);
	capture_free(&c);
}

/* No default table is wider than it was told, from where its three first columns fit; rows never differ in cells. */
Test(sink_table, fits_every_width)
{
	struct loop_record loops[FIXTURE_LOOPS];
	struct interval iv = fixture_interval(loops, FIXTURE_LOOPS);

	fixture_all(loops);
	for (int kind = TABLE_ONCE; kind <= TABLE_REPEAT; kind++) {
		for (int width = 50; width <= 260; width++) {
			struct capture c;
			struct sink *s;
			char *save = NULL;

			capture_open(&c);
			s = table(c.out, (enum table_layout)kind, width, NULL);
			show(s, &iv);
			for (char *line = strtok_r(c.text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
				cr_assert(line[0] == '#' || cell_width(line) <= (size_t)width, "%d: %s", width, line);
			sink_free(s);
			capture_free(&c);
		}
	}
}

/* Every interval's cells stand under the same header, whatever came before: each blank column of the header's gaps and
 * each right edge of a number is the same in all rows. */
Test(sink_table, rows_of_later_intervals_stay_aligned)
{
	struct loop_record loops[FIXTURE_LOOPS];
	struct interval iv = fixture_interval(loops + 3, 1);
	char *save = NULL, *header, *line;
	struct capture c;
	struct sink *s;
	size_t edge;

	fixture_all(loops);
	capture_open(&c);
	s = table(c.out, TABLE_REPEAT, 300, NULL);
	for (size_t i = FIXTURE_LOOPS - 1; i-- > 0;) { /* all but the board, which has other columns */
		loops[i].lost = 0;
		iv.loops = loops + i;
		show(s, &iv);
	}
	header = strtok_r(c.text, "\n", &save);
	edge = (size_t)(strstr(header, "NAIVE") - header) + strlen("NAIVE");
	for (line = strtok_r(NULL, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		cr_assert(strlen(line) > edge, "%s", line);
		cr_assert(line[edge] == ' ' && line[edge - 1] != ' ', "%s\n%s", header, line);
		cr_assert_eq(line[strstr(header, "WAITPOINT") - header - 1], ' ', "%s\n%s", header, line);
		cr_assert_neq(line[strstr(header, "WAITPOINT") - header], ' ', "%s\n%s", header, line);
	}
	sink_free(s);
	capture_free(&c);
}

/* Rows that are less than a second apart are told apart; what was measured of the first interval may be half of what was asked for. */
Test(sink_table, the_time_has_the_digits_that_the_interval_needs)
{
	static const struct {
		double step;
		uint64_t ms;
		const char *columns, *want[2];
	} cases[] = {
		{ 1, 0, NULL, { "02:00:00 ", "02:00:01 " } },
		{ 0.51, 1000, NULL, { "02:00:00 ", "02:00:00 " } },
		{ 1.5, 1500, "load", { "02:00:00 ", "02:00:01 " } },
		{ 0.5, 500, NULL, { "02:00:00.3 ", "02:00:00.8 " } },
		{ 0.0998, 100, "+time,load", { "02:00:00.3 ", "02:00:00.3 " } },
		{ 0.0501, 50, NULL, { "02:00:00.25 ", "02:00:00.30 " } },
		{ 0.0099, 10, "load", { "02:00:00.25 ", "02:00:00.26 " } },
		{ 0.004, 4, NULL, { "02:00:00.250 ", "02:00:00.254 " } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct loop_record r = fixture_node();
		struct interval iv = fixture_interval(&r, 1);
		char *save = NULL, *line;
		struct fault f = { 0 };
		struct capture c;
		struct sink *s;

		iv.interval_s = cases[i].step;
		capture_open(&c);
		cr_assert_eq(sink_table_new(&(struct table_options){ .out = c.out, .layout = TABLE_REPEAT, .columns = cases[i].columns, .width = 100,
								     .interval_ns = cases[i].ms * 1000000 }, &s, &f), 0, "%s", f.text);
		show(s, &iv);
		r.ts += cases[i].step;
		show(s, &iv);
		strtok_r(c.text, "\n", &save);
		for (size_t row = 0; row < 2; row++) {
			line = strtok_r(NULL, "\n", &save);
			cr_assert(line && strncmp(line, cases[i].want[row], strlen(cases[i].want[row])) == 0, "case %zu: %s", i, line);
		}
		sink_free(s);
		capture_free(&c);
	}
}

Test(sink_table, core_is_there_at_80)
{
	static const char *const core[] = { "PID", "COMM", "RUNTIME", "LOAD", "BUSY", "WAIT", "BLOCKED-BY" };
	struct loop_record r = fixture_contended();
	struct interval iv = fixture_interval(&r, 1);

	for (int kind = TABLE_ONCE; kind <= TABLE_REPEAT; kind++) {
		struct capture c;
		struct sink *s;

		capture_open(&c);
		s = table(c.out, (enum table_layout)kind, 80, NULL);
		show(s, &iv);
		*strchr(c.text, '\n') = '\0';
		for (size_t i = 0; i < ARRAY_SIZE(core); i++)
			cr_assert_not_null(strstr(c.text, core[i]), "%s not in: %s", core[i], c.text);
		sink_free(s);
		capture_free(&c);
	}
}

/* What a table at that width shows of n loops, its header cut off into *ret_header. */
static void show_split(struct loop_record *loops, size_t n, enum table_layout kind, struct capture *c, char **ret_rows)
{
	struct interval iv = fixture_interval(loops, n);
	struct sink *s;

	capture_open(c);
	s = table(c->out, kind, 80, NULL);
	show(s, &iv);
	sink_free(s);
	*ret_rows = strchr(c->text, '\n');
	cr_assert_not_null(*ret_rows);
	*(*ret_rows)++ = '\0';
}

Test(sink_table, two_loops_of_a_process_are_told_apart)
{
	for (int kind = TABLE_ONCE; kind <= TABLE_REPEAT; kind++) {
		struct loop_record loops[] = { fixture_node(), fixture_node() };
		struct capture c;
		char *rows;

		loops[1].id.tid++;
		show_split(loops, 2, (enum table_layout)kind, &c, &rows);
		cr_assert_not_null(strstr(c.text, " TID "), "%s", c.text);
		cr_assert_not_null(strstr(rows, "4711"), "%s", rows);
		cr_assert_not_null(strstr(rows, "4712"), "%s", rows);
		capture_free(&c);
		loops[1].id.pid++;
		show_split(loops, 2, (enum table_layout)kind, &c, &rows);
		cr_assert(kind == TABLE_ONCE || !strstr(c.text, " TID "), "%s", c.text);
		capture_free(&c);
	}
}

Test(sink_table, a_board_has_no_columns_of_what_only_a_process_has)
{
	static const char *const host[] = { "PID", "RUNTIME", "WAIT", "NAIVE", "WAITED-FOR", "COST" };
	static const char *const board[] = { "COMM", "LOAD", "BUSY", "IDLE" };

	for (int kind = TABLE_ONCE; kind <= TABLE_REPEAT; kind++) {
		struct loop_record r = fixture_node();
		struct capture c;
		char *rows;

		r.source = SOURCE_SERIAL;
		r.id.pid = r.id.tid = 0;
		r.runtime = NULL;
		r.wait = r.naive_load = NAN;
		show_split(&r, 1, (enum table_layout)kind, &c, &rows);
		for (size_t i = 0; i < ARRAY_SIZE(host); i++)
			cr_assert_null(strstr(c.text, host[i]), "%s in: %s", host[i], c.text);
		for (size_t i = 0; i < ARRAY_SIZE(board); i++)
			cr_assert_not_null(strstr(c.text, board[i]), "%s not in: %s", board[i], c.text);
		capture_free(&c);
	}
}

Test(sink_table, rows_of_boards_and_of_processes_stand_under_headers_of_their_own)
{
	struct loop_record node = fixture_node(), board = fixture_node();
	struct interval iv = fixture_interval(&node, 1);
	unsigned headers = 0;
	struct capture c;
	struct sink *s;

	board.source = SOURCE_SERIAL;
	capture_open(&c);
	s = table(c.out, TABLE_REPEAT, 80, NULL);
	show(s, &iv);
	show(s, &iv);
	iv.loops = &board;
	show(s, &iv);
	iv.loops = &node;
	show(s, &iv);
	for (const char *p = c.text; (p = strstr(p, " LOAD")); p++)
		headers++;
	cr_assert_eq(headers, 3, "%s", c.text);
	sink_free(s);
	capture_free(&c);
}

Test(sink_table, where_there_is_room_for_one_reason_it_is_the_greater)
{
	struct loop_record r = fixture_contended();
	struct capture c;
	char *rows;

	r.wait = 0.3;
	r.tick_blocked = 0.2;
	show_split(&r, 1, TABLE_REPEAT, &c, &rows);
	cr_assert(strstr(c.text, "WAITED-FOR") && !strstr(c.text, "BLOCKED-BY"), "%s", c.text);
	capture_free(&c);
	r.wait = 0.1;
	show_split(&r, 1, TABLE_REPEAT, &c, &rows);
	cr_assert(strstr(c.text, "BLOCKED-BY") && !strstr(c.text, "WAITED-FOR"), "%s", c.text);
	capture_free(&c);
}

Test(sink_table, contradictions_have_a_column_where_there_are_any)
{
	struct loop_record r = fixture_node();
	struct capture c;
	char *rows;

	r.lost = 0;
	show_split(&r, 1, TABLE_ONCE, &c, &rows);
	cr_assert_null(strstr(c.text, "LOST"), "%s", c.text);
	capture_free(&c);
}

Test(sink_table, where_loops_were_seen_nobody_needs_to_be_told_what_a_loop_is)
{
	struct loop_record r = fixture_node();
	struct interval iv = fixture_interval(&r, 1);
	struct capture c;
	struct sink *s;

	capture_open(&c);
	s = table(c.out, TABLE_REPEAT, 80, NULL);
	show(s, &iv);
	iv.n_loops = 0;
	show(s, &iv);
	cr_assert_not_null(strstr(c.text, ": no loops seen\n"), "%s", c.text);
	cr_assert_null(strstr(c.text, "came back"), "%s", c.text);
	sink_free(s);
	capture_free(&c);
}

/* Whatever bytes the names hold, only line feeds of our own reach the terminal, and no escape sequence. */
/* As a bomb of threads leaves behind, each of which waited twice. */
static struct loop_record short_lived(uint32_t pid, uint32_t tid, const char *comm)
{
	struct loop_record r = fixture_node();

	r.id.pid = pid;
	r.id.tid = tid;
	r.ended = true;
	memset(r.comm, 0, sizeof(r.comm));
	snprintf(r.comm, sizeof(r.comm), "%s", comm);
	memcpy(r.thread, r.comm, sizeof(r.thread));
	return r;
}

static size_t count_in(const char *text, const char *what)
{
	size_t n = 0;

	for (const char *p = text; (p = strstr(p, what)); p++)
		n++;
	return n;
}

static void expect_flood(enum table_layout layout, size_t bomb, size_t other, const char *note)
{
	struct loop_record *loops = calloc(bomb + other + 1, sizeof(*loops));
	struct interval iv = fixture_interval(loops, bomb + other + 1);
	struct capture c;
	struct sink *s;

	cr_assert_not_null(loops);
	for (size_t i = 0; i < bomb; i++)
		loops[i] = short_lived(500, 1000 + (uint32_t)i, "bomb");
	for (size_t i = 0; i < other; i++)
		loops[bomb + i] = short_lived(600, 90000 + (uint32_t)i, "other");
	loops[bomb + other] = fixture_node(); /* the least loaded, and the one that lives on */
	capture_open(&c);
	s = table(c.out, layout, 200, "comm,load");
	show(s, &iv);
	cr_expect_eq(count_in(c.text, "%"), (bomb < 4 ? bomb : 4) + (other < 4 ? other : 4) + 1, "%s", c.text);
	cr_expect(strstr(c.text, "node"), "%s", c.text);
	cr_expect_eq(count_in(c.text, "\n# "), note[0] ? 1 : 0, "%s", c.text);
	cr_expect(strstr(c.text, note), "%s", c.text);
	sink_free(s);
	capture_free(&c);
	free(loops);
}

Test(sink_table, a_flood_of_short_lives_is_one_line)
{
	expect_flood(TABLE_ONCE, 20000, 0, "# 19996 more loops of bomb (500) ended within this time: '-o json' tells of each\n");
	expect_flood(TABLE_REPEAT, 20, 3, "# 16 more loops of bomb (500) ended");
	expect_flood(TABLE_ONCE, 20, 10, "# 22 more loops ended within this time, of 2 processes, 16 of them of bomb (500): ");
	expect_flood(TABLE_ONCE, 4, 4, "");
}

Test(sink_table, names_of_any_bytes_are_harmless)
{
	for (int utf8 = 0; utf8 <= 1; utf8++) {
		cr_assert_not_null(setlocale(LC_CTYPE, utf8 ? "C.UTF-8" : "C"));
		for (int byte = 1; byte < 256; byte++) {
			struct loop_record r = fixture_contended();
			struct interval iv = fixture_interval(&r, 1);
			unsigned lines = 0;
			struct capture c;
			struct sink *s;

			r.lost = 0;
			memset(r.comm, byte, sizeof(r.comm));
			memset(r.thread, byte ^ 1, sizeof(r.thread));
			memset(r.waited_for[0].comm, byte, sizeof(r.waited_for[0].comm));
			memset(r.blocked_by[0].what, byte, sizeof(r.blocked_by[0].what));
			capture_open(&c);
			s = table(c.out, TABLE_ONCE, 200, NULL);
			show(s, &iv);
			for (const char *p = c.text; *p; p++) {
				lines += *p == '\n';
				cr_assert(*p == '\n' || ((unsigned char)*p >= 0x20 && (unsigned char)*p < 0x7f),
					  "byte %d: %s", byte, c.text);
			}
			cr_assert_eq(lines, 2, "byte %d", byte);
			sink_free(s);
			capture_free(&c);
		}
	}
}

Test(sink_table, unknown_column_is_named_and_the_known_are_listed)
{
	static const char *const bad[] = { "comm,nosuch", "+nosuch", "comm,,pid", "", "+", "pid,", "all,pid" };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct table_options o = { .out = stdout, .columns = bad[i] };
		struct sink *s = NULL;
		struct fault f = { 0 };

		cr_assert_eq(sink_table_new(&o, &s, &f), -EINVAL, "'%s'", bad[i]);
		cr_assert_null(s);
		cr_assert_eq(f.status, EXIT_USAGE);
		cr_assert_neq(f.text[0], '\0');
		if (strstr(bad[i], "nosuch"))
			cr_assert(strstr(f.text, "'nosuch'") && strstr(f.text, "time, ") && strstr(f.text, ", cgroup"),
				  "%s", f.text);
	}
}

Test(sink_table, help_names_every_column_that_all_shows)
{
	struct capture help, all;
	struct loop_record r = fixture_node();
	struct interval iv = fixture_interval(&r, 1);
	unsigned in_help = 0, in_all = 0;
	struct sink *s;
	char *save = NULL;

	capture_open(&help);
	sink_table_columns_help(help.out);
	fflush(help.out);
	for (const char *p = help.text; *p; p++)
		in_help += *p == '\n';
	capture_open(&all);
	s = table(all.out, TABLE_ONCE, 80, "all");
	show(s, &iv);
	*strchr(all.text, '\n') = '\0';
	for (char *w = strtok_r(all.text, " ", &save); w; w = strtok_r(NULL, " ", &save))
		in_all++;
	cr_assert_eq(in_help, in_all);
	cr_assert_gt(in_all, 30);
	sink_free(s);
	capture_free(&all);
	capture_free(&help);
}

/* What a pseudo-terminal receives. */
static void show_on_tty(const char *term, const char *no_color, unsigned short columns, char *ret, size_t size)
{
	struct winsize ws = { .ws_row = 24, .ws_col = columns };
	struct loop_record loops[FIXTURE_LOOPS];
	struct interval iv = fixture_interval(loops, FIXTURE_LOOPS);
	int master, slave;
	struct sink *s;
	FILE *out;
	size_t n = 0;

	fixture_all(loops);
	setenv("TERM", term, 1);
	setenv("NO_COLOR", no_color, 1);
	cr_assert_eq(openpty(&master, &slave, NULL, NULL, &ws), 0);
	out = fdopen(slave, "w");
	cr_assert_not_null(out);
	s = table(out, TABLE_ONCE, 0, NULL);
	show(s, &iv);
	sink_free(s);
	fclose(out);
	/* The other end is closed: after what was written comes EIO. */
	for (ssize_t got; n < size - 1 && (got = read(master, ret + n, size - 1 - n)) > 0;)
		n += (size_t)got;
	ret[n] = '\0';
	close(master);
}

Test(sink_table, colours_only_where_they_are_welcome)
{
	char text[16384];

	show_on_tty("xterm", "", 100, text, sizeof(text));
	cr_assert(strstr(text, "\x1b[31m95.0%"), "%s", text);
	cr_assert(strstr(text, "\x1b[35m25.0%"), "%s", text);
	cr_assert(strstr(text, "\x1b[33m73.4%"), "%s", text);
	show_on_tty("xterm", "1", 100, text, sizeof(text));
	cr_assert_not(strchr(text, '\x1b'));
	show_on_tty("dumb", "", 100, text, sizeof(text));
	cr_assert_not(strchr(text, '\x1b'));
}

Test(sink_table, follows_the_terminals_width_unless_COLUMNS_says_otherwise)
{
	char text[16384];

	show_on_tty("dumb", "", 50, text, sizeof(text));
	cr_assert_not(strstr(text, "WAITED-FOR"));
	show_on_tty("dumb", "", 200, text, sizeof(text));
	cr_assert(strstr(text, "WAITPOINT"));
	setenv("COLUMNS", "50", 1);
	show_on_tty("dumb", "", 200, text, sizeof(text));
	cr_assert_not(strstr(text, "WAITED-FOR"));
	setenv("COLUMNS", "60x", 1);
	show_on_tty("dumb", "", 200, text, sizeof(text));
	cr_assert(strstr(text, "WAITPOINT"));
}

Test(sink_table, full_disk_is_a_sentence)
{
	struct loop_record r = fixture_node();
	struct interval iv = fixture_interval(&r, 1);
	FILE *out = fopen("/dev/full", "w");
	struct fault f = { 0 };
	struct sink *s;

	cr_assert_not_null(out);
	s = table(out, TABLE_ONCE, 80, NULL);
	cr_assert_eq(sink_interval(s, &iv, &f), -ENOSPC);
	cr_assert(strstr(f.text, "No space left"), "%s", f.text);
	cr_assert_eq(f.status, EXIT_FAILED);
	sink_free(s);
	fclose(out);
}

Test(sink_table, reader_gone_is_silent)
{
	struct loop_record r = fixture_node();
	struct interval iv = fixture_interval(&r, 1);
	FILE *out = fixture_reader_gone();
	struct fault f = { 0 };
	struct sink *s;

	s = table(out, TABLE_REPEAT, 80, NULL);
	cr_assert_eq(sink_interval(s, &iv, &f), -EPIPE);
	cr_assert_str_empty(f.text);
	sink_free(s);
	fclose(out);
}

Test(sink_table, free_accepts_null)
{
	sink_free(NULL);
}
