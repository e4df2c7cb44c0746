/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pingpong.c - two processes on one CPU hand a byte to and fro through pipes, so that nearly every switch of that CPU is
 * one between these two. With `read` they block in read(): threads that nobody observes. With `poll` they wait in poll()
 * before each read(): loops. Ends after the given time; prints "ready" first, the number of round trips last.
 *
 * Usage: pingpong read|poll CPU SECONDS
 */
#include <err.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pin.h"

static volatile sig_atomic_t over;

static void on_alarm(int signo)
{
	(void)signo;
	over = 1;
}

/* False when the other end is gone or the time is over. */
static bool take(int fd, bool with_poll)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char c;

	if (with_poll && poll(&p, 1, -1) < 0)
		return false;
	return read(fd, &c, 1) == 1;
}

static bool give(int fd)
{
	return write(fd, "x", 1) == 1;
}

static void echo(int in, int out, bool with_poll)
{
	while (take(in, with_poll) && give(out))
		;
}

/* The two notice the end by EINTR or by the pipe that closes. */
static unsigned long serve(int in, int out, bool with_poll)
{
	unsigned long trips = 0;

	while (!over && give(out) && take(in, with_poll))
		trips++;
	return trips;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_alarm };
	int there[2], back[2];
	unsigned long trips;
	bool with_poll;
	pid_t child;

	if (argc != 4 || (strcmp(argv[1], "read") && strcmp(argv[1], "poll")))
		errx(2, "usage: pingpong read|poll CPU SECONDS");
	with_poll = !strcmp(argv[1], "poll");
	pin(atoi(argv[2]));
	signal(SIGPIPE, SIG_IGN);
	if (pipe(there) || pipe(back))
		err(1, "pipe");
	child = fork();
	if (child < 0)
		err(1, "fork");
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(there[1]);
		close(back[0]);
		echo(there[0], back[1], with_poll);
		_exit(0);
	}
	close(there[0]);
	close(back[1]);
	sigaction(SIGALRM, &sa, NULL); /* no SA_RESTART: the wait in progress ends */
	alarm((unsigned)atoi(argv[3]));
	puts("ready");
	fflush(stdout);
	trips = serve(back[0], there[1], with_poll);
	close(there[1]);
	waitpid(child, NULL, 0);
	printf("%lu\n", trips);
	return 0;
}
