/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * file_cache.h - the marks that files have been seen to have, by the file's identity and content.
 *
 * Bounded: when FILE_CACHE_MAX files are known, all are forgotten and read again on demand.
 */
#ifndef LOOPSCOPE_REGISTRY_FILE_CACHE_H
#define LOOPSCOPE_REGISTRY_FILE_CACHE_H

#include "lib/cleanup.h"
#include "registry/marks.h"
#include "registry/target.h"

#define FILE_CACHE_MAX 4096

struct file_cache;

int file_cache_new(struct file_cache **ret);
void file_cache_free(struct file_cache *c); /* accepts NULL */
DEFINE_CLEANUP(struct file_cache *, file_cache_free);

/* Adds to *set the marks of the file that path_fd (O_PATH) and key stand for, down to depth inclusive. What can't be
 * read or is no ELF file has none. */
void file_cache_marks(struct file_cache *c, int path_fd, const struct file_key *key, const struct mark_table *marks,
		      enum mark_depth depth, struct mark_set *set);
/* How many times a file was really read: for tests and self-reports. */
unsigned long file_cache_reads(const struct file_cache *c);

#endif
