/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * privilege.h - what this process may do (capabilities(7)), and giving up the rest for good.
 *
 * Capabilities belong to threads: privilege_keep() acts on the calling one, so call it before the first other thread is started.
 * The user id stays as it is: files of root remain root's for who began as root.
 */
#ifndef LOOPSCOPE_LIB_PRIVILEGE_H
#define LOOPSCOPE_LIB_PRIVILEGE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/fault.h"

struct privilege_name {
	char text[32];
};

/* Whether the calling thread may use it now. False for one that this kernel does not know. */
bool privilege_has(int cap);

/* "CAP_BPF", as manuals spell it; "capability 63" for one without a name. */
struct privilege_name privilege_name(int cap);

/*
 * Keeps those of caps that the thread has, and gives up all else: effective, permitted, inheritable and ambient sets and, where
 * CAP_SETPCAP allows it, the bounding set. No program that it starts can get more (no_new_privs). Missing ones are no error.
 * Returns 0 or -errno with a sentence in *f; then nothing may have been given up.
 */
int privilege_keep(const int *caps, size_t n, struct fault *f);

#endif
