/* SPDX-License-Identifier: BSD-2-Clause */
/* export.h - what the user asked an export for, and the daemon that does it. */
#ifndef LOOPSCOPE_CMD_EXPORT_H
#define LOOPSCOPE_CMD_EXPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/fault.h"
#include "lib/options.h"

struct export_config {
	const char *listen;
	uint64_t interval_ns;
	struct opt_pids pids;
	struct opt_strings names, include, exclude, boards;
	uint64_t max_loops, baud, slow_ns;
	double budget;
	int edges;
	bool pid_label, no_slow, no_kernel;
};

static inline bool export_names_processes(const struct export_config *c)
{
	return c->pids.n || c->names.n;
}

/* Runs until SIGTERM or SIGINT. */
int export_daemon(const struct export_config *c, struct fault *f);

#endif
