/* SPDX-License-Identifier: BSD-2-Clause */
/* http_connections.c - see http_connections.h. */
#include "lib/http_connections.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/now.h"

static void close_connection(struct http_connections *s, struct http_connection *c)
{
	if (c->closing)
		return;
	c->closing = true;
	s->closed++;
	shutdown(c->fd, SHUT_RDWR);
}

void http_connection_enter(struct http_connection *c, enum http_connection_state state)
{
	c->state = state;
	c->since_ns = now_ns();
}

/* Those that have done nothing for longest go first; one that reads an answer goes last. */
static void make_room(struct http_connections *s)
{
	struct http_connection *victim = NULL;

	for (struct http_connection *c = s->list; c; c = c->next) {
		if (c->closing)
			continue;
		if (!victim || (victim->state == CONNECTION_ANSWERING && c->state != CONNECTION_ANSWERING) ||
		    ((victim->state == CONNECTION_ANSWERING) == (c->state == CONNECTION_ANSWERING) && c->since_ns <= victim->since_ns))
			victim = c;
	}
	if (victim)
		close_connection(s, victim);
}

static unsigned count_open(const struct http_connections *s)
{
	unsigned n = 0;

	for (const struct http_connection *c = s->list; c; c = c->next)
		n += !c->closing;
	return n;
}

static void stop_reading(struct http_connections *s, struct http_connection *c)
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
static void drop_oldest_readers(struct http_connections *s)
{
	const struct http_body *oldest = s->readings[0].body;

	for (struct http_connection *c = s->list; c; c = c->next)
		if (c->body == oldest) {
			close_connection(s, c);
			stop_reading(s, c);
		}
}

void http_connection_reads(struct http_connections *s, struct http_connection *c, const struct http_body *body)
{
	size_t i = 0;

	stop_reading(s, c);
	c->body = body;
	while (i < s->n_readings && s->readings[i].body != body)
		i++;
	if (i == s->n_readings)
		s->readings[s->n_readings++] = (struct http_reading){ .body = body };
	s->readings[i].readers++;
	if (s->n_readings > HTTP_BODIES)
		drop_oldest_readers(s);
}

void http_connections_look(struct http_connections *s)
{
	uint64_t now = now_ns();

	for (struct http_connection *c = s->list; c; c = c->next)
		if (now - c->since_ns > (c->state == CONNECTION_IDLE ? s->idle_ns : s->deadline_ns))
			close_connection(s, c);
}

struct http_connection *http_connection_began(struct http_connections *s, int fd)
{
	struct http_connection *c;

	if (count_open(s) >= s->max)
		make_room(s);
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->fd = fd;
	http_connection_enter(c, CONNECTION_NEW);
	c->next = s->list;
	s->list = c;
	s->n++;
	return c;
}

void http_connection_ended(struct http_connections *s, struct http_connection *c)
{
	struct http_connection **at = &s->list;

	while (*at && *at != c)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = c->next;
	stop_reading(s, c);
	s->n--;
	free(c);
}

void http_connection_answered(struct http_connections *s, struct http_connection *c)
{
	stop_reading(s, c);
	http_connection_enter(c, CONNECTION_IDLE);
}
