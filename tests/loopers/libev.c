/* SPDX-License-Identifier: BSD-2-Clause */
/* libev.c - a libev loop with one repeating timer. See looper.h. */
#include <ev.h>

#include "looper.h"

static void on_timer(struct ev_loop *loop, ev_timer *timer, int what)
{
	struct looper *l = timer->data;

	(void)what;
	looper_work(l);
	if (l->ticks == 2)
		looper_ready();
	if (looper_over(l))
		ev_break(loop, EVBREAK_ALL);
}

int main(int argc, char **argv)
{
	struct ev_loop *loop = ev_default_loop(0);
	struct looper l;
	ev_timer timer;
	double period;

	if (!loop)
		die("libev has no backend");
	looper_init(&l, "libev", argc, argv, NULL, NULL);
	period = (double)l.period_ns / 1e9;
	ev_timer_init(&timer, on_timer, period, period);
	timer.data = &l;
	ev_timer_start(loop, &timer);
	looper_start(&l);
	ev_run(loop, 0);
	looper_truth(&l, "");
	return 0;
}
