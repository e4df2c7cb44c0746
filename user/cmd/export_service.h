/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * export_service.h - an export as a service: what its manager is told, the watchdog, and the privileges that it gives up.
 */
#ifndef LOOPSCOPE_CMD_EXPORT_SERVICE_H
#define LOOPSCOPE_CMD_EXPORT_SERVICE_H

#include <stdbool.h>

#include "lib/evloop.h"
#include "lib/notify.h"

struct export_service {
	struct notify notify;
	bool (*healthy)(void *arg);
	void *arg;
};

/* Keeps what observing the kernel takes while it goes on (kernel false: nothing at all), and says on standard error what can't be
 * seen for want of a privilege. Before the first other thread is started. */
int export_service_confine(bool kernel, bool places_uprobes, struct fault *f);

/* From the environment; then the watchdog is fed from the event loop, as long as it is healthy. s has to stay where it is. */
int export_service_open(struct export_service *s, struct evloop *loop, struct fault *f);
void export_service_close(struct export_service *s);

#endif
