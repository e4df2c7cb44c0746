/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * http_connections.h - who is connected to an HTTP server, what each of them reads, and who has to go.
 *
 * Bounded: so many connections, of which the one that has done nothing for longest makes room for another; so many bodies in
 * memory, of which the oldest goes with those who read it; so much time for a request, and for doing nothing. A connection is
 * closed by shutdown() of its socket: whoever serves it then meets the same as when the client goes, and tidies up itself.
 * Times are nanoseconds of the monotonic clock.
 */
#ifndef LOOPSCOPE_LIB_HTTP_CONNECTIONS_H
#define LOOPSCOPE_LIB_HTTP_CONNECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/http.h"

enum http_connection_state {
	CONNECTION_NEW,       /* no whole request yet */
	CONNECTION_ANSWERING,
	CONNECTION_IDLE,      /* kept for another request */
};

struct http_connection {
	int fd;
	enum http_connection_state state;
	uint64_t since_ns; /* of the state */
	bool closing;
	const struct http_body *body; /* that it reads */
	struct http_connection *next;
};

/* A body that somebody reads, in the order of their first reading. */
struct http_reading {
	const struct http_body *body;
	unsigned readers;
};

struct http_connections {
	unsigned max; /* at once */
	uint64_t deadline_ns, idle_ns;
	struct http_connection *list;
	unsigned n; /* in the list, also those that are being closed */
	uint64_t closed; /* by us, in all */
	struct http_reading readings[HTTP_BODIES + 1];
	size_t n_readings;
};

/* NULL: out of memory. It lives until http_connection_ended(). */
struct http_connection *http_connection_began(struct http_connections *s, int fd);
void http_connection_ended(struct http_connections *s, struct http_connection *c);
void http_connection_enter(struct http_connection *c, enum http_connection_state state);
void http_connection_reads(struct http_connections *s, struct http_connection *c, const struct http_body *body);
/* Its answer is sent, or will never be. */
void http_connection_answered(struct http_connections *s, struct http_connection *c);
/* Closes those that have taken too long. */
void http_connections_look(struct http_connections *s);

#endif
