/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proc_find.c - processes by name.
 */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/parse.h"
#include "registry/proc.h"
#include "registry/proc_file.h"
#include "registry/target.h"

struct pids {
	pid_t *v;
	size_t n, room;
};

static int pids_add(struct pids *p, pid_t pid)
{
	if (p->n == p->room) {
		size_t room = p->room ? 2 * p->room : 16;
		pid_t *v = realloc(p->v, room * sizeof(*v));

		if (!v)
			return -ENOMEM;
		p->v = v;
		p->room = room;
	}
	p->v[p->n++] = pid;
	return 0;
}

static int ascending(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return (x > y) - (x < y);
}

static const char *basename_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_user_process(pid_t pid)
{
	struct proc_stat stat;
	char buf[1024];

	return proc_file_read(buf, sizeof(buf), "/proc/%d/stat", pid) > 0 && !proc_stat_parse(buf, &stat) &&
	       !(stat.flags & PROC_PF_KTHREAD) && stat.state != 'Z' && stat.state != 'X';
}

static bool name_matches(pid_t pid, const char *pattern)
{
	char buf[4096], comm[16];

	if (!proc_thread_comm_read(pid, pid, comm) && !fnmatch(pattern, comm, 0))
		return true;
	/* argv[0] ends at the first NUL, where proc_file_read() puts one at the latest. */
	if (proc_file_read(buf, sizeof(buf), "/proc/%d/cmdline", pid) > 0 && !fnmatch(pattern, basename_of(buf), 0))
		return true;
	return !target_exe_name(pid, buf, sizeof(buf)) && !fnmatch(pattern, buf, 0);
}

int proc_find_by_name(const char *pattern, pid_t **ret, size_t *ret_n)
{
	_cleanup_closedir_ DIR *proc = opendir("/proc");
	struct pids found = {};
	struct dirent *e;
	int err = 0;

	if (!proc)
		return -errno;
	while (!err && (e = readdir(proc))) {
		pid_t pid;

		if (parse_pid(e->d_name, &pid) < 0 || pid == getpid())
			continue;
		if (name_matches(pid, pattern) && is_user_process(pid))
			err = pids_add(&found, pid);
	}
	if (err) {
		free(found.v);
		return err;
	}
	if (found.n)
		qsort(found.v, found.n, sizeof(*found.v), ascending);
	*ret = found.v;
	*ret_n = found.n;
	return 0;
}
