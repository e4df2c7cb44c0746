/* SPDX-License-Identifier: BSD-2-Clause */
/* perf_map.c - see perf_map.h. */
#include "registry/perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "registry/proc.h"

#define NAME_MAX_LEN 512
#define ENTRIES_MAX (1u << 20)

struct entry {
	uint64_t start, end;
	size_t order; /* in the file */
	char *name;
};

struct perf_map {
	char path[96];
	off_t size; /* read so far */
	struct entry *entries;
	size_t n, cap;
	uint64_t longest;
};

struct perf_map *perf_map_new(pid_t pid)
{
	struct perf_map *m = calloc(1, sizeof(*m));
	struct proc_info info;
	pid_t inner = pid;

	if (!m)
		return NULL;
	if (!proc_info_read(pid, &info))
		inner = info.nspid;
	snprintf(m->path, sizeof(m->path), "/proc/%d/root/tmp/perf-%d.map", pid, inner);
	return m;
}

static void drop_entries(struct perf_map *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->entries[i].name);
	m->n = 0;
	m->longest = 0;
}

void perf_map_free(struct perf_map *m)
{
	if (!m)
		return;
	drop_entries(m);
	free(m->entries);
	free(m);
}

static int by_start(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static int add_line(struct perf_map *m, char *line)
{
	uint64_t start, size;
	char *end, *name;
	struct entry *e;

	errno = 0;
	start = strtoull(line, &end, 16);
	if (errno || end == line || *end != ' ')
		return 0;
	size = strtoull(end + 1, &name, 16);
	if (errno || name == end + 1 || *name != ' ' || !size || size > 1u << 30 || start + size < start)
		return 0;
	name++;
	name[strcspn(name, "\n")] = '\0';
	if (!*name || m->n == ENTRIES_MAX)
		return 0;
	if (m->n == m->cap) {
		size_t cap = m->cap ? 2 * m->cap : 256;
		struct entry *p = reallocarray(m->entries, cap, sizeof(*p));

		if (!p)
			return -ENOMEM;
		m->entries = p;
		m->cap = cap;
	}
	e = &m->entries[m->n];
	*e = (struct entry){ .start = start, .end = start + size, .order = m->n, .name = strndup(name, NAME_MAX_LEN) };
	if (!e->name)
		return -ENOMEM;
	m->n++;
	if (size > m->longest)
		m->longest = size;
	return 0;
}

/* The rest of a line that is longer than any name: a name may look like an entry. */
static void skip_line(FILE *in, size_t *bytes)
{
	int c;

	while (*bytes < PERF_MAP_MAX_BYTES && (c = getc(in)) != EOF && c != '\n')
		++*bytes;
}

/* The whole file again: it is rewritten by some compilers, appended to by most. */
static void read_again(struct perf_map *m)
{
	_cleanup_close_ int fd = open(m->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	_cleanup_fclose_ FILE *in = NULL;
	char line[NAME_MAX_LEN + 64];
	size_t bytes = 0;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size == m->size)
		return;
	in = fdopen(fd, "r");
	if (!in)
		return;
	TAKE_FD(fd);
	drop_entries(m);
	m->size = st.st_size;
	while (bytes < PERF_MAP_MAX_BYTES && fgets(line, sizeof(line), in)) {
		bool whole = strchr(line, '\n') != NULL;

		bytes += strlen(line);
		if (add_line(m, line))
			break;
		if (!whole)
			skip_line(in, &bytes);
	}
	qsort(m->entries, m->n, sizeof(m->entries[0]), by_start);
}

static const char *find(const struct perf_map *m, uint64_t addr)
{
	const struct entry *best = NULL;
	size_t lo = 0, hi = m->n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (m->entries[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* Entries overlap: look back as far as the longest reaches, but not for ever. */
	for (size_t i = lo, steps = 0; i-- > 0 && steps < 4096; steps++) {
		const struct entry *e = &m->entries[i];

		if (addr - e->start >= m->longest)
			break;
		if (addr < e->end && (!best || e->order > best->order))
			best = e;
	}
	return best ? best->name : NULL;
}

const char *perf_map_find(struct perf_map *m, uint64_t addr)
{
	read_again(m);
	return find(m, addr);
}
