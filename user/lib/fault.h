/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fault.h - what went wrong, as one sentence for the user and one exit status for the shell.
 *
 * A function that can fail returns 0 or a negative errno and, where a user could act on it, fills a struct fault.
 * Nothing in lib, registry, model, source or sink prints: the command prints the fault, once.
 * A sentence says what happened and what to do next, without a trailing newline.
 */
#ifndef LOOPSCOPE_LIB_FAULT_H
#define LOOPSCOPE_LIB_FAULT_H

/* Exit statuses that users and scripts rely on: append only. */
enum exit_status {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,      /* the command line is wrong */
	EXIT_IMPOSSIBLE = 3, /* not possible here: privilege or kernel */
};

struct fault {
	enum exit_status status;
	char text[512]; /* "" while nothing is wrong */
};

/* Fills *f (f may be NULL) and returns err, so that `return fault(f, -ENOENT, EXIT_FAILED, "...")` reads well.
 * The first fault is kept: a later one on the way out does not hide the cause. */
int fault(struct fault *f, int err, enum exit_status status, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Prints "loopscope: <text>" on stderr, if there is text, with control characters made visible; returns f->status
 * (EXIT_FAILED where text was never set). */
int fault_report(const struct fault *f);

#endif
