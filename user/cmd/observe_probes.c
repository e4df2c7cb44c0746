/* SPDX-License-Identifier: BSD-2-Clause */
/* observe_probes.c - see observe_probes.h. */
#include "cmd/observe_probes.h"

#include <errno.h>
#include <string.h>

#include "registry/functions.h"

#define NAMES_MAX 32

static const char *const glibc[] = { "libc.so.6", "libc-2.*.so", NULL };
static const char *const musl[] = { "ld-musl-*", "libc.so", NULL };

/* musl's epoll_wait is a jump to its epoll_pwait: with a probe on each, one wait would be two. */
static int find_in_musl(pid_t pid, const char *const *names, size_t n, kernel_place_fn place, void *place_arg)
{
	const char *kept[NAMES_MAX];

	if (n > NAMES_MAX)
		return -E2BIG;
	for (size_t i = 0; i < n; i++)
		kept[i] = strcmp(names[i], "epoll_wait") ? names[i] : "";
	return functions_in_mapped(pid, musl, kept, n, place, place_arg);
}

int observe_find_waits(void *arg, pid_t pid, const char *const *names, size_t n_names, kernel_place_fn place, void *place_arg)
{
	int n = functions_in_mapped(pid, glibc, names, n_names, place, place_arg);

	if (!n)
		n = find_in_musl(pid, names, n_names, place, place_arg);
	return n ? n : functions_in_exe(pid, names, n_names, place, place_arg);
}
