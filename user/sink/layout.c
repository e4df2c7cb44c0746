/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * layout.c - which columns a table shows, and how wide each is.
 *
 * By default: first come the columns that must be there, then the core in order of priority as far as it fits at its
 * narrowest, then the core is given its full width, and only then do further columns get what is left. All are shown in
 * the order of columns[]. Columns that the user lists are shown in the order of the list. What no loop of the table can
 * have is left out, and threads are numbered where processes have several of them.
 */
#include "sink/layout.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* One column under consideration. */
struct candidate {
	const struct column *column;
	unsigned priority;
	size_t least; /* narrowest that still makes sense */
	size_t full;  /* as wide as its contents ask for */
	size_t width; /* given so far */
	bool known;   /* some loop has a value */
	bool any;     /* some loop has one that is not 0 */
	bool taken;
};

struct fitting {
	struct candidate c[COLUMN_MAX]; /* as columns[] */
	size_t left;                    /* of the terminal's width */
	bool first;                     /* nothing taken yet: no gap needed */
	bool host;                      /* some loop is a process's */
};

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void measure(const struct column *col, enum table_layout kind, const struct interval *iv, struct candidate *ret)
{
	size_t content = 0, full;
	bool known = false, any = false;
	char text[CELL_SIZE];

	for (size_t i = 0; i < iv->n_loops; i++) {
		col->text(col, &iv->loops[i], text);
		content = larger(content, cell_width(text));
		known = known || strcmp(text, CELL_UNKNOWN) != 0;
		any = any || (strcmp(text, CELL_UNKNOWN) != 0 && strcmp(text, "0") != 0);
	}
	full = larger(content, kind == TABLE_REPEAT ? col->width : strlen(col->header));
	/* A number is never cut. */
	if (!(col->flags & COLUMN_RIGHT))
		full = smaller(full, col->max);
	*ret = (struct candidate){
		.column = col,
		.priority = col->priority,
		.least = col->flags & COLUMN_RIGHT ? full : smaller(full, col->min),
		.full = full,
		.known = known,
		.any = any,
	};
}

static void take(struct fitting *fit, struct candidate *c, size_t width)
{
	size_t need = width + (fit->first ? 0 : 1);

	fit->left -= smaller(need, fit->left);
	fit->first = false;
	c->width = width;
	c->taken = true;
}

static void take_if_fits(struct fitting *fit, struct candidate *c)
{
	if (c->least + (fit->first ? 0 : 1) <= fit->left)
		take(fit, c, c->least);
}

static void widen(struct fitting *fit, struct candidate *c)
{
	size_t more = smaller(c->full - c->width, fit->left);

	c->width += more;
	fit->left -= more;
}

static bool wanted_by_default(const struct fitting *fit, const struct candidate *c, enum table_layout kind)
{
	if ((c->column->flags & COLUMN_HOST) && !fit->host)
		return false;
	if (c->column->flags & COLUMN_IF_ANY)
		return c->any;
	if (c->known)
		return true;
	if (c->column->flags & COLUMN_IF_KNOWN)
		return false;
	/* A table that goes on may have something to show there later. */
	return kind == TABLE_REPEAT || c->priority <= COLUMN_CORE_PRIORITY;
}

/* Where there is room for one of the two reasons, it is the greater one: what blocked, or what was waited for. */
static void weigh_reasons(struct fitting *fit, const struct interval *iv)
{
	struct candidate *blocked = &fit->c[column_named("blocked-by") - columns], *waited = &fit->c[column_named("waited-for") - columns];
	double by = 0, by_others = 0;

	for (size_t i = 0; i < iv->n_loops; i++) {
		by = fmax(by, iv->loops[i].tick_blocked);
		by_others = fmax(by_others, iv->loops[i].wait);
	}
	if (by > by_others) {
		unsigned p = waited->priority;

		waited->priority = blocked->priority;
		blocked->priority = p;
	}
}

/* Takes, then widens, the columns of priority from..to. */
static void fit_range(struct fitting *fit, enum table_layout kind, unsigned from, unsigned to)
{
	for (unsigned p = from; p <= to; p++)
		for (size_t i = 0; i < n_columns; i++)
			if (fit->c[i].priority == p && !fit->c[i].taken && wanted_by_default(fit, &fit->c[i], kind))
				take_if_fits(fit, &fit->c[i]);

	for (unsigned p = from; p <= to; p++)
		for (size_t i = 0; i < n_columns; i++)
			if (fit->c[i].taken && fit->c[i].priority == p)
				widen(fit, &fit->c[i]);
}

static void emit(struct layout *l, const struct column *col, size_t width)
{
	if (l->n < COLUMN_MAX)
		l->c[l->n++] = (struct layout_column){ .column = col, .width = width };
}

static bool leads_rows(const struct column *col, enum table_layout kind)
{
	return kind == TABLE_REPEAT && col == column_time();
}

static bool is_named(const struct column_request *req, const struct column *col)
{
	for (size_t i = 0; i < req->n_named; i++)
		if (req->named[i] == col)
			return true;
	return false;
}

/* As many rows as a person may read: looking for two of the same process among all takes their square. */
#define ROWS_COMPARED 500

/* Two loops of one process: without their threads' numbers their rows could not be told apart. */
static bool process_has_several(const struct interval *iv)
{
	for (size_t i = 1; i < smaller(iv->n_loops, ROWS_COMPARED); i++)
		for (size_t j = 0; j < i; j++)
			if (iv->loops[i].id.pid && iv->loops[i].id.pid == iv->loops[j].id.pid)
				return true;
	return false;
}

static void add_default(const struct column_request *req, enum table_layout kind, const struct interval *iv,
			struct fitting *fit, struct layout *l)
{
	bool tids = process_has_several(iv);

	for (size_t i = 0; i < n_columns; i++)
		if (is_named(req, &columns[i]) || leads_rows(&columns[i], kind) || (tids && &columns[i] == column_named("tid")))
			take(fit, &fit->c[i], fit->c[i].full);
	fit_range(fit, kind, 1, COLUMN_CORE_PRIORITY);
	fit_range(fit, kind, COLUMN_CORE_PRIORITY + 1, COLUMN_MAX);

	for (size_t i = 0; i < n_columns; i++)
		if (fit->c[i].taken)
			emit(l, fit->c[i].column, fit->c[i].width);
}

static void add_named(const struct column_request *req, enum table_layout kind, const struct fitting *fit,
		      struct layout *l)
{
	const struct candidate *time = &fit->c[column_time() - columns];

	if (kind == TABLE_REPEAT)
		emit(l, time->column, time->full);
	for (size_t i = 0; i < req->n_named; i++)
		if (!leads_rows(req->named[i], kind))
			emit(l, fit->c[req->named[i] - columns].column, fit->c[req->named[i] - columns].full);
}

void layout_choose(const struct column_request *req, enum table_layout kind, const struct interval *iv, size_t width,
		   const struct column *time, struct layout *ret)
{
	struct fitting fit = { .left = width, .first = true, .host = layout_has_host(iv) };
	struct layout l = { .n = 0 };

	for (size_t i = 0; i < n_columns; i++)
		if (leads_rows(&columns[i], kind))
			measure(time, kind, iv, &fit.c[i]);
		else if (columns[i].priority > 0 || is_named(req, &columns[i]))
			measure(&columns[i], kind, iv, &fit.c[i]);
		else
			fit.c[i] = (struct candidate){ .column = &columns[i] }; /* can't be chosen */
	weigh_reasons(&fit, iv);
	if (req->with_default)
		add_default(req, kind, iv, &fit, &l);
	else
		add_named(req, kind, &fit, &l);
	*ret = l;
}

bool layout_has_host(const struct interval *iv)
{
	for (size_t i = 0; i < iv->n_loops; i++)
		if (iv->loops[i].source != SOURCE_SERIAL)
			return true;
	return false;
}

bool layout_shows(const struct layout *l, const struct column *col)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->c[i].column == col)
			return true;
	return false;
}

static int unknown_column(const char *name, size_t n, struct fault *f)
{
	char known[400];
	size_t len = 0;

	for (size_t i = 0; i < n_columns && len < sizeof(known); i++)
		len += (size_t)snprintf(known + len, sizeof(known) - len, "%s%s", i ? ", " : "", columns[i].name);
	return fault(f, -EINVAL, EXIT_USAGE, "no column is called '%.*s'; there are: %s", (int)smaller(n, 40), name,
		     known);
}

static int request_add(struct column_request *req, const char *name, size_t n, struct fault *f)
{
	const struct column *col;

	if (n == 0)
		return fault(f, -EINVAL, EXIT_USAGE, "a column's name is empty; write --columns NAME,NAME,...");
	col = column_find(name, n);
	if (!col)
		return unknown_column(name, n, f);
	/* Each column exists once, hence there is always room. */
	if (!is_named(req, col))
		req->named[req->n_named++] = col;
	return 0;
}

int column_request_parse(const char *spec, struct column_request *ret, struct fault *f)
{
	struct column_request req = { .with_default = !spec };

	if (!spec) {
		*ret = req;
		return 0;
	}
	if (strcmp(spec, "all") == 0) {
		for (size_t i = 0; i < n_columns; i++)
			req.named[req.n_named++] = &columns[i];
		*ret = req;
		return 0;
	}
	if (*spec == '+') {
		req.with_default = true;
		spec++;
	}
	for (;;) {
		size_t n = strcspn(spec, ",");
		int err = request_add(&req, spec, n, f);

		if (err)
			return err;
		if (spec[n] == '\0')
			break;
		spec += n + 1;
	}
	*ret = req;
	return 0;
}
