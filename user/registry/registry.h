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

/* What an entry point is good for, once uprobes are placed on it. Names are as in a probe file's [entry]. */
enum runtime_entry {
	RUNTIME_ENTRY_LOOP,   /* runs the loop until it stops */
	RUNTIME_ENTRY_TICK,   /* called once per tick */
	RUNTIME_ENTRY_POLL,   /* asks the kernel; may run callbacks inside itself */
	RUNTIME_ENTRY_TIMERS, /* runs the timers that are due */
	RUNTIME_ENTRY_COUNT,
};

/* What a loop's time is split by: a phase begins where one of its functions is entered, and lasts until another begins. */
#define RUNTIME_PHASES_MAX 8

struct runtime_phases {
	const char *const *names;   /* each once, NULL-terminated, at most RUNTIME_PHASES_MAX */
	const char *const *symbols; /* linker names, NULL-terminated */
	const size_t *which;        /* of symbols[i]: its phase's place in names */
};

struct runtime {
	const char *name;        /* "libuv"; what JSON's "runtime" shows */
	const char *description; /* one line */
	bool park_is_idle;       /* its threads park in a futex when out of work (Go, tokio): a futex sleep is idle, not
	                          * a blocked callback */
	const char *source;      /* file it came from, "" for unknown */
	/* Linker names, NULL-terminated, never NULL themselves. Most binaries are stripped: a bonus. */
	const char *const *entry[RUNTIME_ENTRY_COUNT];
	struct runtime_phases phases;
	/* Patterns of the base names of files, other than the executable, that may hold those functions. NULL-terminated. */
	const char *const *mapped;
};

/* Reads every *.probe of dir. NULL: $LOOPSCOPE_PROBES, else the first that has any of: ../share/loopscope/probes beside
 * the running program, the source tree it was built from, the installed place.
 * A malformed file is a fault with "FILE:LINE: what is wrong", EXIT_FAILED. */
int registry_load(const char *dir, struct registry **ret, struct fault *f);
void registry_free(struct registry *r);
size_t registry_count(const struct registry *r);
const struct runtime *registry_at(const struct registry *r, size_t i);

/* What the process is: never NULL (a static "unknown" when nothing matches or nothing can be read). syscall: the
 * name of the thread's IO wait, "" unknown, which then rules nothing out. thread: the thread's comm, raw, ""
 * unknown, which then matches no thread= pattern. Cost: one pass over /proc/PID/maps, tens of microseconds. What is
 * read from files is cached by device, inode, mtime and size, so a scan of 1,000 processes of one program reads it
 * once; nothing is remembered by PID, which gets reused, but between registry_round_begin() and registry_round_end(). Ask when a loop is first seen and after an exec, not every
 * interval. A process that loads libraries later (an import) may get a better answer later. */
const struct runtime *registry_recognise(struct registry *r, pid_t pid, const char *syscall, const char *thread);

/* Questions asked in one go: what was learnt of a process is kept until another is asked about, so that its thousand threads
 * cost one pass over its maps, which have a line or two for each of them. */
void registry_round_begin(struct registry *r);
void registry_round_end(struct registry *r);

#endif
