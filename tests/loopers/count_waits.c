/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * count_waits.c - preloaded (LD_PRELOAD) into real programs that don't tell how often they wait: counts calls of epoll_wait and times
 * what lies between them. Truth: the file named by COUNT_WAITS, mapped, so that it can be read at any time: struct truth, the times of
 * CLOCK_MONOTONIC. One loop: of the process and thread that calls first. The first LOG ticks are told one by one.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOG 16384

struct truth {
	_Atomic uint64_t calls, ticks, tick_ns, tid;
	struct {
		uint64_t from, to;
	} log[LOG];
};

typedef int (*wait_fn)(int, struct epoll_event *, int, int);

static struct truth *truth;
static wait_fn real_wait;
static uint64_t returned;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* At the start: a server's worker may have no right to the file. */
__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("COUNT_WAITS");
	int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;
	void *map;

	if (fd < 0 || ftruncate(fd, sizeof(*truth)))
		abort();
	map = mmap(NULL, sizeof(*truth), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		abort();
	close(fd);
	real_wait = (wait_fn)dlsym(RTLD_NEXT, "epoll_wait");
	truth = map;
}

static void tick(uint64_t now)
{
	uint64_t nth = truth->ticks;

	if (nth < LOG) {
		truth->log[nth].from = returned;
		truth->log[nth].to = now;
	}
	truth->tick_ns += now - returned;
	truth->ticks = nth + 1;
}

int epoll_wait(int epfd, struct epoll_event *events, int most, int timeout)
{
	static _Thread_local uint64_t tid;
	int n;

	if (!tid)
		tid = (uint64_t)syscall(SYS_gettid);
	if (!truth->tid)
		truth->tid = tid;
	if (truth->tid != tid)
		return real_wait(epfd, events, most, timeout);
	if (returned)
		tick(now_ns());
	truth->calls++;
	n = real_wait(epfd, events, most, timeout);
	returned = now_ns();
	return n;
}
