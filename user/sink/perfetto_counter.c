/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perfetto_counter.c - shares of time as counter tracks, in per cent, a value an interval.
 *
 * A counter holds its value until the next one, so an interval's value stands at its beginning. There is no "unknown": what a
 * source can't tell has no track, and only a loop or task that is known to be gone goes back to 0.
 */
#include <math.h>

#include "sink/perfetto_trace.h"

static int put_value(struct perfetto_trace *t, enum perfetto_track kind, uint32_t lane, int64_t at_ns, double share)
{
	Perfetto__TrackEvent e = PERFETTO__TRACK_EVENT__INIT;
	int err;

	if (isnan(share))
		return 0;
	err = perfetto_track(t, kind, lane, &e.track_uuid);
	if (err)
		return err;
	e.has_type = e.has_track_uuid = e.has_double_counter_value = true;
	e.type = PERFETTO__TRACK_EVENT__TYPE__TYPE_COUNTER;
	e.double_counter_value = 100 * share;
	return perfetto_out_event(&t->out, PERFETTO_SEQUENCE_COUNTERS, at_ns, &e);
}

static int on_loop(void *arg, const struct recording_loop *r)
{
	const struct {
		enum perfetto_track kind;
		double share;
	} values[] = { { TRACK_LOAD, r->record->load }, { TRACK_BUSY, r->record->busy }, { TRACK_WAIT, r->record->wait } };
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(values) && !err; i++) {
		err = put_value(arg, values[i].kind, r->lane, r->start_ns, values[i].share);
		if (!err && r->record->ended && !isnan(values[i].share))
			err = put_value(arg, values[i].kind, r->lane, r->end_ns, 0);
	}
	return err;
}

static int on_task(void *arg, const struct recording_task *r)
{
	int err = put_value(arg, TRACK_BUSY, r->lane, r->start_ns, r->record->busy);

	if (!err && r->record->ended && !isnan(r->record->busy))
		err = put_value(arg, TRACK_BUSY, r->lane, r->end_ns, 0);
	return err;
}

int perfetto_counters(struct perfetto_trace *t, struct recording_view *v, const struct recording_select *s)
{
	int err = recording_loops(v, s, on_loop, t, t->out.f);

	return err ? err : recording_tasks(v, s, on_task, t, t->out.f);
}
