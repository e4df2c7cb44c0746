/* SPDX-License-Identifier: BSD-2-Clause */
/* report_progress.c - see report_progress.h. */
#include "cmd/report_progress.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "lib/now.h"

#define WORTH_SAYING_NS 1000000000ull
#define EACH_NS 200000000ull

static void the_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
}

void report_progress_begin(struct report_progress *p)
{
	sigset_t set;

	*p = (struct report_progress){ .signals = -1, .begun_ns = now_ns() };
	the_signals(&set);
	if (!sigprocmask(SIG_BLOCK, &set, NULL))
		p->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

int report_progress_step(void *arg, double done)
{
	struct report_progress *p = arg;
	struct signalfd_siginfo info;
	uint64_t now = now_ns();

	if (p->signals >= 0 && read(p->signals, &info, sizeof(info)) == sizeof(info))
		return -EINTR;
	if (now - p->begun_ns < WORTH_SAYING_NS || now - p->told_ns < EACH_NS || !isatty(STDERR_FILENO))
		return 0;
	p->told_ns = now;
	p->shown = true;
	fprintf(stderr, "\rloopscope: reading the recording, %3.0f%% ", done < 0 ? 0 : done > 1 ? 100 : done * 100);
	fflush(stderr);
	return 0;
}

/* A signal that came after the last step finds nothing left to interrupt: it must not end a report that is whole as if it were not. */
static void forget_signals(int signals)
{
	struct signalfd_siginfo info;

	while (read(signals, &info, sizeof(info)) == sizeof(info))
		;
	close(signals);
}

void report_progress_end(struct report_progress *p)
{
	sigset_t set;

	if (p->shown)
		fputs("\r\x1b[K", stderr);
	if (p->signals >= 0)
		forget_signals(p->signals);
	the_signals(&set);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}
