/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe_parse.h - what the two halves of the probe file parser share: probe_parse.c knows lines and sections,
 * probe_values.c knows keys and what each may hold. Internal to registry/.
 */
#ifndef LOOPSCOPE_REGISTRY_PROBE_PARSE_H
#define LOOPSCOPE_REGISTRY_PROBE_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/inifile.h"
#include "registry/probe.h"

enum section {
	SECTION_NONE,
	SECTION_RUNTIME,
	SECTION_MATCH,
	SECTION_ENTRY,
	SECTION_BEHAVIOUR,
};

struct probe_parser {
	struct inifile in;
	enum section section;
	bool seen[SECTION_BEHAVIOUR + 1];
	uint32_t keys_seen; /* of the current section, by position in keys[] */
	struct probe *probe;
};

struct probe_key {
	enum section section;
	const char *name;
	int (*set)(struct probe_parser *s, const struct probe_key *key, char *value);
	size_t offset; /* of a struct words in struct probe_rule or struct probe */
};

/* One per key that exists; each at most once in a section. Fewer than 32: see keys_seen. */
extern const struct probe_key probe_keys[];
extern const size_t probe_keys_n;

/* "name, description, ...": for messages. */
void probe_key_names(enum section section, char *out, size_t size);

/* Sets the reader's error and returns it. */
int probe_no_memory(struct probe_parser *s);

#endif
