/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * looper.c - see looper.h.
 */
#include "looper.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

volatile sig_atomic_t looper_stopping;
atomic_uint looper_looping;

static void on_stop(int signo)
{
	(void)signo;
	looper_stopping = 1;
}

void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	if (clock_gettime(clock, &ts))
		die("clock_gettime: %s", strerror(errno));
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t thread_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t duration_arg(const char *s)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	char *end;
	double v = strtod(s, &end);

	if (end != s && v >= 0)
		for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
			if (!strcmp(end, units[i].unit))
				return (uint64_t)(v * units[i].ns);
	die("'%s' is no duration: write 250us, 10ms or 2s", s);
}

unsigned long number_arg(const char *s, unsigned long max)
{
	char *end;
	unsigned long v = strtoul(s, &end, 10);

	if (end == s || *end || v > max)
		die("'%s' is no number up to %lu", s, max);
	return v;
}

void sleep_ns(uint64_t ns)
{
	struct timespec ts = {.tv_sec = (time_t)(ns / NSEC_PER_SEC), .tv_nsec = (long)(ns % NSEC_PER_SEC)};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
}

static void usage(const char *name, const struct looper_option *extra)
{
	printf("usage: %s [-p PERIOD] [-w WORK] [-d DURATION] [-s SEED] [-j JITTER]", name);
	for (; extra && extra->letter; extra++)
		printf(" [-%c %s]", extra->letter, extra->help);
	putchar('\n');
	exit(0);
}

static double share_arg(const char *s)
{
	char *end;
	double v = strtod(s, &end);

	if (end == s || *end || v < 0 || v > 1)
		die("'%s' is no share from 0 to 1", s);
	return v;
}

static bool take_extra(const struct looper_option *extra, void *arg, int letter, const char *value)
{
	for (; extra && extra->letter; extra++) {
		if (extra->letter == letter) {
			extra->take(arg, value);
			return true;
		}
	}
	return false;
}

void looper_init(struct looper *l, const char *name, int argc, char **argv, const struct looper_option *extra, void *arg)
{
	struct sigaction sa = {.sa_handler = on_stop}; /* no SA_RESTART: the loop's own wait has to end */
	char letters[64] = "p:w:d:s:j:h";
	size_t n = strlen(letters);
	int c;

	*l = (struct looper){
		.name = name, .period_ns = 10 * NSEC_PER_MSEC, .work_ns = NSEC_PER_MSEC, .seed = 1, .schedstat_fd = -1};
	for (const struct looper_option *o = extra; o && o->letter && n + 2 < sizeof(letters); o++) {
		letters[n++] = o->letter;
		letters[n++] = ':';
		letters[n] = '\0';
	}
	while ((c = getopt(argc, argv, letters)) != -1) {
		switch (c) {
		case 'p':
			l->period_ns = duration_arg(optarg);
			break;
		case 'w':
			l->work_ns = duration_arg(optarg);
			break;
		case 'd':
			l->duration_ns = duration_arg(optarg);
			break;
		case 's':
			l->seed = number_arg(optarg, ~0UL);
			break;
		case 'j':
			l->jitter = share_arg(optarg);
			break;
		case 'h':
			usage(name, extra);
			break;
		default:
			if (!take_extra(extra, arg, c, optarg))
				exit(2);
		}
	}
	if (!l->period_ns)
		die("a period must be longer than 0");
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
}

void looper_start(struct looper *l)
{
	l->schedstat_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	if (l->schedstat_fd < 0)
		die("/proc/thread-self/schedstat: %s", strerror(errno));
	l->random = l->seed * 0x9E3779B97F4A7C15ULL + 1;
	l->start = now_ns();
	l->cpu_at_start = thread_cpu_ns();
}

void looper_ready(void)
{
	printf("ready %d\n", getpid());
	fflush(stdout);
}

bool looper_over(const struct looper *l)
{
	return looper_stopping || (l->duration_ns && now_ns() - l->start >= l->duration_ns);
}

int looper_timerfd(const struct looper *l, bool nonblocking)
{
	struct timespec period = {.tv_sec = (time_t)(l->period_ns / NSEC_PER_SEC),
				  .tv_nsec = (long)(l->period_ns % NSEC_PER_SEC)};
	struct itimerspec its = {.it_interval = period, .it_value = period};
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | (nonblocking ? TFD_NONBLOCK : 0));

	if (fd < 0 || timerfd_settime(fd, 0, &its, NULL))
		die("timerfd: %s", strerror(errno));
	return fd;
}

bool looper_take_timer(struct looper *l, int timerfd)
{
	uint64_t n;

	if (read(timerfd, &n, sizeof(n)) != sizeof(n))
		return false;
	l->missed += n - 1;
	return true;
}

uint64_t looper_random(struct looper *l)
{
	/* xorshift64*: any sequence does, as long as a seed gives the same one everywhere */
	l->random ^= l->random >> 12;
	l->random ^= l->random << 25;
	l->random ^= l->random >> 27;
	return l->random * 0x2545F4914F6CDD1DULL;
}

void looper_work(struct looper *l)
{
	uint64_t from = thread_cpu_ns(), want = l->work_ns, at;

	if (l->jitter > 0) {
		double r = (double)(looper_random(l) >> 11) / (double)(1ULL << 53);

		want = (uint64_t)((double)want * (1 + l->jitter * (2 * r - 1)));
	}
	do {
		at = thread_cpu_ns();
	} while (at - from < want);
	l->work_cpu += at - from;
	l->ticks++;
}

static uint64_t runq_ns(const struct looper *l)
{
	char buf[96];
	uint64_t runq;
	ssize_t n = pread(l->schedstat_fd, buf, sizeof(buf) - 1, 0);

	if (n <= 0)
		die("schedstat: %s", strerror(errno));
	buf[n] = '\0';
	if (sscanf(buf, "%*u %" SCNu64, &runq) != 1)
		die("schedstat: '%s' is not what it was", buf);
	return runq;
}

/* Wall, CPU and run-queue clocks at one moment: read again if the thread lost the CPU between the three. */
static struct block clocks_now(const struct looper *l)
{
	struct block b;

	do {
		b.start = now_ns();
		b.runq = runq_ns(l);
		b.cpu = thread_cpu_ns();
		b.end = now_ns();
	} while (b.end - b.start > 100 * 1000);
	return b;
}

void block_begin(struct looper *l)
{
	if (l->n_blocks == l->cap_blocks) {
		l->cap_blocks = l->cap_blocks ? 2 * l->cap_blocks : 4096;
		l->blocks = realloc(l->blocks, l->cap_blocks * sizeof(*l->blocks));
		if (!l->blocks)
			die("out of memory");
	}
	l->blocks[l->n_blocks] = clocks_now(l);
}

void block_end(struct looper *l)
{
	struct block *b = &l->blocks[l->n_blocks++], at = clocks_now(l);

	b->end = at.start;
	b->cpu = at.cpu - b->cpu;
	b->runq = at.runq - b->runq;
}

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

static int print_truth_head(const struct looper *l, char *buf, size_t size)
{
	uint64_t wall = now_ns() - l->start, cpu = thread_cpu_ns() - l->cpu_at_start;

	return snprintf(buf, size,
			"{\"looper\":\"%s\",\"pid\":%d,\"tid\":%ld,\"start\":%.9f,\"wall_s\":%.9f,\"cpu_s\":%.9f,\"ticks\":%" PRIu64 ",\"work_cpu_s\":%.9f,\"missed\":%" PRIu64,
			l->name, getpid(), syscall(SYS_gettid), seconds(l->start), seconds(wall),
			seconds(cpu), l->ticks, seconds(l->work_cpu), l->missed);
}

void looper_truth_object(struct looper *l, char *buf, size_t size)
{
	int n = print_truth_head(l, buf, size);

	if (n < 0 || (size_t)n + 2 > size)
		die("the truth does not fit %zu bytes", size);
	strcpy(buf + n, "}");
}

void looper_truth(struct looper *l, const char *more)
{
	char head[512];

	print_truth_head(l, head, sizeof(head));
	printf("%s%s", head, more);
	if (l->n_blocks)
		printf(",\"blocks\":[");
	for (size_t i = 0; i < l->n_blocks; i++) {
		const struct block *b = &l->blocks[i];

		printf("%s[%.9f,%.9f,%.9f,%.9f]", i ? "," : "", seconds(b->start), seconds(b->end), seconds(b->cpu),
		       seconds(b->runq));
	}
	printf("%s}\n", l->n_blocks ? "]" : "");
	fflush(stdout);
}

void looper_run(struct looper *l, const struct waiter *w)
{
	int fd = looper_timerfd(l, true);
	void *state = w->open ? w->open(fd) : NULL;

	looper_start(l);
	while (!looper_over(l)) {
		w->wait(state, fd);
		if (looper_take_timer(l, fd)) {
			looper_work(l);
			if (l->ticks == 2) { /* it has come back to its wait: now it is a loop */
				atomic_fetch_add(&looper_looping, 1);
				if (getpid() == syscall(SYS_gettid))
					looper_ready();
			}
		}
	}
	close(fd);
}

int looper_main(int argc, char **argv, const struct waiter *w)
{
	struct looper l;

	looper_init(&l, w->name, argc, argv, NULL, NULL);
	looper_run(&l, w);
	looper_truth(&l, "");
	return 0;
}
