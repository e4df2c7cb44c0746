/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * database_checkpoint.c - a thread that moves what is in the journal into the file, with a connection of its own, when it is told
 * to. It waits for the disk so that who records need not: neither side holds up the other, as SQLite has it for WAL files.
 *
 * What goes wrong here is not lost: the journal stays, and the next commit or the end of the recording meets the same disk.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdlib.h>

#include "sink/database_internal.h"

struct checkpointer {
	sqlite3 *sql;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool wanted, running, over;
};

static void *work(void *arg)
{
	struct checkpointer *c = arg;

	pthread_mutex_lock(&c->lock);
	for (;;) {
		while (!c->wanted && !c->over)
			pthread_cond_wait(&c->changed, &c->lock);
		if (c->over)
			break;
		c->wanted = false;
		c->running = true;
		pthread_mutex_unlock(&c->lock);
		sqlite3_wal_checkpoint_v2(c->sql, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
		pthread_mutex_lock(&c->lock);
		c->running = false;
		pthread_cond_broadcast(&c->changed);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

/* The signals are the event loop's. */
static int start_thread(struct checkpointer *c)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = -pthread_create(&c->thread, NULL, work, c);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

int checkpointer_start(const char *path, struct checkpointer **ret)
{
	struct checkpointer *c = calloc(1, sizeof(*c));
	int err = c ? 0 : -ENOMEM;

	if (!err && sqlite3_open_v2(path, &c->sql, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
		err = -EIO;
	if (!err && sqlite3_exec(c->sql, "PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = NORMAL", NULL, NULL, NULL) != SQLITE_OK)
		err = -EIO;
	if (!err) {
		pthread_mutex_init(&c->lock, NULL);
		pthread_cond_init(&c->changed, NULL);
		err = start_thread(c);
	}
	if (err) {
		if (c)
			sqlite3_close(c->sql);
		free(c);
		return err;
	}
	*ret = c;
	return 0;
}

void checkpointer_wake(struct checkpointer *c)
{
	pthread_mutex_lock(&c->lock);
	c->wanted = true;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

void checkpointer_rest(struct checkpointer *c)
{
	pthread_mutex_lock(&c->lock);
	c->wanted = false;
	while (c->running)
		pthread_cond_wait(&c->changed, &c->lock);
	pthread_mutex_unlock(&c->lock);
}

void checkpointer_stop(struct checkpointer *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	c->over = true;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
	pthread_join(c->thread, NULL);
	pthread_cond_destroy(&c->changed);
	pthread_mutex_destroy(&c->lock);
	sqlite3_close(c->sql);
	free(c);
}
