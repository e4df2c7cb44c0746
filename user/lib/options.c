/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options.c - see options.h; options_value.c reads the values, options_help.c prints the help.
 *
 * getopt keeps global state and prints its own sentences: it is reset before each use (optind = 0 is glibc's way, which
 * also forgets a half-read "-abc") and silenced, and what it found wrong is told from its return value and optopt.
 */
#include "lib/options.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/options_value.h"

/* getopt's value for a long option: LONG_BASE + its index in the table. Above every letter, and every stray byte. */
#define LONG_HELP 256
#define LONG_BASE 257

/* How an option was written, so that sentences name it as the user did. */
enum spelling { NOT_GIVEN = 0, BY_LETTER, BY_NAME };

struct parser {
	const struct opt_usage *usage;
	const struct opt_spec *specs;
	size_t n_specs;
	void *config;
	struct fault *f;
	enum spelling *given; /* one a spec */
	struct option *longs; /* one a spec, help, end */
	char *letters;        /* getopt's optstring */
};

static int usage_fault(const struct parser *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int usage_fault(const struct parser *p, const char *fmt, ...)
{
	char sentence[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	return fault(p->f, -EINVAL, EXIT_USAGE, "%s; try 'loopscope %s --help'", sentence, p->usage->command);
}

struct opt_name {
	char text[80];
};

static struct opt_name name_of(const struct parser *p, size_t i, enum spelling how)
{
	struct opt_name name;

	if (how == BY_LETTER)
		snprintf(name.text, sizeof(name.text), "-%c", p->specs[i].letter);
	else
		snprintf(name.text, sizeof(name.text), "--%s", p->specs[i].name);
	return name;
}

static int no_memory(const struct parser *p)
{
	return fault(p->f, -ENOMEM, EXIT_FAILED, "out of memory while reading the options; free some and try again");
}

/* --- one option after the other -------------------------------------------------------------------------------------
 */

static int check_exclusion(const struct parser *p, size_t i)
{
	for (size_t j = 0; j < p->n_specs; j++) {
		if (j == i || !p->given[j] || !p->specs[i].excludes || p->specs[j].excludes != p->specs[i].excludes)
			continue;
		return usage_fault(p, "%s and %s exclude each other; give one of them", name_of(p, j, p->given[j]).text,
				   name_of(p, i, p->given[i]).text);
	}
	return 0;
}

static size_t index_of_letter(const struct parser *p, int letter)
{
	size_t i = 0;

	while (i < p->n_specs && p->specs[i].letter != letter)
		i++;
	return i;
}

static int take_option(const struct parser *p, int c)
{
	enum spelling how = c >= LONG_BASE ? BY_NAME : BY_LETTER;
	size_t i = how == BY_NAME ? (size_t)(c - LONG_BASE) : index_of_letter(p, c);
	char sentence[300];
	int err;

	p->given[i] = how;
	err = check_exclusion(p, i);
	if (err)
		return err;
	err = options_read_value(&p->specs[i], optarg, (char *)p->config + p->specs[i].offset, sentence,
				 sizeof(sentence));
	if (err == -ENOMEM)
		return no_memory(p);
	return err ? usage_fault(p, "option %s: %s", name_of(p, i, how).text, sentence) : 0;
}

static int missing_argument(const struct parser *p, int c)
{
	enum spelling how = c >= LONG_BASE ? BY_NAME : BY_LETTER;
	size_t i = how == BY_NAME ? (size_t)(c - LONG_BASE) : index_of_letter(p, c);

	return usage_fault(p, "option %s needs a value: %s", name_of(p, i, how).text, p->specs[i].arg);
}

/* word: as typed, "--int=5s". */
static int unknown_long(const struct parser *p, const char *word)
{
	size_t n = strcspn(word + 2, "=");
	const char *first = NULL;
	char name[2 * QUOTE_SIZE];

	snprintf(name, sizeof(name), "%.*s", (int)(n < sizeof(name) ? n : sizeof(name)) + 2, word);
	for (const struct option *o = p->longs; o->name; o++) {
		if (strncmp(o->name, word + 2, n) != 0)
			continue;
		if (first)
			return usage_fault(p, "option '%s' is ambiguous: it can be --%s or --%s",
					   options_quote(name).text, first, o->name);
		first = o->name;
	}
	return usage_fault(p, "unknown option '%s'", options_quote(name).text);
}

/* What getopt answered with '?': optopt is the letter, or the val of a long flag that was given a value, or 0. */
static int not_an_option(const struct parser *p, const char *word)
{
	char letter[] = {'-', (char)optopt, '\0'};

	if (optopt == LONG_HELP)
		return usage_fault(p, "option --help takes no value");
	if (optopt >= LONG_BASE)
		return usage_fault(p, "option --%s takes no value", p->specs[optopt - LONG_BASE].name);
	if (optopt == 0)
		return unknown_long(p, word);
	return usage_fault(p, "unknown option '%s'", options_quote(letter).text);
}

static int show_help(const struct parser *p)
{
	options_help(stdout, p->usage, p->specs);
	if (fflush(stdout) != 0 || ferror(stdout))
		return fault(p->f, -EIO, EXIT_FAILED,
			     "the help cannot be written to stdout (%m); see where that leads");
	return OPTIONS_HELP_SHOWN;
}

static int check_operands(const struct parser *p, int argc, char **argv, int first)
{
	int max = p->usage->max_operands;

	if (max < 0 || argc - first <= max)
		return 0;
	if (max == 0)
		return usage_fault(p, "unexpected '%s': '%s' takes options only", options_quote(argv[first]).text,
				   p->usage->command);
	return usage_fault(p, "unexpected '%s': '%s' takes no more than %d operand%s",
			   options_quote(argv[first + max]).text, p->usage->command, max, max == 1 ? "" : "s");
}

static int parse_all(const struct parser *p, int argc, char **argv, int *ret_operand)
{
	int c, err;

	optind = 0;
	opterr = 0;
	while ((c = getopt_long(argc, argv, p->letters, p->longs, NULL)) != -1) {
		if (c == 'h' || c == LONG_HELP)
			return show_help(p);
		if (c == ':')
			err = missing_argument(p, optopt);
		else if (c == '?')
			err = not_an_option(p, argv[optind - 1]);
		else
			err = take_option(p, c);
		if (err)
			return err;
	}
	err = check_operands(p, argc, argv, optind);
	if (err)
		return err;
	*ret_operand = optind;
	return 0;
}

/* --- the table ------------------------------------------------------------------------------------------------------
 */

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* What only a programmer can get wrong, found by the first call of any test. */
static void check_table(const struct opt_spec *specs)
{
	for (const struct opt_spec *s = specs; s->name; s++) {
		assert(!s->letter || (is_letter(s->letter) && s->letter != 'h'));
		assert(strcmp(s->name, "help") != 0);
		assert(s->help);
		assert((s->kind == OPT_FLAG) == !s->arg);
		assert((s->kind == OPT_CHOICE) == !!s->choices);
		assert(!s->check || s->kind == OPT_STRING || s->kind == OPT_STRINGS);
		for (const struct opt_spec *t = specs; t < s; t++)
			assert((!s->letter || s->letter != t->letter) && strcmp(s->name, t->name) != 0);
	}
}

static struct option *make_longs(const struct opt_spec *specs, size_t n)
{
	struct option *longs = calloc(n + 2, sizeof(*longs));

	if (!longs)
		return NULL;
	for (size_t i = 0; i < n; i++)
		longs[i] = (struct option){
			.name = specs[i].name,
			.has_arg = specs[i].kind == OPT_FLAG ? no_argument : required_argument,
			.val = LONG_BASE + (int)i,
		};
	longs[n] = (struct option){.name = "help", .has_arg = no_argument, .val = LONG_HELP};
	return longs;
}

/* "+" ends at the first operand; ":" tells a missing value from an unknown option. */
static char *make_letters(const struct opt_spec *specs, size_t n, bool stop_at_operand)
{
	char *letters = calloc(1, sizeof("+:h") + 2 * n), *at = letters;

	if (!letters)
		return NULL;
	at = stpcpy(at, stop_at_operand ? "+:h" : ":h");
	for (size_t i = 0; i < n; i++) {
		if (!specs[i].letter)
			continue;
		*at++ = specs[i].letter;
		if (specs[i].kind != OPT_FLAG)
			*at++ = ':';
	}
	return letters;
}

static struct opt_given as_bits(const struct parser *p)
{
	struct opt_given given = {0};

	assert(p->n_specs <= OPTIONS_GIVEN_MAX);
	for (size_t i = 0; i < p->n_specs; i++)
		given.bits |= (uint64_t)(p->given[i] != NOT_GIVEN) << i;
	return given;
}

int options_parse(const struct opt_usage *usage, const struct opt_spec *specs, void *config, int argc, char **argv,
		  int *ret_operand, struct fault *f)
{
	return options_parse_given(usage, specs, config, argc, argv, ret_operand, NULL, f);
}

int options_parse_given(const struct opt_usage *usage, const struct opt_spec *specs, void *config, int argc, char **argv,
			int *ret_operand, struct opt_given *ret_given, struct fault *f)
{
	_cleanup_free_ enum spelling *given = NULL;
	_cleanup_free_ struct option *longs = NULL;
	_cleanup_free_ char *letters = NULL;
	struct parser p = {.usage = usage, .specs = specs, .config = config, .f = f};
	int err;

	check_table(specs);
	while (specs[p.n_specs].name)
		p.n_specs++;
	p.given = given = calloc(p.n_specs + 1, sizeof(*given));
	p.longs = longs = make_longs(specs, p.n_specs);
	p.letters = letters = make_letters(specs, p.n_specs, usage->stop_at_operand);
	if (!given || !longs || !letters)
		return no_memory(&p);
	err = parse_all(&p, argc, argv, ret_operand);
	if (!err && ret_given)
		*ret_given = as_bits(&p);
	return err;
}

static bool same_strings(const struct opt_strings *a, const struct opt_strings *b)
{
	for (size_t i = 0; i < a->n && i < b->n; i++)
		if (strcmp(a->v[i], b->v[i]))
			return false;
	return a->n == b->n;
}

static bool same_pids(const struct opt_pids *a, const struct opt_pids *b)
{
	return a->n == b->n && (!a->n || !memcmp(a->v, b->v, a->n * sizeof(a->v[0])));
}

static bool same_string(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

bool options_same(const struct opt_spec *s, const void *a, const void *b)
{
	const void *x = (const char *)a + s->offset, *y = (const char *)b + s->offset;

	switch (s->kind) {
	case OPT_FLAG:
		return *(const bool *)x == *(const bool *)y;
	case OPT_STRING:
		return same_string(*(const char *const *)x, *(const char *const *)y);
	case OPT_STRINGS:
		return same_strings(x, y);
	case OPT_PIDS:
		return same_pids(x, y);
	case OPT_DURATION:
	case OPT_COUNT:
		return *(const uint64_t *)x == *(const uint64_t *)y;
	case OPT_CHOICE:
		return *(const int *)x == *(const int *)y;
	case OPT_SHARE:
		return *(const double *)x == *(const double *)y;
	}
	return false;
}

void options_release(const struct opt_spec *specs, void *config)
{
	for (const struct opt_spec *s = specs; s->name; s++) {
		void *at = (char *)config + s->offset;

		if (s->kind == OPT_STRINGS) {
			free(((struct opt_strings *)at)->v);
			*(struct opt_strings *)at = (struct opt_strings){0};
		} else if (s->kind == OPT_PIDS) {
			free(((struct opt_pids *)at)->v);
			*(struct opt_pids *)at = (struct opt_pids){0};
		}
	}
}
