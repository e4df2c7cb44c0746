/* SPDX-License-Identifier: BSD-2-Clause */
/* main.c - the table of commands, nothing else. */
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cmd/command.h"
#include "lib/cleanup.h"
#include "lib/fault.h"
#include "lib/standard.h"
#include "lib/text.h"

#define NAME_SHOWN 40

static const struct command *const commands[] = { &cmd_attach, &cmd_run, &cmd_scan, &cmd_serial, &cmd_export, &cmd_record, &cmd_report, &cmd_doctor };

static void usage(FILE *out)
{
	fprintf(out, "Usage: loopscope COMMAND [options]\n\n"
		     "Says how loaded event loops are, and takes waiting for the CPU out of both busy and idle.\n\n"
		     "Commands:\n");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(out, "  %-8s %s\n", commands[i]->name, commands[i]->summary);
	fprintf(out, "\n'loopscope COMMAND --help' tells more. Start with: loopscope scan\n");
}

static int printed(void)
{
	if (!fflush(stdout) || errno == EPIPE)
		return EXIT_DONE;
	fprintf(stderr, "loopscope: it cannot be written to stdout (%s); see where that leads\n", strerror(errno));
	return EXIT_FAILED;
}

static int run(int argc, char **argv)
{
	char name[TEXT_ESCAPED_SIZE(NAME_SHOWN)];

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(argv[0], commands[i]->name))
			return commands[i]->run(argc, argv);
	text_quote(name, sizeof(name), argv[0], NAME_SHOWN);
	fprintf(stderr, "loopscope: '%s' is no command; 'loopscope --help' lists them\n", name);
	return EXIT_USAGE;
}

int main(int argc, char **argv)
{
	if (standard_fds_hold())
		return EXIT_FAILED; /* and nowhere to say so */
	/* Characters, not numbers: a decimal comma would break JSON and parsers of the table. */
	setlocale(LC_CTYPE, "");
	/* A reader that is gone is an error of a write, so that everything is detached on the way out. */
	signal(SIGPIPE, SIG_IGN);
	if (argc < 2) {
		usage(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "help") && argc == 3) {
		char *its_help[] = { argv[2], "--help", NULL };

		return run(2, its_help);
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		usage(stdout);
		return printed();
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("loopscope " LOOPSCOPE_VERSION);
		return printed();
	}
	return run(argc - 1, argv + 1);
}
