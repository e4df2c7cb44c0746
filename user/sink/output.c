/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * output.c - writing a report so that no failure goes unseen.
 *
 * errno is read at the call that fails: stdio keeps only a flag, and a later fflush() with nothing left to write
 * succeeds. The flag is still looked at, for a failure that somebody else's write on the same stream ran into.
 */
#include "sink/output.h"

#include <errno.h>
#include <string.h>

static int write_failed(int err, struct fault *f)
{
	if (err == EPIPE)
		return -EPIPE;
	return fault(f, -err, EXIT_FAILED, "the report can't be written: %s; %s", strerror(err),
		     err == ENOSPC || err == EDQUOT ? "free some space, or send it elsewhere"
						    : "check where the output goes");
}

int output_write(FILE *out, const char *bytes, size_t n, struct fault *f)
{
	errno = 0;
	if (fwrite(bytes, 1, n, out) == n)
		return 0;
	return write_failed(errno ? errno : EIO, f);
}

int output_flush(FILE *out, struct fault *f)
{
	errno = 0;
	if (fflush(out) == 0 && !ferror(out))
		return 0;
	return write_failed(errno ? errno : EIO, f);
}
