/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * http_script.h - an HTTP server that answers its n-th request as it was told, on a thread of its own: what a client makes of answers,
 * of none, and of a server that comes and goes.
 */
#ifndef LOOPSCOPE_TESTS_HTTP_SCRIPT_H
#define LOOPSCOPE_TESTS_HTTP_SCRIPT_H

#include <criterion/criterion.h>

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SCRIPT_REQUESTS 64
#define SCRIPT_HANGS    "hangs"  /* reads the request, answers nothing until the script ends */
#define SCRIPT_CLOSES   "closes" /* reads the request, and closes */

struct script_request {
	char head[2048];
	unsigned char *body; /* owned */
	size_t n;
	uint64_t at_ns; /* CLOCK_MONOTONIC */
};

struct script {
	const char *const *answers; /* raw; the last one goes for all further requests */
	size_t n_answers;
	int fd;
	uint16_t port;
	pthread_t thread;
	atomic_size_t n; /* requests that have come */
	atomic_bool over;
	struct script_request requests[SCRIPT_REQUESTS];
};

static inline uint64_t script_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* False where the client is gone. */
static inline bool script_read(int fd, struct script_request *r)
{
	size_t len = 0, body = 0;
	char *end = NULL, *length;

	while (!end && len < sizeof(r->head) - 1) {
		if (recv(fd, r->head + len, 1, 0) != 1)
			return false;
		r->head[++len] = '\0';
		end = strstr(r->head, "\r\n\r\n");
	}
	length = strcasestr(r->head, "content-length:");
	r->n = length ? strtoul(length + 15, NULL, 10) : 0;
	r->body = malloc(r->n + 1);
	while (body < r->n) {
		ssize_t got = recv(fd, r->body + body, r->n - body, 0);

		if (got <= 0)
			return false;
		body += (size_t)got;
	}
	r->at_ns = script_now();
	return true;
}

/* One connection, any number of requests. */
static inline void script_serve(struct script *s, int fd)
{
	for (;;) {
		size_t i = atomic_load(&s->n);
		const char *answer = s->answers[i < s->n_answers ? i : s->n_answers - 1];

		if (i == SCRIPT_REQUESTS || !script_read(fd, &s->requests[i]))
			return;
		atomic_store(&s->n, i + 1);
		if (!strcmp(answer, SCRIPT_CLOSES))
			return;
		if (!strcmp(answer, SCRIPT_HANGS)) {
			char byte;

			while (!atomic_load(&s->over) && recv(fd, &byte, 1, 0) == 1)
				;
			return;
		}
		if (send(fd, answer, strlen(answer), MSG_NOSIGNAL) < 0)
			return;
	}
}

static inline void *script_main(void *arg)
{
	struct script *s = arg;
	int fd;

	while ((fd = accept(s->fd, NULL, NULL)) >= 0) {
		struct timeval patience = {.tv_sec = 10};

		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
		script_serve(s, fd);
		close(fd);
	}
	return NULL;
}

/* port 0: any; else that one. */
static inline void script_start(struct script *s, uint16_t port, const char *const *answers, size_t n)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	int yes = 1;

	memset(s, 0, sizeof(*s));
	s->answers = answers;
	s->n_answers = n;
	s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(s->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	cr_assert_eq(bind(s->fd, (struct sockaddr *)&a, sizeof(a)), 0, "port %u: %s", port, strerror(errno));
	cr_assert_eq(listen(s->fd, 16), 0);
	getsockname(s->fd, (struct sockaddr *)&a, &len);
	s->port = ntohs(a.sin_port);
	cr_assert_eq(pthread_create(&s->thread, NULL, script_main, s), 0);
}

/* The client's connections have to be closed first, or be closed by this. */
static inline void script_stop(struct script *s)
{
	atomic_store(&s->over, true);
	shutdown(s->fd, SHUT_RDWR);
	pthread_join(s->thread, NULL);
	close(s->fd);
}

static inline void script_free(struct script *s)
{
	for (size_t i = 0; i < SCRIPT_REQUESTS; i++)
		free(s->requests[i].body);
}

#define SCRIPT_OK "HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 0\r\n\r\n"

#endif
