/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_figures.c - see diff_figures.h. */
#include "sink/diff_figures.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/text.h"

static int no_memory(struct diff_figures *d)
{
	fault(d->f, -ENOMEM, EXIT_FAILED, "out of memory");
	return -ENOMEM;
}

/* Safe to show, and without addresses: "libfoo.so+0x1234" is "libfoo.so+#". numbers: nor digits: "read(socket:[1234])" is
 * "read(socket:[#])". */
static void put_text(char dst[DIFF_TEXT], size_t at, const char *text, bool numbers)
{
	char safe[4 * DIFF_TEXT + 1];
	size_t n = text_escape_control(safe, sizeof(safe), text, DIFF_TEXT);

	for (size_t i = 0; i < n && at < DIFF_TEXT - 1;) {
		bool hex = safe[i] == '0' && safe[i + 1] == 'x';

		if (!hex && !(numbers && isdigit((unsigned char)safe[i]))) {
			dst[at++] = safe[i++];
			continue;
		}
		for (i += hex ? 2 : 0; hex ? isxdigit((unsigned char)safe[i]) : isdigit((unsigned char)safe[i]); i++)
			;
		dst[at++] = '#';
	}
	dst[at] = '\0';
}

/* --- loops --- */

static struct diff_loop *loop_of(struct diff_figures *d, uint32_t lane)
{
	const struct lane *l = &d->lanes[lane];
	char text[DIFF_TEXT] = "", whole[3 * DIFF_TEXT];
	struct diff_loop *loop;

	/* Names as they are, digits too: worker-1 is not worker-2. */
	snprintf(whole, sizeof(whole), "%.40s%s%.40s (%.40s)", l->process, strcmp(l->process, l->name) ? "/" : "",
		 strcmp(l->process, l->name) ? l->name : "", l->runtime[0] ? l->runtime : "board");
	text_escape_control(text, sizeof(text), whole, sizeof(whole));
	HASH_FIND_STR(d->loops, text, loop);
	if (loop)
		return loop;
	loop = calloc(1, sizeof(*loop));
	if (!loop)
		return NULL;
	memcpy(loop->text, text, sizeof(text));
	HASH_ADD_STR(d->loops, text, loop);
	return loop;
}

static int on_loop(void *arg, const struct recording_loop *r)
{
	struct diff_figures *d = arg;
	const struct loop_record *rec = r->record;
	struct diff_loop *loop;

	/* One that began or ended within says little of itself. */
	if (!(rec->interval_s * 2e9 > (double)d->interval_ns))
		return 0;
	if (r->start_ns < d->from_ns)
		d->from_ns = r->start_ns;
	if (r->end_ns > d->to_ns)
		d->to_ns = r->end_ns;
	loop = loop_of(d, r->lane);
	if (!loop)
		return no_memory(d);
	series_add(&loop->figure[DIFF_LOAD][d->side], rec->load);
	series_add(&loop->figure[DIFF_BUSY][d->side], rec->busy);
	series_add(&loop->figure[DIFF_WAIT][d->side], rec->wait);
	series_add(&loop->figure[DIFF_TICK_P50][d->side], rec->tick_us.known ? rec->tick_us.p50 : NAN);
	series_add(&loop->figure[DIFF_TICK_P99][d->side], rec->tick_us.known ? rec->tick_us.p99 : NAN);
	return 0;
}

/* --- where slow time went --- */

static void end_bin(struct diff_part *p, enum diff_side side, int64_t interval_ns)
{
	if (p->side[side].sum > 0)
		series_add(&p->side[side].series, p->side[side].sum * 1e3 / (double)interval_ns);
	p->side[side].sum = 0;
}

static int add_part(struct diff_figures *d, struct diff_loop *loop, const char text[DIFF_TEXT], bool function, double depth, int64_t bin,
		    double us)
{
	struct diff_part *p;

	HASH_FIND_STR(loop->parts, text, p);
	if (!p) {
		if (d->n_parts == DIFF_PARTS_MAX) {
			d->left_out++;
			return 0;
		}
		p = calloc(1, sizeof(*p));
		if (!p)
			return no_memory(d);
		memcpy(p->text, text, DIFF_TEXT);
		p->function = function;
		HASH_ADD_STR(loop->parts, text, p);
		d->n_parts++;
	}
	if (p->side[d->side].bin != bin)
		end_bin(p, d->side, d->interval_ns);
	p->side[d->side].bin = bin;
	p->side[d->side].sum += us;
	p->depth += depth;
	p->times++;
	return 0;
}

/* A function that calls itself counts once. */
static bool met_further_in(const struct stack_names *s, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (!strcmp(s->frame[j], s->frame[i]))
			return true;
	return false;
}

static int add_cause(struct diff_figures *d, struct diff_loop *loop, const struct slow_cause *c, int64_t bin)
{
	char text[DIFF_TEXT] = "";
	size_t at = (size_t)snprintf(text, sizeof(text), "%s ", cause_kind_name(c->kind));
	int err;

	put_text(text, at, c->what, true);
	err = add_part(d, loop, text, false, 0, bin, c->us);
	for (size_t i = 0; i < c->stack.n && !err; i++) {
		if (met_further_in(&c->stack, i))
			continue;
		memset(text, 0, sizeof(text));
		put_text(text, (size_t)snprintf(text, sizeof(text), "in "), c->stack.frame[i], false);
		err = add_part(d, loop, text, true, (double)(c->stack.n - i), bin, c->us);
	}
	return err;
}

static int on_slow(void *arg, const struct recording_slow *r)
{
	struct diff_figures *d = arg;
	int64_t bin = r->start_ns >= d->from_ns ? (r->start_ns - d->from_ns) / d->interval_ns : -1;
	struct diff_loop *loop;
	int err = 0;

	/* What lies beside the intervals, before the first or in a rest at the end, has no whole one of its own. */
	if (r->tick->in_progress || bin < 0 || (size_t)bin >= d->bins[d->side])
		return 0;
	loop = loop_of(d, r->lane);
	if (!loop)
		return no_memory(d);
	for (size_t i = 0; i < r->tick->n_causes && !err; i++)
		err = add_cause(d, loop, &r->tick->causes[i], bin);
	return err;
}

/* Intervals in which it did not show are its zeros. */
static void end_side(struct diff_figures *d)
{
	for (struct diff_loop *loop = d->loops; loop; loop = loop->hh.next)
		for (struct diff_part *p = loop->parts; p; p = p->hh.next) {
			struct series *s = &p->side[d->side].series;

			end_bin(p, d->side, d->interval_ns);
			series_add_zeros(s, d->bins[d->side] > s->n ? d->bins[d->side] - s->n : 0);
		}
}

int diff_collect(struct diff_figures *d, enum diff_side side, struct recording_view *v, const struct recording_select *s)
{
	const struct recording_host *h = recording_host(v);
	size_t n;
	int err;

	d->side = side;
	d->lanes = recording_lanes(v, &n);
	d->interval_ns = h->interval_ns > 0 ? h->interval_ns : 1000000000;
	d->from_ns = INT64_MAX;
	d->to_ns = INT64_MIN;
	err = recording_loops(v, s, on_loop, d, d->f);
	/* The clock that paces intervals is late by a little each time: half of one is one. */
	d->bins[side] = d->to_ns > d->from_ns ? (size_t)((d->to_ns - d->from_ns + d->interval_ns / 2) / d->interval_ns) : 0;
	if (!err)
		err = recording_slow_ticks(v, s, on_slow, d, d->f);
	end_side(d);
	return err;
}

void diff_figures_free(struct diff_figures *d)
{
	struct diff_loop *loop, *next_loop;
	struct diff_part *p, *next_part;

	HASH_ITER(hh, d->loops, loop, next_loop) {
		HASH_ITER(hh, loop->parts, p, next_part) {
			HASH_DEL(loop->parts, p);
			free(p);
		}
		HASH_DEL(d->loops, loop);
		free(loop);
	}
}
