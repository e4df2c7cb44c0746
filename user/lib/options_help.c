/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options_help.c - what --help prints, from the same table that options.c reads: it cannot disagree with the code.
 */
#include "lib/options.h"

#include <inttypes.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/text.h"

#define WIDTH    80
#define LEFT_MAX 24 /* a longer "-x, --name ARG" has its help on the next line */

/* Words set into lines of WIDTH columns. */
struct wrap {
	FILE *out;
	int indent; /* of the next line that starts */
	int column;
	int gap; /* spaces due before the next word, if it stays on this line; 0: none was set on it */
};

static const struct opt_spec help_spec = {.letter = 'h', .name = "help", .kind = OPT_FLAG, .help = "Show this help."};

/* In columns, taking each code point for one. */
static int width_of(const char *s, size_t n)
{
	int columns = 0;

	for (size_t i = 0; i < n; i++)
		columns += (s[i] & 0xc0) != 0x80;
	return columns;
}

static void wrap_line(struct wrap *w)
{
	fputc('\n', w->out);
	w->column = 0;
	w->gap = 0;
}

static void wrap_to(struct wrap *w, int column)
{
	if (w->column < column) {
		fprintf(w->out, "%*s", column - w->column, "");
		w->column = column;
	}
}

static void wrap_word(struct wrap *w, const char *word, size_t n)
{
	int width = width_of(word, n);

	if (w->gap && w->column + w->gap + width > WIDTH)
		wrap_line(w);
	wrap_to(w, w->gap ? w->column + w->gap : w->indent);
	fwrite(word, 1, n, w->out);
	w->column += width;
	w->gap = 1;
}

/* "[-i TIME]" is one word. */
static size_t word_length(const char *s)
{
	size_t space = strcspn(s, " \n"), close;

	if (*s != '[')
		return space;
	close = strcspn(s, "]\n");
	return s[close] == ']' && close > space ? close + strcspn(s + close, " \n") : space;
}

/* One line of the text. Two spaces or more in it set off a term from what is said of it: what follows hangs there. */
static void wrap_words(struct wrap *w, const char *line, size_t n)
{
	const char *end = line + n;

	while (line < end) {
		size_t len = word_length(line), spaces = strspn(line + len, " ");

		wrap_word(w, line, len);
		if (spaces > 1 && line + len + spaces < end) {
			w->gap = (int)spaces;
			w->indent = w->column + w->gap;
		}
		line += len + spaces;
	}
}

/* Goes on where w stands. A line break in text is one in the output; spaces that follow it indent that line further.
 * Returns whether the last line was indented. */
static bool wrap_text(struct wrap *w, const char *text)
{
	int indent = w->indent;
	size_t spaces, n;

	for (;;) {
		spaces = strspn(text, " ");
		n = strcspn(text, "\n");
		w->indent = indent + (int)spaces;
		wrap_words(w, text + spaces, n - spaces);
		w->indent = indent;
		if (!text[n] || !text[n + 1])
			return spaces > 0;
		text += n + 1;
		wrap_line(w);
	}
}

/* "-i, --interval TIME" */
static void left_part(char *dst, size_t size, const struct opt_spec *s)
{
	char letter[] = "    ";

	if (s->letter)
		snprintf(letter, sizeof(letter), "-%c, ", s->letter);
	snprintf(dst, size, "%s--%s%s%s", letter, s->name, s->arg ? " " : "", s->arg ? s->arg : "");
}

static void note_choices(struct wrap *w, const struct opt_spec *s)
{
	wrap_text(w, "One of");
	for (const char *const *c = s->choices; *c; c++) {
		char word[64];

		snprintf(word, sizeof(word), "%s%s", *c, c[1] ? "," : ".");
		wrap_text(w, word);
	}
}

static void bound_text(char *dst, size_t size, const struct opt_spec *s, uint64_t bound)
{
	if (s->kind == OPT_DURATION)
		text_duration_exact(dst, size, bound);
	else
		snprintf(dst, size, "%" PRIu64, bound);
}

static void note_bounds(struct wrap *w, const struct opt_spec *s)
{
	char min[TEXT_DURATION_SIZE], max[TEXT_DURATION_SIZE], note[80];

	bound_text(min, sizeof(min), s, s->min);
	bound_text(max, sizeof(max), s, s->max);
	if (s->min && s->max)
		snprintf(note, sizeof(note), "From %s to %s.", min, max);
	else if (s->min)
		snprintf(note, sizeof(note), "At least %s.", min);
	else if (s->max)
		snprintf(note, sizeof(note), "At most %s.", max);
	else
		return;
	wrap_text(w, note);
}

static void note_excluded(struct wrap *w, const struct opt_spec *specs, const struct opt_spec *s)
{
	const char *lead = "Not together with";

	for (const struct opt_spec *other = specs; other->name; other++) {
		char name[64];

		if (other == s || other->excludes != s->excludes)
			continue;
		wrap_text(w, lead);
		snprintf(name, sizeof(name), "--%s.", other->name);
		wrap_text(w, name);
		lead = "Nor with";
	}
}

/* Whether the table says more than the help does. */
static bool has_notes(const struct opt_spec *s)
{
	return s->kind == OPT_CHOICE || s->kind == OPT_STRINGS || s->kind == OPT_PIDS || s->min || s->max ||
	       s->excludes;
}

static void put_option(FILE *out, const struct opt_spec *specs, const struct opt_spec *s, int left_width)
{
	struct wrap w = {.out = out, .indent = 2 + left_width + 2};
	char left[128];

	left_part(left, sizeof(left), s);
	fprintf(out, "  %s", left);
	w.column = 2 + width_of(left, strlen(left));
	if (w.column + 2 > w.indent)
		wrap_line(&w);
	if (wrap_text(&w, s->help) && has_notes(s))
		wrap_line(&w);
	else if (has_notes(s) && *s->help && s->help[strlen(s->help) - 1] != '.') {
		fputc('.', out); /* a sentence follows */
		w.column++;
	}
	if (s->kind == OPT_CHOICE)
		note_choices(&w, s);
	if (s->kind == OPT_DURATION || s->kind == OPT_COUNT)
		note_bounds(&w, s);
	if (s->kind == OPT_STRINGS || s->kind == OPT_PIDS)
		wrap_text(&w, "Several allowed.");
	if (s->excludes)
		note_excluded(&w, specs, s);
	wrap_line(&w);
}

static int left_width(const struct opt_spec *specs)
{
	char left[128];
	int widest;

	left_part(left, sizeof(left), &help_spec);
	widest = width_of(left, strlen(left));
	for (const struct opt_spec *s = specs; s->name; s++) {
		int width;

		left_part(left, sizeof(left), s);
		width = width_of(left, strlen(left));
		if (width > widest && width <= LEFT_MAX)
			widest = width;
	}
	return widest;
}

static bool has_durations(const struct opt_spec *specs)
{
	for (const struct opt_spec *s = specs; s->name; s++) {
		if (s->kind == OPT_DURATION)
			return true;
	}
	return false;
}

void options_help(FILE *out, const struct opt_usage *usage, const struct opt_spec *specs)
{
	struct wrap w = {.out = out};
	int width = left_width(specs);

	w.column = fprintf(out, "Usage: loopscope %s ", usage->command);
	w.indent = w.column;
	wrap_text(&w, usage->synopsis);
	wrap_line(&w);

	w.indent = 0;
	fputc('\n', out);
	wrap_text(&w, usage->about);
	wrap_line(&w);

	fputs("\nOptions:\n", out);
	for (const struct opt_spec *s = specs; s->name; s++)
		put_option(out, specs, s, width);
	put_option(out, specs, &help_spec, width);

	if (has_durations(specs))
		fputs("\nA TIME is a number with a unit: 250us, 50ms, 5s, 2m, 1h; without one, seconds.\n", out);

	if (usage->examples) {
		size_t n = strlen(usage->examples);

		fprintf(out, "\nExamples:\n%s%s", usage->examples, n > 0 && usage->examples[n - 1] == '\n' ? "" : "\n");
	}
}
