/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cleanup.h - resources that free themselves when their scope ends.
 *
 * Ownership: a variable marked _cleanup_xxx_ owns what it holds; hand it on with TAKE_PTR() or TAKE_FD(), which
 * leave NULL or -1 behind. Every free function accepts NULL (or -1).
 */
#ifndef LOOPSCOPE_LIB_CLEANUP_H
#define LOOPSCOPE_LIB_CLEANUP_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(fn) __attribute__((__cleanup__(fn)))

/* Defines fn##_ptr(type *p), which calls fn(*p): the shape that the cleanup attribute wants. */
#define DEFINE_CLEANUP(type, fn)                 \
	static inline void fn##_ptr(type *p)     \
	{                                        \
		fn(*p);                          \
	}                                        \
	struct fn##_needs_semicolon

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_close(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_fclose(FILE **f)
{
	if (*f)
		fclose(*f);
}

static inline void cleanup_closedir(DIR **d)
{
	if (*d)
		closedir(*d);
}

#define _cleanup_free_ CLEANUP(cleanup_free)
#define _cleanup_close_ CLEANUP(cleanup_close)
#define _cleanup_fclose_ CLEANUP(cleanup_fclose)
#define _cleanup_closedir_ CLEANUP(cleanup_closedir)

#define TAKE_PTR(p)                      \
	({                               \
		__typeof__(p) _taken = (p); \
		(p) = NULL;              \
		_taken;                  \
	})

#define TAKE_FD(fd)                \
	({                         \
		int _taken = (fd); \
		(fd) = -1;         \
		_taken;            \
	})

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif
