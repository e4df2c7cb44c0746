/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe.h - one probe file in memory: a runtime, the rules that recognise it, its entry points.
 *
 * Internal to registry/. probes/README.md describes the format for people; probe_parse.c reads it. A struct probe is
 * only ever complete and checked: a malformed file yields none.
 * Ownership: probe_free() frees everything, accepts NULL.
 */
#ifndef LOOPSCOPE_REGISTRY_PROBE_H
#define LOOPSCOPE_REGISTRY_PROBE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/cleanup.h"
#include "lib/fault.h"
#include "registry/registry.h"

#define PROBE_RULES_MAX 8
#define PROBE_WORDS_MAX 16
#define PROBE_FILE_MAX  (64 * 1024)
#define PROBE_COMM_MAX  15 /* TASK_COMM_LEN - 1: a longer thread name is cut by the kernel */

/* A comma-separated value: any of them will do. v[n] is NULL. */
struct words {
	char *v[PROBE_WORDS_MAX + 1];
	size_t n;
};

/* A [match] section: every key that is given must hold. An empty list was not given. */
struct probe_rule {
	struct words exe; /* fnmatch on the executable's basename */
	struct words
		mapped; /* fnmatch on mapped files: the basename, or as many trailing components as the pattern has */
	struct words symbol;  /* defined in the executable or in a file that mapped= names; a trailing * is allowed */
	struct words import;  /* undefined there: taken from a shared library */
	struct words section; /* ELF section of those files */
	struct words text;    /* bytes in .rodata of the executable: the last resort */
	struct words thread;  /* fnmatch on the thread's comm */
	uint32_t syscalls;    /* set of io_wait_bit(); 0: any */
	unsigned line;        /* of the section's header */
};

struct probe {
	struct runtime runtime; /* points into this struct */
	char *name, *description, *source;
	unsigned priority; /* 0 to 100: the more specific runtime wins */
	struct words entry[RUNTIME_ENTRY_COUNT];
	struct words phase_symbols;
	char *phase_names[RUNTIME_PHASES_MAX + 1]; /* owned */
	size_t phase_of[PROBE_WORDS_MAX];          /* of each of phase_symbols */
	const char *mapped[PROBE_RULES_MAX * PROBE_WORDS_MAX + 1]; /* borrowed from the rules */
	struct probe_rule rules[PROBE_RULES_MAX];
	size_t n_rules;
	unsigned line; /* of [runtime] */
};

/* Parses text (need not be NUL-terminated); source is what messages call the file and what runtime.source shows.
 * -EINVAL with "FILE:LINE: what is wrong and what is allowed", -ENOMEM. */
int probe_parse(const char *source, const char *text, size_t len, struct probe **ret, struct fault *f);
/* Reads a regular file of at most PROBE_FILE_MAX bytes, then parses it. */
int probe_read(const char *path, struct probe **ret, struct fault *f);
void probe_free(struct probe *p);
DEFINE_CLEANUP(struct probe *, probe_free);

/* One bit per syscall that is an IO wait, 0 for any other name. */
uint32_t io_wait_bit(const char *syscall);
/* Union of the bits whose name matches an fnmatch pattern. */
uint32_t io_wait_bits_matching(const char *pattern);
/* "epoll_wait, epoll_pwait, ...": for messages. */
extern const char io_wait_names[];

#endif
