/* SPDX-License-Identifier: BSD-2-Clause */
/* export_service.c - see export_service.h. */
#include "cmd/export_service.h"

#include <stdio.h>
#include <string.h>

#include "lib/privilege.h"
#include "source/kernel_privilege.h"

static void say_what_is_missing(void)
{
	for (size_t i = 0; i < kernel_privileges_n; i++)
		if (!kernel_privilege_there(&kernel_privileges[i]))
			fprintf(stderr, "loopscope: without %s %s\n", privilege_name(kernel_privileges[i].cap).text, kernel_privileges[i].without);
}

int export_service_confine(bool kernel, bool places_uprobes, struct fault *f)
{
	if (!kernel)
		return privilege_keep(NULL, 0, f);
	say_what_is_missing();
	return kernel_privilege_drop(places_uprobes, f);
}

static int feed(void *arg, uint64_t expirations)
{
	struct export_service *s = arg;

	if (s->healthy(s->arg))
		notify_send(&s->notify, "WATCHDOG=1");
	return 0;
}

int export_service_open(struct export_service *s, struct evloop *loop, struct fault *f)
{
	int err = notify_open(&s->notify, f);
	uint64_t period = s->notify.watchdog_ns / 2; /* as sd_watchdog_enabled(3) advises */

	if (!err && period)
		err = evloop_add_timer(loop, period, period, feed, s, NULL);
	return err ? fault(f, err, EXIT_FAILED, "the watchdog can't be fed: %s", strerror(-err)) : 0;
}

void export_service_close(struct export_service *s)
{
	notify_close(&s->notify);
}
