/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * registry_internal.h - struct registry, shared by loading (registry.c) and recognising (recognise.c).
 */
#ifndef LOOPSCOPE_REGISTRY_REGISTRY_INTERNAL_H
#define LOOPSCOPE_REGISTRY_REGISTRY_INTERNAL_H

#include "registry/file_cache.h"
#include "registry/probe.h"

#define REGISTRY_PROBES_MAX 128

/* A probe_rule with its marks numbered. Each set: any of them; empty: not asked for. */
struct rule {
	const struct probe *probe;
	const struct probe_rule *text;
	struct mark_set mapped, symbol, import, section, rodata;
};

struct registry {
	struct probe *probes[REGISTRY_PROBES_MAX]; /* by priority, highest first, then by name */
	size_t n_probes;
	struct rule rules[REGISTRY_PROBES_MAX * PROBE_RULES_MAX]; /* in the probes' order */
	size_t n_rules;
	struct mark_table marks;
	struct file_cache *files;
	bool in_round;
	struct target *kept; /* the process asked about last in this round, NULL none; see recognise.c */
};

#endif
