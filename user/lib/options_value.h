/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options_value.h - one value of one option, from text into its field. Only for options.c and options_file.c.
 */
#ifndef LOOPSCOPE_LIB_OPTIONS_VALUE_H
#define LOOPSCOPE_LIB_OPTIONS_VALUE_H

#include "lib/options.h"
#include "lib/text.h"

/* What the user typed, in a sentence: on one line, and short enough to leave room for the sentence. */
#define QUOTE_SIZE 68

struct opt_quote {
	char text[QUOTE_SIZE];
};

struct opt_quote options_quote(const char *s);

/* value: NULL for flags only. Returns 0, -EINVAL with the reason and the remedy in sentence ("'5x' is not a time; write
 * for example 250us, 50ms or 5s"), or -ENOMEM. */
int options_read_value(const struct opt_spec *s, const char *value, void *field, char *sentence, size_t size);

#endif
