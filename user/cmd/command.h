/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * command.h - what a command is. One file a command; main.c holds the table.
 */
#ifndef LOOPSCOPE_CMD_COMMAND_H
#define LOOPSCOPE_CMD_COMMAND_H

struct command {
	const char *name;
	const char *summary;                /* one line for the list of commands */
	int (*run)(int argc, char **argv); /* argv[0] is the command's name; returns an enum exit_status */
};

extern const struct command cmd_attach, cmd_doctor, cmd_export, cmd_record, cmd_report, cmd_run, cmd_scan, cmd_serial;

#endif
