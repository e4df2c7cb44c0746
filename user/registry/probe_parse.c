/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe_parse.c - the text of a probe file to a checked struct probe.
 *
 * inih splits the text into sections, keys and values. Three of its habits are too lenient for us and are caught in the
 * line reader that it calls: it splits overlong lines, joins indented lines to the value above, and says nothing of a
 * section without keys. The reader also counts the lines, which inih as packaged doesn't hand on.
 */
#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "lib/parse.h"
#include "registry/probe.h"

enum section {
	SECTION_NONE,
	SECTION_RUNTIME,
	SECTION_MATCH,
	SECTION_ENTRY,
	SECTION_BEHAVIOUR,
};

struct parser {
	const char *source;
	const char *next, *end;
	unsigned line; /* of what the reader gave out last, from 1 */
	enum section section;
	bool seen[SECTION_BEHAVIOUR + 1];
	uint32_t keys_seen; /* of the current section, by position in keys[] */
	struct probe *probe;
	int err; /* the first one ends the reading */
	struct fault *f;
};

struct key {
	enum section section;
	const char *name;
	int (*set)(struct parser *s, const struct key *key, char *value);
	size_t offset; /* of a struct words in struct probe_rule or struct probe */
};

__attribute__((format(printf, 2, 3))) static int refuse(struct parser *s, const char *fmt, ...)
{
	char what[384];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	s->err = fault(s->f, -EINVAL, EXIT_FAILED, "%s:%u: %s", s->source, s->line, what);
	return s->err;
}

static int no_memory(struct parser *s)
{
	return s->err = -ENOMEM;
}

/* --- words ----------------------------------------------------------------------------------------------------------
 */

/* "a, b ,c": cuts value in place. */
static int split_words(struct parser *s, const struct key *key, char *value, struct words *ret)
{
	for (char *next = value, *item; (item = strsep(&next, ","));) {
		char *end;

		item += strspn(item, " \t");
		end = item + strlen(item);
		while (end > item && isspace((unsigned char)end[-1]))
			*--end = '\0';
		if (!*item)
			return refuse(s, "'%s' has an empty value: give one or more, separated by single commas",
				      key->name);
		if (ret->n == PROBE_WORDS_MAX)
			return refuse(s, "'%s' has too many values: at most %d are allowed", key->name,
				      PROBE_WORDS_MAX);
		ret->v[ret->n] = strdup(item);
		if (!ret->v[ret->n])
			return no_memory(s);
		ret->n++;
	}
	return 0;
}

static struct words *words_of(struct parser *s, const struct key *key)
{
	char *base = key->section == SECTION_ENTRY ? (char *)s->probe : (char *)&s->probe->rules[s->probe->n_rules - 1];

	return (struct words *)(base + key->offset);
}

/* Brackets that never close make fnmatch match the bracket itself: surely not what was meant. */
static bool pattern_ok(const char *p)
{
	bool bracket = false;

	for (; *p; p++) {
		if (!isprint((unsigned char)*p))
			return false;
		if (*p == '\\' && !*++p)
			return false;
		if (*p == '[')
			bracket = true;
		else if (*p == ']')
			bracket = false;
	}
	return !bracket;
}

static int set_patterns(struct parser *s, const struct key *key, char *value)
{
	struct words *w = words_of(s, key);
	int err = split_words(s, key, value, w);

	for (size_t i = 0; !err && i < w->n; i++)
		if (!pattern_ok(w->v[i]))
			err = refuse(s, "'%s' is not a file name pattern: printable text with * ? [abc] is allowed",
				     w->v[i]);
	return err;
}

static int set_exe(struct parser *s, const struct key *key, char *value)
{
	struct words *w = words_of(s, key);
	int err = set_patterns(s, key, value);

	for (size_t i = 0; !err && i < w->n; i++)
		if (strchr(w->v[i], '/'))
			err = refuse(s, "exe '%s' has a slash: only the file's name is compared, give that", w->v[i]);
	return err;
}

static int set_thread(struct parser *s, const struct key *key, char *value)
{
	struct words *w = words_of(s, key);
	int err = set_patterns(s, key, value);

	for (size_t i = 0; !err && i < w->n; i++)
		if (!strpbrk(w->v[i], "*?[\\") && strlen(w->v[i]) > PROBE_COMM_MAX)
			err = refuse(s,
				     "thread '%s' can never match: the kernel keeps %d bytes of a name, cut it there",
				     w->v[i], PROBE_COMM_MAX);
	return err;
}

static bool symbol_ok(const char *name, bool star)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$");

	return n > 0 && !isdigit((unsigned char)*name) && (!name[n] || (star && !strcmp(name + n, "*")));
}

static int set_symbols(struct parser *s, const struct key *key, char *value)
{
	bool star = key->section == SECTION_MATCH;
	struct words *w = words_of(s, key);
	int err = split_words(s, key, value, w);

	for (size_t i = 0; !err && i < w->n; i++)
		if (!symbol_ok(w->v[i], star))
			err = refuse(
				s,
				"'%s' is not a symbol: letters, digits, _ . $%s are allowed, as the linker writes it",
				w->v[i], star ? " and one * at the end" : "");
	return err;
}

static int set_sections(struct parser *s, const struct key *key, char *value)
{
	struct words *w = words_of(s, key);
	int err = split_words(s, key, value, w);

	for (size_t i = 0; !err && i < w->n; i++)
		if (w->v[i][0] != '.' || !symbol_ok(w->v[i], false))
			err = refuse(s, "'%s' is not an ELF section's name: give it like .go.buildinfo", w->v[i]);
	return err;
}

static int set_texts(struct parser *s, const struct key *key, char *value)
{
	struct words *w = words_of(s, key);
	int err = split_words(s, key, value, w);

	for (size_t i = 0; !err && i < w->n; i++)
		if (strlen(w->v[i]) < 8 || strlen(w->v[i]) > 64)
			err = refuse(s, "text '%s': 8 to 64 characters are allowed, as fewer turn up anywhere",
				     w->v[i]);
	return err;
}

static int set_syscalls(struct parser *s, const struct key *key, char *value)
{
	struct probe_rule *rule = &s->probe->rules[s->probe->n_rules - 1];
	struct words w = {};
	int err = split_words(s, key, value, &w);

	for (size_t i = 0; i < w.n; i++) {
		uint32_t bits = io_wait_bits_matching(w.v[i]);

		if (!err && !bits)
			err = refuse(s, "'%s' is no IO wait: allowed are %s, and patterns of them", w.v[i],
				     io_wait_names);
		rule->syscalls |= bits;
		free(w.v[i]);
	}
	return err;
}

/* --- single values --------------------------------------------------------------------------------------------------
 */

static int set_name(struct parser *s, const struct key *key, char *value)
{
	size_t len = strlen(value);

	if (!len || len > 31 || strspn(value, "abcdefghijklmnopqrstuvwxyz0123456789_-") != len ||
	    !strcmp(value, "unknown"))
		return refuse(s, "name '%s': 1 to 31 of a-z, 0-9, _ and - are allowed, and 'unknown' is taken", value);
	s->probe->name = strdup(value);
	return s->probe->name ? 0 : no_memory(s);
}

static int set_description(struct parser *s, const struct key *key, char *value)
{
	size_t len = strlen(value), i = 0;

	while (i < len && isprint((unsigned char)value[i]))
		i++;
	if (!len || len > 120 || i < len)
		return refuse(s, "description: 1 to 120 printable ASCII characters are allowed");
	s->probe->description = strdup(value);
	return s->probe->description ? 0 : no_memory(s);
}

static int set_priority(struct parser *s, const struct key *key, char *value)
{
	uint64_t n;

	if (parse_u64(value, 0, 100, &n) < 0)
		return refuse(s, "priority '%s': a number from 0 to 100 is allowed", value);
	s->probe->priority = (unsigned)n;
	return 0;
}

static int set_park(struct parser *s, const struct key *key, char *value)
{
	if (strcmp(value, "futex"))
		return refuse(s, "park '%s': only 'futex' is allowed", value);
	s->probe->runtime.park_is_idle = true;
	return 0;
}

#define RULE_WORDS(field)  offsetof(struct probe_rule, field)
#define ENTRY_WORDS(which) (offsetof(struct probe, entry) + (which) * sizeof(struct words))

static const struct key keys[] = {
	{SECTION_RUNTIME, "name", set_name, 0},
	{SECTION_RUNTIME, "description", set_description, 0},
	{SECTION_RUNTIME, "priority", set_priority, 0},
	{SECTION_MATCH, "exe", set_exe, RULE_WORDS(exe)},
	{SECTION_MATCH, "mapped", set_patterns, RULE_WORDS(mapped)},
	{SECTION_MATCH, "symbol", set_symbols, RULE_WORDS(symbol)},
	{SECTION_MATCH, "import", set_symbols, RULE_WORDS(import)},
	{SECTION_MATCH, "section", set_sections, RULE_WORDS(section)},
	{SECTION_MATCH, "text", set_texts, RULE_WORDS(text)},
	{SECTION_MATCH, "thread", set_thread, RULE_WORDS(thread)},
	{SECTION_MATCH, "syscall", set_syscalls, 0},
	{SECTION_ENTRY, "loop", set_symbols, ENTRY_WORDS(RUNTIME_ENTRY_LOOP)},
	{SECTION_ENTRY, "tick", set_symbols, ENTRY_WORDS(RUNTIME_ENTRY_TICK)},
	{SECTION_ENTRY, "poll", set_symbols, ENTRY_WORDS(RUNTIME_ENTRY_POLL)},
	{SECTION_ENTRY, "timers", set_symbols, ENTRY_WORDS(RUNTIME_ENTRY_TIMERS)},
	{SECTION_BEHAVIOUR, "park", set_park, 0},
};

static void key_names(enum section section, char *out, size_t size)
{
	size_t len = 0;

	out[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i].section == section && len < size)
			len += (size_t)snprintf(out + len, size - len, "%s%s", len ? ", " : "", keys[i].name);
}

/* --- sections -------------------------------------------------------------------------------------------------------
 */

static bool rule_has_evidence(const struct probe_rule *rule)
{
	return rule->exe.n || rule->mapped.n || rule->symbol.n || rule->import.n || rule->section.n || rule->text.n ||
	       rule->thread.n;
}

/* What can only be said once a section is complete. */
static int end_section(struct parser *s)
{
	const struct probe *p = s->probe;

	if (s->section == SECTION_MATCH && !rule_has_evidence(&p->rules[p->n_rules - 1])) {
		s->line = p->rules[p->n_rules - 1].line;
		return refuse(
			s, "this [match] would match every process: give at least one of exe, mapped, symbol, import, "
			   "section, text, thread");
	}
	return 0;
}

static int begin_match(struct parser *s, const char *suffix)
{
	struct probe *p = s->probe;
	uint64_t n = 1;

	if (*suffix && (*suffix != '.' || parse_u64(suffix + 1, 2, PROBE_RULES_MAX, &n) < 0))
		return refuse(s, "[match%s]: alternatives are called [match.2] to [match.%d]", suffix, PROBE_RULES_MAX);
	if (n != p->n_rules + 1)
		return refuse(s,
			      "[match%s] comes after %zu alternatives: they are [match], [match.2] and on, each once, "
			      "in order",
			      suffix, p->n_rules);
	p->rules[p->n_rules++].line = s->line;
	return 0;
}

static int begin_section(struct parser *s, const char *name)
{
	static const struct {
		const char *name;
		enum section section;
	} sections[] = {
		{"runtime", SECTION_RUNTIME},
		{"entry", SECTION_ENTRY},
		{"behaviour", SECTION_BEHAVIOUR},
	};
	int err = end_section(s);

	if (err)
		return err;
	s->keys_seen = 0;
	s->section = SECTION_MATCH;
	if (!strncmp(name, "match", 5) && (!name[5] || name[5] == '.'))
		return begin_match(s, name + 5);

	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		if (strcmp(sections[i].name, name))
			continue;
		s->section = sections[i].section;
		if (s->seen[s->section])
			return refuse(s, "[%s] is given twice: put all its keys into one", name);
		s->seen[s->section] = true;
		if (s->section == SECTION_RUNTIME)
			s->probe->line = s->line;
		return 0;
	}
	return refuse(s, "unknown section [%s]: allowed are [runtime], [match], [match.2] and on, [entry], [behaviour]",
		      name);
}

/* --- what inih calls ------------------------------------------------------------------------------------------------
 */

static int on_key(void *user, const char *section, const char *name, const char *value)
{
	_cleanup_free_ char *copy = NULL;
	struct parser *s = user;
	char allowed[128];

	if (s->err)
		return 0;
	if (s->section == SECTION_NONE)
		return refuse(s, "'%s' stands before any section: begin with [runtime]", name), 0;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (keys[i].section != s->section || strcmp(keys[i].name, name))
			continue;
		if (s->keys_seen & (UINT32_C(1) << i))
			return refuse(s, "'%s' is given twice: separate several values by commas", name), 0;
		s->keys_seen |= UINT32_C(1) << i;
		copy = strdup(value);
		if (!copy)
			return no_memory(s), 0;
		return !keys[i].set(s, &keys[i], copy);
	}
	key_names(s->section, allowed, sizeof(allowed));
	return refuse(s, "unknown key '%s' in [%s]: allowed are %s", name, section, allowed), 0;
}

/* The part of a line between [ and ]; where there is no ] inih complains. */
static int on_section_line(struct parser *s, const char *line)
{
	char name[32] = "";
	const char *end = strchr(line, ']');

	if (!end)
		return 0;
	if ((size_t)(end - line - 1) >= sizeof(name))
		return refuse(
			s, "unknown section: allowed are [runtime], [match], [match.2] and on, [entry], [behaviour]");
	if (end[1 + strspn(end + 1, " \t\r\n")] && !strchr(";#", end[1 + strspn(end + 1, " \t\r\n")]))
		return refuse(s, "there is text after the section's ]: put it on its own line");
	memcpy(name, line + 1, (size_t)(end - line - 1));
	return begin_section(s, name);
}

/* An fgets() over the text. */
static char *next_line(char *buf, int size, void *user)
{
	struct parser *s = user;
	const char *newline;
	size_t len;

	if (s->err || s->next == s->end)
		return NULL;
	s->line++;
	newline = memchr(s->next, '\n', (size_t)(s->end - s->next));
	len = newline ? (size_t)(newline + 1 - s->next) : (size_t)(s->end - s->next);
	if (memchr(s->next, '\0', len))
		return refuse(s, "a NUL byte: a probe file is plain text"), NULL;
	if (len >= (size_t)size)
		return refuse(s, "the line is too long: at most %d characters are allowed", size - 2), NULL;
	memcpy(buf, s->next, len);
	buf[len] = '\0';
	s->next += len;

	if (isblank((unsigned char)*buf) && buf[strspn(buf, " \t\r\n")])
		return refuse(s, "the line is indented: begin every line at its left edge"), NULL;
	if (*buf == '[' && on_section_line(s, buf) < 0)
		return NULL;
	return buf;
}

/* --- the whole ------------------------------------------------------------------------------------------------------
 */

static int check_complete(struct parser *s)
{
	struct probe *p = s->probe;
	int err = end_section(s);

	if (err)
		return err;
	s->line = p->line ? p->line : 1;
	if (!p->name)
		return refuse(s, "the name is missing: give [runtime] with name = ...");
	if (!p->description)
		return refuse(s, "the description is missing: give [runtime] description = ..., one line");
	if (!p->n_rules)
		return refuse(s, "there is no [match]: say there how to recognise %s", p->name);
	return 0;
}

static int complete(struct parser *s)
{
	struct probe *p = s->probe;

	p->source = strdup(s->source);
	if (!p->source)
		return no_memory(s);
	p->runtime.name = p->name;
	p->runtime.description = p->description;
	p->runtime.source = p->source;
	for (size_t i = 0; i < RUNTIME_ENTRY_COUNT; i++)
		p->runtime.entry[i] = (const char *const *)p->entry[i].v;
	return 0;
}

int probe_parse(const char *source, const char *text, size_t len, struct probe **ret, struct fault *f)
{
	CLEANUP(probe_free_ptr) struct probe *p = calloc(1, sizeof(*p));
	struct parser s = {.source = source, .next = text, .end = text + len, .probe = p, .f = f};
	int bad_line;

	if (!p)
		return -ENOMEM;
	p->priority = 50;
	bad_line = ini_parse_stream(next_line, &s, on_key, &s);
	if (!s.err && bad_line < 0)
		return -ENOMEM;
	/* inih reports the first bad line: one of its own may precede ours, but then ours is no less true. */
	if (!s.err && bad_line > 0) {
		s.line = (unsigned)bad_line;
		return refuse(&s, "neither [section] nor key = value nor a comment (; or #)");
	}
	if (!s.err)
		check_complete(&s);
	if (!s.err)
		complete(&s);
	if (s.err)
		return s.err;
	*ret = TAKE_PTR(p);
	return 0;
}
