/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel_uprobe.h - uprobes of one process at places in one file: one link for all of them where the kernel can do that, else one
 * each, which takes as many grace periods to let go.
 *
 * A breakpoint at the entry of a function, never at its return: a return probe writes to the stack, which has crashed Go programs
 * and others.
 */
#ifndef LOOPSCOPE_SOURCE_KERNEL_UPROBE_H
#define LOOPSCOPE_SOURCE_KERNEL_UPROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "source/kernel.h"
#include "source/kernel_links.h"

struct bpf_program;

/* Whether one link for all can be had, found by trying. */
bool kernel_uprobe_multi_works(void);
/* Before the program is loaded: how it will be attached. */
void kernel_uprobe_prepare(struct bpf_program *prog, bool multi);
/* cookie[i] is what the program gets from bpf_get_attach_cookie() at offset[i]. 0 or -errno; what was attached is in l. */
int kernel_uprobe_attach(struct kernel_links *l, const struct bpf_program *prog, bool multi, pid_t pid, int path_fd,
			 const uint64_t *offset, const uint64_t *cookie, size_t n);

/* On the wrappers of the IO waits' system calls in the process's libc, which find() looks up; the cookie is the call's number.
 * -ENOENT where it has none of them. */
int kernel_uprobe_attach_waits(struct kernel_links *l, const struct bpf_program *prog, bool multi, pid_t pid,
			       kernel_find_fn find, void *find_arg);

#endif
