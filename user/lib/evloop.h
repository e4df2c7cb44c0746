/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * evloop.h - the program's own event loop: fds, periodic timers and signals on one epoll instance.
 *
 * Callbacks return 0 to go on or a negative errno, which ends evloop_run() with that value; evloop_stop() ends it
 * with 0. A source may be removed from inside any callback, its own included. All times are nanoseconds of
 * CLOCK_MONOTONIC.
 *
 * Signals added here are blocked for the process and come through a signalfd, also those that were ignored (a shell's
 * background job ignores SIGINT). Add them before the first thread is started; a child inherits the block.
 *
 * Ownership: the loop owns its sources, and evloop_free() frees those that are left; ret may be NULL where a source is
 * meant to stay. Remove a source before closing its fd. A one-shot timer that has fired stays until it is removed.
 *
 * Errors: what epoll, timerfd and signalfd say (-EPERM: this fd cannot be polled, a regular file); -EINVAL no such
 * signal or one that cannot be caught; -EEXIST it has a callback already.
 */
#ifndef LOOPSCOPE_LIB_EVLOOP_H
#define LOOPSCOPE_LIB_EVLOOP_H

#include <stdbool.h>
#include <stdint.h>

struct evloop;
struct ev_source;

typedef int (*ev_fd_fn)(void *arg, int fd, uint32_t epoll_events);
/* expirations: how many periods have passed since the last call, at least 1: more than 1 means that we were late. */
typedef int (*ev_timer_fn)(void *arg, uint64_t expirations);
typedef int (*ev_signal_fn)(void *arg, int signo);

int evloop_new(struct evloop **ret);
/* Accepts NULL; not from a callback. Restores the signal mask; signals that came and were not read are dropped. */
void evloop_free(struct evloop *l);

/* The fd stays the caller's. */
int evloop_add_fd(struct evloop *l, int fd, uint32_t epoll_events, ev_fd_fn fn, void *arg, struct ev_source **ret);
/* first_ns: from now, 0 means at once; period_ns 0: fires once. */
int evloop_add_timer(struct evloop *l, uint64_t first_ns, uint64_t period_ns, ev_timer_fn fn, void *arg,
		     struct ev_source **ret);
int evloop_add_signal(struct evloop *l, int signo, ev_signal_fn fn, void *arg);
void evloop_remove(struct evloop *l, struct ev_source *s); /* accepts NULL */

/* For a child between fork and exec: unblocks what the loop has blocked. Async-signal-safe. */
void evloop_unblock_signals(const struct evloop *l);

/* Until evloop_stop() or an error; can be run again. Without any source, -ENOENT rather than for ever; from a callback,
 * -EBUSY. */
int evloop_run(struct evloop *l);
/* The same until done() is true, which is asked each 10 ms, or wait_ns are over. */
int evloop_run_until(struct evloop *l, uint64_t wait_ns, bool (*done)(void *arg), void *arg);
/* The other callbacks of the turn are not called any more. Before evloop_run(): that run ends at once. */
void evloop_stop(struct evloop *l);

#endif
