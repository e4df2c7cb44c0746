/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options_file.h - a file of options: the table that reads the command line reads it too, so that nothing is described twice.
 *
 *     [export]
 *     interval = 15s
 *     include = comm=redis*      one that may be given several times: a line each
 *     pid-label = yes            one without a value: yes or no
 *
 * A key is an option's long name. What was given on the command line wins, also against a key that it excludes. Strict: an
 * unknown section or key, a key given twice, keys that exclude each other (a no excludes nothing) and a bad value are errors, "FILE:LINE: ...", with
 * EXIT_USAGE. Comments: see inifile.h.
 *
 * Ownership: strings of the config point into the file's memory: options_file_free() after the config's last use.
 */
#ifndef LOOPSCOPE_LIB_OPTIONS_FILE_H
#define LOOPSCOPE_LIB_OPTIONS_FILE_H

#include "lib/options.h"

struct opt_file;

#define OPTIONS_FILE_MAX (64 * 1024)
#define OPTIONS_FILE_LINE_MAX 8190 /* what servers take of a header */

/* At most OPTIONS_GIVEN_MAX specs. The section is the command's name. On failure the config may be partly filled. */
int options_file_read(const char *path, const struct opt_usage *usage, const struct opt_spec *specs, const struct opt_given *given,
		      void *config, struct opt_file **ret, struct fault *f);
void options_file_free(struct opt_file *file); /* accepts NULL */

/* The config as such a file would spell it: what is in force. An option that is not set is a comment. Write errors are left for
 * the caller's fflush(). */
void options_file_print(FILE *out, const struct opt_usage *usage, const struct opt_spec *specs, const void *config);

#endif
