/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * registry.h - which runtime's loop is this? Probe files (probes/NAME.probe) say how to recognise one; this reads and
 * checks them, and holds them against a process's executable, its mapped files and their symbols.
 *
 * Everything read from a target (ELF, maps, names) is hostile input: bounded, never trusted, never executed.
 */
#ifndef LOOPSCOPE_REGISTRY_REGISTRY_H
#define LOOPSCOPE_REGISTRY_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/fault.h"

struct registry;

struct runtime {
	const char *name;        /* "libuv"; what JSON's "runtime" shows */
	const char *description; /* one line */
	bool park_is_idle;       /* its threads park in a futex when out of work (Go, tokio): a futex sleep is idle, not
	                          * a blocked callback */
	const char *source;      /* file it came from */
};

/* Reads every *.probe of dir (NULL: $LOOPSCOPE_PROBES, else the build's tree or the installed place, whichever has any).
 * A malformed file is a fault with "FILE:LINE: what is wrong", EXIT_FAILED. */
int registry_load(const char *dir, struct registry **ret, struct fault *f);
void registry_free(struct registry *r);
size_t registry_count(const struct registry *r);
const struct runtime *registry_at(const struct registry *r, size_t i);

/* What the process is: never NULL (a static "unknown" when nothing matches or nothing can be read). Results are cached by
 * executable (device, inode, mtime), so a scan of 1,000 processes of one program reads it once. syscall: the name of the
 * thread's IO wait, "" unknown. thread: the thread's comm. */
const struct runtime *registry_recognise(struct registry *r, pid_t pid, const char *syscall, const char *thread);

#endif
