/* SPDX-License-Identifier: BSD-2-Clause */
/* pollonce.c - polls once, for 1000 seconds: asleep in an IO wait and yet no loop. */
#include <poll.h>

#include "looper.h"

int main(int argc, char **argv)
{
	struct looper l;

	looper_init(&l, "pollonce", argc, argv, NULL, NULL);
	looper_start(&l);
	looper_ready();
	poll(NULL, 0, 1000 * 1000);
	looper_truth(&l, "");
	return 0;
}
