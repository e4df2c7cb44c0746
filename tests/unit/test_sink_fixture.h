/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_sink_fixture.h - invented records for the sinks' tests, and what compares their output with golden files.
 *
 * Golden files are in tests/golden/sink. LOOPSCOPE_UPDATE_GOLDEN=1 writes them anew from what the program prints: read
 * the difference before it is committed.
 */
#ifndef LOOPSCOPE_TEST_SINK_FIXTURE_H
#define LOOPSCOPE_TEST_SINK_FIXTURE_H

#include <criterion/criterion.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "model/record.h"
#include "sink/sink.h"

#define FIXTURE_TS 1764554400.25 /* 2025-12-01 02:00:00.25 UTC */
#define FIXTURE_LOOPS 6

/* Fixed bytes: not always ended by a NUL, as in a comm of 16 bytes that the kernel did not write. */
#define SET_BYTES(field, literal) \
	memcpy((field), (literal), sizeof(literal) < sizeof(field) ? sizeof(literal) : sizeof(field))

static inline struct loop_record fixture_unknown(void)
{
	return (struct loop_record){
		.ts = FIXTURE_TS, .interval_s = 1, .source = SOURCE_SERIAL, .edges = EDGES_BOARD,
		.id = { .pid = 7, .tid = 7 }, .nspid = -1, .cgroup = "", .runtime = "unknown",
		.wait_syscall = "", .wait_fd = -1,
		.load = NAN, .busy = NAN, .wait = NAN, .idle = NAN, .spin = NAN, .naive_load = NAN,
		.io_cpu = NAN, .tick_cpu = NAN, .tick_blocked = NAN, .wait_io = NAN, .wait_tick = NAN, .throttled = NAN,
		.io_waits = -1, .ticks = -1, .io_sleeps = -1, .lost = -1, .observer_cost = NAN,
		.events_per_wait = NAN, .late_us = NAN, .late_wait_us = NAN, .slow_ticks = -1,
	};
}

static inline void fixture_shares(struct loop_record *r, double io_cpu, double tick_cpu, double tick_blocked,
				  double wait_io, double wait_tick)
{
	r->io_cpu = io_cpu;
	r->tick_cpu = tick_cpu;
	r->tick_blocked = tick_blocked;
	r->wait_io = wait_io;
	r->wait_tick = wait_tick;
	r->busy = io_cpu + tick_cpu + tick_blocked;
	r->wait = wait_io + wait_tick;
	r->load = r->busy + r->wait;
	r->idle = 1 - r->load;
	r->throttled = 0;
	r->spin = 0;
	r->lost = 0;
}

static inline struct loop_record fixture_loop(uint32_t pid, const char *runtime, const char *syscall, int fd)
{
	struct loop_record r = fixture_unknown();

	r.source = SOURCE_KERNEL;
	r.edges = EDGES_SCHED;
	r.id = (struct loop_id){ .pid = pid, .tid = pid, .start_ns = 1234567890123 };
	r.nspid = pid;
	r.cgroup = "/user.slice/user-0.slice/session-1.scope";
	r.runtime = runtime;
	r.wait_syscall = syscall;
	r.wait_fd = fd;
	r.observer_cost = 0.0021;
	r.cost_from = COST_KERNEL;
	return r;
}

/* A third of the time busy, nothing in the way. */
static inline struct loop_record fixture_node(void)
{
	struct loop_record r = fixture_loop(4711, "libuv", "epoll_pwait", 14);

	SET_BYTES(r.comm, "node");
	SET_BYTES(r.thread, "node");
	fixture_shares(&r, 0.0101234567, 0.32, 0.0005, 0.0004, 0);
	r.naive_load = 0.3391;
	r.io_waits = 205;
	r.io_sleeps = 100;
	r.ticks = 100;
	r.tick_us = (struct quantiles){ true, 3100.5, 3300, 4001.0625, 5000, 8300.123456 };
	r.io_us = (struct quantiles){ true, 6700, 6900, 7000, 7100, 250000 };
	r.blocked_by[0] = (struct blocked_share){ "futex", 0.0005 };
	r.n_blocked_by = 1;
	r.phases[0] = (struct phase_share){ "timers", 0.2512, 100 };
	r.phases[1] = (struct phase_share){ "poll", 0.0693, 205 };
	r.phases[2] = (struct phase_share){ "check", NAN, -1 };
	r.n_phases = 3;
	return r;
}

/* Contended and overloaded, a thread of its own name, in a container. */
static inline struct loop_record fixture_contended(void)
{
	struct loop_record r = fixture_loop(4194303, "asyncio", "epoll_wait", 5);

	r.id.tid = 4194304;
	r.nspid = 12;
	SET_BYTES(r.comm, "python3");
	SET_BYTES(r.thread, "worker-eventloo");
	r.cgroup = "/kubepods.slice/kubepods-burstable.slice/"
		   "kubepods-burstable-pod0a1b2c3d_4e5f_6071_8293_a4b5c6d7e8f9.slice/"
		   "cri-containerd-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope";
	fixture_shares(&r, 0.02, 0.4, 0.28, 0.05, 0.2);
	r.throttled = 0.0312;
	r.naive_load = 0.712;
	r.io_waits = r.io_sleeps = 12;
	r.ticks = 12;
	r.lost = 3;
	r.blocked_by[0] = (struct blocked_share){ "clock_nanosleep", 0.2 };
	r.blocked_by[1] = (struct blocked_share){ "page_fault", 0.05 };
	r.blocked_by[2] = (struct blocked_share){ "other", 0.03 };
	r.n_blocked_by = 3;
	r.waited_for[0] = (struct waited_share){ "ffmpeg", 999, 0.15 };
	r.waited_for[1] = (struct waited_share){ "", 0, 0.01 };
	r.waited_for[2] = (struct waited_share){ "other", -1, 0.04 };
	r.n_waited_for = 3;
	return r;
}

static inline struct loop_record fixture_hostile(void)
{
	struct loop_record r = fixture_loop(666, "unknown", "poll", -1);

	SET_BYTES(r.comm, "\x1b[31mred\n\xff\xc3(\t\x7f");
	SET_BYTES(r.thread, "\xe2\x80\xae" "0123456789abc");
	fixture_shares(&r, 0, 0.000001, 0, 0, 0.75);
	r.cgroup = "/evil\n\x1b]0;title\x07/\xed\xa0\x80";
	r.waited_for[0] = (struct waited_share){ "", 31, 0.75 };
	SET_BYTES(r.waited_for[0].comm, "\r\x9b" "2Jhog");
	r.n_waited_for = 1;
	r.io_sleeps = 1;
	r.ended = true;
	r.interval_s = 0.25;
	return r;
}

static inline struct loop_record fixture_utf8(void)
{
	struct loop_record r = fixture_loop(88, "glib", "ppoll", -1);

	SET_BYTES(r.comm, "k\xc3\xb6ln\xe6\x97\xa5\xe6\x9c\xac");
	SET_BYTES(r.thread, "k\xc3\xb6ln\xe6\x97\xa5\xe6\x9c\xac");
	fixture_shares(&r, 0, 0, 0, 0, 0);
	r.naive_load = 0;
	r.io_waits = r.io_sleeps = r.ticks = 0;
	r.in_progress_only = true;
	return r;
}

static inline struct loop_record fixture_redis(void)
{
	struct loop_record r = fixture_loop(1200, "redis", "epoll_wait", 6);

	SET_BYTES(r.comm, "redis-server");
	SET_BYTES(r.thread, "redis-server");
	fixture_shares(&r, 0.3, 0.43, 0, 0.004, 0);
	r.naive_load = 0.751;
	r.io_waits = r.io_sleeps = 48211;
	r.ticks = 48211;
	r.waited_for[0] = (struct waited_share){ "", 0, 0.004 };
	r.n_waited_for = 1;
	return r;
}

static inline void fixture_all(struct loop_record ret[FIXTURE_LOOPS])
{
	ret[0] = fixture_contended();
	ret[1] = fixture_hostile();
	ret[2] = fixture_redis();
	ret[3] = fixture_node();
	ret[4] = fixture_utf8();
	ret[5] = fixture_unknown();
	SET_BYTES(ret[5].comm, "board0");
}

static inline struct interval fixture_interval(const struct loop_record *loops, size_t n)
{
	return (struct interval){
		.ts = FIXTURE_TS, .interval_s = 1, .loops = loops, .n_loops = n, .steal = NAN, .lost = 0,
	};
}

/* A sink's output as a string on the heap. */
struct capture {
	char *text;
	size_t n;
	FILE *out;
};

static inline void capture_open(struct capture *c)
{
	c->out = open_memstream(&c->text, &c->n);
	cr_assert_not_null(c->out);
}

static inline void capture_free(struct capture *c)
{
	fclose(c->out);
	free(c->text);
}

/* A pipe whose reader is gone. */
static inline FILE *fixture_reader_gone(void)
{
	int fds[2];

	signal(SIGPIPE, SIG_IGN);
	cr_assert_eq(pipe(fds), 0);
	close(fds[0]);
	return fdopen(fds[1], "w");
}

/* Both are set for every test that prints: the time zone for TIME, and no wish of the caller's terminal. */
static inline void fixture_environment(void)
{
	setenv("TZ", "UTC0", 1);
	tzset();
	unsetenv("COLUMNS");
	unsetenv("NO_COLOR");
}

/* Beside this file's tests, wherever the tree lies. */
static inline void golden_path(const char *name, char *ret, size_t size)
{
	const char *unit = strstr(__FILE__, "unit/test_sink_fixture.h");

	cr_assert_not_null(unit);
	snprintf(ret, size, "%.*sgolden/sink/%s", (int)(unit - __FILE__), __FILE__, name);
}

/* For what is no text. */
static inline void golden_check_bytes(const char *name, const char *got, size_t n_got)
{
	char path[1024];
	_cleanup_free_ char *want = malloc(n_got + 1);
	_cleanup_fclose_ FILE *f = NULL;

	golden_path(name, path, sizeof(path));
	f = fopen(path, getenv("LOOPSCOPE_UPDATE_GOLDEN") ? "w" : "r");
	cr_assert(f && want, "%s can't be opened", path);
	if (getenv("LOOPSCOPE_UPDATE_GOLDEN"))
		cr_assert(fwrite(got, 1, n_got, f) == n_got, "%s can't be written", path);
	else
		cr_assert(fread(want, 1, n_got + 1, f) == n_got && memcmp(want, got, n_got) == 0, "%s differs", name);
}

static inline void golden_check(const char *name, const char *got)
{
	char path[1024];
	_cleanup_free_ char *want = NULL;
	size_t n = 0;
	_cleanup_fclose_ FILE *f = NULL;

	golden_path(name, path, sizeof(path));
	if (getenv("LOOPSCOPE_UPDATE_GOLDEN")) {
		f = fopen(path, "w");
		cr_assert(f && fputs(got, f) >= 0, "%s can't be written", path);
		return;
	}
	f = fopen(path, "r");
	cr_assert_not_null(f, "%s can't be read", path);
	cr_assert(getdelim(&want, &n, '\0', f) >= 0);
	cr_assert(strcmp(want, got) == 0, "%s differs.\nwanted:\n%s\ngot:\n%s", name, want, got);
}

#endif
