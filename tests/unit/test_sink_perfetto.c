/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_sink_perfetto.c - a recording as a Perfetto trace: decoded again, each sequence with its own clock and names, as a reader
 * does it. That the fields' numbers are the published ones is tests/live/test_traces.py's to check, on the golden file.
 */
#include <errno.h>

#include "lib/text.h"
#include "sink/lane_group.h"
#include "sink/perfetto.h"
#include "sink/perfetto.pb-c.h"
#include "test_recording_fixture.h"

#define SEQUENCES 64
#define TRACKS 64

TestSuite(sink_perfetto, .init = fixture_environment);

struct track {
	uint64_t uuid, parent;
	char name[256];
	char open[8][256]; /* slices that have begun */
	size_t depth;
	int64_t now;
	bool counter;
};

struct reading {
	Perfetto__Trace *trace;
	struct track track[TRACKS];
	size_t n_tracks;
	struct {
		bool known;
		uint64_t track, now;
		char *names[32], *args[32]; /* the trace's */
	} sequence[SEQUENCES];
	char log[1 << 16]; /* "us track +name {arg=value}\n" for a slice's begin, - its end, . an instant, = a counter */
	size_t n_log;
};

static struct track *find_track(struct reading *r, uint64_t uuid)
{
	for (size_t i = 0; i < r->n_tracks; i++)
		if (r->track[i].uuid == uuid)
			return &r->track[i];
	return NULL;
}

static void say(struct reading *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct reading *r, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	r->n_log += (size_t)vsnprintf(r->log + r->n_log, sizeof(r->log) - r->n_log, format, ap);
	va_end(ap);
	cr_assert_lt(r->n_log, sizeof(r->log));
}

static void must_be_utf8(const char *text)
{
	char same[4096];

	if (!text)
		return;
	text_to_utf8(same, sizeof(same), text, sizeof(same) / 3);
	cr_assert_str_eq(same, text);
}

static void read_track(struct reading *r, const Perfetto__TrackDescriptor *d)
{
	struct track *t = &r->track[r->n_tracks++];

	cr_assert_leq(r->n_tracks, (size_t)TRACKS);
	cr_assert(d->has_uuid && d->uuid);
	cr_assert_null(find_track(r, d->uuid) == t ? NULL : find_track(r, d->uuid), "a track is described once");
	must_be_utf8(d->name);
	must_be_utf8(d->description);
	*t = (struct track){ .uuid = d->uuid, .parent = d->parent_uuid, .counter = d->counter };
	snprintf(t->name, sizeof(t->name), "%s", d->name);
	if (d->has_parent_uuid)
		cr_assert_not_null(find_track(r, d->parent_uuid), "what is above a track comes before it");
}

static void read_sequence(struct reading *r, const Perfetto__TracePacket *p)
{
	uint32_t id = p->trusted_packet_sequence_id;

	cr_assert_lt(id, (uint32_t)SEQUENCES);
	cr_assert(p->sequence_flags & PERFETTO__SEQUENCE_FLAGS__SEQ_INCREMENTAL_STATE_CLEARED);
	cr_assert_eq(p->trace_packet_defaults->timestamp_clock_id, 64);
	cr_assert_eq(p->clock_snapshot->n_clocks, 2);
	cr_assert_eq(p->clock_snapshot->clocks[0]->clock_id, 1);
	cr_assert_eq(p->clock_snapshot->clocks[1]->clock_id, 64);
	cr_assert(p->clock_snapshot->clocks[1]->is_incremental);
	r->sequence[id].known = true;
	r->sequence[id].track = p->trace_packet_defaults->track_event_defaults->track_uuid;
	r->sequence[id].now = p->clock_snapshot->clocks[0]->timestamp;
	for (size_t i = 0; i < p->interned_data->n_event_names; i++) {
		must_be_utf8(p->interned_data->event_names[i]->name);
		r->sequence[id].names[p->interned_data->event_names[i]->iid] = p->interned_data->event_names[i]->name;
	}
	for (size_t i = 0; i < p->interned_data->n_debug_annotation_names; i++)
		r->sequence[id].args[p->interned_data->debug_annotation_names[i]->iid] = p->interned_data->debug_annotation_names[i]->name;
}

static void read_arg(struct reading *r, uint32_t id, const Perfetto__DebugAnnotation *a)
{
	const char *name = a->has_name_iid ? r->sequence[id].args[a->name_iid] : a->name;

	must_be_utf8(a->string_value);
	say(r, " ");
	if (name)
		say(r, "%s=", name);
	if (a->has_bool_value)
		say(r, "%s", a->bool_value ? "true" : "false");
	else if (a->has_int_value)
		say(r, "%lld", (long long)a->int_value);
	else if (a->has_double_value)
		say(r, "%g", a->double_value);
	else if (a->string_value)
		say(r, "%s", a->string_value);
	if (a->n_array_values + a->n_dict_entries)
		say(r, "(");
	for (size_t i = 0; i < a->n_array_values; i++)
		read_arg(r, id, a->array_values[i]);
	for (size_t i = 0; i < a->n_dict_entries; i++)
		read_arg(r, id, a->dict_entries[i]);
	if (a->n_array_values + a->n_dict_entries)
		say(r, " )");
}

static void read_slice(struct reading *r, struct track *t, uint32_t id, const Perfetto__TrackEvent *e)
{
	const char *name = e->has_name_iid ? r->sequence[id].names[e->name_iid] : e->name;

	cr_assert_not(t->counter);
	if (e->type == PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_END) {
		cr_assert_gt(t->depth, (size_t)0, "ends without having begun: %s", t->name);
		say(r, " -%s", t->open[--t->depth]);
		return;
	}
	cr_assert_not_null(name);
	must_be_utf8(name);
	if (e->type == PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN) {
		cr_assert_lt(t->depth, (size_t)8);
		snprintf(t->open[t->depth++], sizeof(t->open[0]), "%s", name);
	}
	say(r, " %c%s", e->type == PERFETTO__TRACK_EVENT__TYPE__TYPE_INSTANT ? '.' : '+', name);
}

static void read_event(struct reading *r, const Perfetto__TracePacket *p)
{
	uint32_t id = p->trusted_packet_sequence_id;
	const Perfetto__TrackEvent *e = p->track_event;
	uint64_t uuid = e->has_track_uuid ? e->track_uuid : r->sequence[id].track, at = p->timestamp;
	struct track *t = find_track(r, uuid);

	cr_assert_not_null(t, "a track that was not described");
	if (p->sequence_flags & PERFETTO__SEQUENCE_FLAGS__SEQ_NEEDS_INCREMENTAL_STATE) {
		cr_assert(r->sequence[id].known);
		cr_assert_leq(at, (uint64_t)INT64_MAX, "no negative time");
		at = r->sequence[id].now += p->timestamp;
	} else {
		cr_assert_eq(p->timestamp_clock_id, 1);
	}
	cr_assert_geq((int64_t)at, t->now, "time goes on, on each track");
	t->now = (int64_t)at;
	say(r, "%g %s", (double)(t->now - FIXTURE_START_NS) / 1e3, t->name);
	if (e->type == PERFETTO__TRACK_EVENT__TYPE__TYPE_COUNTER) {
		cr_assert(t->counter);
		say(r, " =%.6g", e->double_counter_value);
	} else {
		read_slice(r, t, id, e);
	}
	for (size_t i = 0; i < e->n_debug_annotations; i++)
		read_arg(r, id, e->debug_annotations[i]);
	say(r, "\n");
}

static void read_trace(const struct capture *c, struct reading *r)
{
	memset(r, 0, sizeof(*r));
	r->trace = perfetto__trace__unpack(NULL, c->n, (const uint8_t *)c->text);
	cr_assert_not_null(r->trace);
	cr_assert_eq(r->trace->packet[0]->clock_snapshot->primary_trace_clock, 1);
	for (size_t i = 0; i < r->trace->n_packet; i++) {
		const Perfetto__TracePacket *p = r->trace->packet[i];

		cr_assert(p->trusted_packet_sequence_id);
		if (p->track_descriptor)
			read_track(r, p->track_descriptor);
		if (p->trace_packet_defaults)
			read_sequence(r, p);
		if (p->track_event)
			read_event(r, p);
	}
	for (size_t i = 0; i < r->n_tracks; i++)
		cr_assert_eq(r->track[i].depth, 0, "%s: what begins ends", r->track[i].name);
	perfetto__trace__free_unpacked(r->trace, NULL);
}

static int trace(struct fixture_view *w, const struct recording_select *s, struct capture *c)
{
	return fixture_written(perfetto_write, w, s, c);
}

/* Bytes for the published definitions to be tried on, and as text what a reader sees. */
Test(sink_perfetto, golden)
{
	static struct fixture_view w;
	static struct reading r;
	struct capture c;

	fixture_view_init(&w);
	cr_assert_eq(trace(&w, NULL, &c), 0);
	read_trace(&c, &r);
	golden_check("recording.perfetto.txt", r.log);
	golden_check_bytes("recording.perfetto-trace", c.text, c.n);
	capture_free(&c);
}

Test(sink_perfetto, what_is_said_of_spans)
{
	static struct fixture_view w;
	static struct reading r;
	struct capture c;

	fixture_view_init(&w);
	w.n_spans = 0;
	fixture_span(&w, 0, SPAN_IO_WAIT, 0, 10);
	w.spans[0].value = 3;
	fixture_span(&w, 3, SPAN_RUN, 5, 9);
	w.spans[1].net_ns = 2500;
	w.spans[1].slow = w.spans[1].unsure = true;
	fixture_span(&w, 4, SPAN_ALIVE, 6, 8);
	w.spans[2].open = true;
	fixture_span(&w, 2, SPAN_GAP, 7, 9);
	fixture_span(&w, 7, SPAN_MARK, 8, 8);
	w.spans[4].value = -1;
	cr_assert_eq(trace(&w, &(struct recording_select){ .from_ns = FIXTURE_AT(-1), .to_ns = FIXTURE_AT(50) }, &c), 0);
	read_trace(&c, &r);
	cr_assert_str_eq(r.log, "0 node +io wait\n"
				"5 blink +slow blink unsure=true\n"
				"6 log +alive\n"
				"7 gaps of loop +gap\n"
				"8 log -alive open=true\n"
				"8 temperature .temperature value=-1\n"
				"9 gaps of loop -gap\n"
				"9 blink -slow blink net_ns=2500\n"
				"10 node -io wait events=3\n");
	capture_free(&c);
}

static const struct recording_slow *told[8];

static int tell(struct recording_view *v, const struct recording_select *s, recording_slow_fn fn, void *arg, struct fault *f)
{
	int err = 0;

	for (size_t i = 0; told[i] && !err; i++)
		err = fn(arg, told[i]);
	return err;
}

/* Told while it lasted, and again when it had ended: it is one. */
Test(sink_perfetto, a_slow_tick_counts_as_it_was_last_told)
{
	static struct fixture_view w;
	static struct reading r;
	struct recording_ops ops;
	struct slow_tick before, other;
	struct recording_slow first, second;
	struct capture c;

	fixture_view_init(&w);
	ops = *w.view.ops;
	ops.slow_ticks = tell;
	w.view.ops = &ops;
	w.n_spans = 0;
	before = other = w.tick;
	before.in_progress = other.in_progress = true;
	before.n_causes = other.n_causes = 0;
	before.events = other.events = -1;
	other.suppressed = 7;
	other.cpu_us = NAN;
	first = (struct recording_slow){ 1, w.slow[0].start_ns, w.slow[0].start_ns + 50000000, &before };
	second = (struct recording_slow){ 0, w.slow[0].start_ns + 1000, w.slow[0].end_ns, &other };
	told[0] = &first;
	told[1] = &w.slow[0];
	told[2] = &second;
	cr_assert_eq(trace(&w, NULL, &c), 0);
	read_trace(&c, &r);
	cr_assert_str_eq(strstr(r.log, "401 slow"),
			 "401 slow ticks of node +slow tick blocked_us=30000 wait_us=0 throttled_us=0 suppressed=7 in_progress=true\n"
			 "90400 slow ticks of node -slow tick\n"
			 "400 slow ticks of " FIXTURE_HOSTILE " +slow tick cpu_us=60000 blocked_us=30000 wait_us=0 throttled_us=0 events=1 "
			 "causes=( ( kind=cpu us=60000 ) ( kind=syscall us=30000 what=fsync(/var/lib/" FIXTURE_HOSTILE ") ) )\n"
			 "400 slow ticks of " FIXTURE_HOSTILE " +cpu kind=cpu us=60000 samples=6 stack=( " FIXTURE_HOSTILE " main )\n"
			 "60400 slow ticks of " FIXTURE_HOSTILE " -cpu\n"
			 "60400 slow ticks of " FIXTURE_HOSTILE " +fsync(/var/lib/" FIXTURE_HOSTILE ") kind=syscall us=30000\n"
			 "90400 slow ticks of " FIXTURE_HOSTILE " -fsync(/var/lib/" FIXTURE_HOSTILE ")\n"
			 "90400 slow ticks of " FIXTURE_HOSTILE " -slow tick\n");
	capture_free(&c);
}

/* An interrupt that was slow within a slow step, both told while they lasted: what begins with a board's clock may move meanwhile. */
Test(sink_perfetto, slow_ticks_within_others_have_a_track_of_their_own)
{
	static struct fixture_view w;
	static struct reading r;
	static const struct {
		bool timer, in_progress;
		int64_t start_us, end_us;
	} ticks[] = { { false, true, 100000, 160000 }, { false, true, 100002, 230000 }, { false, false, 100001, 250000 },
		      { true, true, 120000, 170000 },  { true, false, 120000, 200000 },  { true, false, 190000, 260000 },
		      { false, false, 300000, 360000 } };
	struct slow_cause cause[2] = { { .kind = CAUSE_CPU, .us = NAN, .what = "crunch", .samples = -1 },
				       { .kind = CAUSE_CPU, .us = NAN, .what = "timer", .samples = -1 } };
	struct slow_tick tick[ARRAY_SIZE(ticks)];
	struct recording_slow slow[ARRAY_SIZE(ticks)];
	struct recording_ops ops;
	struct capture c;

	fixture_view_init(&w);
	ops = *w.view.ops;
	ops.slow_ticks = tell;
	w.view.ops = &ops;
	w.n_spans = 0;
	for (size_t i = 0; i < ARRAY_SIZE(ticks); i++) {
		tick[i] = (struct slow_tick){ .cpu_us = NAN, .blocked_us = NAN, .wait_us = NAN, .throttled_us = NAN, .events = -1,
					      .in_progress = ticks[i].in_progress, .causes = &cause[ticks[i].timer], .n_causes = 1 };
		slow[i] = (struct recording_slow){ 2, FIXTURE_AT(ticks[i].start_us), FIXTURE_AT(ticks[i].end_us), &tick[i] };
		told[i] = &slow[i];
	}
	told[ARRAY_SIZE(ticks)] = NULL;
	cr_assert_eq(trace(&w, NULL, &c), 0);
	read_trace(&c, &r);
#define SLOW(from, to, what, track)                                                                                    \
	from " " track " +slow tick causes=( ( kind=cpu us=nan what=" what " ) )\n" to " " track " -slow tick\n"
	cr_assert_str_eq(strstr(r.log, "100001 slow"),
			 SLOW("100001", "250000", "crunch", "slow ticks of loop")
			 SLOW("120000", "200000", "timer", "slow ticks within those of loop")
			 SLOW("200000", "260000", "timer", "slow ticks within those of loop")
			 SLOW("300000", "360000", "crunch", "slow ticks of loop"));
	capture_free(&c);
}

/* As many causes and frames as there can be, and names that are no text. */
Test(sink_perfetto, the_largest_slow_tick)
{
	static struct fixture_view w;
	static struct reading r;
	static struct slow_cause causes[SLOW_CAUSES_MAX];
	static char long_name[8000];
	struct capture c;

	fixture_view_init(&w);
	memset(long_name, '\xff', sizeof(long_name) - 1);
	for (size_t i = 0; i < SLOW_CAUSES_MAX; i++) {
		causes[i] = (struct slow_cause){ .kind = CAUSE_SYSCALL, .us = 1e9, .what = "\xff", .samples = -1 };
		causes[i].stack.n = STACK_FRAMES_MAX;
		for (size_t j = 0; j < STACK_FRAMES_MAX; j++)
			causes[i].stack.frame[j] = j ? "\xed\xa0\x80" : i ? "x" : long_name;
	}
	w.tick.causes = causes;
	w.tick.n_causes = SLOW_CAUSES_MAX;
	w.n_spans = 0;
	cr_assert_eq(trace(&w, NULL, &c), 0);
	cr_assert_gt(c.n, SLOW_CAUSES_MAX * STACK_FRAMES_MAX * 3u);
	capture_free(&c);
	for (size_t i = 0; i < SLOW_CAUSES_MAX; i++)
		causes[i].stack.n = 1;
	causes[0].stack.frame[0] = "\xff";
	cr_assert_eq(trace(&w, NULL, &c), 0);
	read_trace(&c, &r);
	capture_free(&c);
}

Test(sink_perfetto, the_hosts_monotonic_clock_is_told_where_it_is_known)
{
	static const int64_t anchors[] = { 0, FIXTURE_START_NS - 7000000000, FIXTURE_START_NS + 1 };

	for (size_t i = 0; i < ARRAY_SIZE(anchors); i++) {
		static struct fixture_view w;
		struct capture c;
		Perfetto__Trace *t;

		fixture_view_init(&w);
		w.host.monotonic_ns = anchors[i];
		cr_assert_eq(trace(&w, NULL, &c), 0);
		t = perfetto__trace__unpack(NULL, c.n, (const uint8_t *)c.text);
		cr_assert_eq(t->packet[0]->clock_snapshot->n_clocks, i == 1 ? 2 : 1);
		if (i == 1) {
			cr_assert_eq(t->packet[0]->clock_snapshot->clocks[1]->clock_id, 3);
			cr_assert_eq(t->packet[0]->clock_snapshot->clocks[1]->timestamp, 7000000000);
		}
		perfetto__trace__free_unpacked(t, NULL);
		capture_free(&c);
	}
}

Test(sink_perfetto, counters_are_of_their_intervals_and_end_with_the_loop)
{
	static struct fixture_view w;
	static struct reading r;
	struct capture c;

	fixture_view_init(&w);
	w.n_spans = 0;
	w.slow[0].end_ns = FIXTURE_AT(-1);
	w.records[1] = fixture_unknown();
	w.records[0].ended = true;
	w.records[0].load = w.records[0].busy = 0.25;
	w.records[0].wait = 0;
	cr_assert_eq(trace(&w, &(struct recording_select){ .from_ns = FIXTURE_AT(0), .to_ns = INT64_MAX }, &c), 0);
	read_trace(&c, &r);
	cr_assert_str_eq(r.log, "0 load of node =25\n"
				"1e+06 load of node =0\n"
				"0 busy of node =25\n"
				"1e+06 busy of node =0\n"
				"0 wait of node =0\n"
				"1e+06 wait of node =0\n"
				"0 busy of blink =0.02\n"
				"0 busy of log =0.02\n");
	capture_free(&c);
}

/* Only what was asked for, and nothing that is empty. */
Test(sink_perfetto, lanes_that_are_not_asked_for_have_no_track)
{
	static struct fixture_view w;
	static struct reading r;
	static const bool lanes[8] = { [3] = true };
	struct capture c;

	fixture_view_init(&w);
	cr_assert_eq(trace(&w, &(struct recording_select){ .from_ns = INT64_MIN, .to_ns = INT64_MAX, .lanes = lanes }, &c), 0);
	read_trace(&c, &r);
	cr_assert_eq(r.n_tracks, 3, "the board, its task, how busy that was");
	cr_assert_str_eq(r.track[0].name, "board0");
	cr_assert_eq(r.track[1].parent, r.track[0].uuid);
	capture_free(&c);
}

static int interrupted(struct recording_view *v, const struct recording_select *s, timeline_span_fn fn, void *arg, struct fault *f)
{
	((struct fixture_view *)v)->n_spans = 5;
	fixture_spans(v, s, fn, arg, f);
	return -EINTR;
}

Test(sink_perfetto, an_interrupted_one_is_whole)
{
	static struct fixture_view w;
	static struct reading r;
	struct recording_ops ops;
	struct capture c;

	fixture_view_init(&w);
	fixture_spans_by(&w, &ops, interrupted);
	cr_assert_eq(trace(&w, NULL, &c), -EINTR);
	read_trace(&c, &r);
	cr_assert_not_null(strstr(r.log, "400 log -log\n"));
	capture_free(&c);
}

Test(sink_perfetto, a_full_disk_is_said)
{
	fixture_full_disk(perfetto_write);
}

static int backwards(struct recording_view *v, const struct recording_select *s, timeline_span_fn fn, void *arg, struct fault *f)
{
	const struct fixture_view *w = (struct fixture_view *)v;
	int err = fn(arg, &w->spans[5]);

	return err ? err : fn(arg, &w->spans[0]);
}

Test(sink_perfetto, a_time_line_out_of_order_is_an_error)
{
	static struct fixture_view w;
	struct recording_ops ops;
	struct capture c;

	fixture_view_init(&w);
	fixture_spans_by(&w, &ops, backwards);
	cr_assert_eq(trace(&w, NULL, &c), -EINVAL);
	capture_free(&c);
}

/* A PID that was used twice is two processes; a lane whose loop is not there stands for itself. */
Test(sink_lane_group, groups)
{
	static struct fixture_view w;
	struct lane_groups g;

	fixture_view_init(&w);
	w.lanes[0].id.pid = w.lanes[1].id.pid = 7;
	w.lanes[7].parent = 99;
	w.lanes[7].source = 5;
	cr_assert_eq(lane_groups_new(w.lanes, w.n_lanes, &g), 0);
	cr_assert_eq(g.n, 4);
	cr_assert_arr_eq(g.of, ((uint32_t[]){ 0, 1, 2, 2, 2, 2, 2, 3 }), 8 * sizeof(uint32_t));
	cr_assert_arr_eq(g.first, ((uint32_t[]){ 0, 1, 2, 7 }), 4 * sizeof(uint32_t));
	lane_groups_free(&g);
	cr_assert_eq(lane_groups_new(w.lanes, 0, &g), 0);
	cr_assert_eq(g.n, 0);
	lane_groups_free(&g);
}
