/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * select.c - a loop on the select system call. See looper.h.
 *
 * glibc's select() enters pselect6, so the call is made directly where the architecture has it (x86_64 does, arm64
 * does not: there this is pselect6 again).
 */
#include "looper.h"

#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

static void wait_select(void *state, int fd)
{
	fd_set set;

	(void)state;
	FD_ZERO(&set);
	FD_SET(fd, &set);
#ifdef SYS_select
	syscall(SYS_select, fd + 1, &set, NULL, NULL, NULL);
#else
	select(fd + 1, &set, NULL, NULL, NULL);
#endif
}

int main(int argc, char **argv)
{
	return looper_main(argc, argv, &(struct waiter){.name = "select", .wait = wait_select});
}
