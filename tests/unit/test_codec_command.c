/* SPDX-License-Identifier: BSD-2-Clause */
/* test_codec_command.c - the host's lines to the board, and finding them in a REPL's input. */
#include <criterion/criterion.h>
#include <string.h>

#include "targets/codec/lswire.h"

TestSuite(codec_command, .timeout = 30);

static const struct {
	struct lsw_command c;
	const char *line;
} good[] = {
	{ { .op = '+' }, "~+" },
	{ { .op = '-' }, "~-" },
	{ { .op = 'n' }, "~n" },
	{ { .op = 't', .value = 0 }, "~t0" },
	{ { .op = 't', .value = 65535 }, "~t65535" },
	{ { .op = 'r', .value = 3 }, "~r3" },
	{ { .op = 'f', .value = 4294967295u }, "~f4294967295" },
	{ { .op = 'i' }, "~i" },
	{ { .op = 'i', .n_ids = 3, .ids = { 1, 239, 65534 } }, "~i1,239,65534" },
	{ { .op = 'i', .n_ids = 12,
	    .ids = { 60001, 60002, 60003, 60004, 60005, 60006, 60007, 60008, 60009, 60010, 60011, 60012 } },
	  "~i60001,60002,60003,60004,60005,60006,60007,60008,60009,60010,60011,60012" },
};

Test(codec_command, lines_and_back)
{
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		char out[LSW_LINE_MAX];
		struct lsw_command back;
		int n = lsw_command_put(out, &good[i].c);

		cr_assert_eq(n, strlen(good[i].line) + 1, "%s", good[i].line);
		cr_assert_arr_eq(out, good[i].line, n - 1);
		cr_assert_eq(out[n - 1], '\n');
		for (int k = 0; k < n - 1; k++)
			cr_assert(out[k] >= 0x20 && out[k] < 0x7F);
		cr_assert_eq(lsw_command_get(out, (size_t)n - 1, &back), 0);
		cr_assert_eq(back.op, good[i].c.op);
		cr_assert_eq(back.value, good[i].c.value);
		cr_assert_eq(back.n_ids, good[i].c.n_ids);
		cr_assert_arr_eq(back.ids, good[i].c.ids, sizeof(back.ids));
	}
}

static const char *const no_commands[] = {
	"", "~", "+", "~x", "~+1", "~n ", "~t", "~t65536", "~t-1", "~t1 ", "~r", "~r4", "~r5", "~r9", "~r12", "~f",
	"~f4294967296", "~f99999999999", "~f1us", "~i0", "~i,", "~i1,", "~i,1", "~i1,,2", "~i65535", "~i1 2",
	"~i1,2,3,4,5,6,7,8,9,10,11,12,13", " ~+", "~~+", "~\x03",
};

Test(codec_command, what_is_not_wholly_a_command_is_none)
{
	struct lsw_command c;

	for (size_t i = 0; i < sizeof(no_commands) / sizeof(no_commands[0]); i++)
		cr_assert_eq(lsw_command_get(no_commands[i], strlen(no_commands[i]), &c), LSW_ECOMMAND, "%s",
			     no_commands[i]);
	cr_assert_eq(lsw_command_get("~+\0", 3, &c), LSW_ECOMMAND);
}

Test(codec_command, what_cannot_be_said_is_refused)
{
	static const struct lsw_command bad[] = {
		{ .op = 0x03 }, { .op = 'x' }, { .op = '\n' }, { .op = 'r', .value = 4 }, { .op = 't', .value = 65536 },
		{ .op = 'i', .n_ids = 1, .ids = { 0 } }, { .op = 'i', .n_ids = 1, .ids = { 0xFFFF } },
		{ .op = 'i', .n_ids = LSW_COMMAND_IDS + 1 },
	};
	char out[LSW_LINE_MAX];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert_eq(lsw_command_put(out, &bad[i]), LSW_ECOMMAND, "case %zu", i);
}

/* Feeds input, collects the ops of commands and the bytes that are not ours. */
static void feed(struct lsw_line *l, const char *input, char *ops, char *rest)
{
	struct lsw_command c;
	bool ours;

	for (; *input; input++) {
		if (lsw_line_feed(l, (uint8_t)*input, &c, &ours))
			*ops++ = c.op;
		if (!ours)
			*rest++ = *input;
	}
	*ops = *rest = 0;
}

Test(codec_command, found_in_a_repls_input)
{
	struct lsw_line l = { .len = 0 };
	char ops[64], rest[512], big[200];

	feed(&l, "print(1)\r\n~+\nx = ~1\n~r2\r\n~bad\n~n\n", ops, rest);
	cr_assert_str_eq(ops, "+rn");
	cr_assert_str_eq(rest, "print(1)\r\nx = ~1\n\n");
	memset(big, '~', sizeof(big));
	memcpy(big + 150, "\n~-\n", 5);
	feed(&l, big, ops, rest);
	cr_assert_str_eq(ops, "-", "a line that is too long is skipped to its end");
}
