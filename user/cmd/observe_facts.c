/* SPDX-License-Identifier: BSD-2-Clause */
/* observe_facts.c - see observe_facts.h. */
#include "cmd/observe_facts.h"

#include <stdlib.h>
#include <string.h>

static void forget(struct observe_facts *x)
{
	free(x->cgroup);
	x->cgroup = NULL;
	x->known = false;
}

static void look_at(struct observe_facts *x, uint32_t pid)
{
	if (x->known && x->pid == pid)
		return;
	forget(x);
	x->known = true;
	x->pid = pid;
	x->has_info = !proc_info_read((pid_t)pid, &x->info);
	if (proc_cgroup_read((pid_t)pid, &x->cgroup))
		x->cgroup = NULL;
	x->stdin_is_tty = -1;
}

static bool stdin_is_tty(struct observe_facts *x)
{
	if (x->stdin_is_tty < 0)
		x->stdin_is_tty = proc_fd_is_tty((pid_t)x->pid, 0);
	return x->stdin_is_tty;
}

void observe_facts_read(void *arg, const struct loop_sample *s, struct loop_facts *ret)
{
	struct observe_facts *x = arg;
	const struct runtime *rt;

	look_at(x, s->id.pid);
	memcpy(ret->comm, s->thread, LOOP_COMM_LEN); /* all there is, if the process has ended */
	if (x->has_info) {
		memcpy(ret->comm, x->info.comm, LOOP_COMM_LEN);
		ret->nspid = x->info.nspid;
	}
	ret->cgroup = x->cgroup ? strdup(x->cgroup) : NULL;
	rt = registry_recognise(x->registry, (pid_t)s->id.pid, s->wait_syscall, s->thread);
	ret->runtime = rt->name;
	ret->runtime_known = strcmp(rt->name, "unknown") != 0;
	ret->park_is_idle = rt->park_is_idle;
	ret->stdin_is_tty = s->wait_nfds == 1 && stdin_is_tty(x);
}

void observe_facts_round_begin(struct observe_facts *x)
{
	registry_round_begin(x->registry);
}

void observe_facts_round_end(struct observe_facts *x)
{
	registry_round_end(x->registry);
	forget(x);
}
