/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * file_cache.c - open addressing over a table twice as large as what it may hold. See file_cache.h.
 */
#include "registry/file_cache.h"

#include <errno.h>
#include <string.h>

#define SLOTS (2 * FILE_CACHE_MAX)

struct known_file {
	struct file_key key;
	unsigned depths; /* bit per enum mark_depth that has been read; 0: the slot is free */
	struct mark_set marks;
};

struct file_cache {
	size_t n;
	unsigned long reads;
	struct known_file slots[SLOTS];
};

int file_cache_new(struct file_cache **ret)
{
	struct file_cache *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	*ret = c;
	return 0;
}

void file_cache_free(struct file_cache *c)
{
	free(c);
}

unsigned long file_cache_reads(const struct file_cache *c)
{
	return c->reads;
}

static size_t hash(const struct file_key *k)
{
	uint64_t h = (k->ino ^ k->dev << 32 ^ k->size << 16 ^ k->mtime_ns) * UINT64_C(0x9e3779b97f4a7c15);

	return h >> 32;
}

static struct known_file *find_or_add(struct file_cache *c, const struct file_key *key)
{
	for (size_t i = hash(key);; i++) {
		struct known_file *s = &c->slots[i % SLOTS];

		if (s->depths && file_key_equal(&s->key, key))
			return s;
		if (s->depths)
			continue;
		if (c->n == FILE_CACHE_MAX) {
			memset(c->slots, 0, sizeof(c->slots));
			c->n = 0;
			s = &c->slots[hash(key) % SLOTS];
		}
		c->n++;
		s->key = *key;
		return s;
	}
}

void file_cache_marks(struct file_cache *c, int path_fd, const struct file_key *key, const struct mark_table *marks,
		      enum mark_depth depth, struct mark_set *set)
{
	struct known_file *file = find_or_add(c, key);
	_cleanup_close_ int fd = -1;

	for (unsigned d = 0; d <= (unsigned)depth; d++) {
		if (file->depths & 1u << d)
			continue;
		file->depths |= 1u << d;
		if (fd < 0)
			fd = target_reopen(path_fd);
		if (fd < 0)
			continue;
		c->reads++;
		elf_marks_read(fd, marks, (enum mark_depth)d, &file->marks);
	}
	mark_set_join(set, &file->marks);
}
