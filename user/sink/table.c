/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * table.c - the table sink: an interval's loops as rows, for a person to read.
 *
 * Columns, their choice and the sentences are elsewhere (column.c, layout.c, table_note.c); this holds them together.
 * An interval is put together in memory and written in one go, so that a failed write is seen and no row is left half
 * written. libsmartcols aligns and colours; cells come to it already safe and cut.
 */
#include <errno.h>
#include <libsmartcols/libsmartcols.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "sink/layout.h"
#include "sink/output.h"
#include "sink/sink.h"
#include "sink/table_flood.h"
#include "sink/table_note.h"
#include "sink/table_task.h"
#include "sink/table_tick.h"
#include "sink/terminal.h"

/* About a screen's worth, as vmstat and pidstat do. */
#define ROWS_PER_HEADER 20

struct table_sink {
	struct sink sink; /* first: the ops get this */
	FILE *out;        /* the caller's */
	enum table_layout kind;
	struct column_request request;
	const struct column *time; /* that leads its rows */
	size_t width; /* 0: ask the terminal */
	bool colour;

	/* A table that goes on: what its rows stand under. */
	struct layout layout;
	bool layout_has_host;    /* it was chosen for loops of processes */
	size_t layout_width;     /* for which the layout was chosen; 0: none yet */
	size_t rows_under_header;
	size_t asleep_said;      /* last n_asleep that a note told of */
	bool explained_no_loops; /* once is enough */
};

static void unref_table(struct libscols_table **t)
{
	scols_unref_table(*t);
}

static int no_memory(struct fault *f)
{
	return fault(f, -ENOMEM, EXIT_FAILED, "no memory for the table; watch fewer loops, or free some memory");
}

static int set_cell(struct libscols_line *line, size_t i, const struct layout_column *lc, const struct loop_record *r)
{
	const struct column *col = lc->column;
	const char *colour = col->colour ? col->colour(r) : NULL;
	char text[CELL_SIZE];

	col->text(col, r, text);
	/* A number that is wider than its column moves the row, but is never cut. */
	if (!(col->flags & COLUMN_RIGHT))
		cell_cut(text, lc->width, col->flags & COLUMN_KEEP_TAIL ? CELL_KEEP_TAIL : CELL_KEEP_HEAD);
	if (scols_line_set_data(line, i, text) < 0)
		return -ENOMEM;
	return colour ? scols_cell_set_color(scols_line_get_cell(line, i), colour) : 0;
}

/*
 * libsmartcols takes a width only as a hint: without STRICTWIDTH it stops at the header's width where the contents are
 * narrower, with it a column that is no wider than its header shrinks to its contents. Between them the hint holds.
 */
static int column_width_flags(const struct layout_column *lc)
{
	return cell_width(lc->column->header) < lc->width ? SCOLS_FL_STRICTWIDTH : 0;
}

static int add_columns(struct libscols_table *t, const struct layout *l)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct layout_column *lc = &l->c[i];
		int flags = column_width_flags(lc) | (lc->column->flags & COLUMN_RIGHT ? SCOLS_FL_RIGHT : 0);

		if (!scols_table_new_column(t, lc->column->header, (double)lc->width, flags))
			return -ENOMEM;
	}
	return 0;
}

static int add_rows(struct libscols_table *t, const struct layout *l, const struct interval *iv)
{
	for (size_t row = 0; row < iv->n_loops; row++) {
		struct libscols_line *line = scols_table_new_line(t, NULL);

		if (!line)
			return -ENOMEM;
		for (size_t i = 0; i < l->n; i++)
			if (set_cell(line, i, &l->c[i], &iv->loops[row]) < 0)
				return -ENOMEM;
	}
	return 0;
}

/* The layout has made everything fit: libsmartcols must neither shrink nor escape once more. */
static int print_rows(const struct table_sink *s, const struct layout *l, const struct interval *iv, bool header,
		      FILE *mem)
{
	struct libscols_table *t CLEANUP(unref_table) = scols_new_table();
	_cleanup_free_ char *text = NULL;

	if (!t || scols_table_set_termforce(t, SCOLS_TERMFORCE_NEVER) < 0 || scols_table_enable_noencoding(t, 1) < 0 ||
	    scols_table_enable_colors(t, s->colour) < 0 || scols_table_enable_noheadings(t, !header) < 0 ||
	    add_columns(t, l) < 0 || add_rows(t, l, iv) < 0 || scols_print_table_to_string(t, &text) < 0 || !text)
		return -ENOMEM;
	fprintf(mem, "%s\n", text);
	return 0;
}

static size_t current_width(const struct table_sink *s)
{
	return s->width ? s->width : terminal_width(s->out);
}

/* rows: iv, without those that flood has left out. */
static int format_once(struct table_sink *s, const struct interval *iv, const struct interval *rows, const struct table_flood *flood, FILE *mem)
{
	struct layout l = { .n = 0 };

	if (iv->n_loops == 0) {
		if (!iv->n_sources) /* a source says itself why */
			table_note_no_loops(mem, iv);
	} else {
		layout_choose(&s->request, s->kind, rows, current_width(s), s->time, &l);
		if (print_rows(s, &l, rows, true, mem) < 0)
			return -ENOMEM;
	}
	table_note_flood(mem, flood);
	if (table_tasks(mem, iv, s->colour) < 0)
		return -ENOMEM;
	table_sources(mem, iv);
	table_notes(mem, iv, (struct table_notes_shown){ .lost = layout_shows(&l, column_named("lost")), .asleep = true });
	return 0;
}

/* Under a new header the columns may be chosen anew, if the terminal has been resized; never in between. Rows of boards
 * and of processes do not stand under the same one, unless they are of the same interval. */
static bool begin_block(struct table_sink *s, const struct interval *iv, FILE *mem)
{
	bool host = layout_has_host(iv), other = host != s->layout_has_host;
	size_t width = current_width(s);

	if (s->layout_width != 0 && s->rows_under_header < ROWS_PER_HEADER && !other)
		return false;
	if (s->layout_width != 0)
		fputc('\n', mem);
	if (s->layout_width != width || other) {
		layout_choose(&s->request, s->kind, iv, width, s->time, &s->layout);
		s->layout_width = width;
		s->layout_has_host = host;
	}
	s->rows_under_header = 0;
	return true;
}

/* Why there may be none is worth saying once, where there were none before. */
static void say_no_loops(struct table_sink *s, const struct interval *iv, FILE *mem)
{
	struct loop_record nobody = { .ts = iv->ts };
	char when[CELL_SIZE];

	if (!s->explained_no_loops && s->layout_width == 0) {
		table_note_no_loops(mem, iv);
		s->explained_no_loops = true;
		return;
	}
	s->time->text(s->time, &nobody, when);
	fprintf(mem, "# %s: no loops seen\n", when);
}

static int format_repeat(struct table_sink *s, const struct interval *iv, const struct interval *rows, const struct table_flood *flood, FILE *mem)
{
	struct table_notes_shown shown = { 0 };
	bool header;

	if (iv->n_loops == 0) {
		if (!iv->n_sources)
			say_no_loops(s, iv, mem);
	} else {
		header = begin_block(s, rows, mem);
		if (print_rows(s, &s->layout, rows, header, mem) < 0)
			return -ENOMEM;
		s->rows_under_header += rows->n_loops;
	}
	s->rows_under_header += table_note_flood(mem, flood);
	shown.lost = iv->n_loops && layout_shows(&s->layout, column_named("lost"));
	if (table_tasks(mem, iv, s->colour) < 0)
		return -ENOMEM;
	/* The next row of a loop stands far below its header: it gets another one. */
	if (iv->n_tasks)
		s->rows_under_header = ROWS_PER_HEADER;
	s->rows_under_header += table_sources(mem, iv);
	/* The same number each second would be noise. */
	shown.asleep = iv->n_asleep != s->asleep_said;
	s->rows_under_header += table_notes(mem, iv, shown);
	s->asleep_said = iv->n_asleep;
	return 0;
}

static int table_sink_interval(struct sink *sink, const struct interval *iv, struct fault *f)
{
	struct table_sink *s = (struct table_sink *)sink;
	_cleanup_free_ char *text = NULL; /* open_memstream() sets both at fclose() */
	size_t n = 0;
	FILE *mem = open_memstream(&text, &n);
	struct table_flood flood;
	struct interval rows;
	int err;

	if (!mem)
		return no_memory(f);
	err = table_flood_cut(iv, &flood, &rows);
	if (!err)
		err = s->kind == TABLE_REPEAT ? format_repeat(s, iv, &rows, &flood, mem) : format_once(s, iv, &rows, &flood, mem);
	table_flood_free(&flood);
	if (ferror(mem))
		err = -ENOMEM;
	if (fclose(mem) != 0 || err)
		return no_memory(f);

	err = output_write(s->out, text, n, f);
	return err ? err : output_flush(s->out, f);
}

static int write_lines(struct table_sink *s, const struct slow_tick *t, const struct slow_summary *sum, struct fault *f)
{
	_cleanup_free_ char *text = NULL;
	size_t n = 0;
	FILE *mem = open_memstream(&text, &n);
	int err;

	if (!mem)
		return no_memory(f);
	if (t)
		s->rows_under_header += table_slow_tick(mem, t);
	else if (sum)
		table_slow_summary(mem, sum);
	if (fclose(mem) != 0)
		return no_memory(f);
	err = output_write(s->out, text, n, f);
	return err ? err : output_flush(s->out, f);
}

static int table_sink_slow_tick(struct sink *sink, const struct slow_tick *t, struct fault *f)
{
	struct table_sink *s = (struct table_sink *)sink;

	return s->kind == TABLE_REPEAT ? write_lines(s, t, NULL, f) : 0;
}

static int table_sink_slow_summary(struct sink *sink, const struct slow_summary *sum, struct fault *f)
{
	return write_lines((struct table_sink *)sink, NULL, sum, f);
}

static void table_sink_free(struct sink *s)
{
	free(s);
}

static const struct sink_ops table_sink_ops = {
	.name = "table",
	.interval = table_sink_interval,
	.slow_tick = table_sink_slow_tick,
	.slow_summary = table_sink_slow_summary,
	.free = table_sink_free,
};

int sink_table_new(const struct table_options *o, struct sink **ret, struct fault *f)
{
	_cleanup_free_ struct table_sink *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return no_memory(f);
	s->sink.ops = &table_sink_ops;
	s->out = o->out;
	s->kind = o->layout;
	s->width = o->width > 0 ? (size_t)o->width : 0;
	s->time = column_time_of(o->interval_ns);
	s->colour = terminal_wants_colour(o->out);
	err = column_request_parse(o->columns, &s->request, f);
	if (err)
		return err;
	*ret = &TAKE_PTR(s)->sink;
	return 0;
}

void sink_table_columns_help(FILE *out)
{
	for (size_t i = 0; i < n_columns; i++)
		fprintf(out, "  %-13s %-5s %s\n", columns[i].name, columns[i].unit, columns[i].help);
}
