/* SPDX-License-Identifier: BSD-2-Clause */
/* pselect6.c - a loop on pselect(), which is the pselect6 system call. See looper.h. */
#include "looper.h"

#include <sys/select.h>

static void wait_pselect(void *state, int fd)
{
	fd_set set;

	(void)state;
	FD_ZERO(&set);
	FD_SET(fd, &set);
	pselect(fd + 1, &set, NULL, NULL, NULL, NULL);
}

int main(int argc, char **argv)
{
	return looper_main(argc, argv, &(struct waiter){.name = "pselect6", .wait = wait_pselect});
}
