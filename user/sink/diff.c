/* SPDX-License-Identifier: BSD-2-Clause */
/* diff.c - see diff.h. */
#include "sink/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/text.h"
#include "sink/diff_figures.h"
#include "sink/output.h"

/* Differences below these are never told: shares of the time, microseconds. */
#define LEAST_SHARE 0.005
#define LEAST_PART 0.002
#define LEAST_US 5
#define PARTS_SHOWN 8

struct shown_part {
	const struct diff_part *part;
	struct difference d;
	bool told;
};

struct shown_loop {
	const struct diff_loop *loop;
	struct difference d[DIFF_FIGURES];
	struct shown_part *parts; /* owned; the largest change first */
	size_t n_parts;
	double weight; /* share of the time that changed */
};

static double change(const struct difference *d)
{
	return fabs(d->after - d->before);
}

static double mean_depth(const struct diff_part *p)
{
	return p->times > 0 ? p->depth / p->times : 0;
}

static int by_change(const void *a, const void *b)
{
	const struct shown_part *x = a, *y = b;
	double cx = change(&x->d), cy = change(&y->d);

	return cx < cy ? 1 : cx > cy ? -1 : strcmp(x->part->text, y->part->text);
}

static int choose_parts(struct shown_loop *s, const struct diff_loop *loop)
{
	size_t n = HASH_COUNT(loop->parts);

	s->parts = calloc(n + 1, sizeof(*s->parts));
	if (!s->parts)
		return -ENOMEM;
	for (const struct diff_part *p = loop->parts; p; p = p->hh.next) {
		struct difference d = noise_compare(&p->side[DIFF_BEFORE].series, &p->side[DIFF_AFTER].series, LEAST_PART);

		if (d.beyond)
			s->parts[s->n_parts++] = (struct shown_part){ p, d };
	}
	qsort(s->parts, s->n_parts, sizeof(*s->parts), by_change);
	return 0;
}

static bool choose_loop(struct shown_loop *s, const struct diff_loop *loop)
{
	bool any = s->n_parts;

	s->loop = loop;
	for (int i = 0; i < DIFF_FIGURES; i++) {
		bool share = i <= DIFF_WAIT;

		s->d[i] = noise_compare(&loop->figure[i][DIFF_BEFORE], &loop->figure[i][DIFF_AFTER], share ? LEAST_SHARE : LEAST_US);
		any |= s->d[i].beyond;
		if (share && s->d[i].beyond)
			s->weight = fmax(s->weight, change(&s->d[i]));
	}
	for (size_t i = 0; i < s->n_parts; i++)
		s->weight = fmax(s->weight, change(&s->parts[i].d));
	return any;
}

static int by_weight(const void *a, const void *b)
{
	const struct shown_loop *x = a, *y = b;

	return x->weight < y->weight ? 1 : x->weight > y->weight ? -1 : strcmp(x->loop->text, y->loop->text);
}

/* --- words --- */

static void share_line(FILE *out, const char *name, const struct difference *d)
{
	fprintf(out, "  %-9s %6.2f%% -> %6.2f%%   noise %.2f%%\n", name, 100 * d->before, 100 * d->after, 100 * d->noise);
}

static void time_line(FILE *out, const char *name, const struct difference *d)
{
	char before[TEXT_DURATION_SIZE], after[TEXT_DURATION_SIZE], noise[TEXT_DURATION_SIZE];

	fprintf(out, "  %-9s %7s -> %7s   noise %s\n", name, text_duration(before, sizeof(before), (uint64_t)(d->before * 1e3)),
		text_duration(after, sizeof(after), (uint64_t)(d->after * 1e3)), text_duration(noise, sizeof(noise), (uint64_t)(d->noise * 1e3)));
}

/* A caller changes with what it calls: of functions that changed alike, the one furthest in stands for all. */
static const struct shown_part *furthest_in(struct shown_loop *s, size_t first)
{
	struct shown_part *best = &s->parts[first];

	if (!best->part->function)
		return best;
	for (size_t i = first; i < s->n_parts; i++) {
		struct shown_part *p = &s->parts[i];

		if (!p->part->function || p->told || change(&p->d) < 0.9 * change(&s->parts[first].d))
			continue;
		p->told = true;
		if (mean_depth(p->part) > mean_depth(best->part))
			best = p;
	}
	return best;
}

static void show_loop(FILE *out, struct shown_loop *s)
{
	static const char *const names[] = { "load", "busy", "wait", "tick p50", "tick p99" };
	size_t told = 0;

	fprintf(out, "%s\n", s->loop->text);
	for (int i = 0; i < DIFF_FIGURES; i++) {
		if (!s->d[i].beyond)
			continue;
		if (i <= DIFF_WAIT)
			share_line(out, names[i], &s->d[i]);
		else
			time_line(out, names[i], &s->d[i]);
	}
	for (size_t i = 0; i < s->n_parts && told < PARTS_SHOWN; i++) {
		const struct shown_part *p;

		if (s->parts[i].told)
			continue;
		p = furthest_in(s, i);
		fprintf(out, "  slow      %6.2f%% -> %6.2f%%   noise %.2f%%   %s\n", 100 * p->d.before, 100 * p->d.after, 100 * p->d.noise, p->part->text);
		told++;
	}
}

/* What is in one recording alone, and what was too short: neither is silence. */
static void show_rest(FILE *out, const struct diff_figures *d, size_t *ret_compared)
{
	*ret_compared = 0;
	for (const struct diff_loop *l = d->loops; l; l = l->hh.next) {
		size_t before = l->figure[DIFF_LOAD][DIFF_BEFORE].n, after = l->figure[DIFF_LOAD][DIFF_AFTER].n;

		if (!before != !after)
			fprintf(out, "# only %s: %s\n", before ? "before" : "after", l->text);
		else if (before && (before < NOISE_LEAST_VALUES || after < NOISE_LEAST_VALUES))
			fprintf(out, "# too short to compare: %s has %zu and %zu intervals, and it takes %d\n", l->text, before, after, NOISE_LEAST_VALUES);
		else if (before)
			++*ret_compared;
	}
	if (d->left_out)
		fprintf(out, "# %zu times a cause or function was left out: there are too many different ones\n", d->left_out);
}

static int show(const struct diff_figures *d, FILE *out, struct fault *f)
{
	struct shown_loop *shown = calloc(HASH_COUNT(d->loops) + 1, sizeof(*shown));
	size_t n = 0, compared;
	int err = 0;

	if (!shown)
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	for (const struct diff_loop *l = d->loops; l && !err; l = l->hh.next) {
		shown[n] = (struct shown_loop){ 0 };
		err = choose_parts(&shown[n], l);
		if (!err && choose_loop(&shown[n], l))
			n++;
		else
			free(TAKE_PTR(shown[n].parts));
	}
	qsort(shown, n, sizeof(*shown), by_weight);
	for (size_t i = 0; i < n; i++) {
		show_loop(out, &shown[i]);
		free(shown[i].parts);
	}
	free(shown);
	show_rest(out, d, &compared);
	if (!err && !n && compared)
		fprintf(out, "no difference beyond noise\n");
	return err ? fault(f, err, EXIT_FAILED, "out of memory") : output_flush(out, f);
}

int diff_write(struct recording_view *before, const struct recording_select *sel_before, struct recording_view *after,
	       const struct recording_select *sel_after, FILE *out, struct fault *f)
{
	struct diff_figures d = { .f = f };
	int err = diff_collect(&d, DIFF_BEFORE, before, sel_before);

	if (!err)
		err = diff_collect(&d, DIFF_AFTER, after, sel_after);
	if (!err)
		err = show(&d, out, f);
	diff_figures_free(&d);
	return err;
}
