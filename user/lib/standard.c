/* SPDX-License-Identifier: BSD-2-Clause */
/* standard.c - see standard.h. */
#include "lib/standard.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int standard_fds_hold(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		/* Lower ones are taken, so it is this one. The wrong way round: EBADF for who reads or writes. */
		if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			return -errno;
	}
	return 0;
}
