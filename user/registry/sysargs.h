/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sysargs.h - a system call with the arguments that help: "fsync(/var/lib/x)", "read(tcp 127.0.0.1:5432)",
 * "flock(/run/lock)", "futex(0x7f...)", "poll(1 fd: tcp 10.0.0.2:6379)", "clock_nanosleep". fds are looked up in the target's /proc
 * now, so a reused fd may mislead by the time of a report: callers ask at once.
 */
#ifndef LOOPSCOPE_REGISTRY_SYSARGS_H
#define LOOPSCOPE_REGISTRY_SYSARGS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Of poll and ppoll, args[3] is no argument: this and the first fd, as it was when the call slept; 0 unknown. */
#define SYSARGS_POLLED_KNOWN (1ull << 32)

/* name: the call's name; args: its first four arguments. Writes a NUL-terminated text, cut at size. Hostile bytes in paths are
 * left raw: sinks escape. */
void sysargs_describe(pid_t pid, const char *name, const uint64_t args[4], char *ret, size_t size);
/* Which file a page fault at addr touched: "page fault in /usr/lib/x.so", "page fault in anonymous memory". */
void sysargs_describe_fault(pid_t pid, uint64_t addr, char *ret, size_t size);

#endif
