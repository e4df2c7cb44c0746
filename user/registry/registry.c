/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * registry.c - finds and loads the probe files, orders them, and numbers what they look for. See registry.h.
 */
#include "registry/registry.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "registry/registry_internal.h"

#ifndef LOOPSCOPE_DATADIR
#define LOOPSCOPE_DATADIR "/usr/local/share/loopscope"
#endif

#define SUFFIX ".probe"

void registry_free(struct registry *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n_probes; i++)
		probe_free(r->probes[i]);
	registry_round_end(r);
	file_cache_free(r->files);
	free(r);
}
DEFINE_CLEANUP(struct registry *, registry_free);

size_t registry_count(const struct registry *r)
{
	return r->n_probes;
}

const struct runtime *registry_at(const struct registry *r, size_t i)
{
	return i < r->n_probes ? &r->probes[i]->runtime : NULL;
}

/* --- numbering the marks --------------------------------------------------------------------------------------------
 */

static int number_mark(struct mark_table *t, enum mark_kind kind, const char *what, struct mark_set *set)
{
	size_t len = strlen(what), i;
	bool prefix = (kind == MARK_SYMBOL || kind == MARK_IMPORT) && what[len - 1] == '*';

	for (i = 0; i < t->n; i++)
		if (t->v[i].kind == kind && !strcmp(t->v[i].what, what))
			break;
	if (i == MARKS_MAX)
		return -E2BIG;
	if (i == t->n)
		t->v[t->n++] = (struct mark){.kind = kind, .what = what, .len = len - prefix, .prefix = prefix};
	mark_set_add(set, i);
	return 0;
}

static int number_words(struct mark_table *t, enum mark_kind kind, const struct words *w, struct mark_set *set)
{
	int err = 0;

	for (size_t i = 0; !err && i < w->n; i++)
		err = number_mark(t, kind, w->v[i], set);
	return err;
}

static int number_rule(struct registry *r, const struct probe *p, const struct probe_rule *text, struct fault *f)
{
	struct rule *rule = &r->rules[r->n_rules];

	*rule = (struct rule){.probe = p, .text = text};
	if (number_words(&r->marks, MARK_MAPPED, &text->mapped, &rule->mapped) < 0 ||
	    number_words(&r->marks, MARK_SYMBOL, &text->symbol, &rule->symbol) < 0 ||
	    number_words(&r->marks, MARK_IMPORT, &text->import, &rule->import) < 0 ||
	    number_words(&r->marks, MARK_SECTION, &text->section, &rule->section) < 0 ||
	    number_words(&r->marks, MARK_TEXT, &text->text, &rule->rodata) < 0)
		return fault(f, -E2BIG, EXIT_FAILED,
			     "%s:%u: all probe files together look for more than %d different things: remove some",
			     p->source, text->line, MARKS_MAX);
	r->n_rules++;
	return 0;
}

static int by_priority(const void *va, const void *vb)
{
	const struct probe *a = *(struct probe *const *)va, *b = *(struct probe *const *)vb;

	if (a->priority != b->priority)
		return a->priority < b->priority ? 1 : -1;
	return strcmp(a->name, b->name);
}

static int number_all(struct registry *r, struct fault *f)
{
	int err = 0;

	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers is what is sorted */
	qsort(r->probes, r->n_probes, sizeof(r->probes[0]), by_priority);
	for (size_t i = 0; i < r->n_probes; i++)
		for (size_t k = 0; !err && k < r->probes[i]->n_rules; k++)
			err = number_rule(r, r->probes[i], &r->probes[i]->rules[k], f);
	return err;
}

/* --- the directory --------------------------------------------------------------------------------------------------
 */

static int is_probe_file(const struct dirent *e)
{
	size_t len = strlen(e->d_name);

	return e->d_name[0] != '.' && len > strlen(SUFFIX) && !strcmp(e->d_name + len - strlen(SUFFIX), SUFFIX);
}

static int add_file(struct registry *r, const char *path, struct fault *f)
{
	struct probe *p;
	int err;

	if (r->n_probes == REGISTRY_PROBES_MAX)
		return fault(f, -E2BIG, EXIT_FAILED, "%s: more than %d probe files: remove some", path,
			     REGISTRY_PROBES_MAX);
	err = probe_read(path, &p, f);
	if (err)
		return err;
	for (size_t i = 0; i < r->n_probes; i++) {
		if (strcmp(r->probes[i]->name, p->name))
			continue;
		err = fault(f, -EEXIST, EXIT_FAILED,
			    "%s:%u: the runtime '%s' is already described by %s: rename or remove one", path, p->line,
			    p->name, r->probes[i]->source);
		probe_free(p);
		return err;
	}
	r->probes[r->n_probes++] = p;
	return 0;
}

/* Returns the number of probe files, or -errno. */
static int add_dir(struct registry *r, const char *dir, struct fault *f)
{
	struct dirent **entries;
	int n = scandir(dir, &entries, is_probe_file, alphasort), err = 0;

	if (n < 0)
		return -errno;
	for (int i = 0; i < n; i++) {
		_cleanup_free_ char *path = NULL;

		if (!err && asprintf(&path, "%s/%s", dir, entries[i]->d_name) < 0) {
			path = NULL;
			err = -ENOMEM;
		}
		if (!err)
			err = add_file(r, path, f);
		free(entries[i]);
	}
	free(entries);
	return err ? err : n;
}

/* PREFIX/bin/loopscope -> PREFIX/share/loopscope/probes, wherever an installed tree was moved to. */
static void beside_program(char *ret, size_t size)
{
	char exe[2048];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;

	*ret = '\0';
	if (n < 0)
		return;
	exe[n] = '\0';
	slash = strrchr(exe, '/');
	if (!slash)
		return;
	*slash = '\0';
	snprintf(ret, size, "%s/../share/loopscope/probes", exe);
}

/* Returns the number of probe files of the first place that has any, or -errno. */
static int add_usual_places(struct registry *r, struct fault *f)
{
	char beside[2100];
	const char *places[] = {
		beside,
#ifdef LOOPSCOPE_SRCDIR
		LOOPSCOPE_SRCDIR "/probes",
#endif
		LOOPSCOPE_DATADIR "/probes",
	};

	beside_program(beside, sizeof(beside));
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		int n = add_dir(r, places[i], f);

		if (n > 0 || (n < 0 && n != -ENOENT && n != -ENOTDIR))
			return n;
	}
	return fault(f, -ENOENT, EXIT_FAILED,
		     "no probe files in %s/probes: install them, or set LOOPSCOPE_PROBES to their folder",
		     LOOPSCOPE_DATADIR);
}

int registry_load(const char *dir, struct registry **ret, struct fault *f)
{
	CLEANUP(registry_free_ptr) struct registry *r = calloc(1, sizeof(*r));
	const char *env = getenv("LOOPSCOPE_PROBES");
	int n, err;

	if (!r || file_cache_new(&r->files) < 0)
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory while reading probe files");
	if (!dir && env && *env)
		dir = env;
	n = dir ? add_dir(r, dir, f) : add_usual_places(r, f);
	/* Where a sentence was set, these keep it. */
	if (n < 0)
		return fault(f, n, EXIT_FAILED, "%s: %s: give a folder of probe files", dir ? dir : "probe files",
			     strerror(-n));
	if (n == 0)
		return fault(f, -ENOENT, EXIT_FAILED, "%s: no file ends in " SUFFIX ": give a folder of probe files",
			     dir);
	err = number_all(r, f);
	if (err)
		return err;
	*ret = TAKE_PTR(r);
	return 0;
}
