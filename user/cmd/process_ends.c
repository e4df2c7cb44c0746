/* SPDX-License-Identifier: BSD-2-Clause */
/* process_ends.c - see process_ends.h. A pidfd turns readable when its process ends. */
#include "cmd/process_ends.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

struct watch {
	int fd;
	struct ev_source *source;
};

struct process_ends {
	struct evloop *loop;
	void (*all_ended)(void *arg);
	void *arg;
	size_t n, n_alive;
	struct watch watches[];
};

static int on_end(void *arg, int fd, uint32_t events)
{
	struct process_ends *p = arg;

	if (p->n_alive && !--p->n_alive)
		p->all_ended(p->arg);
	return 0;
}

static int watch(struct process_ends *p, pid_t pid, struct watch *w, struct fault *f)
{
	int err;

	w->fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (w->fd < 0)
		return errno == ESRCH ? 0 : fault(f, -errno, EXIT_FAILED, "process %d can't be watched: %s", pid, strerror(errno));
	p->n_alive++;
	err = evloop_add_fd(p->loop, w->fd, EPOLLIN | EPOLLONESHOT, on_end, p, &w->source);
	return err ? fault(f, err, EXIT_FAILED, "the event loop can't be set up: %s", strerror(-err)) : 0;
}

int process_ends_new(const pid_t *pids, size_t n, struct evloop *loop, void (*all_ended)(void *arg), void *arg, struct process_ends **ret,
		     struct fault *f)
{
	struct process_ends *p = calloc(1, sizeof(*p) + n * sizeof(p->watches[0]));
	int err = 0;

	if (!p)
		return fault(f, -ENOMEM, EXIT_FAILED, "out of memory");
	*p = (struct process_ends){ .loop = loop, .all_ended = all_ended, .arg = arg };
	for (; p->n < n && !err; p->n++)
		err = watch(p, pids[p->n], &p->watches[p->n], f);
	if (!err && !p->n_alive)
		err = fault(f, -ESRCH, EXIT_FAILED, "the process has just ended; nothing is left to watch");
	if (err) {
		process_ends_free(p);
		return err;
	}
	*ret = p;
	return 0;
}

void process_ends_free(struct process_ends *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n; i++) {
		evloop_remove(p->loop, p->watches[i].source);
		if (p->watches[i].fd >= 0)
			close(p->watches[i].fd);
	}
	free(p);
}

void process_ends_say(const struct process_ends *p)
{
	if (!p->n_alive)
		fprintf(stderr, "loopscope: %s ended; nothing is left to watch\n", p->n == 1 ? "the process has" : "all processes have");
}
