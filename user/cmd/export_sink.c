/* SPDX-License-Identifier: BSD-2-Clause */
/* export_sink.c - see export_sink.h. */
#include "cmd/export_sink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/now.h"

struct export_sink {
	struct sink sink; /* first: the ops get this */
	struct metrics *metrics;
	unsigned origin;
	struct sink *also;
};

static int not_counted(int err, struct fault *f)
{
	return err ? fault(f, err, EXIT_FAILED, "what was measured can't be counted: %s", strerror(-err)) : 0;
}

static int interval(struct sink *sink, const struct interval *iv, struct fault *f)
{
	struct export_sink *s = (struct export_sink *)sink;
	int err = not_counted(metrics_interval(s->metrics, s->origin, iv, iv->mono_ns ? iv->mono_ns : now_ns()), f);

	return err || !s->also ? err : sink_interval(s->also, iv, f);
}

static int slow_tick(struct sink *sink, const struct slow_tick *t, struct fault *f)
{
	struct export_sink *s = (struct export_sink *)sink;
	int err = not_counted(metrics_slow_tick(s->metrics, s->origin, t, now_ns()), f);

	return err || !s->also ? err : sink_slow_tick(s->also, t, f);
}

static int event(struct sink *sink, const struct loop_event *e, struct fault *f)
{
	struct export_sink *s = (struct export_sink *)sink;

	return s->also ? sink_event(s->also, e, f) : 0;
}

static void free_sink(struct sink *sink)
{
	free(sink);
}

static const struct sink_ops ops = {
	.name = "metrics",
	.interval = interval,
	.slow_tick = slow_tick,
	.event = event,
	.free = free_sink,
};

int export_sink_new(struct metrics *m, unsigned origin, struct sink *also, struct sink **ret, struct fault *f)
{
	struct export_sink *s = calloc(1, sizeof(*s));

	if (!s)
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	*s = (struct export_sink){ .sink = { .ops = &ops }, .metrics = m, .origin = origin, .also = also };
	*ret = &s->sink;
	return 0;
}
