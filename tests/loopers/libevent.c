/* SPDX-License-Identifier: BSD-2-Clause */
/* libevent.c - a libevent loop with one persistent timer. See looper.h. */
#include <event2/event.h>

#include "looper.h"

struct program {
	struct looper looper;
	struct event_base *base;
};

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct program *p = arg;

	(void)fd;
	(void)what;
	looper_work(&p->looper);
	if (p->looper.ticks == 2)
		looper_ready();
	if (looper_over(&p->looper))
		event_base_loopbreak(p->base);
}

int main(int argc, char **argv)
{
	struct program p = {.base = event_base_new()};
	struct timeval period;
	struct event *timer;

	if (!p.base)
		die("libevent has no backend");
	looper_init(&p.looper, "libevent", argc, argv, NULL, NULL);
	period = (struct timeval){.tv_sec = (time_t)(p.looper.period_ns / NSEC_PER_SEC),
				  .tv_usec = (suseconds_t)(p.looper.period_ns % NSEC_PER_SEC / 1000)};
	timer = event_new(p.base, -1, EV_PERSIST, on_timer, &p);
	if (!timer || event_add(timer, &period))
		die("libevent refuses a timer");
	looper_start(&p.looper);
	event_base_dispatch(p.base);
	looper_truth(&p.looper, "");
	event_free(timer);
	event_base_free(p.base);
	return 0;
}
