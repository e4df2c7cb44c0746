/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * invent.c - an invented recording, written as a page by the real sink: what the page's tests and its bench look at.
 *
 * usage: invent [--ticks N] [--seconds S] [--plain] [--no-ticks]      the page goes to standard output
 *
 * Three programs and two boards whose spans are made from a seeded generator, always the same: about N ticks of the busiest loop, a
 * stretch in which a neighbour takes the CPU, slow ticks with stacks, gaps, marks. Names are hostile unless --plain: markup, script
 * ends, broken UTF-8, control bytes. The same span comes for the same place in any visit, so slow ticks, interval records and the
 * time line tell one story. What tests rely on is printed to standard error as JSON: the slow ticks; and for the bench the seconds of
 * CPU that the sink took, without those that inventing took.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/cleanup.h"
#include "sink/html.h"

#define MS 1000000ll
#define SEC 1000000000ll
#define START (1764554400ll * SEC)
#define SLOW_NS (50 * MS)
#define LANES 15
#define HOST_LOOPS 4
#define SPREAD_MEAN 1.06 /* what spread() makes of 1, a little more: at least as many ticks as were asked for */

struct invented {
	struct recording_view view; /* first: the ops get this */
	struct recording_host host;
	struct lane lanes[LANES];
	double tick_ns, pause_ns; /* of the busiest loop */
	bool hostile, every_tick;
	unsigned visits; /* of all spans */
};

/* --- spans ------------------------------------------------------------------------------------------------------------- */

struct wire {
	uint64_t random;
	int64_t at;
	bool io;   /* the next is an IO wait */
	bool done;
	struct timeline_span next;
};

static double uniform(uint64_t *random)
{
	*random = *random * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(*random >> 11) / 9007199254740992.0;
}

/* Durations have a long tail. */
static double spread(uint64_t *random, double mean)
{
	return mean * exp(1.1 * (uniform(random) + uniform(random) + uniform(random) - 1.5) - 0.1);
}

static bool contended(const struct invented *v, int64_t t)
{
	double part = (double)(t - v->host.start_ns) / (double)(v->host.end_ns - v->host.start_ns);

	return part > 0.42 && part < 0.7;
}

struct habit {
	double tick_ns, pause_ns, slow_chance, slow_ns;
};

static struct habit habit_of(const struct invented *v, uint32_t lane)
{
	switch (lane) {
	case 0:
		return (struct habit){ 3.1e6, 7e6, 0.006, 90e6 };
	case 1:
		return (struct habit){ 1.6e6, 18e6, 0.012, 260e6 };
	case 2:
		return (struct habit){ v->tick_ns, v->pause_ns, 0, 0 };
	case 3:
		return (struct habit){ 0.2e6, 90e6, 0.02, 70e6 };
	case 4: /* board */
		return (struct habit){ 4e6, 6e6, 0, 0 };
	case 10:
		return (struct habit){ 9e6, 31e6, 0.01, 80e6 };
	default:
		return (struct habit){ 0.4e6 * (lane % 5 + 1), 9e6 * (lane % 4 + 1), 0.002, 60e6 };
	}
}

static void wire_next(const struct invented *v, uint32_t lane, struct wire *w)
{
	struct habit h = habit_of(v, lane);
	enum lane_kind kind = v->lanes[lane].kind;
	double length = w->io ? spread(&w->random, h.pause_ns) : spread(&w->random, h.tick_ns);
	static const enum span_kind high[] = { SPAN_TICK, SPAN_RUN, SPAN_ISR, SPAN_IDLE, SPAN_MARK };

	if (!w->io && uniform(&w->random) < h.slow_chance)
		length = h.slow_ns * (0.7 + uniform(&w->random));
	if (!w->io && lane < 2 && contended(v, w->at))
		length *= 2.3;
	if (kind == LANE_MARK && !w->io)
		length = 0;
	w->next = (struct timeline_span){
		.lane = lane, .kind = w->io ? SPAN_IO_WAIT : high[kind], .start_ns = w->at, .end_ns = w->at + (int64_t)length + (kind != LANE_MARK),
		.net_ns = -1, .value = w->io ? 1 : kind == LANE_MARK ? (int64_t)(200 * uniform(&w->random)) - 100 : -1,
	};
	if (kind == LANE_MARK)
		w->next.end_ns = w->io ? w->next.end_ns : w->next.start_ns;
	w->next.slow = !w->io && kind != LANE_MARK && kind != LANE_IDLE && w->next.end_ns - w->next.start_ns >= SLOW_NS;
	w->at = w->next.end_ns;
	w->io = !w->io;
	if (w->next.end_ns > v->host.end_ns) {
		w->next.end_ns = v->host.end_ns;
		w->next.open = true;
	}
	w->done = w->next.start_ns >= v->host.end_ns;
}

/* Between the tasks' runs nothing is recorded; only loops tell IO waits. */
static bool is_told(const struct invented *v, const struct timeline_span *s)
{
	return (s->kind != SPAN_IO_WAIT || v->lanes[s->lane].kind == LANE_LOOP) && (v->every_tick || s->slow);
}

static bool is_wanted(const struct recording_select *sel, const struct timeline_span *s)
{
	return s->end_ns >= sel->from_ns && s->start_ns < sel->to_ns && (!sel->lanes || sel->lanes[s->lane]);
}

static int gap(const struct invented *v, int64_t from, int64_t length, timeline_span_fn fn, void *arg)
{
	return fn(arg, &(struct timeline_span){ .lane = 4, .kind = SPAN_GAP, .start_ns = v->host.start_ns + from,
						.end_ns = v->host.start_ns + from + length, .net_ns = -1, .value = 17 });
}

static int spans(struct recording_view *view, const struct recording_select *sel, timeline_span_fn fn, void *arg, struct fault *f)
{
	struct invented *v = (struct invented *)view;
	int64_t span = v->host.end_ns - v->host.start_ns, gaps[2] = { span / 4, span * 3 / 4 };
	struct wire wires[LANES];
	size_t next_gap = 0;
	int err = 0;

	v->visits++;

	for (uint32_t i = 0; i < LANES; i++) {
		wires[i] = (struct wire){ .random = 17 + i, .at = v->host.start_ns };
		wire_next(v, i, &wires[i]);
	}
	while (!err) {
		struct wire *first = NULL;

		for (uint32_t i = 0; i < LANES; i++)
			if (!wires[i].done && (!first || wires[i].next.start_ns < first->next.start_ns))
				first = &wires[i];
		if (!first)
			break;
		for (; next_gap < 2 && !err && gaps[next_gap] + v->host.start_ns <= first->next.start_ns; next_gap++)
			err = gap(v, gaps[next_gap], span / 60, fn, arg);
		if (!err && is_told(v, &first->next) && is_wanted(sel, &first->next))
			err = fn(arg, &first->next);
		wire_next(v, first->next.lane, first);
	}
	return err;
}

/* --- records ----------------------------------------------------------------------------------------------------------- */

struct summing {
	int64_t from, to;
	double high[LANES];
	int64_t n[LANES];
	double max_us[LANES];
};

/* Sums of each lane in each interval, by one visit of all spans. */
struct intervals {
	struct invented *v;
	int64_t width;
	size_t n;
	struct summing *of;
};

static int sum_span(void *arg, const struct timeline_span *s)
{
	struct intervals *all = arg;

	if (s->kind == SPAN_IO_WAIT || s->kind == SPAN_GAP)
		return 0;
	for (size_t i = (size_t)((s->start_ns - all->v->host.start_ns) / all->width); i < all->n && all->of[i].from < s->end_ns; i++) {
		struct summing *sum = &all->of[i];
		int64_t from = s->start_ns > sum->from ? s->start_ns : sum->from, to = s->end_ns < sum->to ? s->end_ns : sum->to;

		sum->high[s->lane] += (double)(to - from);
		sum->n[s->lane] += s->end_ns <= sum->to;
		if (s->end_ns <= sum->to)
			sum->max_us[s->lane] = fmax(sum->max_us[s->lane], (double)(s->end_ns - s->start_ns) / 1e3);
	}
	return 0;
}

static int sum_up(struct invented *v, struct intervals *ret, struct fault *f)
{
	struct recording_select all = RECORDING_ALL;
	bool every_tick = v->every_tick;
	int err;

	*ret = (struct intervals){ .v = v, .width = v->host.interval_ns };
	ret->n = (size_t)((v->host.end_ns - v->host.start_ns + ret->width - 1) / ret->width);
	ret->of = calloc(ret->n, sizeof(*ret->of));
	if (!ret->of)
		return -ENOMEM;
	for (size_t i = 0; i < ret->n; i++) {
		ret->of[i].from = v->host.start_ns + (int64_t)i * ret->width;
		ret->of[i].to = ret->of[i].from + ret->width < v->host.end_ns ? ret->of[i].from + ret->width : v->host.end_ns;
	}
	v->every_tick = true;
	err = spans(&v->view, &all, sum_span, ret, f);
	v->every_tick = every_tick;
	return err;
}

static struct loop_record unknown_loop(const struct lane *l)
{
	struct loop_record r = {
		.source = l->source ? SOURCE_SERIAL : SOURCE_KERNEL, .edges = l->source ? EDGES_BOARD : EDGES_TRACEPOINT, .id = l->id, .nspid = -1,
		.cgroup = "", .runtime = l->runtime, .wait_syscall = "", .wait_fd = -1, .load = NAN, .busy = NAN, .wait = NAN, .idle = NAN,
		.spin = NAN, .naive_load = NAN, .io_cpu = NAN, .tick_cpu = NAN, .tick_blocked = NAN, .wait_io = NAN, .wait_tick = NAN,
		.throttled = NAN, .io_waits = -1, .ticks = -1, .events_per_wait = NAN, .late_us = NAN, .late_wait_us = NAN, .slow_ticks = -1,
		.io_sleeps = -1, .lost = 0, .repaired = -1, .observer_cost = NAN,
	};

	strncpy(r.comm, l->process, sizeof(r.comm) - 1);
	strncpy(r.thread, l->name, sizeof(r.thread) - 1);
	return r;
}

static void share_out(struct loop_record *r, double high, double wait, double blocked)
{
	r->wait_tick = high * wait * 0.9;
	r->wait_io = high * wait * 0.1;
	r->throttled = r->id.pid == 2376 ? r->wait_tick * 0.3 : 0;
	r->tick_blocked = high * blocked;
	r->io_cpu = 0.01;
	r->tick_cpu = fmax(0, high - r->wait_tick - r->tick_blocked - 0.01);
	r->wait = r->wait_tick + r->wait_io;
	r->busy = r->io_cpu + r->tick_cpu + r->tick_blocked;
	r->load = r->busy + r->wait;
	r->idle = 1 - r->load;
	r->spin = 0;
	r->naive_load = r->busy + r->wait_tick;
	r->observer_cost = 0.0021;
}

static struct loop_record loop_of(const struct invented *v, const struct summing *s, uint32_t lane)
{
	struct loop_record r = unknown_loop(&v->lanes[lane]);
	double high = s->high[lane] / (double)(s->to - s->from);
	bool beside = contended(v, s->from);

	r.ts = (double)s->to / 1e9;
	r.interval_s = (double)(s->to - s->from) / 1e9;
	r.ticks = s->n[lane];
	if (lane >= HOST_LOOPS) {
		r.busy = high;
		r.idle = 1 - high;
		r.load = high;
		r.wait = 0;
		return r;
	}
	r.io_waits = r.io_sleeps = s->n[lane];
	share_out(&r, high, beside && lane < 2 ? 0.55 : 0.02, lane == 1 ? 0.3 : 0.03);
	r.tick_us = (struct quantiles){ s->n[lane] > 0, s->max_us[lane] / 6, s->max_us[lane] / 4, s->max_us[lane] / 1.3, s->max_us[lane], s->max_us[lane] };
	r.waited_for[0] = (struct waited_share){ .pid = beside ? 999 : 0, .share = r.wait * 0.7 };
	strcpy(r.waited_for[0].comm, beside ? "ffmpeg" : "");
	r.waited_for[1] = (struct waited_share){ .comm = "kworker/u4:2", .pid = 31, .share = r.wait * 0.2 };
	r.waited_for[2] = (struct waited_share){ .pid = LOOP_WAITED_QUOTA, .share = r.throttled };
	r.n_waited_for = r.throttled > 0 ? 3 : 2;
	r.blocked_by[0] = (struct blocked_share){ "fsync", r.tick_blocked * 0.8 };
	r.blocked_by[1] = (struct blocked_share){ "page_fault", r.tick_blocked * 0.2 };
	r.n_blocked_by = 2;
	r.lost = lane == 1 && s->from == v->host.start_ns ? 3 : 0;
	return r;
}

static int loops(struct recording_view *view, const struct recording_select *sel, recording_loop_fn fn, void *arg, struct fault *f)
{
	struct invented *v = (struct invented *)view;
	struct intervals all;
	int err = sum_up(v, &all, f);

	for (size_t i = 0; !err && i < all.n; i++)
		for (uint32_t lane = 0; !err && lane < LANES; lane++) {
			struct loop_record r;

			if (v->lanes[lane].kind != LANE_LOOP || (sel->lanes && !sel->lanes[lane]) || all.of[i].to <= sel->from_ns || all.of[i].to > sel->to_ns)
				continue;
			r = loop_of(v, &all.of[i], lane);
			err = fn(arg, &(struct recording_loop){ lane, all.of[i].from, all.of[i].to, &r });
		}
	free(all.of);
	return err;
}

static int tasks(struct recording_view *view, const struct recording_select *sel, recording_task_fn fn, void *arg, struct fault *f)
{
	struct invented *v = (struct invented *)view;
	struct intervals all;
	int err = sum_up(v, &all, f);

	for (size_t i = 0; !err && i < all.n; i++)
		for (uint32_t lane = 0; !err && lane < LANES; lane++) {
			const struct summing *s = &all.of[i];
			const struct lane *l = &v->lanes[lane];
			struct task_record r = {
				.ts = (double)s->to / 1e9, .interval_s = (double)(s->to - s->from) / 1e9, .source = SOURCE_SERIAL,
				.kind = l->kind == LANE_ISR ? TASK_ISR : TASK_RUNS, .loop = l->process, .id = l->number, .instances = 1, .runs = s->n[lane],
				.busy = s->high[lane] / (double)(s->to - s->from), .wait = NAN, .alive = NAN, .left_out = 0,
				.hogs = s->max_us[lane] * 1e3 >= (double)SLOW_NS, .hog_open_us = NAN, .uncertainty_us = NAN,
				.run_us = { .n = s->n[lane], .min = s->max_us[lane] / 20, .p50 = s->max_us[lane] / 6, .p90 = s->max_us[lane] / 3,
					    .p99 = s->max_us[lane] / 1.5, .max = s->max_us[lane], .total = s->high[lane] / 1e3 },
				.ready_us = { .n = 0 },
			};

			if ((l->kind != LANE_TASK && l->kind != LANE_ISR) || (sel->lanes && !sel->lanes[lane]))
				continue;
			strncpy(r.task, l->name, sizeof(r.task) - 1);
			err = fn(arg, &(struct recording_task){ lane, s->from, s->to, &r });
		}
	free(all.of);
	return err;
}

/* --- slow ticks -------------------------------------------------------------------------------------------------------- */

struct slow_visit {
	const struct invented *v;
	recording_slow_fn fn;
	void *arg;
};

static void stack_of(struct stack_names *s, const char *const *frames)
{
	while (frames[s->n]) {
		s->frame[s->n] = frames[s->n];
		s->n++;
	}
}

static int tell_slow(void *arg, const struct timeline_span *s)
{
	static const char *const parse[] = { "json_scan", "JSON.parse", "handle /app/server.js:88", "emit events.js:513", "uv__io_poll", "uv_run", "main", NULL };
	static const char *const render[] = { "escape_html", "render /app/view.js:12", "handle /app/server.js:91", "emit events.js:513", "uv__io_poll", "uv_run",
					      "main", NULL };
	static const char *const sync[] = { "fsync", "write_journal app/journal.py:41", "flush app/journal.py:77", "_run_once asyncio/base_events.py:1936",
					    "run_forever asyncio/base_events.py:608", "main", NULL };
	static const char *const evil[] = { "</script><script>window.hacked=3</script>", "<b>bold</b>\xff\xfe", "\"quoted\" & \x1b[31m", "main", NULL };
	struct slow_visit *visit = arg;
	const struct invented *v = visit->v;
	double us = (double)(s->end_ns - s->start_ns) / 1e3;
	bool beside = contended(v, s->start_ns), python = s->lane == 1;
	struct slow_cause causes[4] = {
		{ .kind = CAUSE_CPU, .us = us * (python ? 0.1 : beside ? 0.34 : 0.6), .what = "", .samples = 41 },
		{ .kind = CAUSE_SYSCALL, .us = us * (python ? 0.6 : 0.05), .what = v->hostile ? "fsync(/var/lib/<i>x</i>)" : "fsync(/var/lib/app/journal)", .samples = -1 },
		{ .kind = CAUSE_WAIT, .us = us * (beside ? 0.5 : 0.02), .what = "ffmpeg (pid 999)", .samples = -1 },
		{ .kind = CAUSE_CPU, .us = us * (python ? 0.05 : 0.12), .what = "", .samples = 9 },
	};
	struct slow_tick t = {
		.ts = (double)s->end_ns / 1e9, .source = SOURCE_KERNEL, .id = v->lanes[s->lane].id, .runtime = v->lanes[s->lane].runtime,
		.start_ns = (uint64_t)s->start_ns, .duration_us = us, .cpu_us = causes[0].us + causes[3].us, .blocked_us = causes[1].us, .wait_us = causes[2].us,
		.throttled_us = 0, .events = 3, .suppressed = 0, .causes = causes, .n_causes = 4, .in_progress = s->open,
	};

	if (!s->slow || v->lanes[s->lane].kind != LANE_LOOP || s->lane >= HOST_LOOPS)
		return 0;
	stack_of(&causes[0].stack, s->lane == 3 ? evil : python ? sync + 1 : parse);
	stack_of(&causes[1].stack, sync);
	stack_of(&causes[3].stack, python ? sync + 2 : render);
	return visit->fn(visit->arg, &(struct recording_slow){ s->lane, s->start_ns, s->end_ns, &t });
}

static int slow_ticks(struct recording_view *view, const struct recording_select *sel, recording_slow_fn fn, void *arg, struct fault *f)
{
	struct slow_visit visit = { (const struct invented *)view, fn, arg };

	return spans(view, sel, tell_slow, &visit, f);
}

static int states(struct recording_view *view, const struct recording_select *sel, recording_state_fn fn, void *arg, struct fault *f)
{
	const struct invented *v = (const struct invented *)view;
	struct source_record r = {
		.ts = (double)v->host.end_ns / 1e9, .interval_s = 1, .source = SOURCE_SERIAL, .loop = "board0", .name = v->hostile ? "<u>pyboard</u>" : "pyboard",
		.where = "/dev/ttyACM0", .protocol = "loopscope", .present = true, .margin = { .mean = 0.61, .worst = 0.22, .worst_ago_s = 3, .window_s = 0.1,
		.windows = 300, .beyond = 0.0099 }, .lost_frames = 2, .lost_events = 34, .lost_bytes = 0, .gaps = 2, .gaps_uncounted = 0, .resets = 0, .orphans = 1,
		.untracked = 0, .uncertainty_us = NAN, .hz = 1000000,
		.clock = { .method = CLOCK_PINGS, .offset_ns = 12345678, .error_ns = 21000, .drift_ppm = 38.2, .drift_error_ppm = 0.4, .samples = 30 },
	};

	return fn(arg, &(struct recording_state){ 1, v->host.end_ns, &r });
}

/* --- the whole --------------------------------------------------------------------------------------------------------- */

static const struct recording_host *host(struct recording_view *view)
{
	return &((struct invented *)view)->host;
}

static const struct recording_source *sources(struct recording_view *view, size_t *ret_n)
{
	static const struct recording_source all[] = {
		{ SOURCE_KERNEL, "kernel", "", "" }, { SOURCE_SERIAL, "board0", "/dev/ttyACM0", "loopscope" }, { SOURCE_SERIAL, "board1", "/dev/ttyUSB0", "systemview" },
	};

	*ret_n = 3;
	return all;
}

static const struct lane *lanes(struct recording_view *view, size_t *ret_n)
{
	*ret_n = LANES;
	return ((struct invented *)view)->lanes;
}

static const struct recording_ops ops = {
	.host = host, .sources = sources, .lanes = lanes, .loops = loops, .slow_ticks = slow_ticks, .tasks = tasks, .states = states, .spans = spans,
};

static void make_lanes(struct invented *v)
{
	const struct lane all[LANES] = {
		{ .id = { .pid = 4711, .tid = 4711 }, .name = "node", .process = "node", .runtime = "libuv" },
		{ .id = { .pid = 2376, .tid = 2380 }, .name = "worker-eventloo", .process = "python3", .runtime = "asyncio" },
		{ .id = { .pid = 2378, .tid = 2378 }, .name = "redis-server", .process = "redis-server", .runtime = "redis" },
		{ .id = { .pid = 666, .tid = 666 }, .name = v->hostile ? "<img src=x onerror=window.hacked=1>" : "nginx",
		  .process = v->hostile ? "<img src=x onerror=window.hacked=1>" : "nginx", .runtime = v->hostile ? "\"'><script>" : "nginx" },
		{ .name = "board0", .process = "board0", .runtime = "micropython", .source = 1 },
		{ .kind = LANE_TASK, .parent = 4, .name = "blink", .process = "board0", .runtime = "", .source = 1, .number = 1 },
		{ .kind = LANE_TASK, .parent = 4, .name = v->hostile ? "</script>\n\x1b[2Jsensor\xff" : "sensor", .process = "board0", .runtime = "", .source = 1, .number = 2 },
		{ .kind = LANE_TASK, .parent = 4, .name = "net", .process = "board0", .runtime = "", .source = 1, .number = 3 },
		{ .kind = LANE_ISR, .parent = 4, .name = "uart_irq", .process = "board0", .runtime = "", .source = 1, .number = 5 },
		{ .kind = LANE_MARK, .parent = 4, .name = "temperature", .process = "board0", .runtime = "", .source = 1, .number = 1 },
		{ .name = "board1", .process = "board1", .runtime = "superloop", .source = 2 },
		{ .kind = LANE_TASK, .parent = 10, .name = "control", .process = "board1", .runtime = "", .source = 2, .number = 1 },
		{ .kind = LANE_TASK, .parent = 10, .name = "radio", .process = "board1", .runtime = "", .source = 2, .number = 2 },
		{ .kind = LANE_TASK, .parent = 10, .name = "display", .process = "board1", .runtime = "", .source = 2, .number = 3 },
		{ .kind = LANE_IDLE, .parent = 10, .name = "idle", .process = "board1", .runtime = "", .source = 2 },
	};

	memcpy(v->lanes, all, sizeof(all));
	for (uint32_t i = 0; i < LANES; i++) {
		v->lanes[i].index = i;
		if (v->lanes[i].kind == LANE_LOOP)
			v->lanes[i].parent = LANE_NONE;
		v->lanes[i].first_ns = v->host.start_ns;
		v->lanes[i].last_ns = v->host.end_ns;
	}
}

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int ignore(void *arg, const struct timeline_span *s)
{
	return 0;
}

static int print_slow(void *arg, const struct recording_slow *r)
{
	bool *first = arg;

	fprintf(stderr, "%s[%u,%" PRId64 ",%" PRId64 "]", *first ? "" : ",", r->lane, (int64_t)(r->start_ns - START), (int64_t)(r->end_ns - START));
	*first = false;
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "ticks", required_argument, NULL, 't' }, { "seconds", required_argument, NULL, 's' }, { "plain", no_argument, NULL, 'p' },
		{ "no-ticks", no_argument, NULL, 'n' }, { 0 },
	};
	struct recording_select sel = RECORDING_ALL;
	struct invented v = { .view = { &ops }, .hostile = true, .every_tick = true };
	double ticks = 20000, seconds = 30;
	struct fault f = { 0 };
	bool first = true;
	double begun, written;
	unsigned visits;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 't')
			ticks = strtod(optarg, NULL);
		else if (c == 's')
			seconds = strtod(optarg, NULL);
		else if (c == 'p')
			v.hostile = false;
		else if (c == 'n')
			v.every_tick = false;
		else
			return EXIT_USAGE;
	}
	v.tick_ns = seconds * 1e9 / ticks * 0.4 / SPREAD_MEAN;
	v.pause_ns = seconds * 1e9 / ticks * 0.6 / SPREAD_MEAN;
	v.host = (struct recording_host){
		.hostname = "workbench", .kernel = "6.12.0", .machine = "x86_64", .version = LOOPSCOPE_VERSION,
		.command = v.hostile ? "record --ticks -n '<script>window.hacked=2</script>' -o run.loopscope" : "record --ticks -n node -n python3 -n redis-server -n nginx --serial /dev/ttyACM0 -d 30s run.loopscope",
		.cpus = 2, .start_ns = START, .end_ns = START + (int64_t)(seconds * 1e9), .interval_ns = (int64_t)(seconds > 10 ? SEC : SEC / 10), .slow_ns = SLOW_NS,
		.has_ticks = v.every_tick, .complete = true, .dropped_until_ns = INT64_MIN,
	};
	make_lanes(&v);
	begun = cpu_seconds();
	if (html_write(&v.view, &sel, stdout, &f))
		return fault_report(&f);
	written = cpu_seconds() - begun;
	visits = v.visits;
	begun = cpu_seconds();
	(void)spans(&v.view, &sel, ignore, NULL, &f);
	written -= visits * (cpu_seconds() - begun);
	fprintf(stderr, "{\"slow\":[");
	(void)slow_ticks(&v.view, &sel, print_slow, &first, &f);
	fprintf(stderr, "],\"sink_s\":%.3f}\n", written);
	return EXIT_DONE;
}
