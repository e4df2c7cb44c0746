/* SPDX-License-Identifier: BSD-2-Clause */
/* serial_line.c - see serial_line.h. */
#include "cmd/serial_line.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "cmd/serial_talk.h"
#include "lib/now.h"
#include "source/serial_port.h"

#define PIECE 16384
#define PIECES 16           /* read in one turn of the loop, so that timers and signals have theirs */
#define PULSE_NS 50000000ull
#define QUIET_NS 100000000ull
#define REOPEN_NS 250000000ull
#define STRANGE_BYTES 16384 /* without a frame after a return: another board, or none that sends them */
#define FIT_NS 100000000ull /* how old a comparison of the clocks may be that stretches are placed by */

struct serial_line {
	struct serial_line_options o;
	struct serial_port *port;
	struct serial_stream *stream;
	struct board *board;
	struct evloop *loop;
	struct ev_source *input; /* the port's fd, or a timer where it cannot be polled; NULL while the port is away */
	struct fault *f;
	int err;                 /* of a callback within serial_stream_feed() */

	uint64_t last_arrival, away_since;
	bool quiet_told;
	bool at_end;             /* serial_stream_end() was called */
	bool over;               /* a file or pipe that has ended */
	struct fault trouble;    /* told last */

	uint64_t arrival;        /* of what is being decoded */
	struct clock_fit fit;
	uint64_t fit_at;

	bool resumes;            /* the port is back, and nothing was understood yet: the stream goes on as before */
	struct serial_stats left_at;

	struct serial_talk talk;
	struct serial_stats before; /* of streams that have ended */
	enum serial_protocol protocol; /* recognised last */
	uint8_t buf[PIECE];
};

static bool is_stamped(const struct serial_line *l)
{
	return serial_line_is_live(l) || (l->o.paced && serial_port_is_live(l->port));
}

static void ask_time(struct serial_line *l)
{
	uint16_t nonce;

	if (!l->input || !serial_talk_may_ask(&l->talk, serial_stream_protocol(l->stream), &nonce))
		return;
	board_ping_sent(l->board, nonce, now_ns());
	serial_talk_ask(&l->talk, nonce);
}

/* After bytes were decoded. */
static void answer(struct serial_line *l)
{
	enum serial_protocol p = serial_stream_protocol(l->stream);

	if (p != SERIAL_AUTO)
		l->protocol = p;
	serial_talk_answer(&l->talk, p);
}

/* ---- bytes from the board ---- */
static const char *loss_name(enum board_loss what)
{
	static const char *const name[LOSS_KINDS] = { [LOSS_FRAMES] = "frames", [LOSS_EVENTS] = "events", [LOSS_BYTES] = "bytes" };

	return name[what];
}

static void on_event(void *arg, const struct board_event *ev)
{
	struct serial_line *l = arg;
	int err = 0;

	if (l->resumes && ev->kind != BOARD_RESET && l->o.session)
		err = l->o.session(l->o.arg, true);
	l->resumes = false;
	if (!err && ev->kind == BOARD_GAP && l->o.gap)
		err = l->o.gap(l->o.arg, ev->u.gap.count, loss_name(ev->u.gap.what));
	if (ev->kind == BOARD_RESET) {
		serial_talk_reset(&l->talk);
		if (l->o.session)
			err = l->o.session(l->o.arg, true);
	}
	if (ev->kind == BOARD_TIME)
		serial_talk_clock_came(&l->talk);
	if (err && !l->err)
		l->err = err;
	board_event(l->board, ev);
	if (ev->kind == BOARD_RESET)
		l->fit.method = CLOCK_NONE;
}

static void on_console(void *arg, const uint8_t *p, size_t n)
{
	struct serial_line *l = arg;

	if (l->o.console)
		l->o.console(l->o.arg, p, n);
}

static const struct clock_fit *host_clock(struct serial_line *l)
{
	if (l->fit.method == CLOCK_NONE || l->arrival - l->fit_at > FIT_NS) {
		board_host_clock(l->board, &l->fit);
		l->fit_at = l->arrival;
	}
	return &l->fit;
}

static void on_edge(void *arg, const struct board_edge *e)
{
	struct serial_line *l = arg;
	struct board_stretch s = { .edge = e, .clock = host_clock(l), .arrival_ns = l->arrival };
	int err = l->o.stretch(l->o.arg, &s);

	if (err && !l->err)
		l->err = err;
}

static int new_stream(struct serial_line *l, struct fault *f)
{
	struct serial_out out = { .event = on_event, .console = on_console, .arg = l };
	int err;

	if (l->stream) {
		struct serial_stats s = serial_stream_stats(l->stream);

		l->before.bytes += s.bytes;
		l->before.events += s.events;
		l->before.garbage += s.garbage;
		l->before.resyncs += s.resyncs;
		l->before.console += s.console;
		serial_stream_free(l->stream);
		l->stream = NULL;
	}
	err = serial_stream_new(l->o.protocol, &out, &l->stream);
	return err ? fault(f, err, EXIT_FAILED, "out of memory") : 0;
}

/* Whether the board that is back is not the one that left: another that speaks something else. */
static bool is_strange(const struct serial_line *l)
{
	return l->resumes && l->o.protocol == SERIAL_AUTO &&
	       serial_stream_stats(l->stream).bytes - l->left_at.bytes > STRANGE_BYTES;
}

static void take(struct serial_line *l, size_t n)
{
	l->arrival = is_stamped(l) ? now_ns() : CLOCK_UNKNOWN;
	serial_talk_heard(&l->talk, l->buf, n);
	l->last_arrival = now_ns();
	l->quiet_told = l->at_end = false;
	if (is_strange(l)) {
		l->resumes = false;
		l->err = new_stream(l, l->f);
		if (l->err)
			return;
	}
	serial_stream_feed(l->stream, l->buf, n, l->arrival);
	answer(l);
}

static void end_stream(struct serial_line *l)
{
	if (l->at_end)
		return;
	l->at_end = true;
	serial_stream_end(l->stream);
}

static void go_away(struct serial_line *l)
{
	evloop_remove(l->loop, l->input);
	l->input = NULL;
	l->away_since = now_ns();
	end_stream(l);
	if (l->o.session && !l->err)
		l->err = l->o.session(l->o.arg, false);
}

/* What is wrong with the port, in *why: it ends the loop, or is told where the line stays. */
static int trouble(struct serial_line *l, int err, const struct fault *why)
{
	if (!l->o.stays)
		return fault(l->f, err, why->status, "%s", why->text);
	if (l->o.trouble && strcmp(l->trouble.text, why->text) != 0)
		l->o.trouble(l->o.arg, why);
	l->trouble = *why;
	return 0;
}

/* A file or pipe gives no more: at its end (err 0), or because it can't be read. */
static int finish(struct serial_line *l, int err)
{
	struct fault why = {};

	if (err)
		fault(&why, err, EXIT_FAILED, "%s can't be read: %s", l->o.where, strerror(-err));
	if (l->o.stays) {
		l->over = true;
		go_away(l);
	} else if (!err) {
		evloop_stop(l->loop);
	}
	if (err)
		err = trouble(l, err, &why);
	return err ? err : l->err;
}

/* Reads what there is, within bounds. */
static int read_some(struct serial_line *l)
{
	for (unsigned i = 0; i < PIECES && !l->err; i++) {
		ssize_t n = serial_port_read(l->port, l->buf, sizeof(l->buf));

		if (n == -EAGAIN)
			return l->err;
		if (n == -ENODATA)
			return finish(l, 0);
		if (n == -ENODEV) {
			go_away(l);
			return l->err;
		}
		if (n < 0)
			return finish(l, (int)n);
		take(l, (size_t)n);
	}
	return l->err;
}

static int watch_port(struct serial_line *l);

static int on_readable(void *arg, int fd, uint32_t events)
{
	struct serial_line *l = arg;
	bool over = events & (EPOLLHUP | EPOLLERR);
	int err;

	/* The port closes its fd when it finds the device gone: out of epoll first. */
	if (over) {
		evloop_remove(l->loop, l->input);
		l->input = NULL;
	}
	err = read_some(l);
	if (over && !err && !l->input && !l->over && serial_port_fd(l->port) >= 0)
		err = watch_port(l);
	return err;
}

static int on_turn(void *arg, uint64_t expirations)
{
	return read_some(arg);
}

/* Regular files and devices such as /dev/zero cannot be polled: they are read at each turn of the loop. */
static int watch_port(struct serial_line *l)
{
	int err = evloop_add_fd(l->loop, serial_port_fd(l->port), EPOLLIN, on_readable, l, &l->input);

	return err == -EPERM ? evloop_add_timer(l->loop, 0, 1, on_turn, l, &l->input) : err;
}

static int come_back(struct serial_line *l)
{
	struct fault why = {};
	int err = serial_port_open_again(l->port, &why);

	if (err == -EAGAIN)
		return 0;
	if (err)
		return trouble(l, err, &why);
	l->trouble.text[0] = 0;
	/* Frames say by themselves whether it is the same board that ran on, and how many of them went by meanwhile. */
	l->left_at = serial_stream_stats(l->stream);
	l->resumes = serial_stream_protocol(l->stream) == SERIAL_LOOPSCOPE;
	if (!l->resumes)
		err = new_stream(l, l->f);
	if (!err)
		err = watch_port(l);
	if (!err) {
		board_set_byte_ns(l->board, serial_port_byte_ns(l->port));
		l->last_arrival = now_ns();
		serial_talk_opened(&l->talk);
	}
	return err;
}

/* What we were too late to read is no silence of the board's. */
static bool has_unread(const struct serial_line *l)
{
	struct pollfd pfd = { .fd = serial_port_fd(l->port), .events = POLLIN };

	return poll(&pfd, 1, 0) > 0;
}

static int on_pulse(void *arg, uint64_t expirations)
{
	struct serial_line *l = arg;
	uint64_t now = now_ns();

	if (l->over)
		return l->err;
	if (!l->input && serial_port_fd(l->port) < 0) {
		if (now - l->away_since < REOPEN_NS)
			return 0;
		l->away_since = now;
		return come_back(l);
	}
	if (!is_stamped(l) || now - l->last_arrival < PULSE_NS / 2 || has_unread(l))
		return l->err;
	if (!l->quiet_told && now - l->last_arrival >= QUIET_NS) {
		serial_stream_quiet(l->stream);
		answer(l);
		l->quiet_told = true;
	}
	board_quiet(l->board, now);
	return l->err;
}

static int on_sync(void *arg, uint64_t expirations)
{
	ask_time(arg);
	return 0;
}

/* ---- the whole ---- */
int serial_line_open(const struct serial_line_options *o, struct serial_line **ret, struct fault *f)
{
	struct serial_port_options po = { .where = o->where, .baud = o->baud, .reset = o->reset };
	struct serial_line *l = calloc(1, sizeof(*l));
	struct board_options bo = { .label = o->label, .hog_ns = o->hog_ns, .edge = o->stretch ? on_edge : NULL,
				    .arg = l };
	int err;

	if (!l)
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	l->o = *o;
	po.absent = o->stays ? &l->trouble : NULL;
	err = serial_port_open(&po, &l->port, f);
	if (!err) {
		bo.byte_ns = serial_port_byte_ns(l->port);
		err = board_new(&bo, &l->board);
	}
	if (!err)
		err = new_stream(l, f);
	if (err) {
		serial_line_free(l);
		return fault(f, err, EXIT_FAILED, "out of memory");
	}
	l->talk = (struct serial_talk){ .port = l->port, .wishes = &l->o.wishes, .forced = o->protocol,
					.mute = o->listen || !serial_line_is_live(l) };
	*ret = l;
	return 0;
}

void serial_line_free(struct serial_line *l)
{
	if (!l)
		return;
	serial_talk_closing(&l->talk);
	serial_stream_free(l->stream);
	board_free(l->board);
	serial_port_free(l->port);
	free(l);
}

int serial_line_start(struct serial_line *l, struct evloop *loop, struct fault *f)
{
	int err;

	l->loop = loop;
	l->f = f;
	l->last_arrival = l->away_since = now_ns();
	if (l->trouble.text[0] && l->o.trouble)
		l->o.trouble(l->o.arg, &l->trouble);
	err = serial_port_fd(l->port) >= 0 ? watch_port(l) : 0;
	if (!err)
		err = evloop_add_timer(loop, PULSE_NS, PULSE_NS, on_pulse, l, NULL);
	if (!err && serial_line_is_live(l) && !l->o.listen)
		err = evloop_add_timer(loop, l->o.sync_ns, l->o.sync_ns, on_sync, l, NULL);
	if (err)
		return fault(f, err, EXIT_FAILED, "the event loop can't be set up: %s", strerror(-err));
	if (l->input)
		serial_talk_opened(&l->talk);
	return 0;
}

bool serial_line_is_live(const struct serial_line *l)
{
	return serial_port_kind(l->port) != SERIAL_PORT_FILE;
}

bool serial_line_is_file(const struct serial_line *l)
{
	return !serial_port_is_live(l->port);
}

bool serial_line_recognised(const struct serial_line *l)
{
	return l->protocol != SERIAL_AUTO && l->before.events + serial_stream_stats(l->stream).events > 0;
}

static void source_record(const struct serial_line *l, const struct board_summary *b, struct source_record *r)
{
	struct serial_stats s = serial_stream_stats(l->stream);

	*r = (struct source_record){
		.source = SOURCE_SERIAL, .loop = l->o.label, .name = b->name, .where = serial_port_name(l->port),
		.protocol = l->protocol == SERIAL_AUTO ? "" : serial_protocol_names[l->protocol],
		.present = serial_port_fd(l->port) >= 0 && !l->over,
		.margin = b->margin, .sleep_us = b->sleep_us, .pass_us = b->pass_us, .clock = b->clock,
		.hz = b->hz, .hz_measured = b->hz_measured,
		.lost_frames = b->lost[LOSS_FRAMES], .lost_events = b->lost[LOSS_EVENTS], .lost_bytes = b->lost[LOSS_BYTES],
		.gaps = b->gaps, .gaps_uncounted = b->gaps_uncounted, .resets = b->resets, .orphans = b->orphans,
		.untracked = b->untracked,
		.bytes = l->before.bytes + s.bytes, .events = l->before.events + s.events,
		.garbage = l->before.garbage + s.garbage, .resyncs = l->before.resyncs + s.resyncs,
		.console = l->before.console + s.console,
		.silent_s = b->silent_s, .uncertainty_us = b->uncertainty_us, .from_sums = b->from_sums,
	};
}

void serial_line_interval(struct serial_line *l, double ts, double interval_s, bool last, struct board_report *ret_r,
			  struct source_record *ret_s)
{
	if (last)
		end_stream(l);
	if (serial_stream_protocol(l->stream) != SERIAL_AUTO)
		l->protocol = serial_stream_protocol(l->stream);
	board_interval(l->board, ts, interval_s, is_stamped(l) ? now_ns() : CLOCK_UNKNOWN, ret_r);
	source_record(l, &ret_r->summary, ret_s);
	ret_s->ts = ts;
	ret_s->interval_s = interval_s;
}
