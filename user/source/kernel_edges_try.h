/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel_edges_try.h - which ways to the edges of IO waits work here, found by trying: a program that does nothing is attached, tracefs is
 * mounted. Nothing is left behind but, where none was, a tracefs in a mount namespace of our own.
 */
#ifndef LOOPSCOPE_SOURCE_KERNEL_EDGES_TRY_H
#define LOOPSCOPE_SOURCE_KERNEL_EDGES_TRY_H

#include <stdbool.h>

#include "model/record.h"

struct btf;

struct edges_trial {
	bool works;
	char found[160];
	char remedy[160]; /* "" where it works */
};

/* kernel: its types. */
void kernel_edges_try(enum edge_kind kind, const struct btf *kernel, struct edges_trial *ret);
/* The best that works: what --edges auto takes. */
enum edge_kind kernel_edges_auto(const struct btf *kernel);

#endif
