/* SPDX-License-Identifier: BSD-2-Clause */
/* loop_filter.c - see loop_filter.h. */
#include "model/loop_filter.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/text.h"

enum what { WHAT_COMM, WHAT_THREAD, WHAT_CGROUP, WHAT_RUNTIME, WHATS };

static const char *const names[WHATS] = {"comm", "thread", "cgroup", "runtime"};

#define NAME_SIZE 4096 /* a longer cgroup path is compared by its beginning */

struct pattern {
	enum what what;
	const char *text;
};

struct loop_filter {
	size_t n_include, n_exclude;
	struct pattern patterns[]; /* include, then exclude */
};

static int parse(const char *text, struct pattern *ret)
{
	for (int i = 0; i < WHATS; i++) {
		size_t len = strlen(names[i]);

		if (strncmp(text, names[i], len) || text[len] != '=' || !text[len + 1])
			continue;
		*ret = (struct pattern){.what = (enum what)i, .text = text + len + 1};
		return 0;
	}
	return -EINVAL;
}

int loop_filter_check(const char *text, char *sentence, size_t size)
{
	struct pattern p;
	char shown[64];

	if (!parse(text, &p))
		return 0;
	text_quote(shown, sizeof(shown), text, SIZE_MAX);
	snprintf(sentence, size, "'%s' is no filter; write comm, thread, cgroup or runtime, = and a pattern, for example comm=redis*",
		 shown);
	return -EINVAL;
}

static int parse_all(const char *const *texts, size_t n, struct pattern *ret)
{
	for (size_t i = 0; i < n; i++)
		if (parse(texts[i], &ret[i]))
			return -EINVAL;
	return 0;
}

int loop_filter_new(const char *const *include, size_t n_include, const char *const *exclude, size_t n_exclude,
		    struct loop_filter **ret)
{
	struct loop_filter *f = malloc(sizeof(*f) + (n_include + n_exclude) * sizeof(f->patterns[0]));

	if (!f)
		return -ENOMEM;
	f->n_include = n_include;
	f->n_exclude = n_exclude;
	if (parse_all(include, n_include, f->patterns) || parse_all(exclude, n_exclude, f->patterns + n_include)) {
		free(f);
		return -EINVAL;
	}
	*ret = f;
	return 0;
}

void loop_filter_free(struct loop_filter *f)
{
	free(f);
}

static const char *name_of(const struct loop_record *r, enum what what, size_t *ret_max)
{
	*ret_max = SIZE_MAX;
	switch (what) {
	case WHAT_COMM:
		*ret_max = sizeof(r->comm);
		return r->comm;
	case WHAT_THREAD:
		*ret_max = sizeof(r->thread);
		return r->thread;
	case WHAT_CGROUP:
		return r->cgroup ? r->cgroup : "";
	default:
		return r->runtime ? r->runtime : "";
	}
}

static bool matches(const struct pattern *p, const struct loop_record *r)
{
	char name[NAME_SIZE];
	size_t max;
	const char *bytes = name_of(r, p->what, &max);

	text_to_utf8(name, sizeof(name), bytes, max);
	return !fnmatch(p->text, name, 0);
}

static bool any_matches(const struct pattern *p, size_t n, const struct loop_record *r)
{
	for (size_t i = 0; i < n; i++)
		if (matches(&p[i], r))
			return true;
	return false;
}

bool loop_filter_takes(const struct loop_filter *f, const struct loop_record *r)
{
	if (!f)
		return true;
	if (f->n_include && !any_matches(f->patterns, f->n_include, r))
		return false;
	return !any_matches(f->patterns + f->n_include, f->n_exclude, r);
}
