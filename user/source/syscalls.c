/* SPDX-License-Identifier: BSD-2-Clause */
/* syscalls.c - see syscalls.h. */
#include "source/syscalls.h"

#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Numbers are below 512 but for x32 and what a hostile register holds; beyond, one name serves all. */
#define NR_MAX 1024
#define N_ABI 3

static uint32_t seccomp_arch(unsigned abi)
{
	switch (abi) {
	case 1:
		return SCMP_ARCH_X86;
	case 2:
		return SCMP_ARCH_X32;
	default:
		return seccomp_arch_native();
	}
}

static char *resolve(unsigned abi, uint32_t nr)
{
	char *known = seccomp_syscall_resolve_num_arch(seccomp_arch(abi), (int)(abi == 2 ? nr | 0x40000000 : nr));
	char name[SYSCALL_NAME_LEN];

	if (known && strlen(known) < SYSCALL_NAME_LEN)
		return known;
	free(known);
	snprintf(name, sizeof(name), "syscall_%u", nr);
	return strdup(name);
}

const char *syscall_name(unsigned abi, uint32_t nr)
{
	/* Names are the same for the whole life of the program: a cache of constants, not state. */
	static char *names[N_ABI][NR_MAX];

	if (abi >= N_ABI || nr >= NR_MAX)
		return "syscall_unknown";
	if (!names[abi][nr])
		names[abi][nr] = resolve(abi, nr);
	return names[abi][nr] ? names[abi][nr] : "syscall_unknown";
}
