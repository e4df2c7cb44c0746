/* SPDX-License-Identifier: BSD-2-Clause */
/* listen.c - see listen.h. */
#include "lib/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/parse.h"

#define BACKLOG 128

union address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_un un;
};

static int bad_address(const char *where, struct fault *f)
{
	return fault(f, -EINVAL, EXIT_USAGE,
		     "'%s' is no address to listen on: give ADDR:PORT with a numeric address, as in 127.0.0.1:9464 or [::1]:9464, or unix:PATH",
		     where);
}

static bool parse_port(const char *text, in_port_t *ret)
{
	uint64_t port;

	if (parse_u64(text, 0, UINT16_MAX, &port))
		return false;
	*ret = htons((uint16_t)port);
	return true;
}

/* The host without its brackets; false where it does not fit or they don't match. */
static bool take_host(const char *where, const char *colon, char *ret, size_t size)
{
	size_t n = (size_t)(colon - where);
	bool bracketed = n && where[0] == '[';

	if (bracketed) {
		if (n < 2 || where[n - 1] != ']')
			return false;
		where++;
		n -= 2;
	}
	if (n >= size)
		return false;
	memcpy(ret, where, n);
	ret[n] = '\0';
	return bracketed || !memchr(ret, ':', n);
}

static int parse_address(const char *where, union address *a, socklen_t *len, struct fault *f)
{
	const char *colon = strrchr(where, ':');
	char host[INET6_ADDRSTRLEN];
	in_port_t port;

	memset(a, 0, sizeof(*a));
	if (!colon || !take_host(where, colon, host, sizeof(host)) || !parse_port(colon + 1, &port))
		return bad_address(where, f);
	if (!strcmp(host, "localhost"))
		strcpy(host, "127.0.0.1");
	if (inet_pton(AF_INET, host, &a->in.sin_addr) == 1) {
		a->in.sin_family = AF_INET;
		a->in.sin_port = port;
		*len = sizeof(a->in);
		return 0;
	}
	if (inet_pton(AF_INET6, host, &a->in6.sin6_addr) == 1) {
		a->in6.sin6_family = AF_INET6;
		a->in6.sin6_port = port;
		*len = sizeof(a->in6);
		return 0;
	}
	return bad_address(where, f);
}

static int parse_path(const char *path, union address *a, socklen_t *len, struct fault *f)
{
	memset(a, 0, sizeof(*a));
	if (!path[0] || strlen(path) >= sizeof(a->un.sun_path))
		return fault(f, -EINVAL, EXIT_USAGE, "a unix socket needs a path of 1 to %zu bytes after unix:", sizeof(a->un.sun_path) - 1);
	a->un.sun_family = AF_UNIX;
	strcpy(a->un.sun_path, path);
	*len = sizeof(a->un);
	return 0;
}

/* A socket on which nobody listens any more. */
static bool is_left_behind(const union address *a, socklen_t len)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat st;

	return fd >= 0 && !lstat(a->un.sun_path, &st) && S_ISSOCK(st.st_mode) && connect(fd, &a->any, len) < 0 && errno == ECONNREFUSED;
}

static int bind_unix(int fd, const union address *a, socklen_t len)
{
	mode_t before = umask(0117);
	int err = bind(fd, &a->any, len) < 0 ? -errno : 0;

	if (err == -EADDRINUSE && is_left_behind(a, len) && !unlink(a->un.sun_path))
		err = bind(fd, &a->any, len) < 0 ? -errno : 0;
	umask(before);
	return err;
}

static int bind_inet(int fd, const union address *a, socklen_t len)
{
	const int on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	return bind(fd, &a->any, len) < 0 ? -errno : 0;
}

static void show(struct listener *l, const char *where)
{
	union address a = {};
	socklen_t len = sizeof(a);
	char host[INET6_ADDRSTRLEN] = "?";

	snprintf(l->shown, sizeof(l->shown), "%s", where);
	if (getsockname(l->fd, &a.any, &len))
		return;
	if (a.any.sa_family == AF_INET && inet_ntop(AF_INET, &a.in.sin_addr, host, sizeof(host)))
		snprintf(l->shown, sizeof(l->shown), "%s:%u", host, ntohs(a.in.sin_port));
	if (a.any.sa_family == AF_INET6 && inet_ntop(AF_INET6, &a.in6.sin6_addr, host, sizeof(host)))
		snprintf(l->shown, sizeof(l->shown), "[%s]:%u", host, ntohs(a.in6.sin6_port));
}

static int refused(const char *where, int err, struct fault *f)
{
	const char *remedy = err == -EADDRINUSE ? "another program listens there; give another address" :
			     err == -EACCES	? "that needs more privileges; give a port from 1024 on, or a path that may be written" :
			     err == -EADDRNOTAVAIL ? "this machine has no such address" :
						     "give another address";

	return fault(f, err, EXIT_FAILED, "can't listen on %s (%s): %s", where, strerror(-err), remedy);
}

static void remember_path(struct listener *l, const char *path)
{
	struct stat st;

	if (lstat(path, &st))
		return;
	snprintf(l->path, sizeof(l->path), "%s", path);
	l->dev = st.st_dev;
	l->ino = st.st_ino;
	l->made = st.st_mtim;
}

int listen_open(const char *where, struct listener *ret, struct fault *f)
{
	bool is_unix = !strncmp(where, "unix:", 5);
	struct listener l = { .fd = -1 };
	union address a;
	socklen_t len = 0;
	int err = is_unix ? parse_path(where + 5, &a, &len, f) : parse_address(where, &a, &len, f);

	if (err)
		return err;
	l.fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l.fd < 0)
		return refused(where, -errno, f);
	err = is_unix ? bind_unix(l.fd, &a, len) : bind_inet(l.fd, &a, len);
	if (!err && is_unix)
		remember_path(&l, where + 5);
	if (!err && listen(l.fd, BACKLOG) < 0)
		err = -errno;
	if (err) {
		listen_close(&l);
		return refused(where, err, f);
	}
	show(&l, where);
	*ret = l;
	return 0;
}

static bool path_is_ours(const struct listener *l)
{
	struct stat st;

	return l->path[0] && !lstat(l->path, &st) && st.st_dev == l->dev && st.st_ino == l->ino &&
	       st.st_mtim.tv_sec == l->made.tv_sec && st.st_mtim.tv_nsec == l->made.tv_nsec;
}

void listen_close(struct listener *l)
{
	if (path_is_ours(l))
		unlink(l->path);
	l->path[0] = '\0';
	if (l->fd > 0)
		close(l->fd);
	l->fd = -1;
}
