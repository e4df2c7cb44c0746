/* SPDX-License-Identifier: BSD-2-Clause */
/* poll.c - a loop on poll(). See looper.h. */
#include "looper.h"

#include <poll.h>

static void wait_poll(void *state, int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	(void)state;
	poll(&p, 1, -1);
}

int main(int argc, char **argv)
{
	return looper_main(argc, argv, &(struct waiter){.name = "poll", .wait = wait_poll});
}
