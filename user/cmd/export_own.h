/* SPDX-License-Identifier: BSD-2-Clause */
/* export_own.h - what an export says of itself: build, kernel, features, its CPU time and memory, what reading took. */
#ifndef LOOPSCOPE_CMD_EXPORT_OWN_H
#define LOOPSCOPE_CMD_EXPORT_OWN_H

#include <stdbool.h>
#include <stdint.h>

#include "model/metrics.h"

/* Once: what does not change. */
void export_own_build(struct metrics *m);
void export_own_feature(struct metrics *m, const char *feature, bool on);

struct export_own_readings {
	uint64_t n, ns;
};

void export_own_count(struct metrics *m, const struct export_own_readings *r);

#endif
