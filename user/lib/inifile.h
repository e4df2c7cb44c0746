/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inifile.h - "[section]" and "key = value" lines, read strictly: what is not understood is told with its line.
 *
 * inih splits the lines. Its habits that are too lenient are caught before it: it joins an indented line to the value above,
 * splits an overlong line, and says nothing of a section without keys. As packaged it takes 198 characters a line: longer values,
 * where they are allowed (a token in a header), go past it. A comment is a line that begins with ; or #, or what
 * follows " ;" in a line. The text is handed in whole; the first thing wrong ends the reading and is the fault
 * "SOURCE:LINE: what is wrong".
 *
 * Errors: -EINVAL, -ENOMEM; what a callback returns.
 */
#ifndef LOOPSCOPE_LIB_INIFILE_H
#define LOOPSCOPE_LIB_INIFILE_H

#include <stddef.h>

#include "lib/fault.h"

struct inifile {
	const char *source; /* for sentences: the path */
	const char *what;   /* "a probe file": for sentences */
	/* Both return 0, or a negative errno after inifile_refuse(). name and value are good for the call. */
	int (*section)(void *arg, const char *name); /* on its own line, also where no key follows */
	int (*key)(void *arg, const char *section, const char *name, const char *value); /* section "": before any */
	void *arg;
	size_t longest; /* characters a line; 0, or below inih's 198: those */
	enum exit_status status; /* of what is wrong in it: EXIT_FAILED, EXIT_USAGE */
	struct fault *f;
	/* while reading */
	unsigned line; /* of what was handed out last, from 1; a callback that knows better may set it before it refuses */
	int err;
	const char *next, *end;
	const char *long_value; /* of the last line, where it is too long for inih: up to `next` */
};

/* The first eight fields are the caller's. */
int inifile_parse(struct inifile *in, const char *text, size_t len);

/* Notes the error and fills the fault; returns -EINVAL. A later one does not hide the first. */
int inifile_refuse(struct inifile *in, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A regular file of at most max bytes into memory, which is the caller's to free. */
int inifile_load(const char *path, const char *what, size_t max, char **ret_text, size_t *ret_len, struct fault *f);

#endif
