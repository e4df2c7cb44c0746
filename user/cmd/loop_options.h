/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loop_options.h - the options that commands share which report loops, each said once: a spec for the table of the command, which
 * keeps its own config and gives the field's place in it. What an option means for one command alone stays with that command.
 */
#ifndef LOOPSCOPE_CMD_LOOP_OPTIONS_H
#define LOOPSCOPE_CMD_LOOP_OPTIONS_H

#include "cmd/observe.h"
#include "lib/options.h"
#include "model/loop_filter.h"

/* int, enum observe_sort */
#define OPTION_SORT(at) \
	{ 's', "sort", OPT_CHOICE, (at), "KEY", "order within a report, largest first (default load)", .choices = observe_sorts }

/* bool */
#define OPTION_ALL(at) { 'a', "all", OPT_FLAG, (at), NULL, "also threads that waited for IO but are not known to be loops" }

/* int, enum observe_format: of commands without single ticks */
#define OPTION_OUTPUT(at) \
	{ 'o', "output", OPT_CHOICE, (at), "FORMAT", "table for people (default); json for programs: one object a line", \
	  .choices = observe_formats }

/* const char *, NULL: the default; observe_columns_help() sees to "help" */
#define OPTION_COLUMNS(at) \
	{ 0, "columns", OPT_STRING, (at), "LIST", \
	  "columns of the table: names, separated by commas; +NAME adds to the default; all. '--columns help' lists them" }

/* struct opt_strings each, for loop_filter_new() */
#define OPTION_INCLUDE(at) \
	{ 0, "include", OPT_STRINGS, (at), "WHAT=PATTERN", \
	  "only loops that match this: comm=, thread=, cgroup= or runtime= and a shell's pattern, in which * also stands for slashes; of " \
	  "several, one has to match", .check = loop_filter_check }
#define OPTION_EXCLUDE(at) \
	{ 0, "exclude", OPT_STRINGS, (at), "WHAT=PATTERN", "no loops that match this, written likewise", .check = loop_filter_check }

#endif
