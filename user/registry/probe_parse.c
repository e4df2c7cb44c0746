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
#include <string.h>

#include "lib/parse.h"
#include "registry/probe_parse.h"

/* --- sections -------------------------------------------------------------------------------------------------------
 */

static bool rule_has_evidence(const struct probe_rule *rule)
{
	return rule->exe.n || rule->mapped.n || rule->symbol.n || rule->import.n || rule->section.n || rule->text.n ||
	       rule->thread.n;
}

/* What can only be said once a section is complete. */
static int end_section(struct probe_parser *s)
{
	const struct probe *p = s->probe;

	if (s->section == SECTION_MATCH && !rule_has_evidence(&p->rules[p->n_rules - 1])) {
		s->line = p->rules[p->n_rules - 1].line;
		return probe_refuse(
			s, "this [match] would match every process: give at least one of exe, mapped, symbol, import, "
			   "section, text, thread");
	}
	return 0;
}

static int begin_match(struct probe_parser *s, const char *suffix)
{
	struct probe *p = s->probe;
	uint64_t n = 1;

	if (*suffix && (*suffix != '.' || parse_u64(suffix + 1, 2, PROBE_RULES_MAX, &n) < 0))
		return probe_refuse(s, "[match%s]: alternatives are called [match.2] to [match.%d]", suffix,
				    PROBE_RULES_MAX);
	if (n != p->n_rules + 1)
		return probe_refuse(
			s,
			"[match%s] comes after %zu alternatives: they are [match], [match.2] and on, each once, "
			"in order",
			suffix, p->n_rules);
	p->rules[p->n_rules++].line = s->line;
	return 0;
}

static int begin_section(struct probe_parser *s, const char *name)
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
			return probe_refuse(s, "[%s] is given twice: put all its keys into one", name);
		s->seen[s->section] = true;
		if (s->section == SECTION_RUNTIME)
			s->probe->line = s->line;
		return 0;
	}
	return probe_refuse(
		s, "unknown section [%s]: allowed are [runtime], [match], [match.2] and on, [entry], [behaviour]",
		name);
}

/* --- what inih calls ------------------------------------------------------------------------------------------------
 */

static int on_key(void *user, const char *section, const char *name, const char *value)
{
	_cleanup_free_ char *copy = NULL;
	struct probe_parser *s = user;
	char allowed[128];

	if (s->err)
		return 0;
	if (s->section == SECTION_NONE)
		return probe_refuse(s, "'%s' stands before any section: begin with [runtime]", name), 0;
	for (size_t i = 0; i < probe_keys_n; i++) {
		if (probe_keys[i].section != s->section || strcmp(probe_keys[i].name, name))
			continue;
		if (s->keys_seen & (UINT32_C(1) << i))
			return probe_refuse(s, "'%s' is given twice: separate several values by commas", name), 0;
		s->keys_seen |= UINT32_C(1) << i;
		copy = strdup(value);
		if (!copy)
			return probe_no_memory(s), 0;
		return !probe_keys[i].set(s, &probe_keys[i], copy);
	}
	probe_key_names(s->section, allowed, sizeof(allowed));
	return probe_refuse(s, "unknown key '%s' in [%s]: allowed are %s", name, section, allowed), 0;
}

/* The part of a line between [ and ]. */
static int on_section_line(struct probe_parser *s, const char *line)
{
	char name[32] = "";
	const char *end = strchr(line, ']');

	if (!end)
		return probe_refuse(s, "the section's ] is missing");
	if ((size_t)(end - line - 1) >= sizeof(name))
		return probe_refuse(
			s, "unknown section: allowed are [runtime], [match], [match.2] and on, [entry], [behaviour]");
	if (end[1 + strspn(end + 1, " \t\r\n")] && !strchr(";#", end[1 + strspn(end + 1, " \t\r\n")]))
		return probe_refuse(s, "there is text after the section's ]: put it on its own line");
	memcpy(name, line + 1, (size_t)(end - line - 1));
	return begin_section(s, name);
}

/* An fgets() over the text. */
static char *next_line(char *buf, int size, void *user)
{
	struct probe_parser *s = user;
	const char *newline;
	size_t len;

	if (s->err || s->next == s->end)
		return NULL;
	s->line++;
	newline = memchr(s->next, '\n', (size_t)(s->end - s->next));
	len = newline ? (size_t)(newline + 1 - s->next) : (size_t)(s->end - s->next);
	if (memchr(s->next, '\0', len))
		return probe_refuse(s, "a NUL byte: a probe file is plain text"), NULL;
	if (len >= (size_t)size)
		return probe_refuse(s, "the line is too long: at most %d characters are allowed", size - 2), NULL;
	memcpy(buf, s->next, len);
	buf[len] = '\0';
	s->next += len;

	if (isblank((unsigned char)*buf) && buf[strspn(buf, " \t\r\n")])
		return probe_refuse(s, "the line is indented: begin every line at its left edge"), NULL;
	if (*buf == '[' && on_section_line(s, buf) < 0)
		return NULL;
	return buf;
}

/* --- the whole ------------------------------------------------------------------------------------------------------
 */

static int check_complete(struct probe_parser *s)
{
	struct probe *p = s->probe;
	int err = end_section(s);

	if (err)
		return err;
	s->line = p->line ? p->line : 1;
	if (!p->name)
		return probe_refuse(s, "the name is missing: give [runtime] with name = ...");
	if (!p->description)
		return probe_refuse(s, "the description is missing: give [runtime] description = ..., one line");
	if (!p->n_rules)
		return probe_refuse(s, "there is no [match]: say there how to recognise %s", p->name);
	return 0;
}

static int complete(struct probe_parser *s)
{
	struct probe *p = s->probe;

	p->source = strdup(s->source);
	if (!p->source)
		return probe_no_memory(s);
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
	struct probe_parser s = {.source = source, .next = text, .end = text + len, .probe = p, .f = f};
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
		return probe_refuse(&s, "neither [section] nor key = value nor a comment (; or #)");
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
