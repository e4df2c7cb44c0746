/* SPDX-License-Identifier: BSD-2-Clause */
/* board_watches.c - see board_watches.h. */
#include "cmd/board_watches.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/task.h"

struct named_watch {
	char label[TASK_NAME_LEN];
	struct board_watch *watch;
};

struct board_watches {
	size_t n;
	struct named_watch boards[];
};

static void say_trouble(void *arg, const struct fault *why)
{
	fault_report(why);
}

/* "NAME=PORT" taken apart; without a name it is board<i>. */
static int take_apart(const char *given, size_t i, char *label, size_t size, const char **ret_where, struct fault *f)
{
	size_t name = strcspn(given, "=/:");

	*ret_where = given;
	snprintf(label, size, "board%zu", i);
	if (given[name] == '=') {
		if (name == 0 || name >= size)
			return fault(f, -EINVAL, EXIT_USAGE, "--serial %s: a board's name has 1 to %zu bytes", given, size - 1);
		snprintf(label, size, "%.*s", (int)name, given);
		*ret_where = given + name + 1;
	}
	if (!**ret_where)
		return fault(f, -EINVAL, EXIT_USAGE, "--serial '%s': PORT or NAME=PORT is meant", given);
	return 0;
}

static int open_one(struct board_watches *b, size_t i, const char *given, const struct board_watch_options *common,
		    struct fault *f)
{
	struct board_watch_options o = *common;
	struct named_watch *w = &b->boards[i];
	int err = take_apart(given, i, w->label, sizeof(w->label), &o.line.where, f);

	for (size_t k = 0; k < i && !err; k++)
		if (strcmp(b->boards[k].label, w->label) == 0)
			err = fault(f, -EINVAL, EXIT_USAGE, "--serial: two boards are called %s: give one another name, as NAME=PORT",
				    w->label);
	if (err)
		return err;
	o.line.label = w->label;
	o.line.stays = true;
	if (!o.line.trouble)
		o.line.trouble = say_trouble;
	return board_watch_open(&o, &w->watch, f);
}

int board_watches_open(const char *const *ports, size_t n, const struct board_watch_options *o, struct board_watches **ret,
		       struct fault *f)
{
	struct board_watches *b = calloc(1, sizeof(*b) + n * sizeof(b->boards[0]));
	int err = 0;

	if (!b)
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	b->n = n;
	for (size_t i = 0; i < n && !err; i++)
		err = open_one(b, i, ports[i], o, f);
	if (err) {
		board_watches_free(b);
		return err;
	}
	*ret = b;
	return 0;
}

void board_watches_free(struct board_watches *b)
{
	for (size_t i = 0; b && i < b->n; i++)
		board_watch_free(b->boards[i].watch);
	free(b);
}

int board_watches_start(struct board_watches *b, struct sink *sink, struct evloop *loop, struct fault *f)
{
	int err = 0;

	for (size_t i = 0; i < b->n && !err; i++)
		err = board_watch_start(b->boards[i].watch, sink, loop, f);
	return err;
}

int board_watches_report(struct board_watches *b, bool last)
{
	int err = 0;

	for (size_t i = 0; i < b->n && !err; i++)
		err = board_watch_report(b->boards[i].watch, last);
	return err;
}

size_t board_watches_count(const struct board_watches *b)
{
	return b->n;
}

struct board_watch *board_watches_get(struct board_watches *b, size_t i)
{
	return b->boards[i].watch;
}
