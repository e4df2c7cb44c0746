/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * http.c - see http.h. Requests and answers, on the event loop; who is connected is http_connections.c's.
 */
#include "lib/http.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include <microhttpd.h>

#include "lib/http_connections.h"

#define HEAD_MAX 8192
#define CHECK_NS 100000000ull /* how often the deadlines are looked at, while there are connections */

struct http_server {
	struct http_options o;
	struct evloop *loop;
	struct MHD_Daemon *daemon;
	struct ev_source *io, *again, *check;
	struct http_connections connections;
	struct http_stats stats; /* of requests */
};

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

static void on_connection(void *arg, struct MHD_Connection *mc, void **context, enum MHD_ConnectionNotificationCode what)
{
	struct http_server *s = arg;

	if (what == MHD_CONNECTION_NOTIFY_STARTED) { /* without memory it gets no answer */
		*context = http_connection_began(&s->connections,
						 MHD_get_connection_info(mc, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd);
		return;
	}
	http_connection_ended(&s->connections, *context);
	*context = NULL;
}

static struct http_connection *connection_of(struct MHD_Connection *mc)
{
	return MHD_get_connection_info(mc, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static void on_completed(void *arg, struct MHD_Connection *mc, void **request, enum MHD_RequestTerminationCode how)
{
	struct http_connection *c = connection_of(mc);

	if (c)
		http_connection_answered(&((struct http_server *)arg)->connections, c);
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

static enum MHD_Result answer(struct http_server *s, struct MHD_Connection *mc, struct http_connection *c, const char *path)
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
	http_connection_reads(&s->connections, c, a.body);
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
	struct http_connection *c = connection_of(mc);

	if (!c)
		return MHD_NO;
	if (!*request) {
		*request = c; /* the head is there; an answer is due in the second call, but for what is refused */
		http_connection_enter(c, CONNECTION_ANSWERING);
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
	if (!err && s->connections.list && !s->check)
		err = evloop_add_timer(s->loop, CHECK_NS, CHECK_NS, on_check, s, &s->check);
	if (!s->connections.list) {
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
	http_connections_look(&((struct http_server *)arg)->connections);
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
	s->connections.max = o->connections ? o->connections : 64;
	s->connections.deadline_ns = o->deadline_ns ? o->deadline_ns : 10000000000ull;
	s->connections.idle_ns = o->idle_ns ? o->idle_ns : 120000000000ull;
	s->loop = loop;
	errno = 0;
	s->daemon = MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, on_request, s, MHD_OPTION_LISTEN_SOCKET, o->listen_fd,
				     MHD_OPTION_CONNECTION_LIMIT, inner_limit(s->connections.max), MHD_OPTION_CONNECTION_MEMORY_LIMIT,
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
	ret->connections = s->connections.n;
	ret->closed = s->connections.closed;
	ret->bodies = (unsigned)s->connections.n_readings;
}
