/* SPDX-License-Identifier: BSD-2-Clause */
/* record.h - what the files of `loopscope record` share. */
#ifndef LOOPSCOPE_CMD_RECORD_H
#define LOOPSCOPE_CMD_RECORD_H

#include "lib/fault.h"
#include "lib/options.h"
#include "model/recording.h"

struct record_config {
	struct opt_pids pids;
	struct opt_strings names, include, exclude, boards;
	uint64_t interval_ns, duration_ns, slow_ns, baud, max_bytes;
	const char *max_size;
	double budget;
	int edges, sort;
	bool all, no_slow, ticks, overwrite, no_kernel, quiet;
	/* not options */
	const char *path, *command;
	char **argv; /* of the command to start; NULL: none */
};

/* Until Ctrl-C, the end of the duration, or of all that was to be recorded. *ret_status: of a command that was started. */
int record(const struct record_config *c, int *ret_status, struct fault *f);

/* What is known of this machine. Strings are the caller's to keep: owned by *ret, freed with record_host_free(). */
int record_host(const struct record_config *c, int64_t start_ns, struct recording_host *ret, struct fault *f);
void record_host_free(struct recording_host *h);

#endif
