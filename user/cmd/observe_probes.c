/* SPDX-License-Identifier: BSD-2-Clause */
/* observe_probes.c - see observe_probes.h. */
#include "cmd/observe_probes.h"

#include <errno.h>
#include <string.h>

#include "registry/functions.h"

#define NAMES_MAX 32

static const char *const glibc[] = { "libc.so.6", "libc-2.*.so", NULL };
static const char *const musl[] = { "ld-musl-*", "libc.so", NULL };
/* What makes an errno of a system call's result: in all that is linked with musl, and in no other libc by this name. */
static const char *const musl_mark[] = { "__syscall_ret" };

/* musl's epoll_wait is a jump to its epoll_pwait: with a probe on each, one wait would be two. */
static int without_epoll_wait(const char *const *names, size_t n, const char *kept[NAMES_MAX])
{
	if (n > NAMES_MAX)
		return -E2BIG;
	for (size_t i = 0; i < n; i++)
		kept[i] = strcmp(names[i], "epoll_wait") ? names[i] : "";
	return 0;
}

static int not_placed(void *arg, int path_fd, const uint64_t *offset, const size_t *which, size_t n)
{
	return 0;
}

static int find_in_exe(pid_t pid, const char *const *names, const char *const *of_musl, size_t n, kernel_place_fn place,
		       void *place_arg)
{
	int marks = functions_in_exe(pid, musl_mark, 1, not_placed, NULL);

	return marks < 0 ? marks : functions_in_exe(pid, marks ? of_musl : names, n, place, place_arg);
}

int observe_find_waits(void *arg, pid_t pid, const char *const *names, size_t n_names, kernel_place_fn place, void *place_arg)
{
	const char *of_musl[NAMES_MAX];
	int n = without_epoll_wait(names, n_names, of_musl);

	if (!n)
		n = functions_in_mapped(pid, glibc, names, n_names, place, place_arg);
	if (!n)
		n = functions_in_mapped(pid, musl, of_musl, n_names, place, place_arg);
	return n ? n : find_in_exe(pid, names, of_musl, n_names, place, place_arg);
}
