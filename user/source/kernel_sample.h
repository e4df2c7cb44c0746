/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel_sample.h - from the kernel side's record to the model's sample. Pure: no I/O. */
#ifndef LOOPSCOPE_SOURCE_KERNEL_SAMPLE_H
#define LOOPSCOPE_SOURCE_KERNEL_SAMPLE_H

#include "bpf/wire.h"
#include "model/loop.h"

void kernel_sample(const struct ls_snap *s, struct loop_sample *ret);

#endif
