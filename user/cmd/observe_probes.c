/* SPDX-License-Identifier: BSD-2-Clause */
/* observe_probes.c - see observe_probes.h. */
#include "cmd/observe_probes.h"

#include <errno.h>
#include <stdio.h>
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

/* --- phases ------------------------------------------------------------------------------------------------------------- */

struct search {
	const struct runtime *runtime;
	kernel_place_fn place;
	void *place_arg;
	bool found[RUNTIME_PHASES_MAX];
};

/* From functions to the phases that they begin. */
static int place_phases(void *arg, int path_fd, const uint64_t *offset, const size_t *which, size_t n)
{
	struct search *s = arg;
	size_t phase[FUNCTIONS_MAX];

	for (size_t i = 0; i < n; i++) {
		phase[i] = s->runtime->phases.which[which[i]];
		s->found[phase[i]] = true;
	}
	return s->place(s->place_arg, path_fd, offset, phase, n);
}

static void tell_missing(const struct search *s, pid_t pid)
{
	const char *const *names = s->runtime->phases.names;
	bool any = false, all = true;

	if (!names[0]) {
		fprintf(stderr, "loopscope: --phases: process %d stays whole: runtime %s, and no probe file names phases of that\n", (int)pid,
			s->runtime->name);
		return;
	}
	for (size_t i = 0; names[i]; i++) {
		any = any || s->found[i];
		all = all && s->found[i];
	}
	if (all)
		return;
	fprintf(stderr, "loopscope: --phases: process %d (%s) has no symbol for", (int)pid, s->runtime->name);
	for (size_t i = 0, n = 0; names[i]; i++)
		if (!s->found[i])
			fprintf(stderr, "%s %s", n++ ? "," : "", names[i]);
	fprintf(stderr, "%s; a binary that is not stripped would\n", any ? ": their time is with the phase before" : "");
}

int observe_find_phases(struct registry *r, pid_t pid, bool tell, const char *const **ret_names, kernel_place_fn place, void *place_arg)
{
	struct search s = { .runtime = registry_recognise(r, pid, "", ""), .place = place, .place_arg = place_arg };
	const struct runtime_phases *p = &s.runtime->phases;
	size_t n_symbols = 0;
	int n = 0, more;

	*ret_names = p->names;
	while (p->symbols[n_symbols])
		n_symbols++;
	if (n_symbols) {
		n = functions_in_exe(pid, p->symbols, n_symbols, place_phases, &s);
		if (n == -ENOEXEC || n == -EACCES)
			n = 0; /* a library may still be read */
		more = n < 0 ? 0 : functions_in_mapped(pid, s.runtime->mapped, p->symbols, n_symbols, place_phases, &s);
		n = more < 0 ? more : n + more;
	}
	if (tell && n >= 0)
		tell_missing(&s, pid);
	return n;
}
