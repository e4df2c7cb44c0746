/* SPDX-License-Identifier: BSD-2-Clause */
/* table_tick.c - see table_tick.h. */
#include "sink/table_tick.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "lib/text.h"

#define CAUSES_SHOWN 4
#define FRAMES_SHOWN 6
#define SUMS_SHOWN 10
#define NAME_SHOWN 160

static void put_bytes(FILE *out, const char *name, size_t max)
{
	char safe[4 * NAME_SHOWN];

	text_escape_control(safe, sizeof(safe), name, max);
	fputs(safe, out);
}

static void put_name(FILE *out, const char *name)
{
	put_bytes(out, name, NAME_SHOWN);
}

static void put_us(FILE *out, double us)
{
	char text[TEXT_DURATION_SIZE];

	fputs(text_duration(text, sizeof(text), us > 0 ? (uint64_t)(us * 1e3) : 0), out);
}

static void put_stack(FILE *out, const struct stack_names *s, const char *indent)
{
	if (!s || !s->n)
		return;
	fputs(indent, out);
	for (size_t i = 0; i < s->n && i < FRAMES_SHOWN; i++) {
		if (i)
			fputs(" < ", out);
		put_name(out, s->frame[i]);
	}
	if (s->n > FRAMES_SHOWN)
		fprintf(out, " < ... %zu more", s->n - FRAMES_SHOWN);
	if (s->incomplete)
		fputs(" (stack incomplete)", out);
	putc('\n', out);
}

static void put_cause_name(FILE *out, enum cause_kind kind, const char *what)
{
	switch (kind) {
	case CAUSE_WAIT:
		fputs("waiting for the CPU", out);
		break;
	case CAUSE_THROTTLE:
		fputs("throttled by the CPU quota", out);
		break;
	case CAUSE_CPU:
		fputs("on the CPU", out);
		break;
	case CAUSE_OTHER:
		fputs("short sleeps and waits", out);
		break;
	default:
		fputs("blocked", out);
		break;
	}
	if (!what[0])
		return;
	fputs(kind == CAUSE_WAIT ? ", which had: " : kind == CAUSE_THROTTLE ? " of " : " in ", out);
	put_name(out, what);
}

static size_t put_cause(FILE *out, const struct slow_cause *c)
{
	fputs("#   ", out);
	put_us(out, c->us);
	putc(' ', out);
	put_cause_name(out, c->kind, c->what);
	putc('\n', out);
	put_stack(out, &c->stack, "#     ");
	return c->stack.n ? 2 : 1;
}

size_t table_slow_tick(FILE *out, const struct slow_tick *t)
{
	time_t when = (time_t)t->ts;
	size_t lines = 1;
	char clock[16];
	struct tm tm;

	localtime_r(&when, &tm);
	strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	fprintf(out, "# %s slow tick of ", clock);
	put_us(out, t->duration_us);
	fprintf(out, "%s: ", t->in_progress ? ", still running" : "");
	put_bytes(out, t->thread, sizeof(t->thread));
	if (t->id.pid)
		fprintf(out, " (pid %u", t->id.pid);
	if (t->id.tid != t->id.pid)
		fprintf(out, ", tid %u", t->id.tid);
	if (t->id.pid)
		fputc(')', out);
	if (t->events >= 0)
		fprintf(out, ", %" PRId64 " event%s", t->events, t->events == 1 ? "" : "s");
	if (t->suppressed > 0)
		fprintf(out, "; %" PRId64 " before it held back", t->suppressed);
	fputc('\n', out);
	for (size_t i = 0; i < t->n_causes && i < CAUSES_SHOWN; i++)
		lines += put_cause(out, &t->causes[i]);
	if (t->n_causes > CAUSES_SHOWN) {
		fprintf(out, "#   and %zu smaller causes\n", t->n_causes - CAUSES_SHOWN);
		lines++;
	}
	return lines;
}

void table_slow_summary(FILE *out, const struct slow_summary *s)
{
	double all = 0;

	if (!s->ticks && !s->held_back)
		return;
	fprintf(out, "\nSlow ticks: %" PRIu64 ", ", s->ticks);
	put_us(out, s->us);
	fputs(" in all", out);
	if (s->held_back)
		fprintf(out, "; %" PRIu64 " more held back by the rate limit, not counted below", s->held_back);
	fputs("\n", out);
	for (size_t i = 0; i < s->n_causes; i++)
		all += s->causes[i].us;
	for (size_t i = 0; i < s->n_causes && i < SUMS_SHOWN; i++) {
		const struct slow_sum *c = &s->causes[i];

		fprintf(out, "%6.1f%%  ", all > 0 ? 100 * c->us / all : 0);
		put_us(out, c->us);
		fputs("  ", out);
		put_cause_name(out, c->kind, c->what);
		fputc('\n', out);
		put_stack(out, c->stack, "           ");
	}
	if (s->n_causes > SUMS_SHOWN)
		fprintf(out, "         and %zu smaller causes: -o json or -o folded has them all\n", s->n_causes - SUMS_SHOWN);
}
