/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * http.c - see http.h.
 *
 * A connection is closed from here by shutdown() of its socket: libmicrohttpd then meets the same as when the client goes, and
 * tidies up itself.
 */
#include "lib/http.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>

#include <microhttpd.h>

#define HEAD_MAX 8192
#define CHECK_NS 100000000ull /* how often the deadlines are looked at, while there are connections */

enum connection_state {
	CONNECTION_NEW,       /* no whole request yet */
	CONNECTION_ANSWERING,
	CONNECTION_IDLE,      /* kept for another request */
};

struct connection {
	int fd;
	enum connection_state state;
	uint64_t since_ns; /* of the state */
	bool closing;
	const struct http_body *body; /* that it reads */
	struct connection *next;
};

/* A body that somebody reads, in the order of their first reading. */
struct reading {
	const struct http_body *body;
	unsigned readers;
};

struct http_server {
	struct http_options o;
	struct evloop *loop;
	struct MHD_Daemon *daemon;
	struct ev_source *io, *again, *check;
	struct connection *connections;
	struct reading readings[HTTP_BODIES + 1];
	size_t n_readings;
	struct http_stats stats;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/* --- bodies --------------------------------------------------------------------------------------------------------------------- */

struct http_body *http_body_new(char *p, size_t len)
{
	struct http_body *b = malloc(sizeof(*b));

	if (b)
		*b = (struct http_body){ .p = p, .len = len, .refs = 1 };
	return b;
}

struct http_body *http_body_ref(struct http_body *b)
{
	b->refs++;
	return b;
}

void http_body_unref(struct http_body *b)
{
	if (!b || --b->refs)
		return;
	free(b->p);
	free(b);
}

static void free_body(void *arg)
{
	http_body_unref(arg);
}

/* --- connections ---------------------------------------------------------------------------------------------------------------- */

static void close_connection(struct http_server *s, struct connection *c)
{
	if (c->closing)
		return;
	c->closing = true;
	s->stats.closed++;
	shutdown(c->fd, SHUT_RDWR);
}

static void enter(struct connection *c, enum connection_state state)
{
	c->state = state;
	c->since_ns = now_ns();
}

/* Those that have done nothing for longest go first; one that reads an answer goes last. */
static void make_room(struct http_server *s)
{
	struct connection *victim = NULL;

	for (struct connection *c = s->connections; c; c = c->next) {
		if (c->closing)
			continue;
		if (!victim || (victim->state == CONNECTION_ANSWERING && c->state != CONNECTION_ANSWERING) ||
		    ((victim->state == CONNECTION_ANSWERING) == (c->state == CONNECTION_ANSWERING) && c->since_ns <= victim->since_ns))
			victim = c;
	}
	if (victim)
		close_connection(s, victim);
}

static unsigned count_open(const struct http_server *s)
{
	unsigned n = 0;

	for (const struct connection *c = s->connections; c; c = c->next)
		n += !c->closing;
	return n;
}

static void stop_reading(struct http_server *s, struct connection *c)
{
	for (size_t i = 0; c->body && i < s->n_readings; i++) {
		if (s->readings[i].body != c->body)
			continue;
		if (!--s->readings[i].readers) {
			s->n_readings--;
			memmove(&s->readings[i], &s->readings[i + 1], (s->n_readings - i) * sizeof(s->readings[0]));
		}
		break;
	}
	c->body = NULL;
}

/* One body more than there may be: who still reads the oldest has had its time. */
static void drop_oldest_readers(struct http_server *s)
{
	const struct http_body *oldest = s->readings[0].body;

	for (struct connection *c = s->connections; c; c = c->next)
		if (c->body == oldest) {
			close_connection(s, c);
			stop_reading(s, c);
		}
}

static void start_reading(struct http_server *s, struct connection *c, const struct http_body *body)
{
	size_t i = 0;

	stop_reading(s, c);
	c->body = body;
	while (i < s->n_readings && s->readings[i].body != body)
		i++;
	if (i == s->n_readings)
		s->readings[s->n_readings++] = (struct reading){ .body = body };
	s->readings[i].readers++;
	if (s->n_readings > HTTP_BODIES)
		drop_oldest_readers(s);
}

static void look_at_deadlines(struct http_server *s)
{
	uint64_t now = now_ns();

	for (struct connection *c = s->connections; c; c = c->next)
		if (now - c->since_ns > (c->state == CONNECTION_IDLE ? s->o.idle_ns : s->o.deadline_ns))
			close_connection(s, c);
}

static void on_connection(void *arg, struct MHD_Connection *mc, void **context, enum MHD_ConnectionNotificationCode what)
{
	struct http_server *s = arg;
	struct connection **at = &s->connections, *c = *context;

	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		if (count_open(s) >= s->o.connections)
			make_room(s);
		c = calloc(1, sizeof(*c));
		if (!c)
			return; /* it gets no answer */
		c->fd = MHD_get_connection_info(mc, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
		enter(c, CONNECTION_NEW);
		c->next = s->connections;
		s->connections = c;
		s->stats.connections++;
		*context = c;
		return;
	}
	while (*at && *at != c)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = c->next;
	stop_reading(s, c);
	s->stats.connections--;
	free(c);
	*context = NULL;
}

static struct connection *connection_of(struct MHD_Connection *mc)
{
	return MHD_get_connection_info(mc, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static void on_completed(void *arg, struct MHD_Connection *mc, void **request, enum MHD_RequestTerminationCode how)
{
	struct connection *c = connection_of(mc);

	if (!c)
		return;
	stop_reading(arg, c);
	enter(c, CONNECTION_IDLE);
}

/* --- requests ------------------------------------------------------------------------------------------------------------------- */

static enum MHD_Result queue(struct http_server *s, struct MHD_Connection *mc, unsigned status, struct MHD_Response *r)
{
	enum MHD_Result done;

	if (!r)
		return MHD_NO;
	s->stats.requests++;
	if (status >= 400 && status < 500)
		s->stats.refused++;
	done = MHD_queue_response(mc, status, r);
	MHD_destroy_response(r);
	return done;
}

/* Without reading on: what follows such a head is not for us. */
static enum MHD_Result refuse(struct http_server *s, struct MHD_Connection *mc, unsigned status, const char *text)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);

	if (r) {
		MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, "text/plain; charset=utf-8");
		MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
		if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
			MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	}
	return queue(s, mc, status, r);
}

static enum MHD_Result answer(struct http_server *s, struct MHD_Connection *mc, struct connection *c, const char *path)
{
	const struct http_request rq = {
		.path = path,
		.accept = MHD_lookup_connection_value(mc, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT),
	};
	struct http_answer a = {};
	struct MHD_Response *r;

	s->o.answer(s->o.arg, &rq, &a);
	if (!a.body)
		return refuse(s, mc, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory\n");
	r = MHD_create_response_from_buffer_with_free_callback_cls(a.body->len, a.body->p, free_body, a.body);
	if (!r) {
		http_body_unref(a.body);
		return MHD_NO;
	}
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, a.content_type);
	start_reading(s, c, a.body);
	return queue(s, mc, a.status, r);
}

static bool has_body(struct MHD_Connection *mc)
{
	const char *length = MHD_lookup_connection_value(mc, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);

	return (length && strcmp(length, "0")) || MHD_lookup_connection_value(mc, MHD_HEADER_KIND, MHD_HTTP_HEADER_TRANSFER_ENCODING);
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *mc, const char *path, const char *method, const char *version,
				  const char *upload, size_t *upload_size, void **request)
{
	struct http_server *s = arg;
	struct connection *c = connection_of(mc);

	if (!c)
		return MHD_NO;
	if (!*request) {
		*request = c; /* the head is there; an answer is due in the second call, but for what is refused */
		enter(c, CONNECTION_ANSWERING);
		if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
			return refuse(s, mc, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD are answered here\n");
		if (has_body(mc))
			return refuse(s, mc, MHD_HTTP_BAD_REQUEST, "a GET or HEAD has no body here\n");
		return MHD_YES;
	}
	return answer(s, mc, c, path);
}

/* --- on the event loop ------------------------------------------------------------------------------------------------------------ */

static int on_again(void *arg, uint64_t expirations);
static int on_check(void *arg, uint64_t expirations);

/* libmicrohttpd is asked whether it wants to go on at once; deadlines are ours, and looked at while there is anybody. */
static int set_timers(struct http_server *s)
{
	MHD_UNSIGNED_LONG_LONG timeout;
	bool go_on = MHD_get_timeout(s->daemon, &timeout) == MHD_YES && !timeout;
	int err = 0;

	evloop_remove(s->loop, s->again);
	s->again = NULL;
	if (go_on)
		err = evloop_add_timer(s->loop, 0, 0, on_again, s, &s->again);
	if (!err && s->connections && !s->check)
		err = evloop_add_timer(s->loop, CHECK_NS, CHECK_NS, on_check, s, &s->check);
	if (!s->connections) {
		evloop_remove(s->loop, s->check);
		s->check = NULL;
	}
	return err;
}

static int run(struct http_server *s)
{
	if (MHD_run(s->daemon) != MHD_YES)
		return -EIO;
	return set_timers(s);
}

static int on_io(void *arg, int fd, uint32_t events)
{
	return run(arg);
}

static int on_again(void *arg, uint64_t expirations)
{
	return run(arg);
}

static int on_check(void *arg, uint64_t expirations)
{
	look_at_deadlines(arg);
	return run(arg);
}

/* More than we let in: a connection that is being closed still counts for libmicrohttpd. */
static unsigned inner_limit(unsigned connections)
{
	return 2 * connections + 16;
}

int http_server_new(const struct http_options *o, struct evloop *loop, struct http_server **ret, struct fault *f)
{
	struct http_server *s = calloc(1, sizeof(*s));
	int err = -ENOMEM;

	if (!s)
		return fault(f, err, EXIT_FAILED, "out of memory");
	s->o = *o;
	s->o.connections = o->connections ? o->connections : 64;
	s->o.deadline_ns = o->deadline_ns ? o->deadline_ns : 10000000000ull;
	s->o.idle_ns = o->idle_ns ? o->idle_ns : 120000000000ull;
	s->loop = loop;
	errno = 0;
	s->daemon = MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, on_request, s, MHD_OPTION_LISTEN_SOCKET, o->listen_fd,
				     MHD_OPTION_CONNECTION_LIMIT, inner_limit(s->o.connections), MHD_OPTION_CONNECTION_MEMORY_LIMIT,
				     (size_t)HEAD_MAX, MHD_OPTION_NOTIFY_CONNECTION, on_connection, s, MHD_OPTION_NOTIFY_COMPLETED,
				     on_completed, s, MHD_OPTION_END);
	if (!s->daemon)
		err = errno ? -errno : -EIO;
	else
		err = evloop_add_fd(loop, MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd, EPOLLIN, on_io, s, &s->io);
	if (err) {
		http_server_free(s);
		return fault(f, err, EXIT_FAILED, "the HTTP server can't be started: %s", strerror(-err));
	}
	*ret = s;
	return 0;
}

void http_server_free(struct http_server *s)
{
	if (!s)
		return;
	evloop_remove(s->loop, s->io);
	evloop_remove(s->loop, s->again);
	evloop_remove(s->loop, s->check);
	if (s->daemon) {
		MHD_quiesce_daemon(s->daemon); /* the listening socket is the caller's */
		MHD_stop_daemon(s->daemon);
	}
	free(s);
}

void http_server_stats(const struct http_server *s, struct http_stats *ret)
{
	*ret = s->stats;
	ret->bodies = (unsigned)s->n_readings;
}
