/* SPDX-License-Identifier: BSD-2-Clause */
/* serial_port.c - ports, connections and files behind one face. See serial_port.h; the tty's details: serial_tty.c. */
#include "source/serial_port.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "lib/cleanup.h"
#include "source/serial_tcp.h"
#include "source/serial_tty.h"

#define BY_ID "/dev/serial/by-id"
#define WRITE_MS 1000
#define BITS_A_BYTE 10 /* with start and stop bit */

struct serial_port {
	enum serial_port_kind kind;
	char *where;   /* as given; for tcp without the prefix */
	char *stable;  /* its name in by_id, NULL: none */
	const char *by_id;
	unsigned baud;
	int fd;
	bool borrowed; /* standard input */
	bool regular;
	bool no_line; /* its baud rate means nothing */
	struct serial_tty tty;
	struct serial_tcp tcp;
};

int serial_port_fd(const struct serial_port *p)
{
	return p->fd;
}

enum serial_port_kind serial_port_kind(const struct serial_port *p)
{
	return p->kind;
}

bool serial_port_is_live(const struct serial_port *p)
{
	return !p->regular;
}

const char *serial_port_name(const struct serial_port *p)
{
	return p->stable ? p->stable : p->where;
}

uint64_t serial_port_byte_ns(const struct serial_port *p)
{
	return p->kind == SERIAL_PORT_TTY && !p->no_line ? BITS_A_BYTE * 1000000000ull / p->baud : 0;
}

bool serial_port_low_latency(const struct serial_port *p)
{
	return p->kind == SERIAL_PORT_TTY && p->tty.low_latency;
}

static void close_fd(struct serial_port *p)
{
	if (p->fd < 0)
		return;
	if (p->kind == SERIAL_PORT_TTY)
		serial_tty_leave(p->fd, &p->tty);
	if (!p->borrowed)
		close(p->fd);
	p->fd = -1;
}

void serial_port_free(struct serial_port *p)
{
	if (!p)
		return;
	close_fd(p);
	if (p->kind == SERIAL_PORT_TCP)
		serial_tcp_release(&p->tcp);
	free(p->where);
	free(p->stable);
	free(p);
}

/* ---- ports and files ---- */
static void find_stable_name(struct serial_port *p)
{
	_cleanup_free_ char *real = realpath(p->where, NULL);
	_cleanup_closedir_ DIR *d = opendir(p->by_id);
	struct dirent *e;

	while (!p->stable && real && d && (e = readdir(d))) {
		_cleanup_free_ char *path = NULL, *to = NULL;

		if (e->d_name[0] == '.')
			continue;
		if (asprintf(&path, "%s/%s", p->by_id, e->d_name) < 0) {
			path = NULL;
			return;
		}
		to = realpath(path, NULL);
		if (to && strcmp(to, real) == 0)
			p->stable = TAKE_PTR(path);
	}
}

static int open_failed(const char *path, int err, struct fault *f)
{
	switch (err) {
	case ENOENT:
	case ENXIO:
	case ENODEV:
		return fault(f, -err, EXIT_FAILED, "no port %s: ls %s shows those that are there", path, BY_ID);
	case EACCES:
	case EPERM:
		return fault(f, -err, EXIT_IMPOSSIBLE, "no permission to open %s: add yourself to its group (ls -l %s) or be root",
			     path, path);
	case EBUSY:
		return fault(f, -err, EXIT_FAILED, "%s is in use by another program: close that one first (fuser -v %s)", path, path);
	default:
		return fault(f, -err, EXIT_FAILED, "cannot open %s: %s", path, strerror(err));
	}
}

/* Pseudo-terminals and boards with USB of their own (CDC-ACM) take any baud rate and carry bytes at once: Documentation/
 * admin-guide/devices.txt has the numbers. */
static bool has_no_line(dev_t device)
{
	return (major(device) >= 136 && major(device) <= 143) || major(device) == 166;
}

static int open_path(struct serial_port *p, const char *path, bool reset, struct fault *f)
{
	/* First without a wish to write: a file may be read-only. O_NONBLOCK, or a port without carrier would block. */
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	int err;

	if (fd < 0)
		return open_failed(path, errno, f);
	if (fstat(fd, &st) < 0)
		return open_failed(path, errno, f);
	if (S_ISDIR(st.st_mode))
		return fault(f, -EISDIR, EXIT_FAILED, "%s is a directory: a port or a file is meant", path);
	p->regular = S_ISREG(st.st_mode);
	p->no_line = has_no_line(st.st_rdev);
	if (!isatty(fd)) {
		p->kind = SERIAL_PORT_FILE;
		p->fd = TAKE_FD(fd);
		return 0;
	}
	/* The port is open through fd meanwhile, so that opening it for writing does not move DTR again. */
	p->kind = SERIAL_PORT_TTY;
	p->fd = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (p->fd < 0)
		return open_failed(path, errno, f);
	err = serial_tty_take(p->fd, path, p->baud, &p->tty, f);
	if (err == 0 && reset)
		err = serial_tty_reset_board(p->fd, path, f);
	if (err < 0)
		close_fd(p);
	return err;
}

/* What may well come, of what open_path() and serial_tcp_connect() say. */
static bool is_absence(const struct serial_port *p, int err)
{
	return p->kind == SERIAL_PORT_TCP ? err != -EINVAL && err != -ENOMEM :
					    err == -ENOENT || err == -ENXIO || err == -ENODEV || err == -EIO || err == -EBUSY;
}

int serial_port_open(const struct serial_port_options *o, struct serial_port **ret, struct fault *f)
{
	struct serial_port *p = calloc(1, sizeof(*p));
	bool tcp = strncmp(o->where, "tcp:", 4) == 0;
	struct fault why = {};
	int err = 0;

	if (!p)
		return -ENOMEM;
	p->fd = -1;
	p->baud = o->baud ? o->baud : SERIAL_BAUD_DEFAULT;
	p->by_id = o->by_id ? o->by_id : BY_ID;
	p->where = strdup(tcp ? o->where + 4 : o->where);
	if (!p->where) {
		err = -ENOMEM;
	} else if (tcp) {
		p->kind = SERIAL_PORT_TCP;
		err = serial_tcp_init(&p->tcp, p->where, &why);
		if (!err)
			err = serial_tcp_connect(&p->tcp, &p->fd, &why);
	} else if (strcmp(o->where, "-") == 0) {
		struct stat st;

		p->kind = SERIAL_PORT_FILE;
		p->fd = STDIN_FILENO;
		p->borrowed = true;
		p->regular = fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode);
	} else {
		err = open_path(p, p->where, o->reset, &why);
	}
	if (err < 0 && o->absent && is_absence(p, err)) {
		*o->absent = why;
		err = 0;
	}
	if (err < 0 && why.text[0])
		fault(f, err, why.status, "%s", why.text);
	if (err == 0 && o->reset && p->kind != SERIAL_PORT_TTY)
		err = fault(f, -ENOTTY, EXIT_USAGE, "%s is no serial port: there is no DTR line to reset a board by", o->where);
	if (err < 0) {
		serial_port_free(p);
		return err;
	}
	if (p->kind == SERIAL_PORT_TTY)
		find_stable_name(p);
	*ret = p;
	return 0;
}

int serial_port_open_again(struct serial_port *p, struct fault *f)
{
	struct fault why = { .text = "" };
	int err;

	if (p->fd >= 0)
		return 0;
	if (p->kind == SERIAL_PORT_FILE)
		return -ENOTSUP;
	if (p->kind == SERIAL_PORT_TCP)
		return serial_tcp_try(&p->tcp, &p->fd); /* a server that restarts is away in many ways */
	err = open_path(p, serial_port_name(p), false, &why);
	/* A port without a stable name may have got one on coming back; the given name always counts. */
	if (err < 0 && p->stable)
		err = open_path(p, p->where, false, &why);
	if (err < 0 && is_absence(p, err))
		return -EAGAIN;
	if (err < 0)
		return fault(f, err, why.status, "%s", why.text);
	if (p->kind != SERIAL_PORT_TTY) {
		close_fd(p);
		p->kind = SERIAL_PORT_TTY;
		return -EAGAIN; /* something else has the name now: a plain file is not our board */
	}
	if (!p->stable)
		find_stable_name(p);
	return 0;
}

ssize_t serial_port_read(struct serial_port *p, uint8_t *buf, size_t n)
{
	ssize_t got;

	if (p->fd < 0)
		return -ENODEV;
	do
		got = read(p->fd, buf, n);
	while (got < 0 && errno == EINTR);
	if (got > 0)
		return got;
	if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return -EAGAIN;
	if (p->kind == SERIAL_PORT_FILE)
		return got == 0 ? -ENODATA : -errno;
	/* A hang-up reads as an end or as one of many errors: for a port all of them mean that it is gone. */
	close_fd(p);
	return -ENODEV;
}

int serial_port_write(struct serial_port *p, const uint8_t *buf, size_t n, bool any_byte)
{
	struct pollfd pfd = { .fd = p->fd, .events = POLLOUT };

	if (p->kind == SERIAL_PORT_FILE)
		return -ENOTSUP;
	if (p->fd < 0)
		return -ENODEV;
	if (!any_byte && memchr(buf, 3, n))
		return -EINVAL;
	while (n) {
		/* send() where there is a socket: no SIGPIPE. */
		ssize_t put = p->kind == SERIAL_PORT_TCP ? send(p->fd, buf, n, MSG_NOSIGNAL) : write(p->fd, buf, n);

		if (put > 0) {
			buf += put;
			n -= (size_t)put;
		} else if (put < 0 && errno == EAGAIN) {
			if (poll(&pfd, 1, WRITE_MS) == 0)
				return -ETIMEDOUT;
		} else if (put < 0 && errno != EINTR) {
			return -ENODEV;
		}
	}
	return 0;
}
