/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options_value.c - see options_value.h.
 */
#include "lib/options_value.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/parse.h"

/* Where an option sets no limit: 5124095 h, the whole hours that 64 bits of nanoseconds hold. */
#define LONGEST_NS (UINT64_MAX / NS_PER_H * NS_PER_H)
#define NS_PER_H   (UINT64_C(3600) * 1000000000)

/* Where a sentence goes. */
struct reply {
	char *text;
	size_t size;
};

struct opt_quote options_quote(const char *s)
{
	struct opt_quote q = {.text = ""};

	text_quote(q.text, sizeof(q.text), s, SIZE_MAX);
	return q;
}

static int refuse(const struct reply *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int refuse(const struct reply *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->text, r->size, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static int add_string(struct opt_strings *list, const char *s)
{
	const char **v = reallocarray(list->v, list->n + 1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	list->v = v;
	v[list->n++] = s;
	return 0;
}

static int add_pid(struct opt_pids *list, int pid)
{
	int *v;

	for (size_t i = 0; i < list->n; i++) {
		if (list->v[i] == pid)
			return 0;
	}
	if (list->n >= OPTIONS_PIDS_MAX)
		return -E2BIG;
	v = reallocarray(list->v, list->n + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	list->v = v;
	v[list->n++] = pid;
	return 0;
}

static int read_string(const struct opt_spec *s, const char *value, void *field, const struct reply *r)
{
	/* Mostly a shell variable that was not set. */
	if (!*value)
		return refuse(r, "the %s is empty", s->arg);
	if (s->check) {
		int err = s->check(value, r->text, r->size);

		if (err)
			return err;
	}
	if (s->kind == OPT_STRING) {
		*(const char **)field = value;
		return 0;
	}
	return add_string(field, value) ? -ENOMEM : 0;
}

static int read_pids(const char *value, void *field, const struct reply *r)
{
	_cleanup_free_ char *copy = strdup(value);
	char *rest = copy, *word;

	if (!copy)
		return -ENOMEM;
	while ((word = strsep(&rest, ","))) {
		pid_t pid;
		int err = parse_pid(word, &pid);

		if (err == -ERANGE)
			return refuse(r, "'%s' is no PID: they go from 1 to 4194304", options_quote(word).text);
		if (err)
			return refuse(r, "'%s' is not a PID; write for example 1234, or 1234,1235",
				      options_quote(word).text);
		err = add_pid(field, pid);
		if (err == -E2BIG)
			return refuse(r, "more than %d PIDs", OPTIONS_PIDS_MAX);
		if (err)
			return -ENOMEM;
	}
	return 0;
}

static int read_duration(const struct opt_spec *s, const char *value, void *field, const struct reply *r)
{
	uint64_t min = s->min ? s->min : 1, max = s->max ? s->max : LONGEST_NS, ns;
	char bound[TEXT_DURATION_SIZE];
	int err = parse_duration(value, &ns);

	if (err == -EINVAL)
		return refuse(r, "'%s' is not a time; write for example 250us, 50ms or 5s", options_quote(value).text);
	/* What is out of parse_duration()'s own range is 0, or more than 64 bits of nanoseconds. */
	if (err ? !strpbrk(value, "123456789") : ns < min)
		return refuse(r, "'%s' is too short a time; give at least %s", options_quote(value).text,
			      text_duration_exact(bound, sizeof(bound), min));
	if (err || ns > max)
		return refuse(r, "'%s' is too long a time; give at most %s", options_quote(value).text,
			      text_duration_exact(bound, sizeof(bound), max));
	*(uint64_t *)field = ns;
	return 0;
}

static int read_share(const char *value, void *field, const struct reply *r)
{
	double share;

	if (parse_share(value, &share))
		return refuse(r, "'%s' is not a share; write for example 2%% or 0.02", options_quote(value).text);
	*(double *)field = share;
	return 0;
}

static int read_count(const struct opt_spec *s, const char *value, void *field, const struct reply *r)
{
	uint64_t min = s->min ? s->min : 1, max = s->max ? s->max : UINT64_MAX, n;
	int err = parse_u64(value, 0, UINT64_MAX, &n);

	if (err == -EINVAL)
		return refuse(r, "'%s' is not a whole number; write for example 10", options_quote(value).text);
	if (!err && n < min)
		return refuse(r, "'%s' is too small; give at least %" PRIu64, options_quote(value).text, min);
	if (err || n > max)
		return refuse(r, "'%s' is too large; give at most %" PRIu64, options_quote(value).text, max);
	*(uint64_t *)field = n;
	return 0;
}

static int read_choice(const struct opt_spec *s, const char *value, void *field, const struct reply *r)
{
	const char *const *choices = s->choices;
	char list[200] = "";
	size_t len = 0;

	for (int c = 0; choices[c]; c++) {
		if (strcmp(choices[c], value) == 0) {
			*(int *)field = c;
			return 0;
		}
	}
	for (size_t c = 0; choices[c] && len < sizeof(list); c++) {
		const char *between = c == 0 ? "" : choices[c + 1] ? ", " : " or ";

		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s", between, choices[c]);
	}
	return refuse(r, "'%s' is none of its choices; write %s", options_quote(value).text, list);
}

int options_read_value(const struct opt_spec *s, const char *value, void *field, char *sentence, size_t size)
{
	const struct reply r = {.text = sentence, .size = size};

	switch (s->kind) {
	case OPT_FLAG:
		*(bool *)field = true;
		return 0;
	case OPT_STRING:
	case OPT_STRINGS:
		return read_string(s, value, field, &r);
	case OPT_PIDS:
		return read_pids(value, field, &r);
	case OPT_DURATION:
		return read_duration(s, value, field, &r);
	case OPT_COUNT:
		return read_count(s, value, field, &r);
	case OPT_CHOICE:
		return read_choice(s, value, field, &r);
	case OPT_SHARE:
		return read_share(value, field, &r);
	}
	return refuse(&r, "its kind is not known; please report this as a bug");
}
