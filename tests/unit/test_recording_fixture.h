/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_recording_fixture.h - a recording in memory, for tests of what is made of a recording: two loops of the host, one of them
 * with a hostile name, and a board with two tasks, an interrupt, idle time, a mark and a gap.
 */
#ifndef LOOPSCOPE_TEST_RECORDING_FIXTURE_H
#define LOOPSCOPE_TEST_RECORDING_FIXTURE_H

#include <errno.h>

#include "model/recording.h"
#include "test_sink_fixture.h"

#define FIXTURE_START_NS 1764554400000000000ll /* 2025-12-01 02:00:00 UTC */
#define FIXTURE_AT(us) (FIXTURE_START_NS + (us) * 1000ll)
#define FIXTURE_HOSTILE "<img src=x onerror=alert(1)>"

struct fixture_view {
	struct recording_view view; /* first: the ops get this */
	struct recording_host host;
	struct recording_source sources[2];
	struct lane lanes[8];
	size_t n_lanes;
	struct timeline_span spans[16]; /* in order */
	size_t n_spans;
	struct loop_record records[2];
	struct recording_loop loops[2];
	struct slow_cause causes[2];
	struct slow_tick tick;
	struct recording_slow slow[1];
	struct task_record task_records[2];
	struct recording_task tasks[2];
	struct source_record state_record;
	struct recording_state states[1];
};

static inline const struct recording_host *fixture_host(struct recording_view *v)
{
	return &((struct fixture_view *)v)->host;
}

static inline const struct recording_source *fixture_sources(struct recording_view *v, size_t *ret_n)
{
	*ret_n = 2;
	return ((struct fixture_view *)v)->sources;
}

static inline const struct lane *fixture_lanes(struct recording_view *v, size_t *ret_n)
{
	*ret_n = ((struct fixture_view *)v)->n_lanes;
	return ((struct fixture_view *)v)->lanes;
}

static inline bool fixture_wants(const struct recording_select *s, uint32_t lane, int64_t end_ns)
{
	return (!s->lanes || s->lanes[lane]) && end_ns > s->from_ns && end_ns <= s->to_ns;
}

#define FIXTURE_VISIT(array, n, wanted)                              \
	do {                                                         \
		for (size_t i = 0; i < (n); i++) {                   \
			int err = (wanted) ? fn(arg, &(array)[i]) : 0; \
			if (err < 0)                                 \
				return err;                          \
		}                                                    \
		return 0;                                            \
	} while (0)

static inline int fixture_loops(struct recording_view *v, const struct recording_select *s, recording_loop_fn fn, void *arg,
				struct fault *f)
{
	const struct fixture_view *w = (struct fixture_view *)v;

	FIXTURE_VISIT(w->loops, 2, fixture_wants(s, w->loops[i].lane, w->loops[i].end_ns));
}

static inline int fixture_slow(struct recording_view *v, const struct recording_select *s, recording_slow_fn fn, void *arg,
			       struct fault *f)
{
	const struct fixture_view *w = (struct fixture_view *)v;

	FIXTURE_VISIT(w->slow, 1, fixture_wants(s, w->slow[i].lane, w->slow[i].end_ns));
}

static inline int fixture_tasks(struct recording_view *v, const struct recording_select *s, recording_task_fn fn, void *arg,
				struct fault *f)
{
	const struct fixture_view *w = (struct fixture_view *)v;

	FIXTURE_VISIT(w->tasks, 2, fixture_wants(s, w->tasks[i].lane, w->tasks[i].end_ns));
}

static inline int fixture_states(struct recording_view *v, const struct recording_select *s, recording_state_fn fn, void *arg,
				 struct fault *f)
{
	const struct fixture_view *w = (struct fixture_view *)v;

	FIXTURE_VISIT(w->states, 1, w->states[i].at_ns > s->from_ns && w->states[i].at_ns <= s->to_ns);
}

static inline int fixture_spans(struct recording_view *v, const struct recording_select *s, timeline_span_fn fn, void *arg,
				struct fault *f)
{
	const struct fixture_view *w = (struct fixture_view *)v;

	FIXTURE_VISIT(w->spans, w->n_spans, (!s->lanes || s->lanes[w->spans[i].lane]) && w->spans[i].end_ns > s->from_ns &&
					    w->spans[i].start_ns <= s->to_ns);
}

static inline void fixture_lane(struct fixture_view *w, enum lane_kind kind, uint32_t parent, uint32_t source, const char *process,
				const char *name)
{
	uint32_t i = (uint32_t)w->n_lanes++;

	w->lanes[i] = (struct lane){ .index = i, .kind = kind, .parent = parent, .source = source, .name = name, .process = process,
				     .runtime = source == 0 ? "libuv" : "", .cgroup = "", .first_ns = INT64_MAX, .last_ns = INT64_MIN };
	if (source == 0)
		w->lanes[i].id = (struct loop_id){ .pid = 100 + i, .tid = 100 + i, .start_ns = 5000000000ull };
}

static inline void fixture_span(struct fixture_view *w, uint32_t lane, enum span_kind kind, int64_t start_us, int64_t end_us)
{
	struct lane *l = &w->lanes[lane];

	w->spans[w->n_spans++] = (struct timeline_span){ .lane = lane, .kind = kind, .start_ns = FIXTURE_AT(start_us),
							 .end_ns = FIXTURE_AT(end_us), .net_ns = -1, .timeout_ns = -1, .value = -1,
							 .slow = end_us - start_us > 50000 && kind == SPAN_TICK };
	l->spans++;
	l->first_ns = FIXTURE_AT(start_us) < l->first_ns ? FIXTURE_AT(start_us) : l->first_ns;
	l->last_ns = FIXTURE_AT(end_us) > l->last_ns ? FIXTURE_AT(end_us) : l->last_ns;
}

static inline void fixture_records(struct fixture_view *w)
{
	for (unsigned i = 0; i < 2; i++) {
		w->records[i] = i ? fixture_hostile() : fixture_node();
		w->loops[i] = (struct recording_loop){ i, FIXTURE_AT(0), FIXTURE_AT(1000000), &w->records[i] };
		w->task_records[i] = (struct task_record){
			.ts = FIXTURE_TS, .interval_s = 1, .source = SOURCE_SERIAL, .loop = "board0", .id = i, .instances = 1,
			.runs = 2 - i, .busy = 0.0002, .wait = NAN, .alive = NAN, .hog_open_us = NAN, .last_seen_s = 0.5,
			.uncertainty_us = NAN, .run_us = { 2 - i, 100, 100, 100, 100, 100, 200 },
			.ready_us = { 0, NAN, NAN, NAN, NAN, NAN, NAN },
		};
		snprintf(w->task_records[i].task, sizeof(w->task_records[i].task), "%s", i ? "log" : "blink");
		w->tasks[i] = (struct recording_task){ 3 + i, FIXTURE_AT(0), FIXTURE_AT(1000000), &w->task_records[i] };
	}
	w->causes[0] = (struct slow_cause){ .kind = CAUSE_CPU, .us = 60000, .what = "", .samples = 6,
					    .stack = { { FIXTURE_HOSTILE, "main" }, 2, false } };
	w->causes[1] = (struct slow_cause){ .kind = CAUSE_SYSCALL, .us = 30000, .what = "fsync(/var/lib/" FIXTURE_HOSTILE ")", .samples = -1 };
	w->tick = (struct slow_tick){
		.ts = FIXTURE_TS, .source = SOURCE_KERNEL, .id = w->lanes[1].id, .runtime = "libuv", .start_ns = 7000000000ull,
		.duration_us = 90000, .cpu_us = 60000, .blocked_us = 30000, .wait_us = 0, .throttled_us = 0, .events = 1,
		.causes = w->causes, .n_causes = 2,
	};
	SET_BYTES(w->tick.comm, "<img src=x");
	SET_BYTES(w->tick.thread, "<img src=x");
	w->slow[0] = (struct recording_slow){ 1, FIXTURE_AT(400), FIXTURE_AT(90400), &w->tick };
	w->state_record = (struct source_record){
		.ts = FIXTURE_TS, .interval_s = 1, .source = SOURCE_SERIAL, .loop = "board0", .name = "pico", .where = "/dev/ttyACM0",
		.protocol = "loopscope", .present = true, .margin = { 0.9, 0.8, 0.1, 1, 10, 0.26 }, .hz = 1000000,
		.clock = { .drift_ppm = NAN, .drift_error_ppm = NAN }, .uncertainty_us = NAN,
		.sleep_us = { 0, NAN, NAN, NAN, NAN, NAN, NAN }, .pass_us = { 0, NAN, NAN, NAN, NAN, NAN, NAN },
	};
	w->states[0] = (struct recording_state){ 1, FIXTURE_AT(1000000), &w->state_record };
}

static inline void fixture_view_init(struct fixture_view *w)
{
	static const struct recording_ops ops = { fixture_host, fixture_sources, fixture_lanes, fixture_loops, fixture_slow,
						  fixture_tasks, fixture_states, fixture_spans };

	*w = (struct fixture_view){ .view = { &ops } };
	w->host = (struct recording_host){
		.hostname = "vega", .kernel = "6.18.0", .machine = "x86_64", .version = "0.1.0", .command = "loopscope record --ticks",
		.cpus = 2, .start_ns = FIXTURE_AT(0), .end_ns = FIXTURE_AT(1000000), .interval_ns = 1000000000, .slow_ns = 50000000,
		.has_ticks = true, .complete = true, .dropped_until_ns = INT64_MIN,
	};
	w->sources[0] = (struct recording_source){ SOURCE_KERNEL, "kernel", "", "" };
	w->sources[1] = (struct recording_source){ SOURCE_SERIAL, "board0", "/dev/ttyACM0", "loopscope" };
	fixture_lane(w, LANE_LOOP, LANE_NONE, 0, "node", "node");
	fixture_lane(w, LANE_LOOP, LANE_NONE, 0, FIXTURE_HOSTILE, FIXTURE_HOSTILE);
	fixture_lane(w, LANE_LOOP, LANE_NONE, 1, "board0", "board0");
	fixture_lane(w, LANE_TASK, 2, 1, "board0", "blink");
	fixture_lane(w, LANE_TASK, 2, 1, "board0", "log");
	fixture_lane(w, LANE_ISR, 2, 1, "board0", "uart");
	fixture_lane(w, LANE_IDLE, 2, 1, "board0", "idle");
	fixture_lane(w, LANE_MARK, 2, 1, "board0", "temperature");
	fixture_span(w, 0, SPAN_TICK, 100, 350);
	fixture_span(w, 3, SPAN_RUN, 200, 300);
	fixture_span(w, 5, SPAN_ISR, 250, 260);
	fixture_span(w, 4, SPAN_READY, 280, 300);
	fixture_span(w, 4, SPAN_RUN, 300, 400);
	fixture_span(w, 0, SPAN_IO_WAIT, 350, 900);
	fixture_span(w, 1, SPAN_TICK, 400, 90400);
	fixture_span(w, 6, SPAN_IDLE, 400, 600);
	fixture_span(w, 7, SPAN_MARK, 450, 450);
	fixture_span(w, 2, SPAN_GAP, 600, 800);
	fixture_span(w, 3, SPAN_RUN, 800, 900);
	fixture_span(w, 0, SPAN_TICK, 900, 1200);
	w->spans[8].value = 21;
	w->spans[9].value = 5;
	fixture_records(w);
}

/* Its spans are those that visit tells. */
static inline void fixture_spans_by(struct fixture_view *w, struct recording_ops *ops,
				    int (*visit)(struct recording_view *v, const struct recording_select *s, timeline_span_fn fn, void *arg,
						 struct fault *f))
{
	*ops = *w->view.ops;
	ops->spans = visit;
	w->view.ops = ops;
}

typedef int (*fixture_write_fn)(struct recording_view *v, const struct recording_select *s, FILE *out, struct fault *f);

/* s NULL: all of it. What goes wrong is said, but for an interruption and a reader that is gone. capture_free() afterwards. */
static inline int fixture_written(fixture_write_fn write, struct fixture_view *w, const struct recording_select *s, struct capture *c)
{
	static const struct recording_select all = RECORDING_ALL;
	struct fault f = { 0 };
	int err;

	capture_open(c);
	err = write(&w->view, s ? s : &all, c->out, &f);
	fflush(c->out);
	cr_assert(err == 0 || err == -EINTR || err == -EPIPE || f.text[0]);
	return err;
}

static inline void fixture_full_disk(fixture_write_fn write)
{
	static const struct recording_select all = RECORDING_ALL;
	static struct fixture_view w;
	struct fault f = { 0 };
	_cleanup_fclose_ FILE *full = fopen("/dev/full", "w");

	fixture_view_init(&w);
	cr_assert_not_null(full);
	cr_assert_eq(write(&w.view, &all, full, &f), -ENOSPC);
	cr_assert(strstr(f.text, "free some space"));
}

#endif
