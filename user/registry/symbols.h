/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * symbols.h - from addresses in a process to names of functions: ELF symbol tables, separate debug files (build-id,
 * debuglink, debuginfod where configured) through elfutils' libdwfl, JIT maps (/tmp/perf-PID.map in the target's own root and
 * PID namespace), demangled. Stripped code reads "module+0x1234". Everything read is hostile: bounded.
 *
 * A symbolizer keeps modules per process (identity: pid + start time) and drops the least recently used; JIT maps are read
 * again when they grew.
 */
#ifndef LOOPSCOPE_REGISTRY_SYMBOLS_H
#define LOOPSCOPE_REGISTRY_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct symbols;

int symbols_new(struct symbols **ret);
void symbols_free(struct symbols *s);

/* Names of n addresses (innermost first; the first is exact, the others are return addresses, looked up at addr - 1). Returns how
 * many could be named: a stack is cut at the first address that is no code, where a missing frame pointer has led astray. The
 * strings live until the next call, which may drop what has not been used for longest: copy what must live longer. A process
 * that has ended and was never looked at has no names. */
size_t symbols_resolve(struct symbols *s, pid_t pid, const uint64_t *addr, size_t n, const char **ret);

/* Whether a stack that ends with this return address is complete: it lies in _start, __libc_start_main, clone, clone3,
 * start_thread or the like. Frame pointers that are missing end a stack early or lead astray. */
bool symbols_is_outermost(struct symbols *s, pid_t pid, uint64_t addr);

#endif
