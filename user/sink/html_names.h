/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * html_names.h - names that come again and again (stack frames, programs, system calls), each written into the page once.
 *
 * Bounded by number and by bytes. A name beyond that is HTML_NAME_NONE, which the page shows as left out; how many were asked for
 * in vain is counted.
 */
#ifndef LOOPSCOPE_SINK_HTML_NAMES_H
#define LOOPSCOPE_SINK_HTML_NAMES_H

#include <stddef.h>
#include <stdint.h>

#define HTML_NAME_NONE (-1)

struct html_name;

struct html_names {
	struct html_name *known; /* owned; in the order of their numbers */
	int64_t n;
	size_t bytes;
	int64_t left_out;
};

/* The name's number; bytes up to max or a NUL, hostile. HTML_NAME_NONE for "", too. */
int64_t html_names_number(struct html_names *names, const char *bytes, size_t max);
/* Calls fn for each, in the order of numbers; stops at the first that is not 0, and returns it. */
int html_names_each(const struct html_names *names, int (*fn)(void *arg, const char *name), void *arg);
void html_names_free(struct html_names *names);

#endif
