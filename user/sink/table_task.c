/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * table_task.c - the tasks' table: one a loop, its rows in the source's order.
 *
 * A name that more than one task bears shows its instance: "blink#1". What is not the CPU's time is marked by its kind.
 */
#include <errno.h>
#include <inttypes.h>
#include <libsmartcols/libsmartcols.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/text.h"
#include "model/task.h"
#include "sink/cell.h"
#include "sink/column.h"
#include "sink/table_task.h"

#define NAME_WIDTH 24

struct task_column {
	const char *header;
	size_t width;
	bool right;
	void (*text)(const struct task_record *t, char dst[CELL_SIZE]);
};

static void unref_table(struct libscols_table **t)
{
	scols_unref_table(*t);
}

static void name_text(const struct task_record *t, char dst[CELL_SIZE])
{
	char both[TASK_NAME_LEN + 16];

	if (t->kind != TASK_LIFETIME && (t->instance || t->instances > 1))
		snprintf(both, sizeof(both), "%.*s#%" PRIu32, TASK_NAME_LEN, t->task, t->instance);
	else
		snprintf(both, sizeof(both), "%.*s", TASK_NAME_LEN, t->task);
	cell_set_bytes(dst, both, sizeof(both));
	cell_cut(dst, NAME_WIDTH, CELL_KEEP_HEAD);
}

static void id_text(const struct task_record *t, char dst[CELL_SIZE])
{
	snprintf(dst, CELL_SIZE, "%" PRIu32, t->id);
}

static void kind_text(const struct task_record *t, char dst[CELL_SIZE])
{
	snprintf(dst, CELL_SIZE, "%s", task_kind_name(t->kind));
}

static void count_text(int64_t n, char dst[CELL_SIZE])
{
	if (n >= 0)
		snprintf(dst, CELL_SIZE, "%" PRId64, n);
	else
		strcpy(dst, CELL_UNKNOWN);
}

static void micros_text(double us, char dst[CELL_SIZE])
{
	if (us >= 0 && us < 1e15)
		text_duration(dst, CELL_SIZE, (uint64_t)llround(us * 1000));
	else
		strcpy(dst, CELL_UNKNOWN);
}

static void runs_text(const struct task_record *t, char dst[CELL_SIZE])
{
	count_text(t->runs, dst);
}

static void min_text(const struct task_record *t, char dst[CELL_SIZE])
{
	micros_text(t->run_us.n > 0 ? t->run_us.min : NAN, dst);
}

static void median_text(const struct task_record *t, char dst[CELL_SIZE])
{
	micros_text(t->run_us.n > 0 ? t->run_us.p50 : NAN, dst);
}

static void p99_text(const struct task_record *t, char dst[CELL_SIZE])
{
	micros_text(t->run_us.n > 0 ? t->run_us.p99 : NAN, dst);
}

static void max_text(const struct task_record *t, char dst[CELL_SIZE])
{
	micros_text(t->run_us.n > 0 ? t->run_us.max : NAN, dst);
}

static void busy_text(const struct task_record *t, char dst[CELL_SIZE])
{
	if (isfinite(t->busy))
		column_format_share(dst, CELL_SIZE, t->busy);
	else
		strcpy(dst, CELL_UNKNOWN);
}

static void alive_text(const struct task_record *t, char dst[CELL_SIZE])
{
	if (isfinite(t->alive))
		column_format_share(dst, CELL_SIZE, t->alive);
	else
		strcpy(dst, CELL_UNKNOWN);
}

static void instances_text(const struct task_record *t, char dst[CELL_SIZE])
{
	count_text(t->instances, dst);
}

/* One that still runs is the news: "2+83.0ms". */
static void hogs_text(const struct task_record *t, char dst[CELL_SIZE])
{
	char open[CELL_SIZE], count[CELL_SIZE];

	count_text(t->hogs, count);
	if (!isfinite(t->hog_open_us)) {
		strcpy(dst, count);
		return;
	}
	micros_text(t->hog_open_us, open);
	snprintf(dst, CELL_SIZE, "%.20s+%.24s", count, open);
}

static void seen_text(const struct task_record *t, char dst[CELL_SIZE])
{
	if (t->ended)
		strcpy(dst, "ended");
	else
		micros_text(t->last_seen_s * 1e6, dst);
}

static const struct task_column task_columns[] = {
	{ "  TASK", NAME_WIDTH, false, name_text },
	{ "ID", 5, true, id_text },
	{ "KIND", 8, false, kind_text },
	{ "RUNS", 6, true, runs_text },
	{ "MIN", 6, true, min_text },
	{ "MEDIAN", 6, true, median_text },
	{ "P99", 6, true, p99_text },
	{ "MAX", 6, true, max_text },
	{ "BUSY", 6, true, busy_text },
	{ "ALIVE", 6, true, alive_text },
	{ "INST", 4, true, instances_text },
	{ "HOGS", 4, true, hogs_text },
	{ "SEEN", 6, true, seen_text },
};

static bool has_lifetimes(const struct task_record *t, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (t[i].kind == TASK_LIFETIME)
			return true;
	return false;
}

/* Busy and alive exclude each other: the one that no task of this loop knows is left out. */
static bool is_shown(const struct task_column *c, bool lifetimes)
{
	return lifetimes ? c->text != busy_text : c->text != alive_text;
}

static int add_row(struct libscols_table *table, const struct task_record *t, bool lifetimes)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);
	char text[CELL_SIZE + 2] = "  ";
	size_t column = 0;

	if (!line)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(task_columns); i++) {
		if (!is_shown(&task_columns[i], lifetimes))
			continue;
		task_columns[i].text(t, text + 2);
		if (scols_line_set_data(line, column, column ? text + 2 : text) < 0)
			return -ENOMEM;
		if (isfinite(t->hog_open_us) && scols_cell_set_color(scols_line_get_cell(line, column), "red") < 0)
			return -ENOMEM;
		column++;
	}
	return 0;
}

static int loop_tasks(FILE *mem, const struct task_record *t, size_t n, bool colour)
{
	struct libscols_table *table CLEANUP(unref_table) = scols_new_table();
	_cleanup_free_ char *text = NULL;
	bool lifetimes = has_lifetimes(t, n);

	if (!table || scols_table_set_termforce(table, SCOLS_TERMFORCE_NEVER) < 0 ||
	    scols_table_enable_noencoding(table, 1) < 0 || scols_table_enable_colors(table, colour) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(task_columns); i++) {
		const struct task_column *c = &task_columns[i];

		if (is_shown(c, lifetimes) &&
		    !scols_table_new_column(table, c->header, (double)c->width, c->right ? SCOLS_FL_RIGHT : 0))
			return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		if (add_row(table, &t[i], lifetimes) < 0)
			return -ENOMEM;
	if (scols_print_table_to_string(table, &text) < 0 || !text)
		return -ENOMEM;
	fprintf(mem, "%s\n", text);
	return 0;
}

int table_tasks(FILE *mem, const struct interval *iv, bool colour)
{
	size_t i = 0;

	while (i < iv->n_tasks) {
		size_t end = i + 1;

		while (end < iv->n_tasks && strcmp(iv->tasks[end].loop, iv->tasks[i].loop) == 0)
			end++;
		if (loop_tasks(mem, iv->tasks + i, end - i, colour) < 0)
			return -ENOMEM;
		i = end;
	}
	return 0;
}
