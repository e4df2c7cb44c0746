/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe.c - the life of a struct probe, reading one from a file, and the names of the IO waits.
 */
#include "registry/probe.h"

#include <fnmatch.h>
#include <string.h>

#include "lib/inifile.h"

/* As DESIGN.md lists them; position is the bit. */
static const char *const io_waits[] = {
	"epoll_wait", "epoll_pwait", "epoll_pwait2",   "poll",         "ppoll",
	"select",     "pselect6",    "io_uring_enter", "io_getevents", "io_pgetevents",
};

const char io_wait_names[] = "epoll_wait, epoll_pwait, epoll_pwait2, poll, ppoll, select, pselect6, io_uring_enter, "
			     "io_getevents, io_pgetevents";

uint32_t io_wait_bit(const char *syscall)
{
	for (size_t i = 0; i < ARRAY_SIZE(io_waits); i++)
		if (!strcmp(io_waits[i], syscall))
			return UINT32_C(1) << i;
	return 0;
}

uint32_t io_wait_bits_matching(const char *pattern)
{
	uint32_t bits = 0;

	for (size_t i = 0; i < ARRAY_SIZE(io_waits); i++)
		if (!fnmatch(pattern, io_waits[i], 0))
			bits |= UINT32_C(1) << i;
	return bits;
}

static void words_release(struct words *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->v[i]);
}

void probe_free(struct probe *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n_rules; i++) {
		struct probe_rule *rule = &p->rules[i];

		words_release(&rule->exe);
		words_release(&rule->mapped);
		words_release(&rule->symbol);
		words_release(&rule->import);
		words_release(&rule->section);
		words_release(&rule->text);
		words_release(&rule->thread);
	}
	for (size_t i = 0; i < RUNTIME_ENTRY_COUNT; i++)
		words_release(&p->entry[i]);
	words_release(&p->phase_symbols);
	for (size_t i = 0; i < RUNTIME_PHASES_MAX; i++)
		free(p->phase_names[i]);
	free(p->name);
	free(p->description);
	free(p->source);
	free(p);
}

int probe_read(const char *path, struct probe **ret, struct fault *f)
{
	_cleanup_free_ char *text = NULL;
	size_t len;
	int err = inifile_load(path, "a probe file", PROBE_FILE_MAX, &text, &len, f);

	return err ? err : probe_parse(path, text, len, ret, f);
}
