/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * io_uring.c - a loop that waits in io_uring_enter for completions of one poll request. See looper.h.
 */
#include <errno.h>
#include <liburing.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "looper.h"

static void *ring_open(int fd)
{
	struct io_uring *ring = calloc(1, sizeof(*ring));
	int err = ring ? io_uring_queue_init(8, ring, 0) : -ENOMEM;

	(void)fd;
	if (err)
		die("io_uring: %s", strerror(-err));
	return ring;
}

static void wait_ring(void *state, int fd)
{
	struct io_uring *ring = state;
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
	struct io_uring_cqe *cqe;

	io_uring_prep_poll_add(sqe, fd, POLLIN);
	io_uring_submit(ring);
	if (io_uring_wait_cqe(ring, &cqe) == 0)
		io_uring_cqe_seen(ring, cqe);
}

int main(int argc, char **argv)
{
	return looper_main(argc, argv, &(struct waiter){.name = "io_uring", .open = ring_open, .wait = wait_ring});
}
