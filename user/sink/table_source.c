/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * table_source.c - what a source says of itself, as sentences: how much more fits, whether it could sleep, how its clock
 * stands to ours, and everything that was lost. What it does not know is left unsaid.
 */
#include <inttypes.h>
#include <math.h>

#include "lib/text.h"
#include "model/source_record.h"
#include "sink/column.h"
#include "sink/table_task.h"

#define NAME_SHOWN 80
#define WINDOW_SHARES 32

static void put_name(FILE *mem, const char *name)
{
	char safe[TEXT_ESCAPED_SIZE(NAME_SHOWN)];

	text_quote(safe, sizeof(safe), name, 4 * NAME_SHOWN);
	fputs(safe, mem);
}

static const char *span(char text[TEXT_DURATION_SIZE], double us)
{
	return us >= 0 && us < 1e15 ? text_duration(text, TEXT_DURATION_SIZE, (uint64_t)llround(us * 1e3)) : "?";
}

static unsigned put_margin(FILE *mem, const struct margin *m)
{
	char mean[WINDOW_SHARES], worst[WINDOW_SHARES], beyond[WINDOW_SHARES];
	char window[TEXT_DURATION_SIZE], ago[TEXT_DURATION_SIZE];

	bool known;

	if (!isfinite(m->mean))
		return 0;
	column_format_share(mean, sizeof(mean), m->mean);
	fprintf(mem, "# margin: %s free on average", mean);
	known = m->windows > 0 && isfinite(m->worst);
	if (known) {
		column_format_share(worst, sizeof(worst), m->worst);
		fprintf(mem, ", %s in the worst of %" PRId64 " window%s of %s (%s ago)", worst, m->windows, m->windows == 1 ? "" : "s",
			span(window, m->window_s * 1e6), span(ago, m->worst_ago_s * 1e6));
	}
	fputc('\n', mem);
	/* Of few windows nothing follows for others. */
	if (!known || !(m->beyond < 0.5))
		return 1;
	column_format_share(beyond, sizeof(beyond), m->beyond);
	fprintf(mem, "#   with 95%% confidence at most %s of all windows are worse\n", beyond);
	return 2;
}

static unsigned put_spans(FILE *mem, const char *what, const struct span_stats *s)
{
	char a[TEXT_DURATION_SIZE], b[TEXT_DURATION_SIZE], c[TEXT_DURATION_SIZE], d[TEXT_DURATION_SIZE];

	if (s->n <= 0 || !isfinite(s->total))
		return 0;
	fprintf(mem, "# %s: %" PRId64 " times, median %s, 90%% below %s, longest %s, %s in all\n", what, s->n, span(a, s->p50),
		span(b, s->p90), span(c, s->max), span(d, s->total));
	return 1;
}

static unsigned put_clock(FILE *mem, const struct clock_fit *c)
{
	char error[TEXT_DURATION_SIZE];

	if (c->method == CLOCK_NONE)
		return 0;
	if (!clock_fit_compares(c)) {
		fputs("# clock: not compared with ours: bytes come at a pace that is not its own (an old capture, or too few of them yet)\n", mem);
		return 1;
	}
	fprintf(mem, "# clock: %.6f s behind ours", (double)c->offset_ns / 1e9);
	if (c->error_ns >= 0)
		fprintf(mem, " within %s", span(error, (double)c->error_ns / 1e3));
	if (isfinite(c->drift_ppm))
		fprintf(mem, ", %+.1f ppm fast within %.1f", c->drift_ppm, c->drift_error_ppm);
	fprintf(mem, " (%s)\n", clock_method_name(c->method));
	return 1;
}

/* Appends ", 3 frames on the line" where there were any. */
static void put_loss(FILE *mem, int64_t n, const char *what, const char *where, bool *ret_first)
{
	if (n <= 0)
		return;
	fprintf(mem, "%s%" PRId64 " %s%s %s", *ret_first ? "# lost: " : ", ", n, what, n == 1 ? "" : "s", where);
	*ret_first = false;
}

static unsigned put_losses(FILE *mem, const struct source_record *s)
{
	bool first = true;

	put_loss(mem, s->lost_frames, "frame", "on the line", &first);
	put_loss(mem, s->lost_events, "event", "at its other end", &first);
	put_loss(mem, s->lost_bytes, "byte", "that made no sense", &first);
	put_loss(mem, s->gaps_uncounted, "gap", "of unknown size", &first);
	put_loss(mem, s->untracked, "event", "of tasks beyond the limit", &first);
	if (first)
		return 0;
	fputs(s->from_sums ? "; shares come from its own sums and are right\n" : "; shares are of what was seen\n", mem);
	return 1;
}

static unsigned put_state(FILE *mem, const struct source_record *s)
{
	bool silent = s->silent_s >= 2 * (isfinite(s->interval_s) && s->interval_s > 1 ? s->interval_s : 1);
	char text[TEXT_DURATION_SIZE];

	if (!s->protocol[0]) {
		fputs("# ", mem);
		put_name(mem, s->where);
		if (!s->bytes)
			fputs(s->present ? ": nothing has come yet\n" : ": not there\n", mem);
		else
			fprintf(mem, ": nothing known in %" PRIu64 " bytes, of which %" PRIu64 " are text\n", s->bytes, s->console);
		return 1;
	}
	if (s->present && !silent)
		return 0;
	fputs("# ", mem);
	put_name(mem, s->where);
	if (s->present)
		fprintf(mem, ": silent for %s\n", span(text, s->silent_s * 1e6));
	else
		fputs(": not there; waiting for it to come back\n", mem);
	return 1;
}

static unsigned put_garbage(FILE *mem, const struct source_record *s)
{
	unsigned n = 0;

	if (s->protocol[0] && s->garbage) {
		fprintf(mem, "# %" PRIu64 " of %" PRIu64 " bytes were neither %s nor text\n", s->garbage, s->bytes, s->protocol);
		n++;
	}
	if (s->resets) {
		fprintf(mem, "# %" PRId64 " new session%s: it was reset, or another one answers\n", s->resets, s->resets == 1 ? "" : "s");
		n++;
	}
	if (s->protocol[0] && !s->hz) {
		fputs("# times are not known: nothing told the clock's rate, and a file has no times of arrival\n", mem);
		n++;
	} else if (isfinite(s->uncertainty_us)) {
		char text[TEXT_DURATION_SIZE];

		fprintf(mem, "# lifetimes, not time on the CPU; by our clock: late by up to %s\n", span(text, s->uncertainty_us));
		n++;
	}
	return n;
}

unsigned table_sources(FILE *mem, const struct interval *iv)
{
	unsigned n = 0;

	for (size_t i = 0; i < iv->n_sources; i++) {
		const struct source_record *s = &iv->sources[i];

		n += put_margin(mem, &s->margin);
		n += put_spans(mem, "could sleep", &s->sleep_us);
		n += put_spans(mem, "came round", &s->pass_us);
		n += put_clock(mem, &s->clock);
		n += put_losses(mem, s);
		n += put_garbage(mem, s);
		n += put_state(mem, s);
	}
	return n;
}
