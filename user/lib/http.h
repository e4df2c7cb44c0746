/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * http.h - a small HTTP server on our own event loop (libmicrohttpd): GET and HEAD of what is in memory anyway.
 *
 * Made to face clients that mean no good: everything has a limit. There are at most `connections` of them; one more, and the one
 * that has been idle for longest is closed. A request's head has to be there, whole and at most 8 KiB, and an answer has to be
 * read, within `deadline_ns`; between requests a connection may be quiet for `idle_ns`. Bodies that are still being read by
 * slow clients are limited to HTTP_BODIES: beyond it, those who read the oldest are closed. Requests with a body and other
 * methods are refused. What was refused or closed is counted.
 *
 * Nothing blocks: the answer's function is called from the event loop and answers at once.
 *
 * Ownership: the listener's fd stays the caller's, and outlives the server. Free the server before the event loop.
 */
#ifndef LOOPSCOPE_LIB_HTTP_H
#define LOOPSCOPE_LIB_HTTP_H

#include <stddef.h>
#include <stdint.h>

#include "lib/evloop.h"
#include "lib/fault.h"

#define HTTP_BODIES 4

struct http_server;

/* What an answer holds: shared by all those who read it, freed with the last one. */
struct http_body {
	char *p;
	size_t len;
	unsigned refs;
};

/* Takes p, which came from malloc(); NULL: out of memory, and p stays the caller's. */
struct http_body *http_body_new(char *p, size_t len);
struct http_body *http_body_ref(struct http_body *b);
void http_body_unref(struct http_body *b); /* accepts NULL */

struct http_request {
	const char *path;   /* without the query */
	const char *accept; /* NULL: not said */
};

struct http_answer {
	unsigned status;          /* 200, 404, 503 */
	const char *content_type; /* static */
	struct http_body *body;   /* a reference, handed over; NULL: out of memory */
};

typedef void (*http_answer_fn)(void *arg, const struct http_request *rq, struct http_answer *ret);

struct http_options {
	int listen_fd;
	unsigned connections; /* 0: 64 */
	uint64_t deadline_ns; /* 0: 10 s */
	uint64_t idle_ns;     /* 0: 120 s */
	http_answer_fn answer;
	void *arg;
};

struct http_stats {
	uint64_t requests; /* answered, with whatever status */
	uint64_t refused;  /* of them: another method, a body, no such path */
	uint64_t closed;   /* connections that took too long, or were in the way of another */
	unsigned connections, bodies; /* now: connected, and being read */
};

int http_server_new(const struct http_options *o, struct evloop *loop, struct http_server **ret, struct fault *f);
void http_server_free(struct http_server *s); /* accepts NULL */
void http_server_stats(const struct http_server *s, struct http_stats *ret);

#endif
