/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loop_filter.h - which loops are wanted: patterns of what a loop is called and where it runs.
 *
 * A filter is WHAT=PATTERN: what is comm, thread, cgroup or runtime; the pattern is a shell's (fnmatch(3)), of the whole name;
 * * also stands for slashes. A loop is taken if one of the include filters matches, or there is none, and no exclude filter does.
 * Names are hostile: they are compared as valid UTF-8, what is invalid in them as U+FFFD, so that no name escapes a pattern by
 * its bytes. A name that is not known is "".
 *
 * Ownership: the texts are borrowed for the filter's life.
 */
#ifndef LOOPSCOPE_MODEL_LOOP_FILTER_H
#define LOOPSCOPE_MODEL_LOOP_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#include "model/record.h"

/* -EINVAL with what is wrong and the remedy in sentence; 0 for a text that loop_filter_new() will take. As struct opt_spec wants
 * a check. */
int loop_filter_check(const char *text, char *sentence, size_t size);

struct loop_filter;

/* Texts have to have passed loop_filter_check(): -EINVAL. -ENOMEM. */
int loop_filter_new(const char *const *include, size_t n_include, const char *const *exclude, size_t n_exclude,
		    struct loop_filter **ret);
void loop_filter_free(struct loop_filter *f); /* accepts NULL */

/* f NULL: takes all. */
bool loop_filter_takes(const struct loop_filter *f, const struct loop_record *r);

#endif
