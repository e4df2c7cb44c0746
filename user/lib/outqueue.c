/* SPDX-License-Identifier: BSD-2-Clause */
/* outqueue.c - see outqueue.h. A record's memory is its own and goes with it: what a slow reader has cost is given back. */
#include "lib/outqueue.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"

#define FIRST_ROOM 4096u

struct record {
	struct record *next;
	char *p;
	size_t len, cap;
	size_t done; /* of len: written */
};

struct outqueue {
	struct outqueue_options o;
	struct evloop *loop;
	struct ev_source *writable; /* NULL: nothing waits */
	int fd;                     /* of our own */
	bool is_socket;
	bool flagged; /* O_NONBLOCK is ours, on the caller's description */
	FILE *stream;
	struct record *open; /* what is being written to the stream; NULL: nothing yet */
	int open_err;
	struct record *first, **end;
	struct outqueue_stats stats;
};

/* --- the reader's side ---------------------------------------------------------------------------------------------- */

static bool is_kind(int fd, mode_t kind)
{
	struct stat st;

	return !fstat(fd, &st) && (st.st_mode & S_IFMT) == kind;
}

bool outqueue_needed(int fd)
{
	return is_kind(fd, S_IFIFO) || is_kind(fd, S_IFSOCK) || isatty(fd);
}

static int open_own(struct outqueue *q)
{
	char path[64];
	int flags;

	q->is_socket = is_kind(q->o.fd, S_IFSOCK);
	if (!q->is_socket) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", q->o.fd);
		q->fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
		if (q->fd >= 0)
			return 0;
	}
	q->fd = fcntl(q->o.fd, F_DUPFD_CLOEXEC, 3);
	if (q->fd < 0)
		return -errno;
	if (q->is_socket)
		return 0;
	flags = fcntl(q->fd, F_GETFL);
	if (flags < 0)
		return -errno;
	q->flagged = !(flags & O_NONBLOCK);
	return q->flagged && fcntl(q->fd, F_SETFL, flags | O_NONBLOCK) < 0 ? -errno : 0;
}

static void close_own(struct outqueue *q)
{
	if (q->fd < 0)
		return;
	if (q->flagged)
		fcntl(q->fd, F_SETFL, fcntl(q->fd, F_GETFL) & ~O_NONBLOCK);
	close(q->fd);
}

/* --- records -------------------------------------------------------------------------------------------------------- */

static void free_record(struct record *r)
{
	if (!r)
		return;
	free(r->p);
	free(r);
}

static void drop_first(struct outqueue *q)
{
	struct record *r = q->first;

	q->first = r->next;
	if (!q->first)
		q->end = &q->first;
	q->stats.records--;
	q->stats.bytes -= r->len - r->done;
	free_record(r);
}

static int append(struct outqueue *q, const char *bytes, size_t n)
{
	struct record *r = q->open;
	size_t cap;
	char *p;

	if (!r)
		r = q->open = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	if (q->first && (q->stats.bytes > q->o.max || r->len + n > q->o.max - q->stats.bytes))
		return -ENOBUFS;
	for (cap = r->cap ? r->cap : FIRST_ROOM; cap - r->len < n;)
		cap *= 2;
	if (cap != r->cap) {
		p = realloc(r->p, cap);
		if (!p)
			return -ENOMEM;
		r->p = p;
		r->cap = cap;
	}
	memcpy(r->p + r->len, bytes, n);
	r->len += n;
	return 0;
}

/* The stream's end. After the first error the rest of the record goes nowhere. */
static ssize_t on_stream(void *cookie, const char *bytes, size_t n)
{
	struct outqueue *q = cookie;

	if (!q->open_err)
		q->open_err = append(q, bytes, n);
	return (ssize_t)n;
}

/* --- writing -------------------------------------------------------------------------------------------------------- */

/* As many whole lines as get into a pipe at once, or the one line that doesn't. */
static size_t piece(const struct record *r)
{
	const char *p = r->p + r->done, *newline;
	size_t left = r->len - r->done;

	if (left <= PIPE_BUF)
		return left;
	newline = memrchr(p, '\n', PIPE_BUF);
	if (!newline)
		newline = memchr(p, '\n', left);
	return newline ? (size_t)(newline + 1 - p) : left;
}

static int write_some(struct outqueue *q)
{
	while (q->first) {
		struct record *r = q->first;
		size_t want = piece(r);
		ssize_t n = q->is_socket ? send(q->fd, r->p + r->done, want, MSG_DONTWAIT | MSG_NOSIGNAL) :
					   write(q->fd, r->p + r->done, want);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		r->done += (size_t)n;
		q->stats.bytes -= (size_t)n;
		if (r->done < r->len)
			continue;
		drop_first(q);
		q->stats.written++;
	}
	return 0;
}

static int on_writable(void *arg, int fd, uint32_t events)
{
	struct outqueue *q = arg;
	int err = write_some(q);

	if (err) {
		q->stats.lost += q->stats.records;
		while (q->first)
			drop_first(q);
	}
	if (!q->first) {
		evloop_remove(q->loop, q->writable);
		q->writable = NULL;
	}
	return err ? q->o.failed(q->o.arg, err) : 0;
}

/* --- commits -------------------------------------------------------------------------------------------------------- */

static void enqueue(struct outqueue *q, struct record *r)
{
	char *fitting = realloc(r->p, r->len);

	if (fitting)
		r->p = fitting;
	*q->end = r;
	q->end = &r->next;
	q->stats.records++;
	q->stats.bytes += r->len;
}

int outqueue_commit(struct outqueue *q)
{
	int err;

	fflush(q->stream);
	err = q->open_err;
	if (!err && q->open && !q->writable)
		err = evloop_add_fd(q->loop, q->fd, EPOLLOUT, on_writable, q, &q->writable);
	if (!err && q->open)
		enqueue(q, TAKE_PTR(q->open));
	if (err)
		q->stats.lost++;
	outqueue_rollback(q);
	return err;
}

void outqueue_rollback(struct outqueue *q)
{
	fflush(q->stream);
	free_record(q->open);
	q->open = NULL;
	q->open_err = 0;
}

/* --- life ----------------------------------------------------------------------------------------------------------- */

int outqueue_new(const struct outqueue_options *o, struct evloop *loop, struct outqueue **ret)
{
	static const cookie_io_functions_t functions = {.write = on_stream};
	struct outqueue *q = calloc(1, sizeof(*q));
	int err;

	if (!q)
		return -ENOMEM;
	*q = (struct outqueue){.o = *o, .loop = loop, .fd = -1};
	q->end = &q->first;
	err = open_own(q);
	if (!err) /* whether it can be polled is said now, not when the first record comes */
		err = evloop_add_fd(loop, q->fd, EPOLLOUT, on_writable, q, &q->writable);
	if (!err) {
		q->stream = fopencookie(q, "w", functions);
		err = q->stream ? 0 : -ENOMEM;
	}
	if (err) {
		outqueue_free(q);
		return err;
	}
	*ret = q;
	return 0;
}

void outqueue_free(struct outqueue *q)
{
	if (!q)
		return;
	evloop_remove(q->loop, q->writable);
	if (q->stream)
		fclose(q->stream);
	free_record(q->open);
	while (q->first)
		drop_first(q);
	close_own(q);
	free(q);
}

FILE *outqueue_stream(const struct outqueue *q)
{
	return q->stream;
}

void outqueue_stats(const struct outqueue *q, struct outqueue_stats *ret)
{
	*ret = q->stats;
}
