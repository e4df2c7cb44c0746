/* SPDX-License-Identifier: BSD-2-Clause */
/* options_file.c - see options_file.h. */
#include "lib/options_file.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/inifile.h"
#include "lib/options_value.h"

struct opt_file {
	char **values; /* as read: what strings of the config point to */
	size_t n;
};

struct reader {
	struct inifile in;
	const struct opt_usage *usage;
	const struct opt_spec *specs;
	const struct opt_given *given;
	void *config;
	struct opt_file *file;
	uint64_t seen, in_force; /* keys, by position; a flag that says no is not in force and excludes nothing */
};

void options_file_free(struct opt_file *file)
{
	if (!file)
		return;
	for (size_t i = 0; i < file->n; i++)
		free(file->values[i]);
	free(file->values);
	free(file);
}
DEFINE_CLEANUP(struct opt_file *, options_file_free);

static const char *keep(struct opt_file *file, const char *value)
{
	char **more = reallocarray(file->values, file->n + 1, sizeof(*more));

	if (!more)
		return NULL;
	file->values = more;
	more[file->n] = strdup(value);
	return more[file->n] ? more[file->n++] : NULL;
}

static int on_section(void *arg, const char *name)
{
	struct reader *r = arg;

	if (strcmp(name, r->usage->command))
		return inifile_refuse(&r->in, "unknown section [%s]: there is only [%s]", options_quote(name).text,
				      r->usage->command);
	return 0;
}

static bool is_list(const struct opt_spec *s)
{
	return s->kind == OPT_STRINGS || s->kind == OPT_PIDS;
}

/* Whether the command line has the last word on this one. */
static bool overruled(const struct reader *r, size_t i)
{
	for (size_t j = 0; r->specs[j].name; j++)
		if (r->given->bits >> j & 1 &&
		    (j == i || (r->specs[i].excludes && r->specs[i].excludes == r->specs[j].excludes)))
			return true;
	return false;
}

static int check_place(struct reader *r, size_t i)
{
	const struct opt_spec *s = &r->specs[i];

	if (s->command_line_only)
		return inifile_refuse(&r->in, "'%s' is for the command line only: take the line out", s->name);
	if (r->seen >> i & 1 && !is_list(s))
		return inifile_refuse(&r->in, "'%s' is given twice: keep one of the lines", s->name);
	r->seen |= UINT64_C(1) << i;
	return 0;
}

static int check_exclusion(struct reader *r, size_t i, const char *value)
{
	const struct opt_spec *s = &r->specs[i];

	if (s->kind == OPT_FLAG && strcmp(value, "yes"))
		return 0;
	for (size_t j = 0; r->specs[j].name; j++)
		if (j != i && r->in_force >> j & 1 && s->excludes && s->excludes == r->specs[j].excludes)
			return inifile_refuse(&r->in, "'%s' and '%s' exclude each other: keep one of the lines",
					      r->specs[j].name, s->name);
	r->in_force |= UINT64_C(1) << i;
	return 0;
}

static int set(struct reader *r, const struct opt_spec *s, const char *value, void *field)
{
	const char *kept;
	char sentence[300];
	int err;

	if (s->kind == OPT_FLAG) {
		*(bool *)field = !strcmp(value, "yes");
		if (*(bool *)field || !strcmp(value, "no"))
			return 0;
		return inifile_refuse(&r->in, "%s: '%s' is neither yes nor no", s->name, options_quote(value).text);
	}
	kept = keep(r->file, value);
	err = kept ? options_read_value(s, kept, field, sentence, sizeof(sentence)) : -ENOMEM;
	if (err == -ENOMEM)
		return fault(r->in.f, err, EXIT_FAILED, "out of memory while reading %s", r->in.source);
	return err ? inifile_refuse(&r->in, "%s: %s", s->name, sentence) : 0;
}

/* What the command line overrules is checked all the same. */
static int check_only(struct reader *r, const struct opt_spec *s, const char *value)
{
	struct opt_spec aside[] = {*s, {0}};
	union {
		bool flag;
		const char *string;
		struct opt_strings strings;
		struct opt_pids pids;
		uint64_t number;
		int choice;
		double share;
	} unused = {.strings = {NULL, 0}};
	int err = set(r, s, value, &unused);

	aside->offset = 0;
	options_release(aside, &unused);
	return err;
}

static int on_key(void *arg, const char *section, const char *name, const char *value)
{
	struct reader *r = arg;
	size_t i = 0;
	int err;

	if (!*section)
		return inifile_refuse(&r->in, "'%s' stands before any section: begin with [%s]",
				      options_quote(name).text, r->usage->command);
	while (r->specs[i].name && strcmp(r->specs[i].name, name))
		i++;
	if (!r->specs[i].name)
		return inifile_refuse(&r->in, "unknown key '%s': keys are the long options of 'loopscope %s --help'",
				      options_quote(name).text, r->usage->command);
	err = check_place(r, i);
	if (!err)
		err = check_exclusion(r, i, value);
	if (err)
		return err;
	if (overruled(r, i))
		return check_only(r, &r->specs[i], value);
	return set(r, &r->specs[i], value, (char *)r->config + r->specs[i].offset);
}

int options_file_read(const char *path, const struct opt_usage *usage, const struct opt_spec *specs,
		      const struct opt_given *given, void *config, struct opt_file **ret, struct fault *f)
{
	CLEANUP(options_file_free_ptr) struct opt_file *file = calloc(1, sizeof(*file));
	struct reader r = {
		.in = {.source = path,
		       .what = "a file of options",
		       .section = on_section,
		       .key = on_key,
		       .longest = OPTIONS_FILE_LINE_MAX,
		       .status = EXIT_USAGE,
		       .f = f},
		.usage = usage,
		.specs = specs,
		.given = given,
		.config = config,
		.file = file,
	};
	_cleanup_free_ char *text = NULL;
	size_t len;
	int err;

	if (!file)
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory while reading %s", path);
	err = inifile_load(path, r.in.what, OPTIONS_FILE_MAX, &text, &len, f);
	if (err)
		return err;
	r.in.arg = &r;
	err = inifile_parse(&r.in, text, len);
	if (!err)
		*ret = TAKE_PTR(file);
	return err;
}

/* --- what is in force -----------------------------------------------------------------------------------------------
 */

static void print_not_set(FILE *out, const struct opt_spec *s)
{
	fprintf(out, "; %s is not set\n", s->name);
}

static void print_strings(FILE *out, const struct opt_spec *s, const struct opt_strings *list)
{
	if (!list->n)
		print_not_set(out, s);
	for (size_t i = 0; i < list->n; i++)
		fprintf(out, "%s = %s\n", s->name, list->v[i]);
}

static void print_pids(FILE *out, const struct opt_spec *s, const struct opt_pids *list)
{
	if (!list->n)
		print_not_set(out, s);
	for (size_t i = 0; i < list->n; i++)
		fprintf(out, "%s = %d\n", s->name, list->v[i]);
}

static void print_number(FILE *out, const struct opt_spec *s, uint64_t n)
{
	char text[TEXT_DURATION_SIZE];

	if (!n)
		print_not_set(out, s);
	else if (s->kind == OPT_DURATION)
		fprintf(out, "%s = %s\n", s->name, text_duration_exact(text, sizeof(text), n));
	else
		fprintf(out, "%s = %" PRIu64 "\n", s->name, n);
}

static void print_value(FILE *out, const struct opt_spec *s, const void *field)
{
	switch (s->kind) {
	case OPT_FLAG:
		fprintf(out, "%s = %s\n", s->name, *(const bool *)field ? "yes" : "no");
		break;
	case OPT_STRING:
		if (*(const char *const *)field)
			fprintf(out, "%s = %s\n", s->name, *(const char *const *)field);
		else
			print_not_set(out, s);
		break;
	case OPT_STRINGS:
		print_strings(out, s, field);
		break;
	case OPT_PIDS:
		print_pids(out, s, field);
		break;
	case OPT_DURATION:
	case OPT_COUNT:
		print_number(out, s, *(const uint64_t *)field);
		break;
	case OPT_CHOICE:
		fprintf(out, "%s = %s\n", s->name, s->choices[*(const int *)field]);
		break;
	case OPT_SHARE:
		fprintf(out, "%s = %.15g\n", s->name, *(const double *)field);
		break;
	}
}

void options_file_print(FILE *out, const struct opt_usage *usage, const struct opt_spec *specs, const void *config)
{
	fprintf(out, "[%s]\n", usage->command);
	for (const struct opt_spec *s = specs; s->name; s++)
		if (!s->command_line_only)
			print_value(out, s, (const char *)config + s->offset);
}
