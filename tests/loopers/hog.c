/* SPDX-License-Identifier: BSD-2-Clause */
/* hog.c - burns a CPU until SIGTERM, under the name given by -n. See looper.h. */
#include <sys/prctl.h>

#include "looper.h"

static void take_name(void *arg, const char *value)
{
	(void)arg;
	prctl(PR_SET_NAME, value, 0, 0, 0);
}

int main(int argc, char **argv)
{
	static const struct looper_option extra[] = {{'n', "NAME", take_name}, {0}};
	struct looper l;

	looper_init(&l, "hog", argc, argv, extra, NULL);
	looper_start(&l);
	looper_ready();
	while (!looper_over(&l))
		looper_work(&l);
	looper_truth(&l, "");
	return 0;
}
