/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * output.h - writing a report so that no failure goes unseen: a full disk must not look like a short report.
 *
 * Both return 0 or -errno. -EPIPE comes without a sentence (the reader has gone, see sink.h); SIGPIPE is the program's
 * business and has to be ignored for -EPIPE to be seen at all. Any other errno comes with a sentence in *f.
 * The stream stays the caller's.
 */
#ifndef LOOPSCOPE_SINK_OUTPUT_H
#define LOOPSCOPE_SINK_OUTPUT_H

#include <stddef.h>
#include <stdio.h>

#include "lib/fault.h"

int output_write(FILE *out, const char *bytes, size_t n, struct fault *f);
/* Once per interval: what was written is with the reader now. */
int output_flush(FILE *out, struct fault *f);

#endif
