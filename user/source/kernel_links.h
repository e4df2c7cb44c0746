/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel_links.h - what is attached together is let go together: in threads, as the kernel may take a grace period for each
 * link, seconds in all while its CPUs are busy.
 */
#ifndef LOOPSCOPE_SOURCE_KERNEL_LINKS_H
#define LOOPSCOPE_SOURCE_KERNEL_LINKS_H

#include <stddef.h>

struct bpf_link;
struct letting_go;

#define KERNEL_LINKS_MAX 512

/* An all-zero struct is empty. */
struct kernel_links {
	struct {
		struct bpf_link *link; /* NULL: fd is all there is of it */
		int fd;
	} v[KERNEL_LINKS_MAX];
	size_t n;
	struct letting_go *letting_go; /* those that a thread is closing; NULL: none */
};

/* Takes the link over, also where it fails. NULL, and a negative fd, say that attaching failed, and errno why: -errno. */
int kernel_links_add(struct kernel_links *l, struct bpf_link *link);
int kernel_links_add_fd(struct kernel_links *l, int fd);

/* Empty at once; the kernel is still at it. */
void kernel_links_let_go(struct kernel_links *l);
/* Waits until nothing is left of what was let go. */
void kernel_links_wait(struct kernel_links *l);

#endif
