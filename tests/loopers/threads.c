/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * threads.c - N idle threads (-n, default 2000): every other one blocked in read() of a pipe, the rest on a futex.
 *
 * None of them is a loop. "ready" is printed when each has said that its next step is the call that blocks.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "looper.h"

struct idle_threads {
	unsigned long n;
	int pipe[2];
	atomic_ulong started;
	pthread_mutex_t lock;
	pthread_cond_t never;
};

static struct idle_threads idle = {.n = 2000, .lock = PTHREAD_MUTEX_INITIALIZER, .never = PTHREAD_COND_INITIALIZER};

static void *block_in_read(void *arg)
{
	char c;

	(void)arg;
	atomic_fetch_add(&idle.started, 1);
	while (read(idle.pipe[0], &c, 1) < 0 && errno == EINTR)
		;
	return NULL;
}

__attribute__((noreturn)) static void *block_in_futex(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&idle.lock);
	atomic_fetch_add(&idle.started, 1);
	for (;;)
		pthread_cond_wait(&idle.never, &idle.lock);
}

static void take_count(void *arg, const char *value)
{
	(void)arg;
	idle.n = number_arg(value, 30000);
}

int main(int argc, char **argv)
{
	static const struct looper_option extra[] = {{'n', "THREADS", take_count}, {0}};
	struct looper l;
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	looper_init(&l, "threads", argc, argv, extra, NULL);
	if (pipe(idle.pipe))
		die("pipe: %s", strerror(errno));
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 * 1024);
	for (unsigned long i = 0; i < idle.n; i++) {
		err = pthread_create(&thread, &attr, i % 2 ? block_in_futex : block_in_read, NULL);
		if (err)
			die("thread %lu: %s", i, strerror(err));
	}
	while (atomic_load(&idle.started) < idle.n)
		sleep_ns(NSEC_PER_MSEC);
	looper_start(&l);
	looper_ready();
	while (!looper_over(&l))
		pause();
	looper_truth(&l, "");
	_exit(0);
}
