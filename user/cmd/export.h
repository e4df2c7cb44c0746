/* SPDX-License-Identifier: BSD-2-Clause */
/* export.h - what the user asked an export for, and the daemon that does it. */
#ifndef LOOPSCOPE_CMD_EXPORT_H
#define LOOPSCOPE_CMD_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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
	/* Besides serving: */
	const char *textfile, *ndjson, *otlp;
	uint64_t push_ns, otlp_timeout_ns, otlp_queue_mib;
	struct opt_strings otlp_headers, otlp_resource;
	/* For the command itself: */
	const char *config;
	bool check_config;
};

static inline bool export_names_processes(const struct export_config *c)
{
	return c->pids.n || c->names.n;
}

static inline bool export_listens(const struct export_config *c)
{
	return strcmp(c->listen, "none") != 0;
}

/* The command line and, where it names one, the file of options. The config's strings belong to it. */
struct export_settings;

/* OPTIONS_HELP_SHOWN where that was all that was wanted. */
int export_settings_load(int argc, char **argv, struct export_settings **ret, struct fault *f);
void export_settings_free(struct export_settings *s); /* accepts NULL */
const struct export_config *export_settings_config(const struct export_settings *s);
/* How many options differ that can't change while it runs; their long names, as "a, b, c". */
size_t export_settings_fixed_differ(const struct export_settings *a, const struct export_settings *b, char *names, size_t size);

/* Runs until SIGTERM or SIGINT. On SIGHUP the settings are loaded anew from the same command line. */
int export_daemon(const struct export_settings *s, int argc, char **argv, struct fault *f);

#endif
