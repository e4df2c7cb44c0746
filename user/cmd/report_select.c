/* SPDX-License-Identifier: BSD-2-Clause */
/* report_select.c - see report_select.h. */
#include "cmd/report_select.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/when.h"
#include "model/loop_filter.h"

/* --- time --- */

static int point(const char *option, const char *text, const struct recording_host *h, int64_t *ret, struct fault *f)
{
	int err = text ? when_parse(text, h->start_ns, h->end_ns, ret) : 0;

	if (!err)
		return 0;
	return fault(f, err, EXIT_USAGE,
		     "report: %s '%s' is no point in time; write 10s after the start, -10s before the end, 14:05:30, '2025-12-01 14:05' or @SECONDS", option,
		     text);
}

static void local_time(char *dst, size_t size, int64_t ns)
{
	struct tm tm;

	if (!localtime_r(&(time_t){ (time_t)(ns / 1000000000) }, &tm) || !strftime(dst, size, "%Y-%m-%d %H:%M:%S", &tm))
		snprintf(dst, size, "?");
}

static int nothing_then(const struct recording_host *h, struct fault *f)
{
	char from[32], to[32];

	local_time(from, sizeof(from), h->start_ns);
	local_time(to, sizeof(to), h->end_ns);
	return fault(f, -ERANGE, EXIT_FAILED, "the recording has nothing of that time; it goes from %s to %s", from, to);
}

static int stretch(const struct report_wishes *w, const struct recording_host *h, struct recording_select *s, struct fault *f)
{
	int err = point("--from", w->from, h, &s->from_ns, f);

	if (!err)
		err = point("--to", w->to, h, &s->to_ns, f);
	if (!err && s->from_ns >= s->to_ns)
		err = fault(f, -EINVAL, EXIT_USAGE, "report: --from lies behind --to");
	if (!err && (s->from_ns >= h->end_ns || s->to_ns <= h->start_ns))
		err = nothing_then(h, f);
	return err;
}

/* --- loops --- */

static bool has_pid(const struct opt_pids *pids, uint32_t pid)
{
	for (size_t i = 0; i < pids->n; i++)
		if ((uint32_t)pids->v[i] == pid)
			return true;
	return false;
}

static bool has_name(const struct opt_strings *names, const struct lane *l)
{
	for (size_t i = 0; i < names->n; i++)
		if (!fnmatch(names->v[i], l->process, 0))
			return true;
	return false;
}

/* -p and -n name processes, one of either is enough; the filters are held against what is left. */
static bool is_wanted(const struct report_wishes *w, const struct loop_filter *filter, const struct lane *l)
{
	struct loop_record r = { .runtime = l->runtime, .cgroup = l->cgroup };

	if ((w->pids.n || w->names.n) && !(l->id.pid && has_pid(&w->pids, l->id.pid)) && !has_name(&w->names, l))
		return false;
	memcpy(r.comm, l->process, strnlen(l->process, sizeof(r.comm)));
	memcpy(r.thread, l->name, strnlen(l->name, sizeof(r.thread)));
	return loop_filter_takes(filter, &r);
}

static int choose(const struct report_wishes *w, const struct recording *r, struct report_select *s, struct fault *f)
{
	struct loop_filter *filter = NULL;
	size_t n, wanted = 0;
	const struct lane *lanes = recording_lane_list(r, &n);
	int err = loop_filter_new(w->include.v, w->include.n, w->exclude.v, w->exclude.n, &filter);

	if (!err)
		s->lanes = calloc(n + 1, sizeof(*s->lanes));
	if (err || !s->lanes) {
		loop_filter_free(filter);
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	}
	/* A loop's lane comes before those of its tasks. */
	for (size_t i = 0; i < n; i++) {
		s->lanes[i] = lanes[i].parent == LANE_NONE ? is_wanted(w, filter, &lanes[i]) : s->lanes[lanes[i].parent];
		wanted += s->lanes[i];
	}
	loop_filter_free(filter);
	s->select.lanes = s->lanes;
	return wanted || !n ? 0 : fault(f, -ESRCH, EXIT_FAILED, "no loop in the recording is meant; 'loopscope report FILE' lists them");
}

int report_select_make(const struct report_wishes *w, const struct recording *r, struct report_select *ret, struct fault *f)
{
	int err;

	*ret = (struct report_select){ .select = RECORDING_ALL };
	err = stretch(w, recording_facts(r), &ret->select, f);
	if (!err && (w->pids.n || w->names.n || w->include.n || w->exclude.n))
		err = choose(w, r, ret, f);
	return err;
}

void report_select_free(struct report_select *s)
{
	free(s->lanes);
}
