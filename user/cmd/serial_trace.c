/* SPDX-License-Identifier: BSD-2-Clause */
/* serial_trace.c - see serial_trace.h. */
#include "cmd/serial_trace.h"

#include <errno.h>

#define STRANGE_BYTES 16384 /* without a frame after a return: another board, or none that sends them */
#define FIT_NS 100000000ull /* how old a comparison of the clocks may be that stretches are placed by */

static void keep(struct serial_trace *t, int err)
{
	if (err && !t->err)
		t->err = err;
}

/* ---- what the stream finds ---- */
static const char *loss_name(enum board_loss what)
{
	static const char *const name[LOSS_KINDS] = { [LOSS_FRAMES] = "frames", [LOSS_EVENTS] = "events", [LOSS_BYTES] = "bytes" };

	return name[what];
}

static void on_event(void *arg, const struct board_event *ev)
{
	struct serial_trace *t = arg;
	int err = 0;

	if (t->resumes && ev->kind != BOARD_RESET && t->o->session)
		err = t->o->session(t->o->arg, true);
	t->resumes = false;
	if (!err && ev->kind == BOARD_GAP && t->o->gap)
		err = t->o->gap(t->o->arg, ev->u.gap.count, loss_name(ev->u.gap.what));
	if (ev->kind == BOARD_RESET) {
		serial_talk_reset(t->talk);
		if (t->o->session)
			err = t->o->session(t->o->arg, true);
	}
	if (ev->kind == BOARD_TIME)
		serial_talk_clock_came(t->talk);
	keep(t, err);
	board_event(t->board, ev);
	if (ev->kind == BOARD_RESET)
		t->fit.method = CLOCK_NONE;
}

static void on_console(void *arg, const uint8_t *p, size_t n)
{
	struct serial_trace *t = arg;

	if (t->o->console)
		t->o->console(t->o->arg, p, n);
}

static const struct clock_fit *host_clock(struct serial_trace *t)
{
	if (t->fit.method == CLOCK_NONE || t->arrival - t->fit_at > FIT_NS) {
		board_host_clock(t->board, &t->fit);
		t->fit_at = t->arrival;
	}
	return &t->fit;
}

static void on_edge(void *arg, const struct board_edge *e)
{
	struct serial_trace *t = arg;
	struct board_stretch s = { .edge = e, .clock = host_clock(t), .arrival_ns = t->arrival };

	keep(t, t->o->stretch(t->o->arg, &s));
}

/* ---- streams, one after the other ---- */
static struct serial_stats stats(const struct serial_trace *t)
{
	struct serial_stats s = serial_stream_stats(t->stream);

	return (struct serial_stats){
		.bytes = t->before.bytes + s.bytes,
		.events = t->before.events + s.events,
		.garbage = t->before.garbage + s.garbage,
		.resyncs = t->before.resyncs + s.resyncs,
		.console = t->before.console + s.console,
	};
}

static int new_stream(struct serial_trace *t, struct fault *f)
{
	struct serial_out out = { .event = on_event, .console = on_console, .arg = t };
	int err;

	if (t->stream) {
		t->before = stats(t);
		serial_stream_free(t->stream);
		t->stream = NULL;
	}
	err = serial_stream_new(t->o->protocol, &out, &t->stream);
	return err ? fault(f, err, EXIT_FAILED, "out of memory") : 0;
}

static void note_protocol(struct serial_trace *t)
{
	enum serial_protocol p = serial_stream_protocol(t->stream);

	if (p != SERIAL_AUTO)
		t->protocol = p;
}

/* After bytes were decoded. */
static void answer(struct serial_trace *t)
{
	note_protocol(t);
	serial_talk_answer(t->talk, serial_stream_protocol(t->stream));
}

/* Whether the board that is back is not the one that left: another that speaks something else. */
static bool is_strange(const struct serial_trace *t)
{
	return t->resumes && t->o->protocol == SERIAL_AUTO &&
	       serial_stream_stats(t->stream).bytes - t->left_at.bytes > STRANGE_BYTES;
}

void serial_trace_take(struct serial_trace *t, const uint8_t *p, size_t n, uint64_t arrival_ns, struct fault *f)
{
	t->arrival = arrival_ns;
	t->at_end = false;
	serial_talk_heard(t->talk, p, n);
	if (is_strange(t)) {
		t->resumes = false;
		keep(t, new_stream(t, f));
	}
	if (t->err)
		return;
	serial_stream_feed(t->stream, p, n, arrival_ns);
	answer(t);
}

void serial_trace_quiet(struct serial_trace *t)
{
	serial_stream_quiet(t->stream);
	answer(t);
}

void serial_trace_end(struct serial_trace *t)
{
	if (t->at_end)
		return;
	t->at_end = true;
	serial_stream_end(t->stream);
}

void serial_trace_leave(struct serial_trace *t)
{
	serial_trace_end(t);
	if (t->o->session && !t->err)
		t->err = t->o->session(t->o->arg, false);
}

/* Frames say by themselves whether it is the same board that ran on, and how many of them went by meanwhile. */
int serial_trace_return(struct serial_trace *t, uint64_t byte_ns, struct fault *f)
{
	int err = 0;

	t->left_at = serial_stream_stats(t->stream);
	t->resumes = serial_stream_protocol(t->stream) == SERIAL_LOOPSCOPE;
	if (!t->resumes)
		err = new_stream(t, f);
	if (!err)
		board_set_byte_ns(t->board, byte_ns);
	return err;
}

bool serial_trace_ask(struct serial_trace *t, uint64_t now_ns, uint16_t *ret_nonce)
{
	if (!serial_talk_may_ask(t->talk, serial_stream_protocol(t->stream), ret_nonce))
		return false;
	board_ping_sent(t->board, *ret_nonce, now_ns);
	return true;
}

/* ---- the whole ---- */
int serial_trace_open(struct serial_trace *t, const struct serial_line_options *o, struct serial_talk *talk, uint64_t byte_ns,
		      struct fault *f)
{
	struct board_options bo = { .label = o->label, .hog_ns = o->hog_ns, .byte_ns = byte_ns, .edge = o->stretch ? on_edge : NULL,
				    .arg = t };

	*t = (struct serial_trace){ .o = o, .talk = talk };
	if (board_new(&bo, &t->board))
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	return new_stream(t, f);
}

void serial_trace_close(struct serial_trace *t)
{
	serial_stream_free(t->stream);
	board_free(t->board);
}

bool serial_trace_recognised(const struct serial_trace *t)
{
	return t->protocol != SERIAL_AUTO && stats(t).events > 0;
}

void serial_trace_interval(struct serial_trace *t, double ts, double interval_s, uint64_t now_ns, struct board_report *ret_r,
			   struct source_record *ret_s)
{
	const struct board_summary *b = &ret_r->summary;
	struct serial_stats s = stats(t);

	note_protocol(t);
	board_interval(t->board, ts, interval_s, now_ns, ret_r);
	*ret_s = (struct source_record){
		.ts = ts, .interval_s = interval_s, .source = SOURCE_SERIAL, .loop = t->o->label, .name = b->name,
		.protocol = t->protocol == SERIAL_AUTO ? "" : serial_protocol_names[t->protocol],
		.margin = b->margin, .sleep_us = b->sleep_us, .pass_us = b->pass_us, .clock = b->clock,
		.hz = b->hz, .hz_measured = b->hz_measured,
		.lost_frames = b->lost[LOSS_FRAMES], .lost_events = b->lost[LOSS_EVENTS], .lost_bytes = b->lost[LOSS_BYTES],
		.gaps = b->gaps, .gaps_uncounted = b->gaps_uncounted, .resets = b->resets, .orphans = b->orphans,
		.untracked = b->untracked,
		.bytes = s.bytes, .events = s.events, .garbage = s.garbage, .resyncs = s.resyncs, .console = s.console,
		.silent_s = b->silent_s, .uncertainty_us = b->uncertainty_us, .from_sums = b->from_sums,
	};
}
