/* SPDX-License-Identifier: BSD-2-Clause */
/* serial_tcp.c - see serial_tcp.h. */
#include "source/serial_tcp.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/cleanup.h"
#include "lib/now.h"

#define CONNECT_MS 5000
#define LOOK_AGAIN_NS 10000000000ull

/* "host:port" or "[v6]:port" taken apart. */
static int split_address(const char *where, char *host, size_t size, const char **ret_port)
{
	const char *colon = strrchr(where, ':'), *end = colon, *begin = where;

	if (!colon || colon == where || !colon[1])
		return -EINVAL;
	if (*begin == '[') {
		if (end[-1] != ']')
			return -EINVAL;
		begin++;
		end--;
	}
	if (end <= begin || (size_t)(end - begin) >= size)
		return -EINVAL;
	memcpy(host, begin, (size_t)(end - begin));
	host[end - begin] = 0;
	*ret_port = colon + 1;
	return 0;
}

int serial_tcp_init(struct serial_tcp *t, const char *where, struct fault *f)
{
	char host[256];
	const char *port;
	int err = split_address(where, host, sizeof(host), &port);

	*t = (struct serial_tcp){ .where = where, .fd = -1 };
	return err ? fault(f, err, EXIT_USAGE, "'tcp:%s' is no address: tcp:HOST:PORT is meant", where) : 0;
}

static void give_up(struct serial_tcp *t)
{
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
}

void serial_tcp_release(struct serial_tcp *t)
{
	give_up(t);
	if (t->list)
		freeaddrinfo(t->list);
	t->list = t->at = NULL;
}

static int look_up(struct serial_tcp *t, struct fault *f)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	char host[256];
	const char *port;
	int err = split_address(t->where, host, sizeof(host), &port), gai;

	if (err)
		return err;
	t->since_ns = now_ns();
	gai = getaddrinfo(host, port, &hints, &t->list);
	if (gai) {
		t->list = NULL;
		return fault(f, -EHOSTUNREACH, EXIT_FAILED, "cannot find %s port %s: %s", host, port, gai_strerror(gai));
	}
	t->at = t->list;
	return 0;
}

/* Begins to connect to t->at. */
static int begin(struct serial_tcp *t)
{
	int on = 1, err;

	t->fd = socket(t->at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (t->fd < 0)
		return -errno;
	setsockopt(t->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(t->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	t->since_ns = now_ns();
	if (connect(t->fd, t->at->ai_addr, t->at->ai_addrlen) < 0 && errno != EINPROGRESS) {
		err = -errno;
		give_up(t);
		return err;
	}
	return 0;
}

/* 0: connected; -EAGAIN: still under way after wait_ms. */
static int outcome(struct serial_tcp *t, int wait_ms)
{
	struct pollfd pfd = { .fd = t->fd, .events = POLLOUT };
	socklen_t len = sizeof(int);
	int err = 0, n = poll(&pfd, 1, wait_ms);

	if (n == 0)
		return -EAGAIN;
	if (n < 0 || getsockopt(t->fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0)
		return -errno;
	return -err;
}

int serial_tcp_connect(struct serial_tcp *t, int *ret_fd, struct fault *f)
{
	int err = look_up(t, f);

	if (err)
		return err;
	for (; t->at; t->at = t->at->ai_next) {
		err = begin(t);
		if (!err)
			err = outcome(t, CONNECT_MS);
		if (!err) {
			*ret_fd = TAKE_FD(t->fd);
			t->at = t->list;
			return 0;
		}
		give_up(t);
	}
	if (err == -EAGAIN)
		err = -ETIMEDOUT;
	t->at = t->list;
	return fault(f, err, EXIT_FAILED, "cannot connect to %s: %s; is the server listening?", t->where, strerror(-err));
}

int serial_tcp_try(struct serial_tcp *t, int *ret_fd)
{
	int err = 0;

	if (!t->list && (now_ns() - t->since_ns < LOOK_AGAIN_NS || look_up(t, NULL)))
		return -EAGAIN;
	if (t->fd < 0)
		err = begin(t);
	if (!err)
		err = outcome(t, 0);
	if (!err) {
		*ret_fd = TAKE_FD(t->fd);
		return 0;
	}
	if (err != -EAGAIN || now_ns() - t->since_ns > CONNECT_MS * 1000000ull) {
		give_up(t);
		t->at = t->at->ai_next ? t->at->ai_next : t->list;
	}
	return -EAGAIN;
}
