/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * functions.h - where functions begin in the files of a process, so that probes can be placed on them.
 *
 * Names are a linker's, exact. A function is found in .symtab where a file has one, else in .dynsym: most files are stripped,
 * and what is not exported has no name there. Offsets are the file's, as uprobes take them.
 */
#ifndef LOOPSCOPE_REGISTRY_FUNCTIONS_H
#define LOOPSCOPE_REGISTRY_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define FUNCTIONS_MAX 64 /* places in one file; what comes after is as if not there */

/* One file's places: offset[i] is where names[which[i]] begins, each offset once. A name may be at several: static functions
 * of the same name. path_fd: an O_PATH descriptor of the file, the caller's only for this call. Returns 0 to go on. */
typedef int (*functions_fn)(void *arg, int path_fd, const uint64_t *offset, const size_t *which, size_t n);

/* In the executable. Returns how many places were handed out, what fn returned below 0, or -errno. */
int functions_in_exe(pid_t pid, const char *const *names, size_t n_names, functions_fn fn, void *arg);
/* In each mapped file whose base name meets one of the patterns (fnmatch; NULL ends them). */
int functions_in_mapped(pid_t pid, const char *const *files, const char *const *names, size_t n_names, functions_fn fn, void *arg);

#endif
