/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * textfile.h - a small file that others read at any time, replaced as a whole: what node_exporter's textfile collector wants.
 *
 * A temporary file in the same folder, written, on disk, renamed: a reader sees the one before or the new one, and if something
 * fails on the way, the one before stays. The temporary's name begins with a dot and does not end in the file's suffix, so that no
 * collector takes it for one of its own.
 */
#ifndef LOOPSCOPE_SINK_TEXTFILE_H
#define LOOPSCOPE_SINK_TEXTFILE_H

#include <stddef.h>

#include "lib/fault.h"

/* Replaces DIR/NAME by these bytes, readable for all. Returns 0 or -errno with a sentence in *f; nothing is left of a failed try. */
int textfile_write(const char *dir, const char *name, const char *bytes, size_t n, struct fault *f);

/* Whether files can be made there now, found by making one: the same errors. */
int textfile_check(const char *dir, const char *name, struct fault *f);

#endif
