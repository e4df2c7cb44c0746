/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recognise.c - holds the rules against one process. See registry.h.
 *
 * Rules are tried by priority, with what is cheap to learn first: names and dynamic symbols of all rules, then full
 * symbol tables, then text. So a stripped redis-server, or anything that maps libuv, never has more than its dynamic
 * symbols read, and only what nothing else recognises is searched for text. What is learnt of the process is learnt
 * when a rule first asks.
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "registry/registry_internal.h"

/* Mapped files that meet a pattern: programs have one or two. */
#define HITS_MAX 16

struct hit {
	int fd; /* O_PATH, -1: not reachable */
	struct file_key key;
	struct mark_set patterns; /* which MARK_MAPPED it meets */
};

struct target {
	struct registry *registry;
	pid_t pid;
	char exe_name[256];
	int exe_fd;
	struct file_key exe_key;
	bool maps_read;
	struct mark_set mapped; /* all patterns met */
	struct hit hits[HITS_MAX];
	size_t n_hits;
};

static const char *const no_entry[] = {NULL};
static const struct runtime unknown = {
	.name = "unknown",
	.description = "no probe file matches",
	.source = "",
	.entry = {no_entry, no_entry, no_entry, no_entry},
	.phases = {no_entry, no_entry, NULL},
	.mapped = no_entry,
};
_Static_assert(RUNTIME_ENTRY_COUNT == 4, "one no_entry each");

static void target_release(struct target *t)
{
	if (t->exe_fd >= 0)
		close(t->exe_fd);
	for (size_t i = 0; i < t->n_hits; i++)
		if (t->hits[i].fd >= 0)
			close(t->hits[i].fd);
}

static bool any_matches(const struct words *patterns, const char *name)
{
	for (size_t i = 0; i < patterns->n; i++)
		if (!fnmatch(patterns->v[i], name, 0))
			return true;
	return false;
}

/* --- mapped files ---------------------------------------------------------------------------------------------------
 */

/* As many trailing components of path as the pattern has. */
static const char *path_tail(const char *path, const char *pattern)
{
	const char *tail = path + strlen(path);
	unsigned slashes = 0;

	for (; *pattern; pattern++)
		slashes += *pattern == '/';
	while (tail > path) {
		if (tail[-1] == '/' && !slashes--)
			break;
		tail--;
	}
	return tail;
}

/* Most names differ in the first bytes already: that is cheaper to see than fnmatch() is to call. */
static bool may_match(const char *pattern, const char *name)
{
	for (; *pattern && !strchr("*?[\\", *pattern); pattern++, name++)
		if (*pattern != *name)
			return false;
	return true;
}

static int on_mapping(void *arg, const struct mapping *m)
{
	struct target *t = arg;
	const struct mark_table *marks = &t->registry->marks;
	struct mark_set met = {};
	struct hit *hit;

	for (size_t i = 0; i < marks->n; i++) {
		const struct mark *mark = &marks->v[i];
		const char *tail;

		if (mark->kind != MARK_MAPPED)
			continue;
		tail = path_tail(m->path, mark->what);
		if (may_match(mark->what, tail) && !fnmatch(mark->what, tail, FNM_PATHNAME))
			mark_set_add(&met, i);
	}
	mark_set_join(&t->mapped, &met);
	if (mark_set_empty(&met) || t->n_hits == HITS_MAX)
		return 0;
	hit = &t->hits[t->n_hits++];
	hit->patterns = met;
	hit->fd = -1;
	target_open_mapping(t->pid, m, &hit->fd, &hit->key);
	return 0;
}

static bool mapped_holds(struct target *t, const struct rule *rule)
{
	if (mark_set_empty(&rule->mapped))
		return true;
	if (!t->maps_read) {
		t->maps_read = true;
		target_each_mapping(t->pid, on_mapping, t);
	}
	return mark_set_meet(&t->mapped, &rule->mapped);
}

/* --- marks inside files ---------------------------------------------------------------------------------------------
 */

static bool met_if_asked(const struct mark_set *asked, const struct mark_set *found)
{
	return mark_set_empty(asked) || mark_set_meet(asked, found);
}

static bool marks_hold(struct target *t, const struct rule *rule, enum mark_depth depth)
{
	const struct mark_table *marks = &t->registry->marks;
	struct file_cache *files = t->registry->files;
	struct mark_set found = {};

	if (mark_set_empty(&rule->symbol) && mark_set_empty(&rule->import) && mark_set_empty(&rule->section) &&
	    mark_set_empty(&rule->rodata))
		return true;
	if (depth < DEPTH_TEXT && !mark_set_empty(&rule->rodata))
		return false;
	if (t->exe_fd >= 0)
		file_cache_marks(files, t->exe_fd, &t->exe_key, marks, depth, &found);
	for (size_t i = 0; i < t->n_hits; i++)
		if (t->hits[i].fd >= 0 && mark_set_meet(&t->hits[i].patterns, &rule->mapped))
			file_cache_marks(files, t->hits[i].fd, &t->hits[i].key, marks, depth, &found);

	return met_if_asked(&rule->symbol, &found) && met_if_asked(&rule->import, &found) &&
	       met_if_asked(&rule->section, &found) && met_if_asked(&rule->rodata, &found);
}

/* --- rules ----------------------------------------------------------------------------------------------------------
 */

static bool rule_holds(struct target *t, const struct rule *rule, const char *syscall, const char *thread,
		       enum mark_depth depth)
{
	const struct probe_rule *text = rule->text;

	if (text->syscalls && *syscall && !(text->syscalls & io_wait_bit(syscall)))
		return false;
	if (text->thread.n && (!*thread || !any_matches(&text->thread, thread)))
		return false;
	if (text->exe.n && !any_matches(&text->exe, t->exe_name))
		return false;
	return mapped_holds(t, rule) && marks_hold(t, rule, depth);
}

static void target_init(struct target *t, struct registry *r, pid_t pid)
{
	*t = (struct target){.registry = r, .pid = pid, .exe_fd = -1};
	/* No executable: a kernel thread, a zombie, or gone. */
	if (target_exe_name(pid, t->exe_name, sizeof(t->exe_name)) < 0)
		t->exe_name[0] = '\0';
	else
		target_open_exe(pid, &t->exe_fd, &t->exe_key);
}

static const struct runtime *recognise(struct target *t, const char *syscall, const char *thread)
{
	struct registry *r = t->registry;

	for (unsigned depth = 0; t->exe_name[0] && depth < DEPTH_COUNT; depth++)
		for (size_t i = 0; i < r->n_rules; i++)
			if (rule_holds(t, &r->rules[i], syscall ? syscall : "", thread ? thread : "",
				       (enum mark_depth)depth))
				return &r->rules[i].probe->runtime;
	return &unknown;
}

static void forget(struct registry *r)
{
	if (!r->kept)
		return;
	target_release(r->kept);
	free(r->kept);
	r->kept = NULL;
}

void registry_round_begin(struct registry *r)
{
	forget(r);
	r->in_round = true;
}

void registry_round_end(struct registry *r)
{
	forget(r);
	r->in_round = false;
}

const struct runtime *registry_recognise(struct registry *r, pid_t pid, const char *syscall, const char *thread)
{
	const struct runtime *found;

	if (r->kept && r->kept->pid != pid)
		forget(r);
	if (!r->kept) {
		r->kept = malloc(sizeof(*r->kept));
		if (!r->kept)
			return &unknown;
		target_init(r->kept, r, pid);
	}
	found = recognise(r->kept, syscall, thread);
	if (!r->in_round)
		forget(r);
	return found;
}
