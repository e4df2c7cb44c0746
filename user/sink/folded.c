/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * folded.c - where slow time went, as folded stacks: one line a stack, the cause as the root frame, then outermost to innermost,
 * then microseconds. What flamegraph.pl, inferno and speedscope take.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/text.h"
#include "sink/output.h"
#include "sink/sink.h"

#define NAME_SHOWN 1024

struct folded_sink {
	struct sink sink; /* first: the ops get this */
	FILE *out;
};

static int folded_interval(struct sink *s, const struct interval *iv, struct fault *f)
{
	return 0;
}

/* ';' has a meaning here, and so have line ends. Tools refuse a file that is no UTF-8. */
static void frame(FILE *out, const char *name)
{
	char safe[4 * NAME_SHOWN];

	text_escape_control(safe, sizeof(safe), name, NAME_SHOWN);
	for (const char *p = safe; *p; p++)
		putc(*p == ';' ? ':' : *p, out);
}

static int folded_summary(struct sink *sink, const struct slow_summary *sum, struct fault *f)
{
	FILE *out = ((struct folded_sink *)sink)->out;

	for (size_t i = 0; i < sum->n_causes; i++) {
		const struct slow_sum *c = &sum->causes[i];

		if (c->us < 0.5)
			continue;
		fputs(cause_kind_name(c->kind), out);
		for (size_t j = c->stack ? c->stack->n : 0; j-- > 0;) {
			putc(';', out);
			frame(out, c->stack->frame[j]);
		}
		if (c->what[0]) {
			putc(';', out);
			frame(out, c->what);
		}
		fprintf(out, " %" PRIu64 "\n", (uint64_t)(c->us + 0.5));
	}
	return output_flush(out, f);
}

static void folded_free(struct sink *s)
{
	free(s);
}

static const struct sink_ops folded_ops = {
	.name = "folded",
	.interval = folded_interval,
	.slow_summary = folded_summary,
	.free = folded_free,
};

int sink_folded_new(FILE *out, struct sink **ret, struct fault *f)
{
	struct folded_sink *s = calloc(1, sizeof(*s));

	if (!s)
		return fault(f, -ENOMEM, EXIT_FAILED, "no memory for the folded stacks");
	*s = (struct folded_sink){ .sink = { .ops = &folded_ops }, .out = out };
	*ret = &s->sink;
	return 0;
}
