/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * churn.c - loops that begin and end all the time, until SIGTERM.
 *
 * Each round (the period -p, default here 300 ms) starts a loop in a thread and one in a child process, each polling
 * every 10 ms and gone after two thirds of the round; every third child executes the poll looper (beside this program)
 * in its place, after having looped itself. The main thread is a loop, too. Truth: how many there were.
 */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "looper.h"

struct churn {
	struct looper looper;
	uint64_t life_ns;
	unsigned long threads, children, execs;
	char poll_path[PATH_MAX];
};

static void wait_poll(void *state, int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	(void)state;
	poll(&p, 1, -1);
}

static void short_loop(const struct churn *c, const char *name)
{
	struct looper l = {.name = name,
			   .period_ns = 10 * NSEC_PER_MSEC,
			   .work_ns = NSEC_PER_MSEC,
			   .duration_ns = c->life_ns,
			   .seed = 1,
			   .schedstat_fd = -1};
	int fd = looper_timerfd(&l, true);

	looper_start(&l);
	while (!looper_over(&l)) {
		wait_poll(NULL, fd);
		if (looper_take_timer(&l, fd))
			looper_work(&l);
	}
	close(fd);
	close(l.schedstat_fd);
}

static void *thread_main(void *arg)
{
	prctl(PR_SET_NAME, "churn-thread", 0, 0, 0);
	short_loop(arg, "churn-thread");
	return NULL;
}

static void start_thread(struct churn *c)
{
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	err = pthread_create(&thread, &attr, thread_main, c);
	if (err)
		die("thread: %s", strerror(err));
	pthread_attr_destroy(&attr);
	c->threads++;
}

static void start_child(struct churn *c)
{
	bool exec = c->children % 3 == 2;
	char life[32];
	pid_t pid;

	fflush(stdout); /* else a child would print it again */
	pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "churn-child", 0, 0, 0);
		short_loop(c, "churn-child");
		if (exec) {
			snprintf(life, sizeof(life), "%lluns", (unsigned long long)c->life_ns);
			if (!freopen("/dev/null", "w", stdout))
				_exit(1);
			execl(c->poll_path, "poll", "-d", life, (char *)NULL);
			_exit(127);
		}
		_exit(0);
	}
	c->children++;
	c->execs += exec;
}

int main(int argc, char **argv)
{
	struct churn c = {0};
	char more[128], self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int timer;

	looper_init(&c.looper, "churn", argc, argv, NULL, NULL);
	if (c.looper.period_ns == 10 * NSEC_PER_MSEC)
		c.looper.period_ns = 300 * NSEC_PER_MSEC;
	c.life_ns = c.looper.period_ns * 2 / 3;
	if (n < 0)
		die("/proc/self/exe: %s", strerror(errno));
	self[n] = '\0';
	snprintf(c.poll_path, sizeof(c.poll_path), "%.*s/poll", PATH_MAX - 8, dirname(self));
	timer = looper_timerfd(&c.looper, true);
	looper_start(&c.looper);
	while (!looper_over(&c.looper)) {
		wait_poll(NULL, timer);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (!looper_take_timer(&c.looper, timer))
			continue;
		looper_work(&c.looper);
		start_thread(&c);
		start_child(&c);
		if (c.looper.ticks == 2)
			looper_ready();
	}
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
	snprintf(more, sizeof(more), ",\"threads\":%lu,\"children\":%lu,\"execs\":%lu", c.threads, c.children, c.execs);
	looper_truth(&c.looper, more);
	return 0;
}
