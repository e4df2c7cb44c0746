/* SPDX-License-Identifier: BSD-2-Clause */
/* serial_line.c - see serial_line.h. */
#include "cmd/serial_line.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "cmd/serial_talk.h"
#include "cmd/serial_trace.h"
#include "lib/now.h"
#include "source/serial_port.h"

#define PIECE 16384
#define PIECES 16           /* read in one turn of the loop, so that timers and signals have theirs */
#define PULSE_NS 50000000ull
#define QUIET_NS 100000000ull
#define REOPEN_NS 250000000ull

struct serial_line {
	struct serial_line_options o;
	struct serial_port *port;
	struct serial_talk talk;
	struct serial_trace trace;
	struct evloop *loop;
	struct ev_source *input; /* the port's fd, or a timer where it cannot be polled; NULL while the port is away */
	struct fault *f;

	uint64_t last_arrival, away_since;
	bool quiet_told;
	bool over;            /* a file or pipe that has ended */
	struct fault trouble; /* told last */
	uint8_t buf[PIECE];
};

static bool is_stamped(const struct serial_line *l)
{
	return serial_line_is_live(l) || (l->o.paced && serial_port_is_live(l->port));
}

static void take(struct serial_line *l, size_t n)
{
	l->last_arrival = now_ns();
	l->quiet_told = false;
	serial_trace_take(&l->trace, l->buf, n, is_stamped(l) ? l->last_arrival : CLOCK_UNKNOWN, l->f);
}

static void go_away(struct serial_line *l)
{
	evloop_remove(l->loop, l->input);
	l->input = NULL;
	l->away_since = now_ns();
	serial_trace_leave(&l->trace);
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
	return err ? err : l->trace.err;
}

/* Reads what there is, within bounds. */
static int read_some(struct serial_line *l)
{
	for (unsigned i = 0; i < PIECES && !l->trace.err; i++) {
		ssize_t n = serial_port_read(l->port, l->buf, sizeof(l->buf));

		if (n == -EAGAIN)
			return l->trace.err;
		if (n == -ENODATA)
			return finish(l, 0);
		if (n == -ENODEV) {
			go_away(l);
			return l->trace.err;
		}
		if (n < 0)
			return finish(l, (int)n);
		take(l, (size_t)n);
	}
	return l->trace.err;
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
	err = serial_trace_return(&l->trace, serial_port_byte_ns(l->port), l->f);
	if (!err)
		err = watch_port(l);
	if (!err) {
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
		return l->trace.err;
	if (!l->input && serial_port_fd(l->port) < 0) {
		if (now - l->away_since < REOPEN_NS)
			return 0;
		l->away_since = now;
		return come_back(l);
	}
	if (!is_stamped(l) || now - l->last_arrival < PULSE_NS / 2 || has_unread(l))
		return l->trace.err;
	if (!l->quiet_told && now - l->last_arrival >= QUIET_NS) {
		serial_trace_quiet(&l->trace);
		l->quiet_told = true;
	}
	board_quiet(l->trace.board, now);
	return l->trace.err;
}

static int on_sync(void *arg, uint64_t expirations)
{
	struct serial_line *l = arg;
	uint16_t nonce;

	if (l->input && serial_trace_ask(&l->trace, now_ns(), &nonce))
		serial_talk_ask(&l->talk, nonce);
	return 0;
}

/* ---- the whole ---- */
int serial_line_open(const struct serial_line_options *o, struct serial_line **ret, struct fault *f)
{
	struct serial_port_options po = { .where = o->where, .baud = o->baud, .reset = o->reset };
	struct serial_line *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	l->o = *o;
	po.absent = o->stays ? &l->trouble : NULL;
	err = serial_port_open(&po, &l->port, f);
	if (!err)
		err = serial_trace_open(&l->trace, &l->o, &l->talk, serial_port_byte_ns(l->port), f);
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
	serial_trace_close(&l->trace);
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
	return serial_trace_recognised(&l->trace);
}

void serial_line_interval(struct serial_line *l, double ts, double interval_s, bool last, struct board_report *ret_r,
			  struct source_record *ret_s)
{
	if (last)
		serial_trace_end(&l->trace);
	serial_trace_interval(&l->trace, ts, interval_s, is_stamped(l) ? now_ns() : CLOCK_UNKNOWN, ret_r, ret_s);
	ret_s->where = serial_port_name(l->port);
	ret_s->present = serial_port_fd(l->port) >= 0 && !l->over;
}
