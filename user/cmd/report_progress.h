/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report_progress.h - how far reading has come, on standard error where that is a terminal and it takes longer than a second; and
 * Ctrl-C, which ends it.
 */
#ifndef LOOPSCOPE_CMD_REPORT_PROGRESS_H
#define LOOPSCOPE_CMD_REPORT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct report_progress {
	int signals; /* a signalfd, -1: none */
	uint64_t begun_ns, told_ns;
	bool shown;
};

void report_progress_begin(struct report_progress *p);
/* A recording_progress_fn. -EINTR: the user has had enough. */
int report_progress_step(void *arg, double done);
void report_progress_end(struct report_progress *p);

#endif
