/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe.c - the life of a struct probe, reading one from a file, and the names of the IO waits.
 */
#include "registry/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>
#include <sys/stat.h>

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
	free(p->name);
	free(p->description);
	free(p->source);
	free(p);
}

int probe_read(const char *path, struct probe **ret, struct fault *f)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	_cleanup_free_ char *text = NULL;
	struct stat st;
	size_t len = 0;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fault(f, -errno, EXIT_FAILED, "%s: %m: make it readable, or point LOOPSCOPE_PROBES elsewhere",
			     path);
	if (!S_ISREG(st.st_mode))
		return fault(f, -EINVAL, EXIT_FAILED, "%s: not a regular file: a probe file is a text file", path);

	text = malloc(PROBE_FILE_MAX + 1);
	if (!text)
		return -ENOMEM;
	/* One byte more than allowed, to tell a file that is too long; the size that fstat gave may have changed. */
	while (len <= PROBE_FILE_MAX) {
		ssize_t n = read(fd, text + len, PROBE_FILE_MAX + 1 - len);

		if (n < 0)
			return fault(f, -errno, EXIT_FAILED, "%s: %m: make it readable", path);
		if (n == 0)
			return probe_parse(path, text, len, ret, f);
		len += (size_t)n;
	}
	return fault(f, -EFBIG, EXIT_FAILED, "%s: too long for a probe file: at most %d KiB are allowed", path,
		     PROBE_FILE_MAX / 1024);
}
