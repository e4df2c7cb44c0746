/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * evloop.h - the program's own event loop: fds, periodic timers and signals on one epoll instance.
 *
 * Callbacks return 0 to go on or a negative errno, which ends evloop_run() with that value; evloop_stop() ends it
 * with 0. A source may be removed from inside any callback, its own included. Signals added here are blocked for the
 * process and come through a signalfd. All times are nanoseconds of CLOCK_MONOTONIC.
 */
#ifndef LOOPSCOPE_LIB_EVLOOP_H
#define LOOPSCOPE_LIB_EVLOOP_H

#include <stdint.h>

struct evloop;
struct ev_source;

typedef int (*ev_fd_fn)(void *arg, int fd, uint32_t epoll_events);
/* expirations: how many periods have passed since the last call, at least 1: more than 1 means that we were late. */
typedef int (*ev_timer_fn)(void *arg, uint64_t expirations);
typedef int (*ev_signal_fn)(void *arg, int signo);

int evloop_new(struct evloop **ret);
void evloop_free(struct evloop *l); /* accepts NULL; restores the signal mask */

/* The fd stays the caller's. */
int evloop_add_fd(struct evloop *l, int fd, uint32_t epoll_events, ev_fd_fn fn, void *arg, struct ev_source **ret);
/* first_ns: from now, 0 means at once; period_ns 0: fires once. */
int evloop_add_timer(struct evloop *l, uint64_t first_ns, uint64_t period_ns, ev_timer_fn fn, void *arg,
		     struct ev_source **ret);
int evloop_add_signal(struct evloop *l, int signo, ev_signal_fn fn, void *arg);
void evloop_remove(struct evloop *l, struct ev_source *s); /* accepts NULL */

int evloop_run(struct evloop *l);
void evloop_stop(struct evloop *l);

#endif
