/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * child.h - a command that is started only once it is watched.
 *
 * It is forked, and waits; child_release() lets it become what it is to be. Fork before the first thread is started and before
 * the event loop blocks signals. Errors: -errno with a sentence in *f.
 */
#ifndef LOOPSCOPE_CMD_CHILD_H
#define LOOPSCOPE_CMD_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/fault.h"

struct child {
	pid_t pid;
	int pidfd;   /* readable when it has ended */
	int go_fd;   /* closed by us when it may exec */
	int exec_fd; /* tells errno if exec fails; closed by exec */
};

#define CHILD_NONE { .pidfd = -1, .go_fd = -1, .exec_fd = -1 }

/* Without keep_stdout, what it prints goes to standard error. */
int child_spawn(struct child *ch, char **argv, bool keep_stdout, struct fault *f);
int child_release(struct child *ch, const char *name, struct fault *f);
/* Waits for its end, kills it if it was never released, and returns its status as a shell does: 128 + N for signal N, 127 and
 * 126 where it could not be started. EXIT_FAILED where there is no child. */
int child_end(struct child *ch);
bool child_could_not_start(int status);

#endif
