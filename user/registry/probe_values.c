/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe_values.c - the keys of a probe file, and what each may hold. See probes/README.md.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "lib/parse.h"
#include "registry/probe_parse.h"

#define PHASE_NAME_MAX 15

int probe_no_memory(struct probe_parser *s)
{
	return s->in.err = -ENOMEM;
}

/* --- words ----------------------------------------------------------------------------------------------------------
 */

/* "a, b ,c": cuts value in place. */
static int split_words(struct probe_parser *s, const struct probe_key *key, char *value, struct words *ret)
{
	for (char *next = value, *item; (item = strsep(&next, ","));) {
		char *end;

		item += strspn(item, " \t");
		end = item + strlen(item);
		while (end > item && isspace((unsigned char)end[-1]))
			*--end = '\0';
		if (!*item)
			return inifile_refuse(&s->in,
					      "'%s' has an empty value: give one or more, separated by single commas",
					      key->name);
		if (ret->n == PROBE_WORDS_MAX)
			return inifile_refuse(&s->in, "'%s' has too many values: at most %d are allowed", key->name,
					      PROBE_WORDS_MAX);
		ret->v[ret->n] = strdup(item);
		if (!ret->v[ret->n])
			return probe_no_memory(s);
		ret->n++;
	}
	return 0;
}

static struct words *words_of(struct probe_parser *s, const struct probe_key *key)
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

static int set_patterns(struct probe_parser *s, const struct probe_key *key, char *value)
{
	struct words *w = words_of(s, key);
	int err = split_words(s, key, value, w);

	for (size_t i = 0; !err && i < w->n; i++)
		if (!pattern_ok(w->v[i]))
			err = inifile_refuse(
				&s->in, "'%s' is not a file name pattern: printable text with * ? [abc] is allowed",
				w->v[i]);
	return err;
}

static int set_exe(struct probe_parser *s, const struct probe_key *key, char *value)
{
	struct words *w = words_of(s, key);
	int err = set_patterns(s, key, value);

	for (size_t i = 0; !err && i < w->n; i++)
		if (strchr(w->v[i], '/'))
			err = inifile_refuse(
				&s->in, "exe '%s' has a slash: only the file's name is compared, give that", w->v[i]);
	return err;
}

static int set_thread(struct probe_parser *s, const struct probe_key *key, char *value)
{
	struct words *w = words_of(s, key);
	int err = set_patterns(s, key, value);

	for (size_t i = 0; !err && i < w->n; i++)
		if (!strpbrk(w->v[i], "*?[\\") && strlen(w->v[i]) > PROBE_COMM_MAX)
			err = inifile_refuse(
				&s->in,
				"thread '%s' can never match: the kernel keeps %d bytes of a name, cut it there",
				w->v[i], PROBE_COMM_MAX);
	return err;
}

static bool symbol_ok(const char *name, bool star)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$");

	return n > 0 && !isdigit((unsigned char)*name) && (!name[n] || (star && !strcmp(name + n, "*")));
}

static int set_symbols(struct probe_parser *s, const struct probe_key *key, char *value)
{
	bool star = key->section == SECTION_MATCH;
	struct words *w = words_of(s, key);
	int err = split_words(s, key, value, w);

	for (size_t i = 0; !err && i < w->n; i++)
		if (!symbol_ok(w->v[i], star))
			err = inifile_refuse(
				&s->in,
				"'%s' is not a symbol: letters, digits, _ . $%s are allowed, as the linker writes it",
				w->v[i], star ? " and one * at the end" : "");
	return err;
}

/* The place of that name among those of the phases, where it is added if it is new. */
static int phase_place(struct probe_parser *s, const char *name, size_t *ret)
{
	struct probe *p = s->probe;
	size_t i = 0, len = strlen(name);

	if (!len || len > PHASE_NAME_MAX || strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") != len)
		return inifile_refuse(&s->in, "phase '%s': 1 to %d of a-z, 0-9, _ and - are allowed for its name", name, PHASE_NAME_MAX);
	while (p->phase_names[i] && strcmp(p->phase_names[i], name))
		i++;
	if (i == RUNTIME_PHASES_MAX)
		return inifile_refuse(&s->in, "'phases' has too many names: at most %d are allowed", RUNTIME_PHASES_MAX);
	if (!p->phase_names[i])
		p->phase_names[i] = strdup(name);
	*ret = i;
	return p->phase_names[i] ? 0 : probe_no_memory(s);
}

/* "NAME:SYMBOL, NAME:SYMBOL": of each word its symbol stays. */
static int set_phases(struct probe_parser *s, const struct probe_key *key, char *value)
{
	struct words *w = words_of(s, key);
	int err = split_words(s, key, value, w);

	for (size_t i = 0; !err && i < w->n; i++) {
		char *colon = strchr(w->v[i], ':');

		if (!colon)
			return inifile_refuse(&s->in, "phase '%s' names no function: give NAME:SYMBOL", w->v[i]);
		*colon = '\0';
		err = phase_place(s, w->v[i], &s->probe->phase_of[i]);
		if (err)
			return err;
		memmove(w->v[i], colon + 1, strlen(colon + 1) + 1);
		if (!symbol_ok(w->v[i], false))
			return inifile_refuse(&s->in, "'%s' is not a symbol: letters, digits, _ . $ are allowed, as the linker writes it",
					      w->v[i]);
		for (size_t k = 0; k < i; k++)
			if (!strcmp(w->v[k], w->v[i]))
				return inifile_refuse(&s->in, "'%s' begins two phases: give it to one", w->v[i]);
	}
	return err;
}

static int set_sections(struct probe_parser *s, const struct probe_key *key, char *value)
{
	struct words *w = words_of(s, key);
	int err = split_words(s, key, value, w);

	for (size_t i = 0; !err && i < w->n; i++)
		if (w->v[i][0] != '.' || !symbol_ok(w->v[i], false))
			err = inifile_refuse(&s->in, "'%s' is not an ELF section's name: give it like .go.buildinfo",
					     w->v[i]);
	return err;
}

static int set_texts(struct probe_parser *s, const struct probe_key *key, char *value)
{
	struct words *w = words_of(s, key);
	int err = split_words(s, key, value, w);

	for (size_t i = 0; !err && i < w->n; i++)
		if (strlen(w->v[i]) < 8 || strlen(w->v[i]) > 64)
			err = inifile_refuse(&s->in,
					     "text '%s': 8 to 64 characters are allowed, as fewer turn up anywhere",
					     w->v[i]);
	return err;
}

static int set_syscalls(struct probe_parser *s, const struct probe_key *key, char *value)
{
	struct probe_rule *rule = &s->probe->rules[s->probe->n_rules - 1];
	struct words w = {};
	int err = split_words(s, key, value, &w);

	for (size_t i = 0; i < w.n; i++) {
		uint32_t bits = io_wait_bits_matching(w.v[i]);

		if (!err && !bits)
			err = inifile_refuse(&s->in, "'%s' is no IO wait: allowed are %s, and patterns of them", w.v[i],
					     io_wait_names);
		rule->syscalls |= bits;
		free(w.v[i]);
	}
	return err;
}

/* --- single values --------------------------------------------------------------------------------------------------
 */

static int set_name(struct probe_parser *s, const struct probe_key *key, char *value)
{
	size_t len = strlen(value);

	if (!len || len > 31 || strspn(value, "abcdefghijklmnopqrstuvwxyz0123456789_-") != len ||
	    !strcmp(value, "unknown"))
		return inifile_refuse(
			&s->in, "name '%s': 1 to 31 of a-z, 0-9, _ and - are allowed, and 'unknown' is taken", value);
	s->probe->name = strdup(value);
	return s->probe->name ? 0 : probe_no_memory(s);
}

static int set_description(struct probe_parser *s, const struct probe_key *key, char *value)
{
	size_t len = strlen(value), i = 0;

	while (i < len && isprint((unsigned char)value[i]))
		i++;
	if (!len || len > 120 || i < len)
		return inifile_refuse(&s->in, "description: 1 to 120 printable ASCII characters are allowed");
	s->probe->description = strdup(value);
	return s->probe->description ? 0 : probe_no_memory(s);
}

static int set_priority(struct probe_parser *s, const struct probe_key *key, char *value)
{
	uint64_t n;

	if (parse_u64(value, 0, 100, &n) < 0)
		return inifile_refuse(&s->in, "priority '%s': a number from 0 to 100 is allowed", value);
	s->probe->priority = (unsigned)n;
	return 0;
}

static int set_park(struct probe_parser *s, const struct probe_key *key, char *value)
{
	if (strcmp(value, "futex"))
		return inifile_refuse(&s->in, "park '%s': only 'futex' is allowed", value);
	s->probe->runtime.park_is_idle = true;
	return 0;
}

#define RULE_WORDS(field)  offsetof(struct probe_rule, field)
#define ENTRY_WORDS(which) (offsetof(struct probe, entry) + (which) * sizeof(struct words))

const struct probe_key probe_keys[] = {
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
	{SECTION_ENTRY, "phases", set_phases, offsetof(struct probe, phase_symbols)},
	{SECTION_BEHAVIOUR, "park", set_park, 0},
};

const size_t probe_keys_n = ARRAY_SIZE(probe_keys);

void probe_key_names(enum section section, char *out, size_t size)
{
	size_t len = 0;

	out[0] = '\0';
	for (size_t i = 0; i < probe_keys_n; i++)
		if (probe_keys[i].section == section && len < size)
			len += (size_t)snprintf(out + len, size - len, "%s%s", len ? ", " : "", probe_keys[i].name);
}
