/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * outqueue.h - whole records for a reader that may be slow or stuck: they wait in memory, up to a bound, and nobody waits for it.
 *
 * For pipes, terminals and sockets, on our own event loop. A record is what is written to the stream between two commits: lines, each
 * with its newline. It is taken as a whole or, where there is no room for it, not at all. Where nothing waits one record is taken
 * whatever its size is.
 *
 * Lines of at most PIPE_BUF bytes get into a pipe whole or not at all, also where the queue is given up in the middle of a record.
 *
 * Ownership: fd stays the caller's. What is written goes through a description of our own where the kernel gives one, so that others
 * who share fd (a shell, stderr) go on with blocking writes; else O_NONBLOCK is set on theirs until the queue is freed.
 * Free the queue before the event loop.
 * Errors: -ENOMEM; what opening and polling say (-EPERM: a file that can't be polled, and need not be).
 */
#ifndef LOOPSCOPE_LIB_OUTQUEUE_H
#define LOOPSCOPE_LIB_OUTQUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/evloop.h"

struct outqueue;

struct outqueue_options {
	int fd;
	size_t max; /* bytes that may wait */
	/* A write has failed, for another reason than a full pipe: what waited is lost. What it returns goes to the event loop. */
	int (*failed)(void *arg, int err);
	void *arg;
};

struct outqueue_stats {
	uint64_t written, lost; /* records */
	size_t records, bytes;  /* that wait; of the first record what is left */
};

/* Whether fd is one whose reader can make us wait. */
bool outqueue_needed(int fd);

int outqueue_new(const struct outqueue_options *o, struct evloop *loop, struct outqueue **ret);
/* What waits is lost. Accepts NULL. */
void outqueue_free(struct outqueue *q);

/* Never fails to write: what is wrong is the commit's to say. */
FILE *outqueue_stream(const struct outqueue *q);
/* -ENOBUFS: no room, -ENOMEM. The record is then lost, and counted. */
int outqueue_commit(struct outqueue *q);
/* As if the record had not been written; not counted. */
void outqueue_rollback(struct outqueue *q);

void outqueue_stats(const struct outqueue *q, struct outqueue_stats *ret);

#endif
