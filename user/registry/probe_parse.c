/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe_parse.c - the text of a probe file to a checked struct probe; lib/inifile.h splits the lines.
 */
#include <errno.h>
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
		s->in.line = p->rules[p->n_rules - 1].line;
		return inifile_refuse(
			&s->in,
			"this [match] would match every process: give at least one of exe, mapped, symbol, import, "
			"section, text, thread");
	}
	return 0;
}

static int begin_match(struct probe_parser *s, const char *suffix)
{
	struct probe *p = s->probe;
	uint64_t n = 1;

	if (*suffix && (*suffix != '.' || parse_u64(suffix + 1, 2, PROBE_RULES_MAX, &n) < 0))
		return inifile_refuse(&s->in, "[match%s]: alternatives are called [match.2] to [match.%d]", suffix,
				      PROBE_RULES_MAX);
	if (n != p->n_rules + 1)
		return inifile_refuse(
			&s->in,
			"[match%s] comes after %zu alternatives: they are [match], [match.2] and on, each once, "
			"in order",
			suffix, p->n_rules);
	p->rules[p->n_rules++].line = s->in.line;
	return 0;
}

static int begin_section(void *arg, const char *name)
{
	struct probe_parser *s = arg;
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
			return inifile_refuse(&s->in, "[%s] is given twice: put all its keys into one", name);
		s->seen[s->section] = true;
		if (s->section == SECTION_RUNTIME)
			s->probe->line = s->in.line;
		return 0;
	}
	return inifile_refuse(
		&s->in, "unknown section [%s]: allowed are [runtime], [match], [match.2] and on, [entry], [behaviour]",
		name);
}

/* --- keys ------------------------------------------------------------------------------------------------------------
 */

static int on_key(void *arg, const char *section, const char *name, const char *value)
{
	_cleanup_free_ char *copy = NULL;
	struct probe_parser *s = arg;
	char allowed[128];

	if (s->section == SECTION_NONE)
		return inifile_refuse(&s->in, "'%s' stands before any section: begin with [runtime]", name);
	for (size_t i = 0; i < probe_keys_n; i++) {
		if (probe_keys[i].section != s->section || strcmp(probe_keys[i].name, name))
			continue;
		if (s->keys_seen & (UINT32_C(1) << i))
			return inifile_refuse(&s->in, "'%s' is given twice: separate several values by commas", name);
		s->keys_seen |= UINT32_C(1) << i;
		copy = strdup(value);
		if (!copy)
			return probe_no_memory(s);
		return probe_keys[i].set(s, &probe_keys[i], copy);
	}
	probe_key_names(s->section, allowed, sizeof(allowed));
	return inifile_refuse(&s->in, "unknown key '%s' in [%s]: allowed are %s", name, section, allowed);
}

/* --- the whole ------------------------------------------------------------------------------------------------------
 */

static int check_complete(struct probe_parser *s)
{
	struct probe *p = s->probe;
	int err = end_section(s);

	if (err)
		return err;
	s->in.line = p->line ? p->line : 1;
	if (!p->name)
		return inifile_refuse(&s->in, "the name is missing: give [runtime] with name = ...");
	if (!p->description)
		return inifile_refuse(&s->in, "the description is missing: give [runtime] description = ..., one line");
	if (!p->n_rules)
		return inifile_refuse(&s->in, "there is no [match]: say there how to recognise %s", p->name);
	return 0;
}

/* Base names alone are compared where functions are looked for: what else a pattern asks for has been met by then. */
static void collect_mapped(struct probe *p)
{
	size_t n = 0;

	for (size_t r = 0; r < p->n_rules; r++)
		for (size_t i = 0; i < p->rules[r].mapped.n; i++) {
			const char *slash = strrchr(p->rules[r].mapped.v[i], '/');

			p->mapped[n++] = slash ? slash + 1 : p->rules[r].mapped.v[i];
		}
}

static int complete(struct probe_parser *s)
{
	struct probe *p = s->probe;

	p->source = strdup(s->in.source);
	if (!p->source)
		return probe_no_memory(s);
	p->runtime.name = p->name;
	p->runtime.description = p->description;
	p->runtime.source = p->source;
	for (size_t i = 0; i < RUNTIME_ENTRY_COUNT; i++)
		p->runtime.entry[i] = (const char *const *)p->entry[i].v;
	p->runtime.phases = (struct runtime_phases){
		.names = (const char *const *)p->phase_names,
		.symbols = (const char *const *)p->phase_symbols.v,
		.which = p->phase_of,
	};
	collect_mapped(p);
	p->runtime.mapped = p->mapped;
	return 0;
}

int probe_parse(const char *source, const char *text, size_t len, struct probe **ret, struct fault *f)
{
	CLEANUP(probe_free_ptr) struct probe *p = calloc(1, sizeof(*p));
	struct probe_parser s = {
		.in = {.source = source, .what = "a probe file", .section = begin_section, .key = on_key, .status = EXIT_FAILED, .f = f},
		.probe = p,
	};
	int err;

	if (!p)
		return -ENOMEM;
	p->priority = 50;
	s.in.arg = &s;
	err = inifile_parse(&s.in, text, len);
	if (!err)
		err = check_complete(&s);
	if (!err)
		err = complete(&s);
	if (err)
		return err;
	*ret = TAKE_PTR(p);
	return 0;
}
