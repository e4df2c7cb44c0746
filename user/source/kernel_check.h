/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel_check.h - what this kernel and these privileges allow, found by trying, and libbpf's own words kept for a fault.
 */
#ifndef LOOPSCOPE_SOURCE_KERNEL_CHECK_H
#define LOOPSCOPE_SOURCE_KERNEL_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/fault.h"

enum check_result {
	CHECK_OK,
	CHECK_LIMITED, /* works, with less */
	CHECK_NO,      /* stands in the way */
};

struct check_line {
	char what[32];
	enum check_result result;
	char found[240];
	char remedy[160]; /* "" where nothing is to be done */
};

#define KERNEL_CHECKS_MAX 20

/* Fills lines in the order in which they should be read; returns how many. */
size_t kernel_checks(struct check_line lines[KERNEL_CHECKS_MAX]);

/* libbpf's messages go to a buffer from here on; the last one that names a cause, "" if none. */
void kernel_log_capture(void);
const char *kernel_log_last(void);

#endif
