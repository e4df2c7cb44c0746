/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * outfile.h - a growing file of whole lines, or stdout, under one stream for as long as the program runs: rotation and a full disk
 * change what is below, not the stream.
 *
 * What is written between two commits is all there or not at all: outfile_rollback() takes back what a failed write has left, so
 * that no half line stands in the file when there is room again. (Only of a regular file of its own: a pipe has been read, and
 * stdout may be shared.)
 */
#ifndef LOOPSCOPE_SINK_OUTFILE_H
#define LOOPSCOPE_SINK_OUTFILE_H

#include <stdio.h>

#include "lib/fault.h"

struct outfile;

/* path "-" is stdout; else it is appended to, and made (mode 0644) if need be. */
int outfile_open(const char *path, struct outfile **ret, struct fault *f);
/* Errors are those of the last flush: commit first. Leaves stdout open. Accepts NULL. */
void outfile_close(struct outfile *o);

FILE *outfile_stream(const struct outfile *o);

/* What has been flushed stays. Call it when a flush has succeeded. */
void outfile_commit(struct outfile *o);
/* Takes back what came after the last commit, also from the stream's buffer and its error flag. */
void outfile_rollback(struct outfile *o);

/* Opens the path anew, as after a rotation by rename: what comes next goes there. On failure all stays as it was. Commit first. */
int outfile_reopen(struct outfile *o, struct fault *f);

#endif
