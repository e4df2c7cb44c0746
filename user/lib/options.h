/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options.h - options as data: a table of specs fills a typed config struct, checks it and prints --help.
 *
 * getopt_long does the reading, so that "-i5s", "-i 5s", "--interval=5s" and unique beginnings ("--int 5s") all work,
 * and "--" ends the options. -h/--help is always there. A command owns its config, which it fills with defaults first;
 * an option given twice overrides itself, unless its kind is a list. Strict: every value is read whole and checked, and
 * the first thing wrong is the fault.
 */
#ifndef LOOPSCOPE_LIB_OPTIONS_H
#define LOOPSCOPE_LIB_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/fault.h"

enum opt_kind {
	OPT_FLAG,     /* bool */
	OPT_STRING,   /* const char * (points into argv) */
	OPT_STRINGS,  /* struct opt_strings: may be given several times */
	OPT_PIDS,     /* struct opt_pids: several times, or 1,2,3 */
	OPT_DURATION, /* uint64_t ns */
	OPT_COUNT,    /* uint64_t, at least 1 */
	OPT_CHOICE,   /* int: index into the choices */
	OPT_SHARE,    /* double: "2%" or 0.02, 0 to 1 */
};

struct opt_strings {
	const char **v; /* owned by the config: options_release() frees it */
	size_t n;
};

struct opt_pids {
	int *v;
	size_t n;
};

struct opt_spec {
	char letter;      /* 0: none */
	const char *name; /* long name; NULL ends the table */
	enum opt_kind kind;
	size_t offset;              /* of the field in the config */
	const char *arg;            /* as help shows it: "TIME", "PID"; NULL for flags */
	/* Sentences, wrapped by --help; \n starts a new line, whose leading spaces are its indent, and two spaces or
	 * more in it set off a term ("\n  json  for programs"). Say the default here. Choices, bounds, "several
	 * allowed" and what the option excludes are added from the table: do not repeat them. */
	const char *help;
	const char *const *choices; /* OPT_CHOICE: NULL-terminated */
	int excludes;               /* non-zero: at most one option of this group may be given */
	uint64_t min, max;          /* OPT_DURATION and OPT_COUNT: bounds, 0 = none */
	/* Of OPT_STRING and OPT_STRINGS, what is more than a string; NULL: any will do. -EINVAL with the reason and the
	 * remedy in sentence. */
	int (*check)(const char *value, char *sentence, size_t size);
	bool command_line_only; /* has no place in a file of options */
};

/* Which specs were given, by their position in the table. */
struct opt_given {
	uint64_t bits;
};

#define OPTIONS_GIVEN_MAX 64 /* specs in a table of which that is asked */

/* What --help prints around the table of options. */
struct opt_usage {
	const char *command;  /* "attach" */
	const char *synopsis; /* "-p PID [options]" */
	const char *about;    /* one paragraph */
	const char *examples; /* lines, printed as they are; may be NULL */
	bool stop_at_operand; /* for `run -- CMD`: the first operand ends the options */
	int max_operands;     /* more is a usage error; -1: any number */
};

#define OPTIONS_HELP_SHOWN 1 /* --help was asked for and printed: the caller is done, with EXIT_DONE */
#define OPTIONS_PIDS_MAX 4096 /* in all; a PID given twice counts once */

/* argv[0] is the command's name. Returns 0, OPTIONS_HELP_SHOWN or -EINVAL with *f set to EXIT_USAGE and a sentence
 * that ends in "try 'loopscope COMMAND --help'"; also -ENOMEM, and -EIO if the help could not be written to stdout.
 * *ret_operand: index of the first operand in argv (argc if none); argv is permuted so that the operands come last.
 * On failure the config may be partly filled: options_release() is due in any case. Not for several threads at once:
 * getopt is not. */
int options_parse(const struct opt_usage *usage, const struct opt_spec *specs, void *config, int argc, char **argv,
		  int *ret_operand, struct fault *f);
/* The same, and which options there were. */
int options_parse_given(const struct opt_usage *usage, const struct opt_spec *specs, void *config, int argc, char **argv,
			int *ret_operand, struct opt_given *ret_given, struct fault *f);
void options_help(FILE *out, const struct opt_usage *usage, const struct opt_spec *specs);
/* Whether two configs hold the same in this option. */
bool options_same(const struct opt_spec *s, const void *a, const void *b);
/* Frees what OPT_STRINGS and OPT_PIDS hold, and empties them. */
void options_release(const struct opt_spec *specs, void *config);

#endif
