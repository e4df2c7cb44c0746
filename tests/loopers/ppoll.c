/* SPDX-License-Identifier: BSD-2-Clause */
/* ppoll.c - a loop on ppoll(). See looper.h. */
#include "looper.h"

#include <poll.h>

static void wait_ppoll(void *state, int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	(void)state;
	ppoll(&p, 1, NULL, NULL);
}

int main(int argc, char **argv)
{
	return looper_main(argc, argv, &(struct waiter){.name = "ppoll", .wait = wait_ppoll});
}
