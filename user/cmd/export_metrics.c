/* SPDX-License-Identifier: BSD-2-Clause */
/* export_metrics.c - see export_metrics.h. */
#include "cmd/export_metrics.h"

#include <time.h>
#include <unistd.h>

#include "registry/proc.h"

static void know_culprit(void *arg, int64_t pid, struct metrics_culprit *ret)
{
	struct proc_info info;

	if (!proc_info_read((pid_t)pid, &info))
		ret->kernel_thread = info.kernel_thread;
	if (!ret->kernel_thread && proc_cgroup_read((pid_t)pid, &ret->cgroup))
		ret->cgroup = NULL;
}

int export_metrics_new(const struct export_config *c, struct metrics **ret)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct timespec now;
	struct metrics_options o = {
		.max_groups = (size_t)c->max_loops, .pid_label = c->pid_label, .slow_ticks = !c->no_slow,
		.n_cpus = cpus > 0 ? (unsigned)cpus : 0, .culprit = know_culprit,
	};

	clock_gettime(CLOCK_REALTIME, &now);
	o.start_s = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
	return metrics_new(&o, ret);
}
