/* SPDX-License-Identifier: BSD-2-Clause */
/* record_host.c - what a recording says of the machine it was made on. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cmd/record.h"

static const char *copy(const char *text)
{
	return strdup(text);
}

int record_host(const struct record_config *c, int64_t start_ns, struct recording_host *ret, struct fault *f)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct utsname u;

	if (uname(&u))
		return fault(f, -errno, EXIT_FAILED, "this machine's name can't be read: %s", strerror(errno));
	*ret = (struct recording_host){
		.hostname = copy(u.nodename), .kernel = copy(u.release), .machine = copy(u.machine), .version = copy(LOOPSCOPE_VERSION),
		.command = copy(c->command), .cpus = cpus > 0 ? cpus : -1, .start_ns = start_ns, .end_ns = start_ns,
		.interval_ns = (int64_t)c->interval_ns, .slow_ns = c->no_slow ? -1 : (int64_t)c->slow_ns, .has_ticks = c->ticks,
		.dropped_until_ns = INT64_MIN,
	};
	if (ret->hostname && ret->kernel && ret->machine && ret->version && ret->command)
		return 0;
	record_host_free(ret);
	return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
}

void record_host_free(struct recording_host *h)
{
	free((void *)h->hostname);
	free((void *)h->kernel);
	free((void *)h->machine);
	free((void *)h->version);
	free((void *)h->command);
}
