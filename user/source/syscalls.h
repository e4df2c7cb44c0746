/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * syscalls.h - from a system call's number to its name, through libseccomp, which knows the tables of all architectures.
 */
#ifndef LOOPSCOPE_SOURCE_SYSCALLS_H
#define LOOPSCOPE_SOURCE_SYSCALLS_H

#include <stdint.h>

#define SYSCALL_NAME_LEN 32

/* abi: the entry's table, as enum ls_abi numbers them (0 native, 1 ia32, 2 x32). Always a valid, interned string that lives
 * as long as the program: "syscall_462" where the library does not know the number. */
const char *syscall_name(unsigned abi, uint32_t nr);

#endif
