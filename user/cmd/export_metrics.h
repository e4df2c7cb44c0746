/* SPDX-License-Identifier: BSD-2-Clause */
/* export_metrics.h - the metrics of an export as its config wants them, and what /proc says of who had the CPU. */
#ifndef LOOPSCOPE_CMD_EXPORT_METRICS_H
#define LOOPSCOPE_CMD_EXPORT_METRICS_H

#include "cmd/export.h"
#include "model/metrics.h"

/* They begin now. */
int export_metrics_new(const struct export_config *c, struct metrics **ret);

#endif
