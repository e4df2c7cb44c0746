/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * evloop.c - see evloop.h.
 *
 * One epoll_wait() returns a batch of events, and a callback may remove sources that have an event further on in the
 * same batch. So a source removed while the loop runs is only marked dead, and freed when the batch is through.
 */
#include "lib/evloop.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/now.h"

#define NS_PER_S UINT64_C(1000000000)
#define BATCH    32
#define ASK_NS   UINT64_C(10000000)

enum ev_kind { EV_FD, EV_TIMER, EV_SIGNALS };

struct ev_source {
	struct ev_source *next;
	enum ev_kind kind;
	int fd; /* EV_TIMER and EV_SIGNALS own it */
	bool dead;
	bool registered; /* epoll may still know it: must not be freed before the epoll instance is closed */
	void *arg;
	union {
		ev_fd_fn on_fd;
		ev_timer_fn on_timer;
	};
};

struct signal_handler {
	ev_signal_fn fn; /* NULL: not ours */
	void *arg;
};

struct evloop {
	int epoll_fd;
	bool running, stop;
	struct ev_source *sources;
	struct ev_source *signals; /* also in sources; NULL until the first evloop_add_signal() */
	struct signal_handler handlers[_NSIG];
	sigset_t wanted;        /* what the signalfd reads */
	sigset_t blocked_by_us; /* those of wanted that were not blocked before */
};

static void source_free(struct ev_source *s)
{
	if (!s)
		return;
	if (s->kind != EV_FD && s->fd >= 0)
		close(s->fd);
	free(s);
}
DEFINE_CLEANUP(struct ev_source *, source_free);
DEFINE_CLEANUP(struct evloop *, evloop_free);

int evloop_new(struct evloop **ret)
{
	CLEANUP(evloop_free_ptr) struct evloop *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	sigemptyset(&l->wanted);
	sigemptyset(&l->blocked_by_us);
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll_fd < 0)
		return -errno;
	*ret = TAKE_PTR(l);
	return 0;
}

/* A signal that came too late for the loop must not kill the process when it is unblocked: it was meant for the loop.
 */
static void drain_signals(int fd)
{
	struct signalfd_siginfo info;

	while (read(fd, &info, sizeof(info)) == sizeof(info))
		;
}

void evloop_free(struct evloop *l)
{
	if (!l)
		return;
	assert(!l->running);
	if (l->signals)
		drain_signals(l->signals->fd);
	pthread_sigmask(SIG_UNBLOCK, &l->blocked_by_us, NULL);
	if (l->epoll_fd >= 0)
		close(l->epoll_fd);
	while (l->sources) {
		struct ev_source *s = l->sources;

		l->sources = s->next;
		source_free(s);
	}
	free(l);
}

static struct ev_source *source_new(enum ev_kind kind, int fd, void *arg)
{
	struct ev_source *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->kind = kind;
	s->fd = fd;
	s->arg = arg;
	return s;
}

/* On success the loop owns s. */
static int source_register(struct evloop *l, struct ev_source *s, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = s};

	if (epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, s->fd, &ev) < 0)
		return -errno;
	s->registered = true;
	s->next = l->sources;
	l->sources = s;
	return 0;
}

int evloop_add_fd(struct evloop *l, int fd, uint32_t epoll_events, ev_fd_fn fn, void *arg, struct ev_source **ret)
{
	CLEANUP(source_free_ptr) struct ev_source *s = source_new(EV_FD, fd, arg);
	int err;

	if (!s)
		return -ENOMEM;
	s->on_fd = fn;
	err = source_register(l, s, epoll_events);
	if (err)
		return err;
	if (ret)
		*ret = s;
	TAKE_PTR(s);
	return 0;
}

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
}

int evloop_add_timer(struct evloop *l, uint64_t first_ns, uint64_t period_ns, ev_timer_fn fn, void *arg,
		     struct ev_source **ret)
{
	/* A timerfd takes 0 for "off". */
	struct itimerspec when = {
		.it_value = timespec_of(first_ns ? first_ns : 1),
		.it_interval = timespec_of(period_ns),
	};
	CLEANUP(source_free_ptr) struct ev_source *s = source_new(EV_TIMER, -1, arg);
	int err;

	if (!s)
		return -ENOMEM;
	s->on_timer = fn;
	s->fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (s->fd < 0 || timerfd_settime(s->fd, 0, &when, NULL) < 0)
		return -errno;
	err = source_register(l, s, EPOLLIN);
	if (err)
		return err;
	if (ret)
		*ret = s;
	TAKE_PTR(s);
	return 0;
}

static int watch_signals(struct evloop *l, const sigset_t *wanted)
{
	CLEANUP(source_free_ptr) struct ev_source *s = NULL;
	int err;

	if (l->signals)
		return signalfd(l->signals->fd, wanted, SFD_NONBLOCK | SFD_CLOEXEC) < 0 ? -errno : 0;

	s = source_new(EV_SIGNALS, -1, NULL);
	if (!s)
		return -ENOMEM;
	s->fd = signalfd(-1, wanted, SFD_NONBLOCK | SFD_CLOEXEC);
	if (s->fd < 0)
		return -errno;
	err = source_register(l, s, EPOLLIN);
	if (err)
		return err;
	l->signals = TAKE_PTR(s);
	return 0;
}

int evloop_add_signal(struct evloop *l, int signo, ev_signal_fn fn, void *arg)
{
	sigset_t wanted = l->wanted, one, before;
	int err;

	if (signo < 1 || signo >= _NSIG || signo == SIGKILL || signo == SIGSTOP || !fn)
		return -EINVAL;
	if (l->handlers[signo].fn)
		return -EEXIST;

	/* sigaddset() refuses what libc keeps for its threads. */
	sigemptyset(&one);
	if (sigaddset(&one, signo) < 0 || sigaddset(&wanted, signo) < 0)
		return -EINVAL;
	err = watch_signals(l, &wanted);
	if (err)
		return err;
	err = pthread_sigmask(SIG_BLOCK, &one, &before);
	if (err)
		return -err;
	if (!sigismember(&before, signo))
		sigaddset(&l->blocked_by_us, signo);
	l->wanted = wanted;
	l->handlers[signo] = (struct signal_handler){.fn = fn, .arg = arg};
	return 0;
}

void evloop_unblock_signals(const struct evloop *l)
{
	sigprocmask(SIG_UNBLOCK, &l->blocked_by_us, NULL);
}

static void free_dead(struct evloop *l)
{
	struct ev_source **at = &l->sources;

	while (*at) {
		struct ev_source *s = *at;

		if (s->dead && !s->registered) {
			*at = s->next;
			source_free(s);
		} else {
			at = &s->next;
		}
	}
}

void evloop_remove(struct evloop *l, struct ev_source *s)
{
	if (!s || s->dead)
		return;
	s->dead = true;
	/* Fails if the caller closed the fd first. Where a duplicate of it lives on (a child's, say), epoll goes on
	 * handing out s: then it stays until the epoll instance goes, rather than dangle. */
	if (epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, s->fd, NULL) == 0)
		s->registered = false;
	if (!l->running)
		free_dead(l);
}

static int dispatch_timer(struct ev_source *s)
{
	uint64_t expirations;
	ssize_t n = read(s->fd, &expirations, sizeof(expirations));

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (n != sizeof(expirations))
		return -EIO;
	return s->on_timer(s->arg, expirations);
}

/* One signal a turn: epoll says again if there are more. */
static int dispatch_signal(struct evloop *l, struct ev_source *s)
{
	struct signalfd_siginfo info;
	ssize_t n = read(s->fd, &info, sizeof(info));
	struct signal_handler *h;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (n != sizeof(info) || info.ssi_signo >= _NSIG)
		return -EIO;
	h = &l->handlers[info.ssi_signo];
	return h->fn ? h->fn(h->arg, (int)info.ssi_signo) : 0;
}

static int dispatch(struct evloop *l, const struct epoll_event *ev)
{
	struct ev_source *s = ev->data.ptr;

	if (s->dead)
		return 0;
	switch (s->kind) {
	case EV_FD:
		return s->on_fd(s->arg, s->fd, ev->events);
	case EV_TIMER:
		return dispatch_timer(s);
	case EV_SIGNALS:
		return dispatch_signal(l, s);
	}
	return 0;
}

static int run_batch(struct evloop *l)
{
	struct epoll_event events[BATCH];
	int n = epoll_wait(l->epoll_fd, events, BATCH, -1);

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	for (int i = 0; i < n && !l->stop; i++) {
		int err = dispatch(l, &events[i]);

		if (err < 0)
			return err;
	}
	return 0;
}

int evloop_run(struct evloop *l)
{
	int err = 0;

	if (l->running)
		return -EBUSY;
	l->running = true;
	while (!l->stop && !err) {
		err = l->sources ? run_batch(l) : -ENOENT;
		free_dead(l);
	}
	l->running = false;
	l->stop = false;
	return err;
}

struct waiting {
	struct evloop *loop;
	uint64_t until_ns;
	bool (*done)(void *arg);
	void *arg;
};

static int ask(void *arg, uint64_t expirations)
{
	const struct waiting *w = arg;

	if (w->done(w->arg) || now_ns() >= w->until_ns)
		evloop_stop(w->loop);
	return 0;
}

int evloop_run_until(struct evloop *l, uint64_t wait_ns, bool (*done)(void *arg), void *arg)
{
	struct waiting w = { .loop = l, .until_ns = now_ns() + wait_ns, .done = done, .arg = arg };
	struct ev_source *timer = NULL;
	int err = evloop_add_timer(l, ASK_NS, ASK_NS, ask, &w, &timer);

	if (err)
		return err;
	err = evloop_run(l);
	evloop_remove(l, timer);
	return err;
}

void evloop_stop(struct evloop *l)
{
	l->stop = true;
}
