/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vmlooper.c - an event loop that knows its own load, for the VM tests.
 *
 * Purpose    waits in poll, epoll_wait or select for a periodic timer, and in each tick burns a given amount of its own
 *            CPU time and, if asked, sleeps in nanosleep as a blocking callback would. As "hog" it only burns.
 * Truth      every 20 ms or tick a line goes to the log: wall clock, then cumulative CPU time, run-queue delay, time asleep
 *            in nanosleep, time that its cgroup was throttled (all in ns) and ticks. Two lines say what happened between.
 * Units      arguments in microseconds. CPU_STAT is the cgroup's cpu.stat, "-" for none
 * Errors     one line on stderr and status 1
 * Facts      CPU time is CLOCK_THREAD_CPUTIME_ID, exact at any moment; /proc/self/schedstat's second field is the time
 *            on a run queue, its first one lags by up to a scheduler tick, so it is not used. The emulator makes entering
 *            and leaving a call cost much: of a nanosleep's wall time the CPU time and the wake-up's delay are taken off.
 *            Ticks missed while others had the CPU are made up for: the arrivals are fixed, not the pauses between them.
 *            But at most CATCH_UP of them at once: a loop that fell behind must come back to its wait.
 */
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000ULL
#define LOG_EVERY_NS (NS_PER_S / 50)
#define SAMPLE_NS 500000 /* the clocks of one line are read within this, or read again */
#define SAMPLE_TRIES 8
#define CATCH_UP 4

struct looper {
	int timer, epoll, log, schedstat;
	int cpu_stat; /* -1: none */
	uint64_t burn_ns, block_ns;
	uint64_t blocked_ns, ticks, next_log_ns;
};

/* Cumulative times of this thread, at one moment. */
struct sample {
	uint64_t mono_ns, real_ns, cpu_ns, delay_ns;
	uint64_t spread_ns; /* how long the moment was */
};

static uint64_t now(clockid_t clock)
{
	struct timespec ts;

	if (clock_gettime(clock, &ts))
		err(1, "clock_gettime");
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* Cumulative time on a run queue without running, ns. */
static uint64_t run_delay(int fd)
{
	char text[128];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	uint64_t delay;

	if (n <= 0)
		err(1, "/proc/self/schedstat");
	text[n] = '\0';
	if (sscanf(text, "%*s %" SCNu64, &delay) != 1)
		errx(1, "/proc/self/schedstat: unknown format");
	return delay;
}

/* Cumulative time that the cgroup's run queues were throttled, ns. */
static uint64_t throttled(int fd)
{
	static const char key[] = "throttled_usec ";
	char text[1024];
	const char *at;
	ssize_t n;

	if (fd < 0)
		return 0;
	n = pread(fd, text, sizeof(text) - 1, 0);
	if (n <= 0)
		err(1, "cpu.stat");
	text[n] = '\0';
	at = strstr(text, key);
	if (!at)
		errx(1, "cpu.stat has no throttled_usec");
	return strtoull(at + strlen(key), NULL, 10) * 1000;
}

/* The machine under the emulator may stop it between two clocks: then they are read again, and the closest reading counts. */
static struct sample sample(const struct looper *l)
{
	struct sample best = {.spread_ns = UINT64_MAX};

	for (int i = 0; i < SAMPLE_TRIES && best.spread_ns > SAMPLE_NS; i++) {
		struct sample s;

		s.mono_ns = now(CLOCK_MONOTONIC);
		s.real_ns = now(CLOCK_REALTIME);
		s.cpu_ns = now(CLOCK_THREAD_CPUTIME_ID);
		s.delay_ns = run_delay(l->schedstat);
		s.spread_ns = now(CLOCK_MONOTONIC) - s.mono_ns;
		if (s.spread_ns < best.spread_ns)
			best = s;
	}
	return best;
}

static void log_truth(struct looper *l)
{
	struct sample s;
	char line[192];
	int n;

	if (now(CLOCK_MONOTONIC) < l->next_log_ns)
		return;
	s = sample(l);
	l->next_log_ns = s.mono_ns + LOG_EVERY_NS;
	n = snprintf(line, sizeof(line), "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", s.real_ns,
		     s.cpu_ns, s.delay_ns, l->blocked_ns, throttled(l->cpu_stat), l->ticks);
	if (write(l->log, line, (size_t)n) != n)
		err(1, "log");
}

static void burn(uint64_t ns)
{
	uint64_t end = now(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (now(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

static void block(struct looper *l)
{
	struct timespec ts = {.tv_sec = (time_t)(l->block_ns / NS_PER_S), .tv_nsec = (long)(l->block_ns % NS_PER_S)};
	struct sample before = sample(l), after;
	uint64_t wall, awake;

	if (nanosleep(&ts, NULL))
		err(1, "nanosleep");
	after = sample(l);
	wall = after.mono_ns - before.mono_ns;
	awake = after.cpu_ns - before.cpu_ns + after.delay_ns - before.delay_ns;
	if (wall > awake)
		l->blocked_ns += wall - awake;
}

static void tick(struct looper *l)
{
	uint64_t arrivals;

	if (read(l->timer, &arrivals, sizeof(arrivals)) != sizeof(arrivals))
		err(1, "timerfd");
	for (arrivals = arrivals < CATCH_UP ? arrivals : CATCH_UP; arrivals > 0; arrivals--) {
		burn(l->burn_ns);
		if (l->block_ns)
			block(l);
	}
	l->ticks++;
	log_truth(l);
}

static void wait_poll(struct looper *l)
{
	struct pollfd fd = {.fd = l->timer, .events = POLLIN};

	if (poll(&fd, 1, -1) < 0)
		err(1, "poll");
}

static void wait_epoll(struct looper *l)
{
	struct epoll_event event;

	if (epoll_wait(l->epoll, &event, 1, -1) < 0)
		err(1, "epoll_wait");
}

static void wait_select(struct looper *l)
{
	fd_set fds;

	FD_ZERO(&fds);
	FD_SET(l->timer, &fds);
	if (select(l->timer + 1, &fds, NULL, NULL, NULL) < 0)
		err(1, "select");
}

static const struct {
	const char *name;
	void (*wait)(struct looper *);
} kinds[] = {{"poll", wait_poll}, {"epoll", wait_epoll}, {"select", wait_select}};

static uint64_t microseconds(const char *text)
{
	char *end;
	unsigned long us = strtoul(text, &end, 10);

	if (end == text || *end || us > 60 * 1000000UL)
		errx(1, "not a number of microseconds: %s", text);
	return us * 1000ULL;
}

static void setup(struct looper *l, uint64_t period_ns, const char *log, const char *cpu_stat)
{
	struct timespec period = {.tv_sec = (time_t)(period_ns / NS_PER_S), .tv_nsec = (long)(period_ns % NS_PER_S)};
	struct itimerspec every = {.it_interval = period, .it_value = period};
	struct epoll_event event = {.events = EPOLLIN};

	l->log = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
	if (l->log < 0)
		err(1, "%s", log);
	l->schedstat = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
	if (l->schedstat < 0)
		err(1, "/proc/self/schedstat");
	l->cpu_stat = strcmp(cpu_stat, "-") ? open(cpu_stat, O_RDONLY | O_CLOEXEC) : -1;
	if (l->cpu_stat < 0 && strcmp(cpu_stat, "-"))
		err(1, "%s", cpu_stat);
	l->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (l->timer < 0 || l->epoll < 0 || epoll_ctl(l->epoll, EPOLL_CTL_ADD, l->timer, &event) ||
	    timerfd_settime(l->timer, 0, &every, NULL))
		err(1, "timer");
}

int main(int argc, char **argv)
{
	struct looper l = {0};

	if (argc == 2 && !strcmp(argv[1], "hog")) {
		prctl(PR_SET_NAME, "vm-hog");
		for (;;)
			burn(NS_PER_S);
	}
	if (argc != 7)
		errx(1, "usage: vmlooper poll|epoll|select PERIOD_US BURN_US BLOCK_US LOG CPU_STAT, or vmlooper hog");
	l.burn_ns = microseconds(argv[3]);
	l.block_ns = microseconds(argv[4]);
	setup(&l, microseconds(argv[2]), argv[5], argv[6]);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		char name[16];

		if (strcmp(argv[1], kinds[i].name))
			continue;
		snprintf(name, sizeof(name), "vm-%s", kinds[i].name);
		prctl(PR_SET_NAME, name);
		for (;;) {
			kinds[i].wait(&l);
			tick(&l);
		}
	}
	errx(1, "unknown kind of loop: %s", argv[1]);
}
