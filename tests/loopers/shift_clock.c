/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shift_clock.c - preloaded (LD_PRELOAD) into a program under test: its clocks are ahead by as many nanoseconds as the file named
 * by SHIFT_CLOCK says (one int64, mapped, read at each call). So twenty minutes pass when the test says so. Timers go on as they
 * are: they fire by the kernel's clock.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000

static _Atomic int64_t *shift;

__attribute__((constructor)) static void map_shift(void)
{
	const char *path = getenv("SHIFT_CLOCK");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *p;

	if (fd < 0)
		abort();
	p = mmap(NULL, sizeof(*shift), PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		abort();
	shift = p;
}

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	long err = syscall(SYS_clock_gettime, clock, ts);
	int64_t ns;

	if (err || !shift || (clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME))
		return (int)err;
	ns = ts->tv_nsec + atomic_load(shift);
	ts->tv_sec += ns / NS_PER_S;
	ts->tv_nsec = ns % NS_PER_S;
	return 0;
}
