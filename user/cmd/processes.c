/* SPDX-License-Identifier: BSD-2-Clause */
/* processes.c - see processes.h. */
#include "cmd/processes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "registry/proc.h"

int processes_check(pid_t pid, struct fault *f)
{
	struct proc_info info;
	int err = proc_info_read(pid, &info);

	if (err)
		return fault(f, err, EXIT_FAILED, "there is no process %d; 'loopscope scan' lists the loops that run now", pid);
	if (info.kernel_thread)
		return fault(f, -EINVAL, EXIT_FAILED, "%d is a kernel thread, which has no event loop of this kind; give a program's PID",
			     pid);
	if (info.tgid != pid)
		return fault(f, -EINVAL, EXIT_FAILED, "%d is a thread of process %d; use -p %d, which watches all its threads", pid,
			     info.tgid, info.tgid);
	return 0;
}

static int collect(pid_t **pids, size_t *n, pid_t pid, struct fault *f)
{
	pid_t *p;

	for (size_t i = 0; i < *n; i++)
		if ((*pids)[i] == pid)
			return 0;
	p = reallocarray(*pids, *n + 1, sizeof(*p));
	if (!p)
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	p[(*n)++] = pid;
	*pids = p;
	return 0;
}

static int collect_by_name(const char *name, pid_t **pids, size_t *n, struct fault *f)
{
	_cleanup_free_ pid_t *found = NULL;
	size_t n_found = 0;
	int err = proc_find_by_name(name, &found, &n_found);

	if (err)
		return fault(f, err, EXIT_FAILED, "/proc can't be read: %s", strerror(-err));
	if (!n_found)
		return fault(f, -ESRCH, EXIT_FAILED, "no process is named '%s'; 'loopscope scan' lists the loops that run now", name);
	for (size_t i = 0; i < n_found && !err; i++)
		err = collect(pids, n, found[i], f);
	return err;
}

int processes_collect(const struct opt_pids *pids, const struct opt_strings *names, pid_t **ret, size_t *ret_n, struct fault *f)
{
	int err = 0;

	for (size_t i = 0; i < pids->n && !err; i++) {
		err = processes_check(pids->v[i], f);
		if (!err)
			err = collect(ret, ret_n, pids->v[i], f);
	}
	for (size_t i = 0; i < names->n && !err; i++)
		err = collect_by_name(names->v[i], ret, ret_n, f);
	return err;
}

/* A PID is used again; with the moment of its start it is one process. */
struct known_process {
	pid_t pid;
	uint64_t start_ticks;
};

struct process_finder {
	const struct opt_strings *names;
	struct known_process *known;
	size_t n_known;
};

int process_finder_new(const struct opt_strings *names, struct process_finder **ret)
{
	struct process_finder *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->names = names;
	*ret = p;
	return 0;
}

void process_finder_free(struct process_finder *p)
{
	if (!p)
		return;
	free(p->known);
	free(p);
}

static bool is_in(const struct known_process *list, size_t n, const struct known_process *p)
{
	for (size_t i = 0; i < n; i++)
		if (list[i].pid == p->pid && list[i].start_ticks == p->start_ticks)
			return true;
	return false;
}

static int add(struct known_process **list, size_t *n, const pid_t *pids, size_t n_pids)
{
	struct known_process *p = reallocarray(*list, *n + n_pids + 1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	*list = p;
	for (size_t i = 0; i < n_pids; i++) {
		struct known_process new = { .pid = pids[i] };
		struct proc_info info;

		if (proc_info_read(pids[i], &info))
			continue; /* it has just ended */
		new.start_ticks = info.start_ticks;
		if (!is_in(p, *n, &new))
			p[(*n)++] = new;
	}
	return 0;
}

int process_finder_look(struct process_finder *p, int (*found)(void *arg, pid_t pid, struct fault *f), void *arg, struct fault *f)
{
	struct known_process *now = NULL;
	size_t n = 0;
	int err = 0;

	for (size_t i = 0; i < p->names->n && !err; i++) {
		_cleanup_free_ pid_t *pids = NULL;
		size_t n_pids = 0;

		err = proc_find_by_name(p->names->v[i], &pids, &n_pids);
		if (!err)
			err = add(&now, &n, pids, n_pids);
	}
	if (err) {
		free(now);
		return fault(f, err, EXIT_FAILED, "/proc can't be read: %s", strerror(-err));
	}
	for (size_t i = 0; i < n && !err; i++)
		if (!is_in(p->known, p->n_known, &now[i]))
			err = found(arg, now[i].pid, f);
	free(p->known);
	p->known = now;
	p->n_known = n;
	return err;
}
